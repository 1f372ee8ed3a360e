/*
 * Packed profiles: stacks form a tree, in which a sample's stack is a node and
 * its callers are the nodes above it. Stacks of a program share most of their
 * frames, so that a stack of about twenty frames takes about two nodes. Sums of
 * windows, which are read to be added up again, are stored in this form.
 *
 *	packed_decode(file) ─> merge_add_packed() ... ─> merge_encode()
 *	                                              └> merge_end()
 *
 * A packed file is PACKED_MAGIC and one gzip member, which holds varints
 * (signed numbers in zigzag encoding) and, after the lengths of the strings,
 * their text. A row follows the rows that it refers to. packed_encode.c writes
 * the file column by column.
 *
 * A profile that was added up can also be stored as counts of its sum's stacks
 * (base/counted.h): a varint for each of its samples, and its values, in one
 * gzip member. packed_counts.c writes and reads these.
 *
 * Input is hostile, as in profile/pprof.h.
 */
#pragma once

#include "profile/profile.h"

#define PACKED_MAGIC "SPK1"

struct packed_node {
	uint32_t parent;   /* a node before this one */
	uint32_t location; /* index into locations; unused in node 0, the
	                      root */
};

/*
 * A profile, packed or not. In a packed one, stack[] holds nodes, one per
 * sample.
 */
struct packed {
	struct profile *p;
	struct packed_node
		*nodes;  /* NULL if not packed: stack[] then holds locations */
	uint32_t nnodes; /* at least 1 if packed, else 0 */
};
#define CLEANUP_PACKED CLEANUP(packed_done)
void packed_done(struct packed *k);

/*
 * Decodes a packed file, a counted file that is followed by its base, or a
 * pprof file, which yields no nodes. Rows that only other parts of a base have
 * are left out.
 *
 *   Units    max_bytes as in pprof_decode()
 *   Owns     *out is the caller's; packed_done() it
 *   Errors   -EBADMSG malformed, -E2BIG past a bound, -ENOMEM; with a one-line
 *            explanation in why; *out untouched
 */
MUST_CHECK int packed_decode(const void *p, size_t n, size_t max_bytes,
                             struct packed *out, struct buf *why);
/*
 * Appends k, which must have nodes, as a packed file.
 *   Errors   -ENOMEM, -E2BIG; out is poisoned
 */
MUST_CHECK int packed_encode(const struct packed *k, struct buf *out);
/* One of the profiles that a sum adds up: values of rows of the sum, which may
 * repeat. */
struct packed_part {
	int64_t time_ns, duration_ns, period;
	uint32_t *rows;
	int64_t *values; /* all types of a row together */
	uint32_t n;
};
#define CLEANUP_PART CLEANUP(packed_part_done)
void packed_part_done(struct packed_part *part);
/*
 * Appends k and its parts as a bundle (base/counted.h); as packed_encode().
 */
MUST_CHECK int
packed_encode_parts(const struct packed *k, const struct packed_part *parts,
                    uint32_t n, struct buf *out);
/*
 * Reads a counted file without its base, which has nrows samples of ntypes
 * values.
 *   Owns     *out is the caller's; packed_part_done() it
 *   Errors   as packed_decode()
 */
MUST_CHECK int
packed_part_read(const void *p, size_t n, size_t max_bytes, uint32_t nrows,
                 uint32_t ntypes, struct packed_part *out);
/*
 * Adds up parts of one base: packed_counts_begin() takes all values from a
 * decoded base, packed_counts_add() adds those of a part, multiplied, and
 * packed_counts_end() leaves out all rows of which no part has a sample. Until
 * then, such samples have no stack, and the next sum may begin.
 *   Errors   -EOVERFLOW: begin again; -ENOMEM: k can only be freed
 */
void packed_counts_begin(struct packed *k);
MUST_CHECK int
packed_counts_add(struct packed *k, const struct packed_part *part,
                  int64_t weight);
MUST_CHECK int packed_counts_end(struct packed *k);
/*
 * Returns the profile with its stacks written out, and leaves k empty. No rows
 * can be added to the profile.
 *
 *   Units    max_bytes bounds the stacks
 *   Errors   -E2BIG past max_bytes or PROFILE_MAX_ROWS, -ENOMEM; k is unchanged
 */
MUST_CHECK int
packed_profile(struct packed *k, size_t max_bytes, struct profile **out);
/* Returns the location of a sample's innermost frame, or PROFILE_NONE if it has
 * none. */
static inline uint32_t
packed_leaf(const struct packed *k, const struct sample *s)
{
	uint32_t at = s->nstack ? k->p->stack[s->stack0] : PROFILE_NONE;

	if (!k->nodes || at == PROFILE_NONE)
		return at;
	return at ? k->nodes[at].location : PROFILE_NONE;
}
