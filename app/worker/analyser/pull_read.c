#include "pull_read.h"

#include "base/clock.h"
#include "profile/godump.h"
#include "profile/goroutine.h"
#include "profile/import.h"
#include "profile/merge.h"
#include "profile/pprof.h"
#include "profile/types.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* --- goroutines that leaked ----------------------------------------------- */

#define MAX_MEMORY ((size_t)512 << 20)

/* Gives both profiles the same value type, so that they can be added. */
static int
take_type(const struct profile *all, struct profile *leaked)
{
	struct value_type *t = &leaked->types[0];
	const char *name;
	size_t n;

	if (all->ntypes != 1 || leaked->ntypes != 1)
		return -EINVAL;
	name = strings_get(leaked->strings, t->type, &n);
	if (strcmp(name, "goroutineleak") != 0)
		return -EINVAL;
	name = strings_get(all->strings, all->types[0].type, &n);
	return strings_add(leaked->strings, name, n, &t->type);
}

static int
negate(struct profile *p)
{
	for (uint32_t i = 0; i < p->nsamples; i++) {
		if (p->values[i] == INT64_MIN)
			return -EINVAL;
		p->values[i] = -p->values[i];
	}
	return 0;
}

/* Drops samples that are not positive: a goroutine that leaked after the first
 * page was made is only in the second. */
static void
drop_empty(struct profile *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		if (p->values[i] <= 0)
			continue;
		p->samples[n] = p->samples[i];
		p->values[n++] = p->values[i];
	}
	p->nsamples = n;
}

/*
 * Copies all, with the label "leaked" on the samples that are also in leaked.
 *
 *   Shape    both are pages of Go, fetched one after the other; leaked is
 *            modified
 *   Owns     *out is the caller's
 *   Errors   -EINVAL not such profiles; as merge_add()
 */
static int
mark_leaked(const struct profile *all, struct profile *leaked,
            struct profile **out)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PROFILE struct profile *p = NULL;
	int rc = take_type(all, leaked) ?: merge_new(MAX_MEMORY, &m);

	/* Leaked samples are subtracted, and added again with their label. */
	rc = rc ?: merge_add(m, all);
	rc = rc ?: negate(leaked);
	rc = rc ?: merge_add(m, leaked);
	rc = rc ?: negate(leaked);
	rc = rc ?: merge_label(m, goroutine_keys[GOROUTINE_LEAKED], "yes");
	rc = rc ?: merge_add(m, leaked);
	rc = rc ?: merge_end(m, &p);
	if (rc)
		return rc;
	drop_empty(p);
	*out = TAKE(p);
	return 0;
}

#define MAX_RAW ((size_t)256 << 20)

static const struct {
	uint32_t status;
	const char *begin;
	enum capture_error error;
} refusals[] = {
#define PULL_REFUSAL(status, begin, error) {status, begin, CAPTURE_##error},
#include "worker/ipc/pull.def"
#undef PULL_REFUSAL
};

static enum capture_error
refusal(const struct pull_answer *a)
{
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		size_t n = strlen(refusals[i].begin);

		if (refusals[i].status == a->status && a->n >= n &&
		    !memcmp(a->p, refusals[i].begin, n))
			return refusals[i].error;
	}
	return CAPTURE_PULL_STATUS;
}

static enum capture_error
read_error(int rc)
{
	return rc == -ENOMEM  ? CAPTURE_NO_MEMORY
	       : rc == -E2BIG ? CAPTURE_FETCH_TOO_LARGE
	                      : CAPTURE_PULL_NOT_PPROF;
}

static enum capture_error
read_dump(const struct pull_answer *a, struct profile **out, struct quality *q)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct godump_seen seen;
	int rc = godump_parse(a->p, a->n, out, &seen, &why);

	if (rc)
		return read_error(rc);
	q->threads = (int64_t)seen.goroutines;
	q->truncated = (int64_t)seen.elided;
	q->unread = (int64_t)seen.unavailable;
	if (seen.truncated)
		q->notes |= QUALITY_NOTE_OF(DUMP_CUT);
	return CAPTURE_OK;
}

static int
read_leaked(const struct pull_answer *a, struct profile **out, struct buf *why)
{
	CLEANUP_PROFILE struct profile *all = NULL, *leaked = NULL;
	int rc = pprof_decode(a->p, a->n, MAX_RAW, &leaked, why);

	if (!rc)
		rc = pprof_decode(a->all, a->all_n, MAX_RAW, &all, why);
	return rc ? rc : mark_leaked(all, leaked, out);
}

