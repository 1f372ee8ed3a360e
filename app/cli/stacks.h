/*
 * Prints stacks of goroutines and threads for people: one function per line,
 * innermost first. Callers that a stack shares with an earlier one are
 * counted, not repeated.
 */
#pragma once

#include "base/json.h"
#include "screen.h"

#define STACK_ROWS   10 /* default number of stacks of a list */
#define STACK_LEAVES 9  /* functions shown of a deep stack: the innermost */
#define STACK_ROOTS  2  /* outermost functions shown of a deep stack */

struct stacks {
	const struct screen *screen;
	json_t *shown; /* the stacks shown so far */
};
#define CLEANUP_STACKS CLEANUP(stacks_done)

void stacks_done(struct stacks *k);
/*
 * Appends at most limit stacks of a list, and continues the numbering. Stacks
 * with baseCount and compareCount are shown as a comparison.
 *
 *   Errors   buf_err(out)
 */
void stacks_show(struct stacks *k, const json_t *list, int64_t limit,
                 struct buf *out);
