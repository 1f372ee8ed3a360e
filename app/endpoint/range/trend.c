/*
 * GET history/series: the cost of a type, or of a function, over time.
 */
#include "base/clock.h"
#include "endpoint/profile/view.h"
#include "range/steps.h"
#include "range_call.h"

#include <stdio.h>

static void
put_point(struct buf *out, const struct steps *s, size_t i)
{
	const struct step *p = &s->points[i];
	double seconds = p->covered_ms / (double)MS_PER_S;
	bool timed = p->covered_ms > 0 && !s->gauge;

	json_open(out, NULL, '{');
	json_put_time(out, "t", s->range.from_ms + (int64_t)i * s->step_ms);
	json_put_known(out, "value", p->value, p->there);
	json_put_known(out, "self", p->self, p->there);
	json_put_known(out, "rate", p->value / seconds, p->there && timed);
	json_put_known(out, "share", p->value / p->all,
	               p->there && p->all > 0 && !s->sift);
	json_put_real(out, "coveredSeconds", seconds);
	json_put_known(out, "samples", p->samples, p->there);
	json_close(out, '}');
}

static int
answer(struct call *c, const struct steps *s)
{
	const struct range *r = &s->range;
	struct buf *out = answer_json(c);

	range_note_lost(c, r);
	json_put_text(out, "service", r->service);
	json_put_text(out, "profileType", r->type);
	json_put_text(out, "function", s->function);
	json_put_text(out, "aggregation", s->gauge ? "mean" : "sum");
	json_put_time(out, "from", r->from_ms);
	json_put_time(out, "to", r->to_ms);
	json_put_int(out, "stepSeconds", s->step_ms / MS_PER_S);
	json_put_int(out, "profiles", (int64_t)r->n);
	json_open(out, "notices", '[');
	range_put_notices(r, out);
	json_close(out, ']');
	json_open(out, "points", '[');
	for (size_t i = 0; i < s->n; i++)
		put_point(out, s, i);
	json_close(out, ']');
	return answer_end(c);
}

static int
check_step(struct call *c, const struct steps *s)
{
	const struct range *r = &s->range;
	char least[64], got[32];

	if (steps_count(s) <= STEPS_MAX)
		return 0;
	snprintf(least, sizeof(least), "%llds or more for this range",
	         (long long)((r->to_ms - r->from_ms) / (STEPS_MAX - 1) /
	                             MS_PER_S +
	                     1));
	snprintf(got, sizeof(got), "%llds", (long long)(s->step_ms / MS_PER_S));
	return fail_param(c, "step", least, got);
}

int
series_get(struct call *c)
{
	CLEANUP_STEPS struct steps s = {
		.range = range_asked(c, RANGE_ROWS(GetSeries)),
		.function = param_text(c, P_GetSeries_function),
	};
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	const struct range *r = &s.range;
	struct sift sift = {0};
	int rc;

	view_labels(c, P_GetSeries_sample, &sift);
	if (sift.nlabels && *s.function)
		return fail_param(c, "function", "absent if sample is given",
		                  s.function);
	s.sift = sift.nlabels ? &sift : NULL;
	s.range.origin = param_text(c, P_GetSeries_origin);
	if (range_check(c, r))
		return -1;
	s.step_ms = param_given(c, P_GetSeries_step)
	                    ? param_int(c, P_GetSeries_step)
	                    : steps_usual(r->to_ms - r->from_ms);
	if (check_step(c, &s))
		return -1;
	rc = steps_read(&s, &why);
	return rc ? range_fail(c, r, rc, &why) : answer(c, &s);
}