/* Reads a page, which may also be in an allocator's text format (tcmalloc). */
static int
read_page(const struct pull_answer *a, struct profile **out, struct buf *why)
{
	const struct import_ask ask = {
		.type = pull_type(a->step),
		.content_type = "text/plain",
		.limits = {MAX_RAW, MAX_RAW, UINT32_MAX, UINT32_MAX,
	                   UINT32_MAX},
	};
	const struct input *heap = input_find("heap");

	if (pull_form(a->step) == PULL_PPROF && heap->looks(a->p, a->n))
		return heap->read(a->p, a->n, &ask, out, why);
	return pprof_decode(a->p, a->n, MAX_RAW, out, why);
}

/* --- conversion ----------------------------------------------------------- */

/* Keeps allocations, which are counters. The page's other values, memory in
 * use, are gauges. */
static void
keep_allocated(struct profile *p)
{
	uint32_t keep[PROFILE_MAX_TYPES], n = 0;
	int64_t *to = p->values;

	for (uint32_t k = 0; k < p->ntypes; k++)
		if (!strncmp(profile_text(p, p->types[k].type), "alloc_", 6))
			keep[n++] = k;
	for (uint32_t i = 0; i < p->nsamples; i++)
		for (uint32_t k = 0; k < n; k++)
			*to++ = p->values[(size_t)i * p->ntypes + keep[k]];
	for (uint32_t k = 0; k < n; k++)
		p->types[k] = p->types[keep[k]];
	p->ntypes = n;
}

/* Finds the column that counts events, next to the one that is shown. */
static uint32_t
count_of(const struct profile *p, uint32_t shown)
{
	if (shown &&
	    strcmp(profile_text(p, p->types[shown].unit), "count") != 0 &&
	    !strcmp(profile_text(p, p->types[shown - 1].unit), "count"))
		return shown - 1;
	return shown;
}

static void
count_frames(const struct profile *p, struct quality *q)
{
	for (uint32_t i = 0; i < p->nstack; i++) {
		uint32_t n = profile_frames(p, p->stack[i]);

		q->frames += n;
		if (p->locations[p->stack[i]].nlines)
			q->symbolized += n;
	}
}

static void
judge(const struct pull_answer *a, const struct profile *p, uint32_t shown,
      struct quality *q)
{
	q->source = QUALITY_ENDPOINT;
	q->kept = profile_total(p, count_of(p, shown));
	q->duration_ms = p->duration_ns / NS_PER_MS;
	q->processes = 1;
	count_frames(p, q);
	if (a->step == PULL_STEP_CPU) {
		q->cpu_ns = profile_total(p, shown);
		if (p->period > 0)
			q->run_rate = q->asked_rate = 1000 * NS_PER_S /
			                              p->period;
		quality_conclude(q, "cpu");
	}
	if (!p->nsamples &&
	    (a->step == PULL_STEP_BLOCK || a->step == PULL_STEP_MUTEX))
		q->notes |= QUALITY_NOTE_OF(NOT_KEPT);
	else if (!q->kept && a->step != PULL_STEP_CPU)
		quality_nothing(q, pull_type(a->step));
}

static uint32_t
shown_type(const struct profile *p, const char *type)
{
	const struct type *t = type_find(type);

	return t ? profile_type_index(p, t->sample) : PROFILE_NONE;
}

enum capture_error
pull_read(const struct pull_answer *a, struct profile **out,
          struct quality *quality)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;
	struct quality q = {0};
	enum capture_error e = CAPTURE_OK;
	uint32_t shown;
	int rc = 0;

	if (a->status != 200)
		return refusal(a);
	if (pull_form(a->step) == PULL_DUMP)
		e = read_dump(a, &p, &q);
	else if (pull_form(a->step) == PULL_LEAKED)
		rc = read_leaked(a, &p, &why);
	else
		rc = read_page(a, &p, &why);
	if (e || rc)
		return e ? e : read_error(rc);
	if (a->step == PULL_STEP_ALLOC)
		keep_allocated(p);
	shown = shown_type(p, pull_type(a->step));
	if (shown == PROFILE_NONE)
		return CAPTURE_PULL_OTHER;
	p->default_type = p->types[shown].type;
	if (p->time_ns <= 0)
		p->time_ns = a->start_ms * NS_PER_MS;
	if (p->duration_ns <= 0 && pull_is_timed(a->step))
		p->duration_ns = a->elapsed_ms * NS_PER_MS;
	judge(a, p, shown, &q);
	*quality = q;
	*out = TAKE(p);
	return CAPTURE_OK;
}
