/* Stacks as a tree that grows: finds the node below another, or adds it. */
#pragma once

#include "base/table.h"
#include "profile/packed.h"

struct nodes {
	struct packed_node *items; /* [0]: the root */
	uint32_t n, cap;
	uint32_t next; /* behind the one found or added last */
	uint64_t key;  /* of the hashes */
	struct table children;
};

MUST_CHECK int nodes_init(struct nodes *t); /* -ENOMEM */
void nodes_done(struct nodes *t);
/* -ENOMEM, -E2BIG past PROFILE_MAX_ROWS; *out untouched */
MUST_CHECK int
nodes_child(struct nodes *t, uint32_t parent, uint32_t location, uint32_t *out);