/*
 * The call tree: samples merged by name from the root down, as columns in
 * preorder. Every picture (flame graph JSON, SVG, HTML) is drawn from it, and
 * top functions are counted on it.
 *
 * Frames of one function at different addresses or lines are one node;
 * inlined functions are frames of their own. The root is node 0, named
 * "all". Children are ordered by name, so that graphs of two captures look
 * alike.
 */
#pragma once

#include "profile/profile.h"

struct tree {
	const struct profile *profile; /* borrowed: must outlive the tree */
	uint32_t type;                 /* value type counted */
	uint32_t n;                    /* nodes */
	uint32_t *depth;               /* root 0 */
	uint32_t *name;                /* index into names */
	int64_t *self, *total;         /* in the type's unit */
	int64_t total_samples;         /* sum of the first value type */

	struct strings *names; /* function, or module+0xoff */
	uint32_t *packages;    /* by name: id in names; Go package or module */
	uint32_t npackages;    /* = strings_count(names) when built */
};

/*
 * Builds the tree of one value type.
 *   Errors   -ENOMEM, -E2BIG, -EINVAL no such type; *out untouched
 */
MUST_CHECK int
tree_new(const struct profile *p, uint32_t type, struct tree **out);
void tree_free(struct tree *t);
DEFINE_CLEANUP(struct tree *, tree_free)
#define CLEANUP_TREE CLEANUP(tree_free_ptr)

/* One function over the whole tree. */
struct top_entry {
	uint32_t name;       /* in t->names */
	int64_t self, total; /* recursion counted once */
	int64_t samples;     /* self, in samples */
};

/*
 * Functions by self descending (total, then name, breaks ties).
 *   Shape    *out[*n], all functions when max is 0
 *   Owns     *out is the caller's; free() it
 */
MUST_CHECK int tree_top(const struct tree *t, uint32_t max,
                        struct top_entry **out, uint32_t *n);
