#include "range/steps.h"

#include "ahead.h"
#include "base/clock.h"
#include "base/json_out.h"
#include "profile/function.h"
#include "profile/merge.h"
#include "profile/tree.h"
#include "profile/types.h"

#include <errno.h>

#define WANT_STEPS 120

void
steps_done(struct steps *s)
{
	free(s->points);
	range_done(&s->range);
}

/* --- steps ---------------------------------------------------------------- */

int64_t
steps_usual(int64_t range_ms)
{
	static const int64_t seconds[] = {1,     5,     10,    15,   30,   60,
	                                  300,   600,   900,   1800, 3600, 7200,
	                                  10800, 21600, 43200, 86400};

	for (size_t i = 0; i < ARRAY_LEN(seconds); i++)
		if (range_ms / (seconds[i] * MS_PER_S) <= WANT_STEPS)
			return seconds[i] * MS_PER_S;
	return (range_ms / WANT_STEPS / (86400 * MS_PER_S) + 1) * 86400 *
	       MS_PER_S;
}

/* Returns the time at which the first step begins. */
static int64_t
first_ms(const struct steps *s)
{
	int64_t from = s->range.from_ms;

	return from - (from % s->step_ms + s->step_ms) % s->step_ms;
}

int64_t
steps_count(const struct steps *s)
{
	return (s->range.to_ms - first_ms(s) + s->step_ms - 1) / s->step_ms;
}

static enum window_level
level_of(int64_t step_ms)
{
	enum window_level level = WINDOW_DAY;

	while (level > WINDOW_CAPTURED && window_span_ms(level) > step_ms)
		level--;
	return level;
}

/* --- windows into steps --------------------------------------------------- */

static struct function_cost
cost_of_all(int64_t value, int64_t samples)
{
	return (struct function_cost){value, value, samples, value, samples};
}

static bool
has_sessions(const struct steps *s)
{
	return s->range.n && s->range.parts[0].session;
}

/* True if profiles must be read: a window's row has the cost of all functions,
 * but the cost of a session, of one function or of some stacks needs the
 * profile. */
static bool
needs_profiles(const struct steps *s)
{
	return *s->function || s->sift || has_sessions(s);
}

/* Finds the cost of the stacks that remain of a sifted profile. */
static int
cost_of_stacks(const struct sift *by, const struct packed *k,
               struct function_cost *out)
{
	CLEANUP_MERGE struct merge *m = NULL; /* makes a copy */
	CLEANUP_PROFILE struct profile *p = NULL;
	int64_t value = 0, samples = 0;
	int rc = merge_new(RANGE_MAX_MERGED, &m)
	                 ?: merge_add_packed(m, k)
	                 ?: merge_end(m, &p)
	                 ?: sift_profile(p, by)
	                 ?: tree_sums(p, profile_type_index(p, NULL), &value,
	                              &samples);

	if (!rc)
		*out = cost_of_all(value, samples);
	return rc;
}

/* Finds the cost of a part whose profile was read. */
static int
cost_of(const struct steps *s, const struct packed *k,
        struct function_cost *out)
{
	int rc;

	if (s->sift)
		return cost_of_stacks(s->sift, k, out);
	rc = function_cost(k, profile_type_index(k->p, NULL), s->function, out);
	if (!rc && !*s->function)
		*out = cost_of_all(out->all, out->all_samples);
	return rc;
}

/* Adds a window's cost to the steps it covers, in proportion to time; the mean
 * of a gauge is weighted by the time it covers. */
static void
spread(struct steps *s, const struct range_part *p,
       const struct function_cost *cost)
{
	int64_t span = p->span.end_ms - p->span.start_ms;
	int64_t at = p->span.start_ms;

	if (at < s->range.from_ms)
		at = s->range.from_ms;
	for (size_t i = (size_t)((at - s->range.from_ms) / s->step_ms);
	     i < s->n; i++) {
		int64_t from = s->range.from_ms + (int64_t)i * s->step_ms;
		int64_t to = from + s->step_ms;
		int64_t start = at > from ? at : from;
		int64_t end = p->span.end_ms < to ? p->span.end_ms : to;
		double part = span > 0 ? (double)(end - start) / (double)span
		                       : 1;
		double weight = s->gauge ? part * (double)p->span.covered_ms /
		                                   (double)p->windows
		                         : part;

		if (part <= 0)
			break;
		s->points[i].value += weight * (double)cost->total;
		s->points[i].self += weight * (double)cost->self;
		s->points[i].all += weight * (double)cost->all;
		s->points[i].samples += weight * (double)cost->samples;
		s->points[i].profiles += part * (double)p->windows;
		s->points[i].there = true;
		if (p->span.end_ms <= to)
			break;
	}
}

