/*
 * Merges stacks while they are sampled: a tree whose nodes are (parent, place)
 * and whose places are (module, address). Both are interned pairs, so a stack
 * costs two look-ups for each frame after those that it shares with the stack
 * before, and memory only for new frames. Memory is bounded: when the tree is
 * full, new stacks are counted in one node.
 */
#pragma once

#include "base/pairs.h"
#include "capture/host/record.h"
#include "capture/process/place.h"

#include <stdint.h>

#define TRIE_ROOT      0u
#define TRIE_MAX_NODES PAIRS_MAX
#define TRIE_PATH      128 /* outermost frames that are remembered */

struct trie {
	struct pairs places;   /* module, vaddr */
	struct pairs nodes;    /* parent, place; node 0 is the root */
	struct amount *counts; /* by node: samples whose stack ends there */
	uint32_t counts_cap;
	uint64_t samples;
	struct amount total;
	uint64_t folded; /* samples for which there was no room */
	/* The last stack's outermost frames: the next stack mostly shares them,
	 * and they are not looked up again. */
	uint32_t npath;
	struct place path[TRIE_PATH];
	uint32_t path_nodes[TRIE_PATH];
};

/*
 * Makes an empty tree; max_nodes, up to TRIE_MAX_NODES, bounds nodes and
 * places alike. If it is a power of two, each of them takes at most
 * RECORDER_NODE_BYTES.
 */
MUST_CHECK int trie_init(struct trie *t, uint32_t max_nodes);
void trie_done(struct trie *t);
/*
 * Counts one stack. An amount that no longer fits into the total is left out: a
 * program may ask for any number of bytes, and a profile has 63 bits for them.
 *
 *   Shape    stack[n], innermost first; tag, if not NULL, is a place below the
 *            innermost one, left out in a full tree; overflow is the place of
 *            stacks for which there is no room; *node: the node of the stack
 *   Errors   -ENOMEM, -E2BIG (not even room for overflow)
 */
MUST_CHECK int trie_count(struct trie *t, const struct place *stack, size_t n,
                          const struct place *tag, struct place overflow,
                          const struct amount *amount, uint32_t *node);
