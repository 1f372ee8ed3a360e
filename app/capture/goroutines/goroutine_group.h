/*
 * Groups goroutines with equal stack, state, wait reason, creator and labels,
 * so that a hundred thousand of them can be one row.
 */
#pragma once

#include "goroutine_read.h"
#include "goroutine_tags.h"

struct go_group {
	uint32_t stack; /* node of stacks: leaf last */
	uint32_t tags;
	uint64_t gopc;
	uint8_t status, reason;
	bool locked;
	uint32_t n; /* members */
};

struct go_member {
	uint32_t group;
	uint64_t addr, goid, parent, since;
	uint64_t waiting; /* address of its struct sudog, or 0 */
	uint64_t target;  /* address it waits for; 0 unknown */
};

struct go_groups {
	const struct go_runtime *r;
	struct go_tags tags;
	struct pairs stacks; /* (caller's node, pc); node 0 is empty */
	struct pairs sites;  /* (stack, gopc) */
	struct pairs keys;   /* (site, tags and state), one per group */
	struct go_group *groups;
	uint32_t cap;
	struct buf members;   /* struct go_member, in the order of allgs */
	struct pairs starts;  /* (0, startpc) */
	bool *runtime_start;  /* by start: a goroutine of the runtime */
	struct go_stack last; /* the stack seen last, and its node */
	uint32_t last_node;
	uint64_t seen, system, unread, whole, deep, lost;
};

/* Prepares for grouping; go_groups_done() it also on failure. Errors -ENOMEM */
MUST_CHECK int go_groups_init(struct go_groups *s, const struct go_runtime *r,
                              struct profile *p);
void go_groups_done(struct go_groups *s);
/* Returns the sink for go_read() that fills the groups. */
struct go_sink go_groups_sink(struct go_groups *s);
