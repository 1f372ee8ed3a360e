/*
 * The stacks of two sessions, by how the number of goroutines or threads that
 * share a stack changed.
 *
 *	groups_new(GROUP_BY_STACK, &d.groups)
 *	groups_add(d.groups, now, 1)
 *	groups_add(d.groups, base, 0)
 *	stack_diff_count(&d)
 */
#pragma once

#include "profile/analysis.h"

enum stack_change {
	STACK_NEW,
	STACK_GROWN,
	STACK_SHRUNK,
	STACK_GONE,
	STACK_CHANGES /* unchanged */
};

struct stack_diff {
	struct groups *groups;
	int64_t totals[STACK_CHANGES + 1]; /* stacks by change */
	int64_t growth;                    /* of new and grown stacks */
};

static inline void
stack_diff_done(struct stack_diff *d)
{
	groups_free(d->groups);
}
#define CLEANUP_STACK_DIFF CLEANUP(stack_diff_done)

enum stack_change stack_change_of(const struct group *x);
/* Sorts the groups by how much they changed, and counts the changes. */
void stack_diff_count(struct stack_diff *d);
