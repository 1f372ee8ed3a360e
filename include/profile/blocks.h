/*
 * How a capture's own time tells what chance makes of it: the cost of each
 * function, or of each node of its tree, over up to BLOCKS stretches of it.
 *
 * A total has no variance of its own; what its parts differ by does. Parts of
 * equal numbers of samples say how the shares of functions vary, parts of
 * equal time how much there was to do.
 *
 * A capture with a timeline is cut up as it lies. A range of continuous
 * profiling comes in parts of its own, windows and their rollups, which can't
 * be cut: neighbours are joined to blocks that are about as large as each
 * other. Profiles of one time, as of several hosts, are no independent ones,
 * since what comes in from outside comes to all of them: they are one stretch.
 *
 * Source: batch means; Law and Kelton, Simulation Modeling and Analysis, 9.5.
 */
#pragma once

#include "profile/packed.h"
#include "profile/timeline.h"
#include "profile/tree.h"

#define BLOCKS         32
#define BLOCKS_SAMPLES 100        /* fewer tell nothing */
#define BLOCKS_ROWS    (1u << 16) /* functions with a cost of their own */
/* Fewer degrees of freedom, those of four blocks as large as each other and
 * some for their being not, tell next to nothing. */
#define BLOCKS_FREEDOM 2.5

/* Own cost of a function, or total of a node, in any unit. */
struct block_row {
	double order[BLOCKS]; /* of about equal numbers of samples */
	double time[BLOCKS];  /* of about equal time */
};

struct blocks {
	uint32_t *row;    /* by name or node of the tree: of rows; 0: none */
	uint32_t nrow;    /* names or nodes that the tree had */
	uint32_t nrows;   /* at least 1 */
	uint32_t samples; /* counted; 0: all of the tree's */
	unsigned norder, ntime;
	double length[BLOCKS];  /* of the blocks of time, in any unit */
	struct block_row *rows; /* [0]: of all functions together */
};

/*
 * Cuts up the samples of one value type, by the innermost function.
 *
 *   Owns     *out is the caller's; blocks_free() it. It keeps no pointers
 *   Errors   -ENODATA fewer than BLOCKS_SAMPLES, -EBADMSG the timeline is of
 *            another profile, -E2BIG past BLOCKS_ROWS, -ENOMEM; *out
 *            untouched
 */
MUST_CHECK int blocks_new(const struct tree *t, const struct timeline *line,
                          struct blocks **out);
/*
 * Cuts up the totals of the tree's nodes instead. Small nodes have no row.
 *   Errors   as blocks_new(), and -ENODATA where the tree is empty
 */
MUST_CHECK int
blocks_new_nodes(const struct tree *t, const struct timeline *line,
                 struct blocks **out);
void blocks_free(struct blocks *b);
DEFINE_CLEANUP(struct blocks *, blocks_free)
#define CLEANUP_BLOCKS CLEANUP(blocks_free_ptr)

/* The row of a name, or of a node; NULL when there is none. */
static inline const struct block_row *
blocks_of(const struct blocks *b, uint32_t name)
{
	uint32_t row = name < b->nrow ? b->row[name] : 0;

	return row ? &b->rows[row] : NULL;
}

/* --- of parts ------------------------------------------------------------- */

/* What is known of a part of a range before it is read. */
struct blocks_part {
	int64_t start_ms, end_ms;
	double seconds; /* captured within */
	double samples; /* about: what blocks are made equal by */
};

/*
 * As how many parts of equal length they count, in order of their starts, at
 * one time but once: more of shorter ones are of use until this is BLOCKS.
 *
 *   Source   effective sample size; Kish, Survey Sampling, 8.2, 1965
 */
double blocks_worth(const struct blocks_part *parts, size_t n);

/*
 * Adds parts up to blocks, one after the other:
 *
 *	blocks_sum_new(parts, n, &s)
 *	blocks_sum_add(s, i, profile, each)	every part that has a profile
 *	blocks_sum_end(s, tree, &blocks)	tree: of all parts together
 */
struct blocks_sum;

/*
 * Tells which parts are which blocks; parts come in order of their starts and
 * are not kept.
 *   Errors   -ENODATA they are too few, or one outweighs the rest: they have
 *            less than BLOCKS_FREEDOM; -ENOMEM
 */
MUST_CHECK int blocks_sum_new(const struct blocks_part *parts, size_t n,
                              struct blocks_sum **out);
/* Sums by the nodes of a tree, which must outlive the sum; -ENODATA also
 * where the tree is empty. */
MUST_CHECK int
blocks_sum_new_nodes(const struct blocks_part *parts, size_t n,
                     const struct tree *t, struct blocks_sum **out);
void blocks_sum_free(struct blocks_sum *s);
DEFINE_CLEANUP(struct blocks_sum *, blocks_sum_free)
#define CLEANUP_BLOCKS_SUM CLEANUP(blocks_sum_free_ptr)
/*
 * Adds the default value type of a part's profile, by the innermost function
 * or by nodes.
 *
 *   Units    each is what its values are weighed by: of sums 1, of a gauge
 *            the time that it stands for
 *   Errors   -E2BIG past BLOCKS_ROWS, -EINVAL no value type, -ENOMEM
 */
MUST_CHECK int blocks_sum_add(struct blocks_sum *s, size_t part,
                              const struct packed *k, double each);
/*
 * Hands over what was added, by the names of a tree or by its nodes. s is of
 * no use after.
 *   Errors   as blocks_sum_new(), by what the blocks turned out to hold
 */
MUST_CHECK int
blocks_sum_end(struct blocks_sum *s, const struct tree *t, struct blocks **out);

/*
 * Degrees of freedom that n blocks of these sizes leave a variance, every
 * `each` neighbours joined to one: those of n - 1 where they are equal.
 *
 *   Source   Satterthwaite's, as Bell and McCaffrey have it for residuals,
 *            Survey Methodology 28, 2002, of blocks whose variance is
 *            proportional to their size
 */
double blocks_freedom(const double *size, unsigned n, unsigned each);
