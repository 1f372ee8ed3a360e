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

/* What has rows: functions by what they cost themselves, or nodes of the tree
 * by their totals. Nodes with a small part of all cost have none. */
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
void blocks_free(struct blocks *b);
DEFINE_CLEANUP(struct blocks *, blocks_free)
#define CLEANUP_BLOCKS CLEANUP(blocks_free_ptr)

/* The row of a name, or of a node; NULL when there is none. */
static inline const struct block_row *
blocks_row(const struct blocks *b, uint32_t name)
{
	uint32_t row = name < b->nrow ? b->row[name] : 0;

	return row ? &b->rows[row] : NULL;
}

/* --- of parts ------------------------------------------------------------- */

/* What is known of a part of a range before the part is read. */
struct blocks_part {
	int64_t start_ms, end_ms;
	double seconds; /* captured within */
	double samples; /* about: what blocks are made equal by */
	double each;    /* what values are weighed by: of sums 1, of a gauge
	                   the time that a value stands for */
};

struct blocks_parts {
	const struct blocks_part *parts; /* in order of their starts */
	size_t n;
	/* Reads a part, in its turn: its default value type counts. The
	 * profile is handed over; one that is left empty is skipped. */
	int (*read)(void *arg, size_t part, struct packed *out);
	void *arg;
};

/*
 * As how many parts of equal length they count, in order of their starts, at
 * one time but once: more of shorter ones are of use until this is BLOCKS.
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
 * Degrees of freedom that n blocks of these sizes leave a variance, every
 * `each` neighbours joined to one: those of n - 1 where they are equal.
 *
 *   Source   Satterthwaite's, as Bell and McCaffrey have it for residuals,
 *            Survey Methodology 28, 2002, of blocks whose variance is
 *            proportional to their size
 */
double blocks_freedom(const double *size, unsigned n, unsigned each);
