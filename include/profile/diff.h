/*
 * The differential flame graph: two profiles of one type as one call tree.
 *
 * A node is a path of names that either side has. It has a value on each side;
 * it is new if the base has none, and gone if the comparison has none. The
 * tree's columns hold the comparison's values. Values of the base are kept as
 * captured, and multiplied by scale when they are set against the comparison's:
 * the product is what the base would have cost in its place.
 *
 * compare.h compares the two function by function, and its list decides which
 * changes the picture may show as certain. A node has certainly changed when
 * its total passes the test for functions, with the same normalization and a
 * variance measured in the same blocks, among all nodes that are large enough
 * to have moved by COMPARE_POINTS, and when it is, or has below it, a listed
 * function that moved in the same direction.
 *
 * If no function is listed, no node is certain. A chain of nodes with equal
 * totals is tested once.
 *
 * Source: Gregg, "Differential Flame Graphs", 2014: the shape is that of the
 * new profile.
 */
#pragma once

#include "profile/compare.h"
#include "profile/export.h"

/* The side whose values give the widths; the values of ?shape=, in this
 * order. */
enum diff_shape {
	DIFF_AFTER,  /* the comparison: gone nodes have no width */
	DIFF_BEFORE, /* the base: new nodes have no width */
	DIFF_BOTH,   /* the sum of both */
};
extern const char *const diff_shapes[]; /* NULL at the end */

struct diff {
	const struct tree *base, *now; /* borrowed */
	struct tree *tree;             /* nodes of both; values of now */
	int64_t *base_self, *base_total, *base_samples; /* by node of tree */
	bool *sure;         /* by node of tree: it has certainly changed */
	enum compare_by by; /* as in the comparison */
	double scale;
};

/*
 * Merges two trees of one value type; children stay ordered by name.
 *
 *   Shape    c is the comparison of the same sides
 *   Owns     *out is the caller's; diff_free() it, before the sides
 *   Errors   -ENOMEM, -E2BIG as strings_add(); *out untouched
 */
MUST_CHECK int
diff_new(const struct compare_side *base, const struct compare_side *now,
         const struct comparison *c, struct diff **out);
void diff_free(struct diff *d);
DEFINE_CLEANUP(struct diff *, diff_free)
#define CLEANUP_DIFF CLEANUP(diff_free_ptr)

/* Returns the base's total of a node, multiplied by scale. */
static inline double
diff_base(const struct diff *d, uint32_t node)
{
	return (double)d->base_total[node] * d->scale;
}

static inline double
diff_delta(const struct diff *d, uint32_t node)
{
	return (double)d->tree->total[node] - diff_base(d, node);
}

/* --- views ---------------------------------------------------------------- */

struct diff_meta {
	struct export_meta base, now;
	const struct comparison *c; /* of the two trees */
	enum diff_shape shape;      /* to show first */
};

struct diff_format {
	const char
		*name; /* row of formats.def, for content type and extension */
	enum compare_by by; /* what it shows by default */
	const char *doc;
	/* Appends the view, like write() of struct format. */
	int (*write)(const struct diff *d, const struct diff_meta *meta,
	             struct buf *out);
};
extern const struct diff_format diff_formats[];
extern const size_t ndiff_formats;

/* Finds a format by name; NULL if there is none. */
const struct diff_format *diff_format_find(const char *name);
