/*
 * Profiles whose stacks are a tree: a sample's stack is a node, its callers
 * are the nodes above. Stacks of a program share most of their frames, so
 * that there are some two nodes to a stack where it has some twenty frames:
 * sums of windows are kept so, which are read to be added up again.
 *
 *	packed_decode(file) ─> merge_add_packed() ... ─> merge_encode()
 *	                                              └> merge_end()
 *
 * A packed file is PACKED_MAGIC, then one gzip member of numbers, each a
 * varint, signed ones zigzag, and strings' text behind their lengths. What a
 * row refers to comes before it. packed_encode.c is its description, column by
 * column.
 *
 * Input is hostile, as in profile/pprof.h.
 */
#pragma once

#include "profile/profile.h"

#define PACKED_MAGIC "SPK1"

struct packed_node {
	uint32_t parent;   /* a node before this one */
	uint32_t location; /* index into locations; none of node 0, the root */
};

/*
 * A profile, packed or not: with nodes, what stands in stack[] is nodes, and
 * each sample has one.
 */
struct packed {
	struct profile *p;
	struct packed_node *nodes; /* NULL: stack[] is locations, as usual */
	uint32_t nnodes;           /* at least 1 where there are any */
};
#define CLEANUP_PACKED CLEANUP(packed_done)
void packed_done(struct packed *k);

/*
 * Decodes a packed file, or a pprof file, of which there are no nodes.
 *
 *   Units    max_bytes as in pprof_decode()
 *   Owns     *out is the caller's; packed_done() it
 *   Errors   -EBADMSG malformed, -E2BIG past a bound, -ENOMEM;
 *            one line for a person in why; *out untouched
 */
MUST_CHECK int packed_decode(const void *p, size_t n, size_t max_bytes,
                             struct packed *out, struct buf *why);
/*
 * Appends k, which has nodes, gzipped.
 *   Errors   -ENOMEM, -E2BIG; out is poisoned
 */
MUST_CHECK int packed_encode(const struct packed *k, struct buf *out);
/*
 * Hands the profile over with its stacks written out; k is empty after. Rows
 * can be read only.
 *
 *   Units    max_bytes: of the stacks
 *   Errors   -E2BIG past max_bytes or PROFILE_MAX_ROWS, -ENOMEM; k as before
 */
MUST_CHECK int
packed_profile(struct packed *k, size_t max_bytes, struct profile **out);
/* Location of a sample's innermost frame; PROFILE_NONE when it has none. */
static inline uint32_t
packed_leaf(const struct packed *k, const struct sample *s)
{
	uint32_t at = s->nstack ? k->p->stack[s->stack0] : PROFILE_NONE;

	if (!k->nodes || at == PROFILE_NONE)
		return at;
	return at ? k->nodes[at].location : PROFILE_NONE;
}
