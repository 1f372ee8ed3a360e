/*
 * Goroutines that do the same: one group each, so that a hundred thousand of
 * a kind are a row. The same is a stack, a state, a reason to wait, a creator
 * and a set of labels.
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
	uint64_t waiting; /* its struct sudog, or 0 */
	uint64_t target;  /* what it waits for; 0 unknown */
};

struct go_groups {
	const struct go_runtime *r;
	struct go_tags tags;
	struct pairs stacks; /* (caller's node, pc); node 0: none */
	struct pairs sites;  /* (stack, gopc) */
	struct pairs keys;   /* (site, the rest), one per group */
	struct go_group *groups;
	uint32_t cap;
	struct buf members;   /* struct go_member, in the order of allgs */
	struct pairs starts;  /* (0, startpc) */
	bool *runtime_start;  /* by start: the runtime's own */
	struct go_stack last; /* the stack seen last, and its node */
	uint32_t last_node;
	uint64_t seen, system, unread, whole, deep, lost;
};

/* Errors: -ENOMEM; go_groups_done() it all the same. */
MUST_CHECK int go_groups_init(struct go_groups *s, const struct go_runtime *r,
                              struct profile *p);
void go_groups_done(struct go_groups *s);
/* To be told by go_read(). */
struct go_sink go_groups_sink(struct go_groups *s);
