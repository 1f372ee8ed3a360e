/* GET compare: two profiles, or ranges, function by function. */
#include "compare_json.h"

static const struct compared_sides sides = COMPARED_SIDES(CompareProfiles);

static int
answer(struct call *c, const struct compared *x)
{
	const struct comparison *r = x->c;
	struct buf *out = answer_json(c);

	json_put_text(out, "baseProfile", x->base.id);
	json_put_text(out, "comparisonProfile", x->now.id);
	compared_put_changes(out, "improvements", r, COMPARE_IMPROVEMENT);
	compared_put_changes(out, "regressions", r, COMPARE_REGRESSION);
	json_put_int(out, "unchanged",
	             (int64_t)(r->n - r->nregressions - r->nimprovements));
	compared_put_verdict(out, r);
	if (compared_put_range_links(c, out, &sides, x))
		return -1;
	return answer_end(c);
}

int
compare_get(struct call *c)
{
	static const struct compared_params ask = {
		P_CompareProfiles_normalize,
		P_CompareProfiles_baseWork,
		P_CompareProfiles_comparisonWork,
	};
	CLEANUP_COMPARED struct compared x = {0};

	if (compared_ask(c, &ask, &x) || compared_load(c, &sides, &x) ||
	    compared_run(c, &x))
		return -1;
	return answer(c, &x);
}
