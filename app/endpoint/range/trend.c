/*
 * GET history/series: the cost of a type, or of a function, over time.
 */
#include "base/clock.h"
#include "profile/function.h"
#include "profile/types.h"
#include "range/ahead.h"
#include "range_call.h"
#include "store/history.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_POINTS  2000
#define WANT_POINTS 120 /* when no step is given */

struct point {
	double value, self, all, samples;
	double covered_ms;
	bool there; /* something was captured in it, however briefly */
};

struct trend {
	struct range range; /* its parts may reach past both ends */
	int64_t step_ms;
	size_t n;
	struct point *points;
	bool gauge;
	const char *function;
};

static void
trend_done(struct trend *t)
{
	free(t->points);
	range_done(&t->range);
}

/* --- steps ---------------------------------------------------------------- */

static int64_t
nice_step(int64_t range_ms)
{
	static const int64_t seconds[] = {1,     5,     10,    15,   30,   60,
	                                  300,   600,   900,   1800, 3600, 7200,
	                                  10800, 21600, 43200, 86400};

	for (size_t i = 0; i < ARRAY_LEN(seconds); i++)
		if (range_ms / (seconds[i] * MS_PER_S) <= WANT_POINTS)
			return seconds[i] * MS_PER_S;
	return (range_ms / WANT_POINTS / (86400 * MS_PER_S) + 1) * 86400 *
	       MS_PER_S;
}

