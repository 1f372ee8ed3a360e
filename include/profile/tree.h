/*
 * The call tree: samples merged by function name from the root down, as columns
 * in preorder. Every picture (flame graph JSON, SVG, HTML) and the list of top
 * functions are made from it.
 *
 * Frames of one function at different addresses or lines are one node; inlined
 * functions are separate frames. The root is node 0, named "all". Children are
 * ordered by name, so that graphs of two captures look alike.
 */
#pragma once

#include "profile/profile.h"

#define TREE_MAX_NODES  (1u << 22)
#define TREE_MAX_FRAMES (1u << 27) /* of all samples together; bounds time */

/* The place of a function: that of the first location that has it. */
struct tree_home {
	uint32_t package; /* id in packages: see tree_package() */
	uint32_t file;    /* id in files: its source file; 0: unknown */
	uint32_t line;    /* the function's first line in file, or else the
	                     first line seen; 0: unknown */
};

struct tree {
	const struct profile *profile; /* borrowed: must outlive the tree */
	uint32_t type;                 /* value type counted */
	uint32_t n;                    /* nodes, at least the root */
	uint32_t *depth;               /* root 0 */
	uint32_t *end;                 /* one past the last node below */
	uint32_t *name;                /* id in names */
	int64_t *self, *total;         /* in the type's unit */
	int64_t *samples;              /* self, in samples */
	int64_t total_samples;
	bool counted; /* samples are known; else all of them are 0 */

	struct strings *names; /* functions, or module+0xoff */
	struct strings *packages, *files;
	struct tree_home *home;   /* by id in names */
	const struct tree *named; /* the tree that owns the names, and must
	                             outlive this one; NULL if this one does */
	struct tree_ranks *ranks; /* private: for tree_visible() */
};

/*
 * Builds the tree of one value type. Samples with a value of 0 are left out.
 * Samples are counted by the nearest value type up to this one that has the
 * unit "count" (for inuse_space, inuse_objects), or else by one named
 * "samples", or else by the profile's period if it has the unit of the type. A
 * profile with none of these does not say how many samples it has.
 *
 *   Owns     *out is the caller's; tree_free() it
 *   Errors   -ENOMEM, -EINVAL no such type, -E2BIG past TREE_MAX_, -EOVERFLOW
 *            when a sum leaves int64; *out untouched
 */
MUST_CHECK int
tree_new(const struct profile *p, uint32_t type, struct tree **out);
/*
 * Adds up the values of a type, and its samples, as the tree has them in its
 * root, without building it.
 *   Errors   -EINVAL, -EOVERFLOW as tree_new()
 */
MUST_CHECK int tree_sums(const struct profile *p, uint32_t type,
                         int64_t *out_total, int64_t *out_samples);
/*
 * As tree_new(), but builds a tree without stacks: every function is a child of
 * the root, in any order, and its total is that of all stacks that contain it,
 * recursion counted once. This takes a fraction of the time and memory, and is
 * enough for tree_top(), compare_new() and blocks of functions.
 */
MUST_CHECK int
tree_functions(const struct profile *p, uint32_t type, struct tree **out);
/*
 * Builds a tree of at most `most` nodes, for a picture, from the profile of a
 * tree made by tree_functions(), whose names it shares. If tree_new() would
 * make more, nodes with small totals are left out, with all nodes below them;
 * the values of the others are those of tree_new().
 *
 *   Shape    nodes with a total below *left_out are missing; 0 if none are
 *   Owns     *out is the caller's; it shares the names of functions, which must
 *            outlive it
 */
MUST_CHECK int tree_visible(const struct tree *functions, uint32_t most,
                            struct tree **out, int64_t *left_out);
void tree_free(struct tree *t);
DEFINE_CLEANUP(struct tree *, tree_free)
#define CLEANUP_TREE CLEANUP(tree_free_ptr)

/* Allocates columns for n nodes in t, which must have none. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int tree_columns(struct tree *t, size_t n);

/* Returns the text of an id in names, and its length in *n unless n is NULL. */
static inline const char *
tree_name(const struct tree *t, uint32_t name, size_t *n)
{
	return strings_get(t->names, name, n);
}

/*
 * Returns the package of a function: the package path of a Go function, or else
 * the last part of the path of the module of the first location that has it; ""
 * if unknown.
 */
static inline const char *
tree_package(const struct tree *t, uint32_t name, size_t *n)
{
	return strings_get(t->packages, t->home[name].package, n);
}

/*
 * Finds the heaviest node at the end of a path.
 *   Shape    path is "a;b;c", the last of it the node's name, and what is before
 *            it the names of callers; ';' in names is ':'
 *   Errors   -ENOENT, -ENOMEM; *out untouched
 */
MUST_CHECK int tree_find(const struct tree *t, const char *path, uint32_t *out);

#define TREE_MAX_NAMED 32

/* The cost of the function, or of all functions of the package, that has a
 * name. */
struct named_cost {
	const char *name;
	int64_t self, total; /* recursion counted once */
};
/* Finds the costs of at most TREE_MAX_NAMED names. Returns 0 or -ENOMEM. */
MUST_CHECK int
tree_named_cost(const struct tree *t, struct named_cost *all, size_t n);

/* The cost of one function in the whole tree. */
struct top_entry {
	uint32_t name;       /* in t->names */
	int64_t self, total; /* recursion counted once */
	int64_t samples;     /* self, in samples */
};

/*
 * Lists functions, in the order of their ids in names.
 *   Shape    *out[*n]
 *   Owns     *out is the caller's; free() it
 *   Errors   -ENOMEM; outputs untouched
 */
MUST_CHECK int
tree_costs(const struct tree *t, struct top_entry **out, uint32_t *n);
/* As tree_costs(), by self, descending; ties are broken by total, then by name.
 * At most max functions; all if max is 0. */
MUST_CHECK int tree_top(const struct tree *t, uint32_t max,
                        struct top_entry **out, uint32_t *n);
