/*
 * GET timeline: the number of samples in each slot of time, in total and by
 * thread.
 */
#include "profile/timeline.h"
#include "base/clock.h"
#include "load.h"
#include "range/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define US_PER_S   UINT64_C(1000000)
#define MAX_SLOTS  (1u << 18)
#define MAX_LANES  100 /* most threads in a reply */
#define LANE_SLOTS 240 /* most slots of a thread */
#define NOT_A_LANE UINT32_MAX
#define NEVER      UINT64_MAX

/* A thread, by how many samples it has. */
struct lane {
	uint32_t thread, samples;
};

struct slots {
	uint64_t length_us; /* of each slot */
	uint32_t n;
	uint32_t *counts;
};

static void
slots_done(struct slots *s)
{
	free(s->counts);
}

/* Makes slots of this length, or longer ones if there would be too many. */
static int
slots_init(struct slots *s, uint64_t all_us, uint64_t length_us, uint32_t most)
{
	while (all_us / length_us >= most)
		length_us *= 2;
	s->length_us = length_us;
	s->n = (uint32_t)((all_us + length_us - 1) / length_us);
	s->counts = calloc((size_t)s->n + 1, sizeof(*s->counts));
	return s->counts ? 0 : -ENOMEM;
}

/* Counts a sample. Samples taken while the capture ended belong to the last
 * slot. */
static void
slots_add(struct slots *s, uint64_t time_us)
{
	uint64_t at = time_us / s->length_us;

	if (s->n)
		s->counts[at < s->n ? at : s->n - 1]++;
}

static void
slots_put(struct buf *out, const char *key, const struct slots *s)
{
	json_open(out, key, '[');
	for (uint32_t i = 0; i < s->n; i++)
		json_put_int(out, NULL, s->counts[i]);
	json_close(out, ']');
}

static int
by_samples(const void *a, const void *b)
{
	const struct lane *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Sorts the threads that have samples.
 *   Owns     free() *out */
static int
sort_threads(const struct timeline *t, struct lane **out, uint32_t *n)
{
	CLEANUP_FREE struct lane *l =
		calloc((size_t)t->nthreads + 1, sizeof(*l));
	uint32_t used = 0;

	if (!l)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nthreads; i++)
		l[i].thread = i;
	for (uint32_t i = 0; i < t->nsamples; i++)
		l[t->samples[i].thread].samples++;
	qsort(l, t->nthreads, sizeof(*l), by_samples);
	while (used < t->nthreads && l[used].samples)
		used++;
	*out = TAKE(l);
	*n = used;
	return 0;
}

static void
put_lane(struct buf *out, const struct timeline *t, const struct lane *l,
         const struct slots *s)
{
	const struct timeline_thread *thread = &t->threads[l->thread];

	json_open(out, NULL, '{');
	json_put_int(out, "pid", thread->pid);
	json_put_int(out, "tid", thread->tid);
	json_put_text(out, "name", thread->name);
	json_put_int(out, "samples", l->samples);
	slots_put(out, "slots", s);
	json_close(out, '}');
}

static void lanes_done(struct slots (*lanes)[MAX_LANES])
{
	for (size_t i = 0; i < MAX_LANES; i++)
		slots_done(&(*lanes)[i]);
}

/* Writes the threads with most samples, each with its own slots. */
static int
put_lanes(struct buf *out, const struct timeline *t)
{
	CLEANUP(lanes_done) struct slots lanes[MAX_LANES] = {0};
	CLEANUP_FREE struct lane *sorted = NULL;
	CLEANUP_FREE uint32_t *lane_of =
		calloc((size_t)t->nthreads + 1, sizeof(*lane_of));
	uint32_t n, shown;
	int rc = lane_of ? sort_threads(t, &sorted, &n) : -ENOMEM;

	if (rc)
		return rc;
	shown = n < MAX_LANES ? n : MAX_LANES;
	memset(lane_of, 0xff, t->nthreads * sizeof(*lane_of));
	for (uint32_t i = 0; !rc && i < shown; i++) {
		lane_of[sorted[i].thread] = i;
		rc = slots_init(&lanes[i], t->duration_us, US_PER_S / 10,
		                LANE_SLOTS);
	}
	if (rc)
		return rc;
	for (uint32_t i = 0; i < t->nsamples; i++) {
		uint32_t at = lane_of[t->samples[i].thread];

		if (at != NOT_A_LANE)
			slots_add(&lanes[at], t->samples[i].time_us);
	}
	json_put_int(out, "threadCount", n);
	json_put_real(out, "laneSlotMs",
	              shown ? (double)lanes[0].length_us / 1000 : 0);
	json_open(out, "threads", '[');
	for (uint32_t i = 0; i < shown; i++)
		put_lane(out, t, &sorted[i], &lanes[i]);
	json_close(out, ']');
	return 0;
}

/* Returns the time from which samples are missing because the timeline was
 * full. */
static uint64_t
full_us(const struct timeline *t)
{
	for (uint32_t i = 0; i < t->nevents; i++)
		if (t->events[i].kind == TIMELINE_FULL)
			return t->events[i].time_us;
	return NEVER;
}

static int
put_timeline(struct call *c, const struct session *s, const struct timeline *t)
{
	CLEANUP(slots_done) struct slots all = {0};
	uint64_t per_s = (uint64_t)param_int(c, P_GetTimeline_slotsPerSecond);
	int64_t tid = param_int(c, P_GetTimeline_tid);
	struct buf *out = answer_json(c);
	uint32_t n = 0;
	int rc = slots_init(&all, t->duration_us, US_PER_S / per_s, MAX_SLOTS);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < t->nsamples; i++) {
		const struct timeline_sample *x = &t->samples[i];

		if (tid && t->threads[x->thread].tid != tid)
			continue;
		slots_add(&all, x->time_us);
		n++;
	}
	json_put_text(out, "profileId", s->id);
	json_put_time(out, "startedAt", t->start_ns / NS_PER_MS);
	json_put_real(out, "durationMs", (double)t->duration_us / 1000);
	json_put_int(out, "samples", n);
	json_put_known(out, "fullAtMs", (double)full_us(t) / 1000,
	               full_us(t) != NEVER);
	json_put_real(out, "slotMs", (double)all.length_us / 1000);
	slots_put(out, "slots", &all);
	return put_lanes(out, t);
}

int
timeline_get(struct call *c)
{
	CLEANUP_SESSION struct session s = {0};
	CLEANUP_TIMELINE struct timeline *t = NULL;
	int rc;

	if (load_completed(c, P_GetTimeline_profileId, NULL, &s) ||
	    load_reads_timeline(c, &s) || call_go_on(c))
		return -1;
	t = stored_timeline(&c->env->store, s.id);
	if (!t)
		return fail_no_timeline(c, &s);
	rc = put_timeline(c, &s, t);
	return rc ? fail_store(c, rc) : answer_end(c);
}
