/*
 * GET check: whether a session, or a range of time, costs more than a baseline.
 */
#include "compare_call.h"
#include "compare_json.h"

static const struct compare_sides sides = {
	.sides = {{0},
                  {P_CheckBaseline_sessionId, P_CheckBaseline_from,
                   P_CheckBaseline_to}},
	.service = P_CheckBaseline_service,
	.type = P_CheckBaseline_profileType,
	.host = P_CheckBaseline_host,
	.label = P_CheckBaseline_label,
	.origin = P_CheckBaseline_origin,
	.sample = P_CheckBaseline_sample,
};

static int
answer(struct call *c, const struct baseline *b, const struct compared *x)
{
	const struct comparison *r = x->c;
	struct buf *out = answer_json(c);

	json_put_text(out, "baselineId", b->id);
	json_put_text(out, "baselineLabel", b->label);
	json_put_text(out, "baseSessionId", b->session);
	json_put_text(out, "sessionId", x->now.id);
	compare_json_deciding(out, "functions", r);
	compare_json_risen(out, r);
	json_put_int(out, "regressions", (int64_t)r->nregressions);
	json_put_int(out, "improvements", (int64_t)r->nimprovements);
	compare_json_verdict(out, r);
	if (compare_link_put(c, out, x, b->id))
		return -1;
	return answer_end(c);
}

int
baseline_check_get(struct call *c)
{
	CLEANUP_BASELINE struct baseline b = {0};
	CLEANUP_COMPARED struct compared x = {0};
	const char *id = param_text(c, P_CheckBaseline_baselineId);
	int rc;

	if (compare_call_test(c, COMPARE_TEST(CheckBaseline), &x) ||
	    compare_call_baseline(c, id, &b))
		return -1;
	rc = session_get(&c->env->store, b.tenant, b.session, &x.base);
	if (rc)
		return fail_store(c, rc);
	if (compare_call_side(c, &sides, 1, &x.base, &x))
		return -1;
	rc = compared_others(&x, &b);
	if (rc)
		return compare_call_fail(c, rc);
	if (compare_call_run(c, &x))
		return -1;
	return answer(c, &b, &x);
}
