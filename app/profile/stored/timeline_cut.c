#include "base/clock.h"
#include "profile/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool
is_in(const struct timeline_part *part, uint64_t time_us)
{
	return time_us >= part->from_us && time_us < part->to_us;
}

static bool
is_of(const struct timeline_part *part, uint32_t tid)
{
	return !part->tid || part->tid == tid;
}

static bool
sample_is_in(const struct timeline *t, const struct timeline_part *part,
             const struct timeline_sample *s)
{
	return is_in(part, s->time_us) &&
	       is_of(part, t->threads[s->thread].tid);
}

/* Converts a time to one of the part; TIMELINE_UNSEEN if it is outside. */
static void
cut_time(const struct timeline_part *part, uint64_t *time_us)
{
	*time_us = is_in(part, *time_us) ? *time_us - part->from_us
	                                 : TIMELINE_UNSEEN;
}

static void
cut_samples(struct timeline *t, const struct timeline_part *part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nsamples; i++) {
		struct timeline_sample s = t->samples[i];

		if (!sample_is_in(t, part, &s))
			continue;
		s.time_us -= part->from_us;
		t->samples[n++] = s;
	}
	t->nsamples = n;
}

static void
cut_events(struct timeline *t, const struct timeline_part *part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nevents; i++) {
		struct timeline_event e = t->events[i];

		if (!is_in(part, e.time_us))
			continue;
		e.time_us -= part->from_us;
		t->events[n++] = e;
	}
	t->nevents = n;
}

static void
cut_counters(struct timeline *t, const struct timeline_part *part)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->ncounters; i++) {
		struct timeline_counter c = t->counters[i];

		if (!is_in(part, c.time_us))
			continue;
		c.time_us -= part->from_us;
		t->counters[n++] = c;
	}
	t->ncounters = n;
}

static uint64_t
length_of(const struct timeline *t, const struct timeline_part *part)
{
	uint64_t to = part->to_us < t->duration_us ? part->to_us
	                                           : t->duration_us;

	return to > part->from_us ? to - part->from_us : 0;
}

void
timeline_cut(struct timeline *t, const struct timeline_part *part)
{
	cut_samples(t, part);
	cut_events(t, part);
	cut_counters(t, part);
	for (uint32_t i = 0; i < t->nthreads; i++) {
		cut_time(part, &t->threads[i].started_us);
		cut_time(part, &t->threads[i].ended_us);
	}
	t->duration_us = length_of(t, part);
	t->start_ns += (int64_t)part->from_us * NS_PER_US;
}

/* Samples of the timeline for one row of the profile. */
struct row_part {
	uint32_t all, kept;
	int64_t kept_ns;
};

static int
count_rows(const struct timeline *t, const struct timeline_part *part,
           struct row_part *rows)
{
	for (uint32_t i = 0; i < t->nsamples; i++) {
		const struct timeline_sample *s = &t->samples[i];
		struct row_part *r = &rows[s->sample];

		r->all++;
		if (!sample_is_in(t, part, s))
			continue;
		r->kept++;
		if (__builtin_add_overflow(r->kept_ns, s->weight_ns,
		                           &r->kept_ns))
			return -EOVERFLOW;
	}
	return 0;
}

static int64_t
value_of(const char *unit, int64_t value, const struct row_part *r)
{
	if (!strcmp(unit, "count"))
		return r->kept;
	if (!strcmp(unit, "nanoseconds"))
		return r->kept_ns;
	return r->all ? (int64_t)((__int128)value * r->kept / r->all) : 0;
}

int
timeline_cut_profile(const struct timeline *t, const struct timeline_part *part,
                     struct profile *p)
{
	CLEANUP_FREE struct row_part *rows =
		calloc((size_t)p->nsamples + 1, sizeof(*rows));
	int rc = timeline_fits(t, p);

	if (!rc)
		rc = rows ? count_rows(t, part, rows) : -ENOMEM;
	if (rc)
		return rc;
	for (uint32_t k = 0; k < p->ntypes; k++) {
		const char *unit = profile_text(p, p->types[k].unit);

		for (uint32_t i = 0; i < p->nsamples; i++) {
			int64_t *v = &p->values[(size_t)i * p->ntypes + k];

			*v = value_of(unit, *v, &rows[i]);
		}
	}
	p->time_ns = t->start_ns + (int64_t)part->from_us * NS_PER_US;
	p->duration_ns = (int64_t)length_of(t, part) * NS_PER_US;
	return 0;
}
