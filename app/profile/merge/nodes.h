/*
 * A growing tree of stacks.
 */
#pragma once

#include "base/table.h"
#include "profile/packed.h"

struct nodes {
	struct packed_node *items; /* items[0] is the root */
	uint32_t n, cap;
	uint32_t next; /* the node after the one found or added last */
	uint64_t key;  /* key of the hashes */
	struct table children;
};

MUST_CHECK int nodes_init(struct nodes *t); /* -ENOMEM */
void nodes_done(struct nodes *t);
/* Finds the child of parent with this location, or adds it. Returns -ENOMEM, or
 * -E2BIG past PROFILE_MAX_ROWS, with *out untouched. */
MUST_CHECK int
nodes_child(struct nodes *t, uint32_t parent, uint32_t location, uint32_t *out);
/* Makes room for more nodes. -ENOMEM, -E2BIG. */
MUST_CHECK int nodes_reserve(struct nodes *t, uint32_t more);
/* Prefetches what the next nodes_child() will read. */
void nodes_expect(const struct nodes *t, uint32_t parent, uint32_t location);
