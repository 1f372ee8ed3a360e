/*
 * Stacks, merged while they are sampled: a tree whose nodes are (parent,
 * place) and whose places are (module, address). Both are interned pairs, so
 * a stack costs two look-ups per frame, from where it differs from the one
 * before it, and memory only where it is new. That is bounded: stacks beyond
 * it are folded into one node, and counted there.
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

#define TRIE_ROOT      0u
#define TRIE_MAX_NODES (1u << 22)
/* A row and two slots for node and place each, and a count. */
#define TRIE_NODE_BYTES 64
#define TRIE_PATH       128 /* outermost frames that are remembered */

/* What a frame is: address in its module's own address space. */
struct place {
	uint32_t module;
	uint64_t vaddr;
};

/* Interned pairs, numbered from 0 in order of first sight. */
struct pairs {
	struct pair {
		uint32_t a;
		uint64_t b;
	} * rows;
	uint32_t *slots; /* row + 1; 0 free */
	uint32_t n, cap, max;
};

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
 *   Errors   -ENOMEM, -E2BIG past p->max; *out untouched
 */
MUST_CHECK int
pairs_intern(struct pairs *p, uint32_t a, uint64_t b, uint32_t *out);
void pairs_done(struct pairs *p);

/*
 * max_nodes bounds nodes and places alike, up to TRIE_MAX_NODES. A power of
 * two takes TRIE_NODE_BYTES each at most.
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