/* Makes steps, which begin at multiples of their length, like rollups. */
static int
lay_out(struct call *c, struct trend *t)
{
	struct range *r = &t->range;
	int64_t from = r->from_ms, n;
	char least[64], got[32];

	t->step_ms = param_given(c, P_GetSeries_step)
	                     ? param_int(c, P_GetSeries_step)
	                     : nice_step(r->to_ms - from);
	r->from_ms = from - (from % t->step_ms + t->step_ms) % t->step_ms;
	n = (r->to_ms - r->from_ms + t->step_ms - 1) / t->step_ms;
	if (n > MAX_POINTS) {
		snprintf(least, sizeof(least), "%llds or more for this range",
		         (long long)((r->to_ms - from) / (MAX_POINTS - 1) /
		                             MS_PER_S +
		                     1));
		snprintf(got, sizeof(got), "%llds",
		         (long long)(t->step_ms / MS_PER_S));
		return fail_param(c, "step", least, got);
	}
	t->n = (size_t)n;
	t->points = calloc(t->n + 1, sizeof(*t->points));
	return t->points ? 0 : fail_store(c, -ENOMEM);
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

/* True if profiles must be read: a window's row has the cost of all functions,
 * but the cost of a session, or of one function, needs the profile. */
static bool
needs_profiles(const struct trend *t)
{
	return *t->function || (t->range.n && t->range.parts[0].session);
}

/* Finds the cost of a part. Its profile, if needed, is the next of a
 * read-ahead. */
static int
cost_of(const struct trend *t, const struct range_part *p, struct ahead *a,
        struct function_cost *out, struct buf *why)
{
	CLEANUP_PACKED struct packed k = {0};
	struct function_cost cost = {0};
	int rc = a ? ahead_take(a, &k, why) : 0;

	if (!a) {
		cost = cost_of_all(p->value, p->samples);
	} else if (!rc && k.p) {
		rc = function_cost(&k, profile_type_index(k.p, NULL),
		                   t->function, &cost);
		if (!*t->function)
			cost = cost_of_all(cost.all, cost.all_samples);
	}
	if (!rc)
		*out = cost;
	return rc;
}

/* Adds a window's cost to the steps it covers, in proportion to time; the mean
 * of a gauge is weighted by the time it covers. */
static void
spread(struct trend *t, const struct range_part *p,
       const struct function_cost *cost)
{
	int64_t span = p->span.end_ms - p->span.start_ms;
	int64_t at = p->span.start_ms;

	if (at < t->range.from_ms)
		at = t->range.from_ms;
	for (size_t i = (size_t)((at - t->range.from_ms) / t->step_ms);
	     i < t->n; i++) {
		int64_t from = t->range.from_ms + (int64_t)i * t->step_ms;
		int64_t to = from + t->step_ms;
		int64_t start = at > from ? at : from;
		int64_t end = p->span.end_ms < to ? p->span.end_ms : to;
		double part = span > 0 ? (double)(end - start) / (double)span
		                       : 1;
		double weight = t->gauge ? part * (double)p->span.covered_ms /
		                                   (double)p->windows
		                         : part;

		if (part <= 0)
			break;
		t->points[i].value += weight * (double)cost->total;
		t->points[i].self += weight * (double)cost->self;
		t->points[i].all += weight * (double)cost->all;
		t->points[i].samples += weight * (double)cost->samples;
		t->points[i].there = true;
		if (p->span.end_ms <= to)
			break;
	}
}

static int
spread_all(struct call *c, struct trend *t)
{
	CLEANUP_AHEAD struct ahead *a = NULL;
	int64_t end = clock_mono_ns() + RANGE_MAX_NS;
	struct range *r = &t->range;

	if (needs_profiles(t) && ahead_new(r, &a))
		return fail_store(c, -ENOMEM);
	for (size_t i = 0; i < r->n; i++) {
		CLEANUP_BUF struct buf why = BUF_INIT(1024);
		struct function_cost cost;
		int rc = clock_mono_ns() > end
		                 ? -ETIME
		                 : cost_of(t, &r->parts[i], a, &cost, &why);

		if (rc)
			return range_fail(c, r, rc, &why);
		spread(t, &r->parts[i], &cost);
	}
	return 0;
}

/* Sets how much of each step is covered; a gauge's sums become
 * means over that. */
static int
cover(struct trend *t)
{
	struct range *r = &t->range;
	CLEANUP_FREE struct span *spans = calloc(r->n + 1, sizeof(*spans));
	CLEANUP_FREE double *ms = calloc(t->n + 1, sizeof(*ms));
	int rc = spans && ms ? 0 : -ENOMEM;

	for (size_t i = 0; i < r->n && !rc; i++)
		spans[i] = range_part_span(&r->parts[i]);
	if (!rc)
		rc = coverage_of(spans, r->n, r->from_ms, t->step_ms, t->n, ms);
	for (size_t i = 0; i < t->n && !rc; i++) {
		struct point *p = &t->points[i];

		p->covered_ms = ms[i];
		if (!t->gauge || ms[i] <= 0)
			continue;
		p->value /= ms[i];
		p->self /= ms[i];
		p->all /= ms[i];
		p->samples /= ms[i];
	}
	return rc;
}

/* --- the reply ------------------------------------------------------------ */

static void
put_point(struct buf *out, const struct trend *t, size_t i)
{
	const struct point *p = &t->points[i];
	double seconds = p->covered_ms / (double)MS_PER_S;
	bool timed = p->covered_ms > 0 && !t->gauge;

	json_open(out, NULL, '{');
	json_put_time(out, "t", t->range.from_ms + (int64_t)i * t->step_ms);
	json_put_known(out, "value", p->value, p->there);
	json_put_known(out, "self", p->self, p->there);
	json_put_known(out, "rate", p->value / seconds, p->there && timed);
	json_put_known(out, "share", p->value / p->all, p->there && p->all > 0);
	json_put_real(out, "coveredSeconds", seconds);
	json_put_known(out, "samples", p->samples, p->there);
	json_close(out, '}');
}

static int
answer(struct call *c, const struct trend *t)
{
	const struct range *r = &t->range;
	struct buf *out = answer_json(c);

	json_put_text(out, "service", r->service);
	json_put_text(out, "profileType", r->type);
	json_put_text(out, "function", t->function);
	json_put_text(out, "aggregation", t->gauge ? "mean" : "sum");
	json_put_time(out, "from", r->from_ms);
	json_put_time(out, "to", r->to_ms);
	json_put_int(out, "stepSeconds", t->step_ms / MS_PER_S);
	json_put_int(out, "profiles", (int64_t)r->n);
	json_open(out, "points", '[');
	for (size_t i = 0; i < t->n; i++)
		put_point(out, t, i);
	json_close(out, ']');
	return answer_end(c);
}

int
series_get(struct call *c)
{
	CLEANUP(trend_done)
	struct trend t = {
		.range = range_asked(c, RANGE_ROWS(GetSeries)),
		.function = param_text(c, P_GetSeries_function),
		.gauge = type_is_gauge(param_text(c, P_GetSeries_profileType)),
	};
	int rc;

	t.range.origin = param_text(c, P_GetSeries_origin);
	if (range_check(c, &t.range) || lay_out(c, &t))
		return -1;
	rc = range_trend(&t.range, level_of(t.step_ms));
	if (!rc && needs_profiles(&t))
		rc = range_check_size(&t.range);
	if (rc)
		return range_fail(c, &t.range, rc, NULL);
	if (spread_all(c, &t))
		return -1;
	rc = cover(&t);
	return rc ? fail_store(c, rc) : answer(c, &t);
}
