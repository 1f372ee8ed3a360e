/*
 * GET compare: two profiles, or ranges of time, function by function.
 */
#include "compare_call.h"
#include "compare_json.h"

static const struct compare_sides sides = COMPARE_SIDES(CompareProfiles);

static void
put_result(struct buf *out, const struct compared *x)
{
	const struct comparison *r = x->c;

	json_put_text(out, "baseProfile", x->base.id);
	json_put_text(out, "comparisonProfile", x->now.id);
	compare_json_changes(out, "improvements", r, COMPARE_IMPROVEMENT);
	compare_json_changes(out, "regressions", r, COMPARE_REGRESSION);
	compare_json_risen(out, r);
	json_put_int(out, "unchanged",
	             (int64_t)(r->n - r->nregressions - r->nimprovements));
	compare_json_verdict(out, r);
}

/* Links are new in each reply, since they expire. */
static int
answer(struct call *c, const struct compared *x)
{
	struct buf *out = &c->reply->body;

	if (compare_link_put(c, out, x, NULL))
		return -1;
	return answer_end(c);
}

int
compare_get(struct call *c)
{
	CLEANUP_COMPARED struct compared x = {0};
	CLEANUP_BUF struct buf of = BUF_INIT(BUF_MAX_SMALL);

	if (compare_call_test(c, COMPARE_TEST(CompareProfiles), &x) ||
	    compare_call_sides(c, &sides, &x))
		return -1;
	compare_call_made_of(c, &x, &of);
	(void)answer_json(c);
	if (kept_find(c, &of)) {
		compare_call_warn(c, &x.base, &x.now);
		return answer(c, &x);
	}
	if (compare_call_run(c, &x))
		return -1;
	put_result(answer_json(c), &x);
	kept_add(c, &of);
	return answer(c, &x);
}
