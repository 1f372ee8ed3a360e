/*
 * The nodes of a tree that blocks are made of, and which of them a stack ends
 * in. Where a stack goes on below them, the last of them on its way counts.
 */
#pragma once

#include "base/table.h"
#include "profile/blocks.h"

struct block_node {
	uint32_t node;  /* of the tree */
	uint32_t above; /* row of the node above; 0 of the root */
};

struct block_nodes {
	const struct tree *t;
	uint32_t *row; /* by node of the tree; 0: the node is too small */
	uint32_t n;    /* rows, of which 0 is of all nodes together */
	struct block_node *of; /* by row, in preorder */
	struct table children;
	uint64_t key; /* of its hashes */
};

/*
 *   Owns     *out is the caller's; block_nodes_done() it
 *   Errors   -ENODATA the tree is empty, -ENOMEM; *out untouched
 */
MUST_CHECK int block_nodes_init(const struct tree *t, struct block_nodes *out);
void block_nodes_done(struct block_nodes *n);
/*
 * Fills row, by sample of k, whose names are those of the tree.
 *   Errors   -ENOMEM, -E2BIG
 */
MUST_CHECK int block_nodes_place(const struct block_nodes *n,
                                 const struct packed *k, uint32_t *row);
/* Adds each row to those of the nodes above it. */
void block_nodes_add_up(const struct block_nodes *n, struct block_row *rows);
