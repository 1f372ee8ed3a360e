/* GET history/shifts: since when functions cost more or less. */
#include "range/shifts.h"
#include "profile/types.h"
#include "range_call.h"

#include <math.h>

static void
put_level(struct buf *out, const char *key, const struct shifted_level *l)
{
	json_open(out, key, '{');
	json_put_known(out, "perSecond", l->cost / l->seconds, l->seconds > 0);
	json_put_real(out, "share", l->share);
	json_put_int(out, "samples", llround(l->samples));
	json_put_real(out, "seconds", l->seconds);
	json_close(out, '}');
}

static void
put_shift(struct buf *out, const struct shifted *of, size_t i)
{
	const struct shift *s = &of->shifts.items[i];
	double factor = range_shift_factor(of, i);

	json_open(out, NULL, '{');
	json_put_time(out, "at", s->at_ms);
	json_put_time(out, "earliest", s->earliest_ms);
	json_put_time(out, "latest", s->latest_ms);
	json_put_known(out, "factor", factor, of->levels[i].cost > 0);
	put_level(out, "before", &of->levels[i]);
	put_level(out, "after", &of->levels[i + 1]);
	json_close(out, '}');
}

static void
put_shifted(struct buf *out, const char *key, const struct shifted *of)
{
	json_open(out, key, '{');
	json_put_text(out, "function", of->function ?: "");
	json_put_text(out, "cost",
	              of->total || !of->function ? "total" : "self");
	json_put_int(out, "samples", llround(of->shifts.samples));
	json_put_known(out, "leastFactor", of->shifts.least,
	               of->shifts.least > 0);
	json_open(out, "shifts", '[');
	for (size_t i = 0; i < of->shifts.n; i++)
		put_shift(out, of, i);
	json_close(out, ']');
	json_close(out, '}');
}

static int
answer(struct call *c, const struct range_shifts *s)
{
	const struct range *r = s->range;
	struct buf *out = answer_json(c);

	range_note_lost(c, r);
	json_put_text(out, "service", r->service);
	json_put_text(out, "profileType", r->type);
	json_put_text(out, "aggregation",
	              type_is_gauge(r->type) ? "mean" : "sum");
	json_put_time(out, "from", r->from_ms);
	json_put_time(out, "to", r->to_ms);
	json_put_int(out, "profiles", (int64_t)r->n);
	json_open(out, "notices", '[');
	range_put_notices(r, out);
	json_close(out, ']');
	json_put_int(out, "tested", (int64_t)s->ntested);
	put_shifted(out, "whole", &s->whole);
	json_open(out, "functions", '[');
	for (size_t i = 0; i < s->n; i++)
		put_shifted(out, NULL, &s->items[i]);
	json_close(out, ']');
	return answer_end(c);
}

int
shifts_get(struct call *c)
{
	CLEANUP_RANGE struct range r = range_asked(c, RANGE_ROWS(GetShifts));
	CLEANUP_RANGE_SHIFTS struct range_shifts s = {
		.range = &r,
		.function = param_text(c, P_GetShifts_function),
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	r.origin = param_text(c, P_GetShifts_origin);
	if (range_check(c, &r))
		return -1;
	rc = range_shifts(&s, &why);
	return rc ? range_fail(c, &r, rc, &why) : answer(c, &s);
}
