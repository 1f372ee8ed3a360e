/* Whom captures of a service are of: what matches, and what descends from it.
 */
#include "base/hash.h"
#include "store/session.h"
#include "targets_private.h"

#include <errno.h>
#include <string.h>

struct gathering {
	const struct look *look;
	const struct proc *ancestor; /* who has the ordinal */
	int16_t ordinal;
	struct member *members; /* room for all processes */
	size_t n;
	uint64_t stamp;
};

static void
gathering_done(struct gathering *g)
{
	free(g->members);
}

/* What a zombie has lost, and a kernel thread never had. */
static bool
has_program(const struct proc *p)
{
	return *p->cmdline || *p->exe;
}

/* Where its program can't be told in the moment that it begins, or ends, it is
 * judged by the next look. */
static bool
is_unclear(const struct proc *p)
{
	return !has_program(p) ||
	       (!*p->exe && p->looked_ns - p->seen_ns < PROC_NEW_NS);
}

static void
add(struct gathering *g, const struct proc *p, unsigned how)
{
	g->members[g->n++] = (struct member){p->pid, g->ordinal, how};
	g->stamp = hash_pair(hash_pair(g->stamp, p->start_time),
	                     (uint64_t)p->pid << 32 |
	                             (uint64_t)g->ordinal << 8 | how);
}

static const struct proc *
in_slot(const struct look *l, int ordinal)
{
	int32_t pid = l->target->now[ordinal].pid;

	return pid ? proc_table_find(l->family->procs, pid) : NULL;
}

static bool
has_ordinal(const struct target *t, const struct proc *p)
{
	for (int i = 0; i < TARGET_SLOTS; i++)
		if (t->now[i].pid == p->pid)
			return true;
	return false;
}

/* Who has an ordinal is told of there, with what descends from it. */
static bool
take_descendant(void *arg, const struct proc *p)
{
	struct gathering *g = arg;

	if (has_ordinal(g->look->target, p))
		return false;
	if (is_unclear(p))
		return true;
	add(g, p,
	    strcmp(p->unit, g->ancestor->unit) ? MEMBER_OTHER_UNIT
	    : !match_scope(g->look->scope, p)  ? MEMBER_OUT_OF_SCOPE
	                                       : MEMBER_FOLLOWED);
	return true;
}

static void
gather(struct gathering *g)
{
	const struct look *l = g->look;

	for (int16_t i = 0; i < TARGET_SLOTS; i++) {
		const struct proc *p = in_slot(l, i);

		g->ordinal = i;
		if (p)
			add(g, p, MEMBER_FOLLOWED);
	}
	for (int16_t i = 0; i < TARGET_SLOTS; i++) {
		g->ancestor = in_slot(l, i);
		g->ordinal = i;
		if (g->ancestor)
			family_walk(
				l->family,
				(size_t)(g->ancestor - l->family->procs->items),
				take_descendant, g);
	}
}

/* What matches and is not among the members. */
static void
count_others(const struct gathering *g)
{
	const struct look *l = g->look;

	l->target->unslotted = l->target->refused = 0;
	for (size_t i = 0; i < l->family->procs->n; i++) {
		if (l->family->met[i] ||
		    !has_program(&l->family->procs->items[i]))
			continue;
		l->target->unslotted += l->matched[i] == MATCHED_OURS;
		l->target->refused += l->matched[i] == MATCHED_REFUSED;
	}
}

int
target_members(const struct look *l)
{
	CLEANUP(gathering_done)
	struct gathering g = {
		.look = l,
		.members = malloc((l->family->procs->n + 1) *
	                          sizeof(struct member)),
		.stamp = 1,
	};
	struct target *t = l->target;
	void *fitting;

	if (!g.members)
		return -ENOMEM;
	family_clear(l->family);
	gather(&g);
	count_others(&g);
	t->stamp = hash_pair(hash_pair(g.stamp, t->unslotted), t->refused) | 1;
	fitting = realloc(g.members, (g.n + 1) * sizeof(struct member));
	if (fitting)
		g.members = fitting;
	free(t->members);
	t->members = TAKE(g.members);
	t->nmembers = g.n;
	return 0;
}

/* --- whom a capture is of ---------------------------------------------------
 */

static bool
is_of(const struct member *m, int64_t ordinal)
{
	return ordinal == SESSION_ALL_ORDINALS || ordinal == m->ordinal;
}

void
targets_followed(const struct targets *t, const char *tenant,
                 const char *service, int64_t ordinal, struct followed *out)
{
	const struct target *v = targets_find(t, tenant, service);

	*out = (struct followed){.stamp = v ? v->stamp : 0};
	for (size_t i = 0; v && i < v->nmembers; i++) {
		const struct member *m = &v->members[i];

		if (!is_of(m, ordinal))
			continue;
		out->left.other_unit += m->how == MEMBER_OTHER_UNIT;
		out->left.out_of_scope += m->how == MEMBER_OUT_OF_SCOPE;
		if (m->how != MEMBER_FOLLOWED)
			continue;
		if (out->n < WORKER_MAX_PIDS)
			out->pids[out->n++] = m->pid;
		else
			out->left.too_many++;
	}
	if (v && ordinal == SESSION_ALL_ORDINALS) {
		out->left.too_many += v->unslotted;
		out->left.refused = v->refused;
	}
}

size_t
targets_strangers(const struct targets *t, const char *tenant,
                  const char *service, int64_t ordinal, size_t *at,
                  int32_t *out, size_t max)
{
	const struct target *v = targets_find(t, tenant, service);
	size_t n = 0;

	for (; v && *at < v->nmembers && n < max; ++*at) {
		const struct member *m = &v->members[*at];

		if (m->how != MEMBER_FOLLOWED || !is_of(m, ordinal))
			out[n++] = m->pid;
	}
	return n;
}
