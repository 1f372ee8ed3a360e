/*
 * GET check: tells whether a session costs more than a baseline.
 */
#include "compare_json.h"
#include "endpoint/profile/load.h"

static int
answer(struct call *c, const struct baseline *b, const struct compared *x)
{
	const struct comparison *r = x->c;
	struct buf *out = answer_json(c);

	json_put_text(out, "baselineId", b->id);
	json_put_text(out, "baselineLabel", b->label);
	json_put_text(out, "baseSessionId", b->session);
	json_put_text(out, "sessionId", x->now.id);
	compared_put_deciding(out, "functions", r);
	compared_put_risen(out, r);
	json_put_int(out, "regressions", (int64_t)r->nregressions);
	json_put_int(out, "improvements", (int64_t)r->nimprovements);
	compared_put_verdict(out, r);
	if (compared_put_links(c, out, x->base.id, x->now.id, x))
		return -1;
	return answer_end(c);
}

int
check_get(struct call *c)
{
	CLEANUP_BASELINE struct baseline b = {0};
	CLEANUP_COMPARED struct compared x = {0};
	const char *id = param_text(c, P_CheckBaseline_baselineId);
	int rc;

	if (compared_ask(c, COMPARED_PARAMS(CheckBaseline), &x) ||
	    compared_baseline(c, id, &b))
		return -1;
	rc = session_get(&c->env->store, b.tenant, b.session, &x.base);
	if (rc)
		return fail_store(c, rc);
	if (load_completed(c, P_CheckBaseline_sessionId, b.type, &x.now))
		return -1;
	if (compared_others(c, &b, &x) || compared_run(c, &x))
		return -1;
	return answer(c, &b, &x);
}
