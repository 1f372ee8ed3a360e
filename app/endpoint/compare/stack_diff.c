/* POST diff: two sessions, stack by stack. */
#include "compare/stack_diff.h"
#include "compare_call.h"
#include "endpoint/profile/analysis.h"
#include "endpoint/profile/load.h"

static const char *const names[STACK_CHANGES] = {
	[STACK_NEW] = "newStacks",
	[STACK_GROWN] = "grownStacks",
	[STACK_SHRUNK] = "shrunkStacks",
	[STACK_GONE] = "goneStacks",
};

static void
put_stacks(struct buf *out, const struct groups *g, enum stack_change change,
           int64_t top)
{
	json_open(out, names[change], '[');
	for (uint32_t i = 0; i < g->n && top; i++) {
		const struct group *x = &g->items[i];

		if (stack_change_of(x) != change)
			continue;
		json_open(out, NULL, '{');
		analysis_put_stack(out, g, x, x->count[change != STACK_GONE]);
		json_put_int(out, "baseCount", x->count[0]);
		json_put_int(out, "compareCount", x->count[1]);
		json_close(out, '}');
		top--;
	}
	json_close(out, ']');
}

static void
put_result(struct call *c, const struct stack_diff *d)
{
	int64_t top = param_int(c, P_DiffSessions_top);
	struct buf *out = answer_json(c);

	json_put_text(out, "baseSessionId",
	              param_text(c, P_DiffSessions_baseId));
	json_put_text(out, "compareSessionId",
	              param_text(c, P_DiffSessions_compareId));
	json_put_int(out, "growthCount", d->growth);
	for (enum stack_change k = 0; k < STACK_CHANGES; k++)
		put_stacks(out, d->groups, k, top);
	json_open(out, "totals", '{');
	for (enum stack_change k = 0; k < STACK_CHANGES; k++)
		json_put_int(out, names[k], d->totals[k]);
	json_close(out, '}');
}

/* Links are new in each reply, since they expire. */
static int
answer(struct call *c)
{
	struct buf *out = &c->reply->body;
	const struct compared x = {
		.base.id = (char *)param_text(c, P_DiffSessions_baseId),
		.now.id = (char *)param_text(c, P_DiffSessions_compareId),
	};

	return compare_link_put(c, out, &x, NULL) ? -1 : answer_end(c);
}

static int
add_session(struct call *c, const struct session *s, int side,
            struct stack_diff *d)
{
	CLEANUP_PROFILE struct profile *profile = NULL;
	int rc;

	if (load_known(c, s, &profile))
		return -1;
	rc = groups_add(d->groups, profile, side);
	return rc ? fail_store(c, rc) : 0;
}

/* Compares the stacks of both sessions, and keeps the result. */
static int
run(struct call *c, const struct session *base, const struct session *now,
    const struct buf *of)
{
	CLEANUP_STACK_DIFF struct stack_diff d = {0};
	int rc = groups_new(GROUP_BY_STACK, &d.groups);

	if (rc)
		return fail_store(c, rc);
	if (load_reads(c, now) || load_reads(c, base))
		return -1;
	/* now first: a stack of both is shown as it is there */
	if (add_session(c, now, 1, &d) || add_session(c, base, 0, &d) ||
	    call_go_on(c))
		return -1;
	stack_diff_count(&d);
	put_result(c, &d);
	kept_add(c, of);
	return 0;
}

int
stack_diff_post(struct call *c)
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
	compare_call_warn(c, &base, &now);
	return answer(c);
}
