/*
 * Stacks, merged while they are sampled: a tree whose nodes are (parent,
 * place) and whose places are (module, address). Both are interned pairs, so
 * a stack costs two look-ups per frame, from where it differs from the one
 * before it, and memory only where it is new. That is bounded: stacks beyond
 * it are folded into one node, and counted there.
 */
#pragma once

#include "base/pairs.h"
#include "capture/process/place.h"

#include <stdint.h>

#define TRIE_ROOT      0u
#define TRIE_MAX_NODES PAIRS_MAX
#define TRIE_PATH      128 /* outermost frames that are remembered */

struct trie {
	struct pairs places; /* module, vaddr */
	struct pairs nodes;  /* parent, place; node 0 is the root */
	struct trie_count {
		uint64_t weight; /* ns of CPU time */
		uint32_t samples;
	} * counts; /* by node: what ends there */
	uint32_t counts_cap;
	uint64_t samples, weight;
	uint64_t folded; /* samples that there was no room for */
	/* Of the last stack, outermost first: the next mostly begins so, and
	 * need not be looked up that far. */
	uint32_t npath;
	struct place path[TRIE_PATH];
	uint32_t path_nodes[TRIE_PATH];
};

/*
 * max_nodes bounds nodes and places alike, up to TRIE_MAX_NODES. A power of
 * two takes RECORDER_NODE_BYTES each at most.
 */
MUST_CHECK int trie_init(struct trie *t, uint32_t max_nodes);
void trie_done(struct trie *t);
/*
 * Counts one stack.
 *
 *   Units    weight in ns of CPU time
 *   Shape    stack[n], innermost first; overflow is the place under which
 *            stacks are counted that the full tree has no room for
 *            *node is where the stack ends
 *   Errors   -ENOMEM, -E2BIG (not even room for overflow)
 */
MUST_CHECK int
trie_count(struct trie *t, const struct place *stack, size_t n,
           struct place overflow, uint64_t weight, uint32_t *node);