static int
spread_unit(struct steps *s, struct ahead_unit *u)
{
	int rc = 0;

	for (size_t i = 0; i < u->n && !rc; i++) {
		struct function_cost cost = {0};
		const struct packed *k;

		if (u->ones[i].rc)
			continue;
		rc = ahead_profile(u, i, &k);
		if (!rc && k->p)
			rc = cost_of(s, k, &cost);
		if (!rc)
			spread(s, &s->range.parts[u->parts[i]], &cost);
	}
	return rc;
}

static int
spread_profiles(struct steps *s, struct buf *why)
{
	CLEANUP_AHEAD struct ahead *a = NULL;
	int64_t end = clock_mono_ns() + RANGE_MAX_NS;
	int rc = range_check_size(&s->range) ?: ahead_new(&s->range, &a);

	while (!rc) {
		struct ahead_unit *u;

		rc = clock_mono_ns() > end ? -ETIME : ahead_next(a, &u, why);
		rc = rc ?: spread_unit(s, u);
	}
	return rc == -ENODATA ? range_leave_out(&s->range) : rc;
}

static int
spread_all(struct steps *s, struct buf *why)
{
	const struct range *r = &s->range;

	if (needs_profiles(s))
		return spread_profiles(s, why);
	for (size_t i = 0; i < r->n; i++) {
		struct function_cost cost =
			cost_of_all(r->parts[i].value, r->parts[i].samples);

		spread(s, &r->parts[i], &cost);
	}
	return 0;
}

/* Sets how much of each step is covered; a gauge's sums become means over
 * that. */
static int
cover(struct steps *s)
{
	struct range *r = &s->range;
	CLEANUP_FREE struct span *spans = calloc(r->n + 1, sizeof(*spans));
	CLEANUP_FREE double *ms = calloc(s->n + 1, sizeof(*ms));
	int rc = spans && ms ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->n && !rc; i++)
		spans[i] = range_part_span(&r->parts[i]);
	if (!rc)
		rc = coverage_of(spans, r->n, r->from_ms, s->step_ms, s->n, ms);
	for (size_t i = 0; i < s->n && !rc; i++) {
		struct step *p = &s->points[i];

		p->covered_ms = ms[i];
		if (!s->gauge || ms[i] <= 0)
			continue;
		p->value /= ms[i];
		p->self /= ms[i];
		p->all /= ms[i];
		p->samples /= ms[i];
	}
	return rc;
}

int
steps_read(struct steps *s, struct buf *why)
{
	int rc;

	s->n = (size_t)steps_count(s);
	s->range.from_ms = first_ms(s);
	s->gauge = type_is_gauge(s->range.type);
	s->points = calloc(s->n + 1, sizeof(*s->points));
	if (!s->points)
		return -ENOMEM;
	rc = range_trend(&s->range, level_of(s->step_ms));
	if (!rc && s->windows_only && has_sessions(s))
		return 0;
	if (!rc)
		rc = spread_all(s, why);
	return rc ?: cover(s);
}

/* --- totals and rates ----------------------------------------------------- */

double
steps_total(const struct steps *s, double *ms)
{
	double cost = 0;

	*ms = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct step *p = &s->points[i];

		if (!p->there)
			continue;
		cost += s->gauge ? p->value * p->covered_ms : p->value;
		*ms += p->covered_ms;
	}
	return s->gauge && *ms > 0 ? cost / *ms : cost;
}

double
steps_rate(const struct steps *s, double cost, double ms)
{
	return s->gauge ? cost : cost * (double)MS_PER_S / ms;
}

void
steps_put_rates(const struct steps *s, const char *key, struct buf *out)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < s->n; i++) {
		const struct step *p = &s->points[i];

		json_open(out, NULL, '{');
		json_put_time(out, "t",
		              s->range.from_ms + (int64_t)i * s->step_ms);
		json_put_known(out, "rate",
		               steps_rate(s, p->value, p->covered_ms),
		               p->there && p->covered_ms > 0);
		json_close(out, '}');
	}
	json_close(out, ']');
}
