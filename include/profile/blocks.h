/*
 * How a capture's own time tells what chance makes of it: the cost of each
 * function over BLOCKS stretches of it.
 *
 * A total has no variance of its own; what its parts differ by does. Parts of
 * equal numbers of samples say how the shares of functions vary, parts of
 * equal time how much there was to do.
 *
 * Source: batch means; Law and Kelton, Simulation Modeling and Analysis, 9.5.
 */
#pragma once

#include "profile/timeline.h"
#include "profile/tree.h"

#define BLOCKS         32
#define BLOCKS_SAMPLES 100        /* fewer tell nothing */
#define BLOCKS_ROWS    (1u << 16) /* functions with a cost of their own */

/* Own cost of a function, in the unit of the timeline's weights. */
struct block_row {
	float order[BLOCKS]; /* of equal numbers of samples */
	float time[BLOCKS];  /* of equal time */
};

struct blocks {
	uint32_t *row;    /* by name of the tree: of rows; 0: it has none */
	uint32_t nnames;  /* that the tree had */
	uint32_t nrows;   /* at least 1 */
	uint32_t samples; /* counted */
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
void blocks_free(struct blocks *b);
DEFINE_CLEANUP(struct blocks *, blocks_free)
#define CLEANUP_BLOCKS CLEANUP(blocks_free_ptr)

/* NULL for a function without own cost in them. */
static inline const struct block_row *
blocks_of(const struct blocks *b, uint32_t name)
{
	uint32_t row = name < b->nnames ? b->row[name] : 0;

	return row ? &b->rows[row] : NULL;
}
