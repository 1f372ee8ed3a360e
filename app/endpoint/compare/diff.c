/* POST diff: two sessions, stack by stack. */
#include "compare_json.h"
#include "endpoint/profile/analysis.h"
#include "endpoint/profile/load.h"

#include <errno.h>
#include <string.h>

enum kind { NEW, GROWN, SHRUNK, GONE, KINDS };

static const char *const names[KINDS] = {
	[NEW] = "newStacks",
	[GROWN] = "grownStacks",
	[SHRUNK] = "shrunkStacks",
	[GONE] = "goneStacks",
};

static int64_t
change_of(const struct group *x)
{
	return x->count[1] - x->count[0];
}

/* Returns the kind of change; KINDS for none. */
static enum kind
kind_of(const struct group *x)
{
	if (!change_of(x))
		return KINDS;
	if (change_of(x) > 0)
		return x->count[0] ? GROWN : NEW;
	return x->count[1] ? SHRUNK : GONE;
}

static int
by_change(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int64_t dx = llabs(change_of(x)), dy = llabs(change_of(y));

	if (dx != dy)
		return dx < dy ? 1 : -1;
	return (x->frame0 > y->frame0) - (x->frame0 < y->frame0);
}

static void
put_stacks(struct buf *out, const struct groups *g, enum kind kind, int64_t top)
{
	json_open(out, names[kind], '[');
	for (uint32_t i = 0; i < g->n && top; i++) {
		const struct group *x = &g->items[i];

		if (kind_of(x) != kind)
			continue;
		json_open(out, NULL, '{');
		analysis_put_stack(out, g, x, x->count[kind != GONE]);
		json_put_int(out, "baseCount", x->count[0]);
		json_put_int(out, "compareCount", x->count[1]);
		json_close(out, '}');
		top--;
	}
	json_close(out, ']');
}

/* Sums the growth of stacks that grew. */
static int64_t
growth_of(const struct groups *g, int64_t totals[static KINDS + 1])
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct group *x = &g->items[i];

		totals[kind_of(x)]++;
		sum += change_of(x) > 0 ? change_of(x) : 0;
	}
	return sum;
}

static void
put_result(struct call *c, const struct groups *g)
{
	int64_t top = param_int(c, P_DiffSessions_top);
	int64_t totals[KINDS + 1] = {0};
	struct buf *out = answer_json(c);

	json_put_text(out, "baseSessionId",
	              param_text(c, P_DiffSessions_baseId));
	json_put_text(out, "compareSessionId",
	              param_text(c, P_DiffSessions_compareId));
	json_put_int(out, "growthCount", growth_of(g, totals));
	for (enum kind k = 0; k < KINDS; k++)
		put_stacks(out, g, k, top);
	json_open(out, "totals", '{');
	for (enum kind k = 0; k < KINDS; k++)
		json_put_int(out, names[k], totals[k]);
	json_close(out, '}');
}

/* Links are new in each reply, since they expire. */
static int
answer(struct call *c)
{
	struct buf *out = &c->reply->body;

	if (compared_put_links(c, out, param_text(c, P_DiffSessions_baseId),
	                       param_text(c, P_DiffSessions_compareId), NULL))
		return -1;
	return answer_end(c);
}

/* Counts a session's stacks on one side. */
static int
add_session(struct call *c, const struct session *s, int side, struct groups *g)
{
	CLEANUP_PROFILE struct profile *profile = NULL;
	int rc;

	if (load_known(c, s, &profile))
		return -1;
	rc = groups_add(g, profile, side);
	return rc ? fail_store(c, rc) : 0;
}

/* Compares the stacks of both, and keeps the result. */
static int
run(struct call *c, const struct session *base, const struct session *now,
    const struct buf *of)
{
	CLEANUP_GROUPS struct groups *g = NULL;
	int rc = groups_new(GROUP_BY_STACK, &g);

	if (rc)
		return fail_store(c, rc);
	if (load_reads(c, now) || load_reads(c, base))
		return -1;
	/* compare first: a stack of both is shown as it is there */
	if (add_session(c, now, 1, g) || add_session(c, base, 0, g) ||
	    call_go_on(c))
		return -1;
	if (g->n)
		qsort(g->items, g->n, sizeof(*g->items), by_change);
	put_result(c, g);
	kept_add(c, of);
	return 0;
}

int
diff_post(struct call *c)
{
	const char *type = param_text(c, P_DiffSessions_type);
	CLEANUP_SESSION struct session base = {0};
	CLEANUP_SESSION struct session now = {0};
	CLEANUP_BUF struct buf of = BUF_INIT(BUF_MAX_SMALL);

	if (load_completed(c, P_DiffSessions_compareId, type, &now) ||
	    load_completed(c, P_DiffSessions_baseId, type, &base))
		return -1;
	load_made_of(c, &base, &of);
	load_made_of(c, &now, &of);
	buf_int(&of, param_int(c, P_DiffSessions_top));
	(void)answer_json(c);
	if (!kept_find(c, &of) && run(c, &base, &now, &of))
		return -1;
	compared_question(c, &base, &now);
	return answer(c);
}
