/*
 * Cuts a capture, or a range, into blocks of time. The differences between its
 * blocks show how far chance moves the cost of a function, or of a node of its
 * tree.
 *
 * A sum shows no variance; its parts do. Blocks with equal numbers of samples
 * show how shares vary, blocks of equal time show how the load varies.
 *
 * The timeline of a capture can be cut anywhere. A range of continuous
 * profiling consists of windows and rollups, which cannot be cut; neighbours
 * are joined to blocks of about equal size. Profiles of several hosts at the
 * same time are not independent, because they share the load: they count as one
 * stretch of time.
 *
 * Source: batch means; Law and Kelton, Simulation Modeling and Analysis, 9.5.
 */
#pragma once

#include "profile/packed.h"
#include "profile/timeline.h"
#include "profile/tree.h"

#define BLOCKS         32
#define BLOCKS_SAMPLES 100        /* fewer are too few to measure */
#define BLOCKS_ROWS    (1u << 16) /* functions with a self cost */
/* Fewest degrees of freedom that a variance is measured with: about those of
 * four blocks of unequal size. */
#define BLOCKS_FREEDOM 2.5

/* The self cost of a function, or the total of a function or a node, in any
 * unit. */
struct block_row {
	double order[BLOCKS]; /* blocks of about equal numbers of samples */
	double time[BLOCKS];  /* blocks of about equal time */
};

struct blocks {
	uint32_t *row; /* by name or node of the tree: index into rows, 0 if it
	                  has none */
	uint32_t nrow; /* length of row[]: names or nodes of the tree */
	uint32_t samples; /* counted; 0 for all of the tree's */
	unsigned norder, ntime;
	double length[BLOCKS];  /* length of each block of time, in any unit */
	struct block_row *rows; /* rows[0] is for all functions together */
};

/* Rows are functions, with their self cost, or nodes of the tree, with their
 * totals. A node with a small share of all cost has no row. */
enum blocks_what { BLOCKS_OF_FUNCTIONS, BLOCKS_OF_NODES };

/*
 * Cuts the samples of one value type, by their timeline.
 *
 *   Owns     *out is the caller's; blocks_free() it. It does not refer to the
 *            tree or the timeline
 *   Errors   -ENODATA fewer than BLOCKS_SAMPLES, or nodes of an empty tree;
 *            -EBADMSG the timeline belongs to another profile; -E2BIG past
 *            BLOCKS_ROWS; -ENOMEM; *out untouched
 */
MUST_CHECK int
blocks_of_timeline(const struct tree *t, const struct timeline *line,
                   enum blocks_what what, struct blocks **out);
/*
 * Makes rows of functions, with their totals, from rows of nodes of t. A stack
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

/* Returns the row of a name or node; NULL if there is none. */
static inline const struct block_row *
blocks_row(const struct blocks *b, uint32_t name)
{
	uint32_t row = name < b->nrow ? b->row[name] : 0;

	return row ? &b->rows[row] : NULL;
}

/* --- parts of a range ----------------------------------------------------- */

/* A part of a range, before it is read. */
struct blocks_part {
	int64_t start_ms, end_ms;
	double seconds; /* of capture within the part */
	double samples; /* estimate, by which blocks are made equal */
	double each;    /* weight of a value: 1 for a sum; for a gauge, the
	                   seconds that it covers */
};

struct blocks_parts {
	const struct blocks_part *parts; /* in order of their starts */
	size_t n;
	/* Reads the next profile, whose default value type is counted, and says
	 * which part it is. Each part comes once, in any order; one without
	 * rows is skipped.
	 *   Owns     *out is valid until the next call
	 *   Errors   -ENODATA after the last part */
	int (*next)(void *arg, size_t *part, const struct packed **out);
	void *arg;
};

/*
 * A stretch is a group of parts at about the same time: those that begin within
 * the length of the longest of them.
 */
struct stretch {
	double seconds, samples;
};
struct stretches {
	uint32_t *of;  /* by part */
	double *fresh; /* per part: seconds not covered by an earlier part */
	struct stretch *items;
	uint32_t n;
};
#define CLEANUP_STRETCHES CLEANUP(stretches_done)
/* -ENOMEM; stretches_done() it in any case. */
MUST_CHECK int stretches_init(struct stretches *s,
                              const struct blocks_part *parts, size_t n);
void stretches_done(struct stretches *s);

/*
 * Returns the effective number of parts: n parts of equal length count as n,
 * parts at the same time count once. Splitting parts helps until this reaches
 * BLOCKS.
 *
 *   Source   effective sample size; Kish, Survey Sampling, 8.2, 1965
 */
double blocks_worth(const struct blocks_part *parts, size_t n);

/*
 * Makes blocks from parts, which together are the tree's profile.
 *
 *   Errors   those of blocks_of_timeline() and of read; -ENODATA the parts have
 *            less than BLOCKS_FREEDOM: they are too few, or one outweighs the
 *            rest; -EINVAL a part has no value type
 */
MUST_CHECK int
blocks_of_parts(const struct tree *t, const struct blocks_parts *of,
                enum blocks_what what, struct blocks **out);

/*
 * Returns the degrees of freedom of a variance estimated from n blocks of these
 * sizes, each `each` neighbours joined: one less than the number of joined
 * blocks if their sizes are equal.
 *
 *   Source   Satterthwaite's formula for residuals; Bell and McCaffrey, Survey
 *            Methodology 28, 2002: the variance of a block is taken to be
 *            proportional to its size
 */
double blocks_freedom(const double *size, unsigned n, unsigned each);
