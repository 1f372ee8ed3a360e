/*
 * Two profiles of one type as one call tree: the differential flame graph.
 *
 * A node is a path of names that either side has, and has a value on both;
 * it is new when the base has none of it, gone when the comparison has none.
 * The tree's own columns are the comparison's. Values of the base are kept as
 * captured; what they are held against the comparison's by is base * scale,
 * which says what the base would have cost in the comparison's stead.
 *
 * Function by function, the two are compared by compare.h. Its list decides
 * what the picture may show for certain: a node is sure to have changed when
 *
 * - its total passes the test that functions pass, by the same normalization,
 *   with a variance measured in the same blocks, among all nodes that are
 *   large enough to have moved by COMPARE_POINTS, and
 * - it has below it, or is, a listed function that moved the same way.
 *
 * Where no function is listed, no node is sure. A chain of nodes with the same
 * totals is one test, since it is one question.
 *
 * Source: Gregg, "Differential Flame Graphs", 2014: the shape is that of the
 * new profile.
 */
#pragma once

#include "profile/compare.h"
#include "profile/export.h"

/* Whose values are the widths. Words of ?shape=, in this order. */
enum diff_shape {
	DIFF_AFTER,  /* the comparison's: what is gone has no width */
	DIFF_BEFORE, /* the base's: what is new has none */
	DIFF_BOTH,   /* both added up */
};
extern const char *const diff_shapes[]; /* NULL at the end */

struct diff {
	const struct tree *base, *now; /* borrowed */
	struct tree *tree;             /* of both; values of now */
	int64_t *base_self, *base_total, *base_samples; /* by its nodes */
	bool *sure;         /* by its nodes: they changed by more than chance */
	enum compare_by by; /* that of the comparison */
	double scale;
};

/*
 * Zips the trees of one value type into one, children still by name.
 *
 *   Shape    c: of the same sides
 *   Owns     *out is the caller's; diff_free() it, before the sides
 *   Errors   -ENOMEM, -E2BIG as strings_add(); *out untouched
 */
MUST_CHECK int
diff_new(const struct compare_side *base, const struct compare_side *now,
         const struct comparison *c, struct diff **out);
void diff_free(struct diff *d);
DEFINE_CLEANUP(struct diff *, diff_free)
#define CLEANUP_DIFF CLEANUP(diff_free_ptr)

/* Total of the base at a node, on the comparison's scale. */
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
	const struct comparison *c; /* of the same trees */
	enum diff_shape shape;      /* at first */
};

struct diff_format {
	const char *name; /* row of formats.def: type and extension */
	const char *doc;
	/* Appends the view, like write() of struct format. */
	int (*write)(const struct diff *d, const struct diff_meta *meta,
	             struct buf *out);
};
extern const struct diff_format diff_formats[];
extern const size_t ndiff_formats;

/* NULL when there is none of that name. */
const struct diff_format *diff_format_find(const char *name);
