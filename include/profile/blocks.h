/*
 * Cuts a capture, or a range, into blocks of time, so that its own time tells
 * how much chance moves the cost of a function or of a node of its tree.
 *
 * A sum has no variance that can be seen; the parts of the sum have. Blocks of
 * equal numbers of samples tell how shares vary, blocks of equal time tell how
 * much there was to do.
 *
 * The timeline of a capture can be cut anywhere. A range of continuous
 * profiling comes in parts of its own, windows and their rollups, which cannot
 * be cut: neighbours are joined to blocks of about one size. Profiles of the
 * same time, as of several hosts, are not independent, since requests come to
 * all of them alike: they are one stretch of time.
 *
 * Source: batch means; Law and Kelton, Simulation Modeling and Analysis, 9.5.
 */
#pragma once

#include "profile/packed.h"
#include "profile/timeline.h"
#include "profile/tree.h"

#define BLOCKS         32
#define BLOCKS_SAMPLES 100        /* fewer are not enough to measure */
#define BLOCKS_ROWS    (1u << 16) /* functions with a cost of their own */
/* Least degrees of freedom that a variance is measured with: about those of
 * four blocks of unequal size. */
#define BLOCKS_FREEDOM 2.5

/* The own cost of a function, or the total of one or of a node, in any
 * unit. */
struct block_row {
	double order[BLOCKS]; /* by block of about equal numbers of samples */
	double time[BLOCKS];  /* by block of about equal time */
};

struct blocks {
	uint32_t *row;    /* by name or node of the tree: index into rows; 0:
	                     no row */
	uint32_t nrow;    /* names or nodes that the tree had */
	uint32_t samples; /* counted; 0: all of the tree's */
	unsigned norder, ntime;
	double length[BLOCKS];  /* of the blocks of time, in any unit */
	struct block_row *rows; /* rows[0] is for all functions together */
};

/* Rows are functions, by their own cost, or nodes of the tree, by their
 * totals. A node with a small part of all cost has no row. */
enum blocks_what { BLOCKS_OF_FUNCTIONS, BLOCKS_OF_NODES };

/*
 * Cuts up the samples of one value type.
 *
 *   Owns     *out is the caller's; blocks_free() it. It keeps no pointers
 *   Errors   -ENODATA fewer than BLOCKS_SAMPLES, or nodes of an empty tree;
 *            -EBADMSG the timeline is of another profile, -E2BIG past
 *            BLOCKS_ROWS, -ENOMEM; *out untouched
 */
MUST_CHECK int
blocks_of_timeline(const struct tree *t, const struct timeline *line,
                   enum blocks_what what, struct blocks **out);
/*
 * Makes rows of functions, by their totals, of rows of nodes of t: a stack
 * counts once for each function on it.
 *
 *   Owns     *out is the caller's; blocks_free() it
 *   Errors   -ENOMEM; *out untouched
 */
MUST_CHECK int
blocks_of_totals(const struct tree *t, const struct blocks *nodes,
                 struct blocks **out);
void blocks_free(struct blocks *b);
DEFINE_CLEANUP(struct blocks *, blocks_free)
#define CLEANUP_BLOCKS CLEANUP(blocks_free_ptr)

/* Returns the row of a name, or of a node; NULL when there is none. */
static inline const struct block_row *
blocks_row(const struct blocks *b, uint32_t name)
{
	uint32_t row = name < b->nrow ? b->row[name] : 0;

	return row ? &b->rows[row] : NULL;
}

/* --- parts of a range ----------------------------------------------------- */

/* A part of a range, as far as it is known before it is read. */
struct blocks_part {
	int64_t start_ms, end_ms;
	double seconds; /* captured within */
	double samples; /* about; blocks are made equal by this */
	double each;    /* weight of a value: of a sum 1, of a gauge the time
	                   that it stands for */
};

struct blocks_parts {
	const struct blocks_part *parts; /* in order of their starts */
	size_t n;
	/* Hands over the profile of a part, whose default value type counts;
	 * parts are read in order. A part that is left empty is skipped. */
	int (*read)(void *arg, size_t part, struct packed *out);
	void *arg;
};

/*
 * How many parts of equal length these are worth; parts at one time count
 * once. Splitting parts is of use until this is BLOCKS.
 *
 *   Source   effective sample size; Kish, Survey Sampling, 8.2, 1965
 */
double blocks_worth(const struct blocks_part *parts, size_t n);

/*
 * Adds up parts, which together are the tree's profile.
 *
 *   Errors   as blocks_of_timeline(), and those of read; -ENODATA there are
 *            too few parts, or one outweighs the rest: they have less than
 *            BLOCKS_FREEDOM; -EINVAL a part has no value type
 */
MUST_CHECK int
blocks_of_parts(const struct tree *t, const struct blocks_parts *of,
                enum blocks_what what, struct blocks **out);

/*
 * Degrees of freedom of a variance that is estimated from n blocks of these
 * sizes, every `each` neighbours joined to one: n - 1 where they are equal.
 *
 *   Source   Satterthwaite's formula for residuals; Bell and McCaffrey,
 *            Survey Methodology 28, 2002: the variance of a block is taken
 *            to be proportional to its size
 */
double blocks_freedom(const double *size, unsigned n, unsigned each);
