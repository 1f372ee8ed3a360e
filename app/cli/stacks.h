/*
 * Stacks of goroutines and threads as people read them: a function a line,
 * innermost first. Callers that a stack shares with one above are counted
 * there, not repeated.
 */
#pragma once

#include "base/json.h"
#include "screen.h"

#define STACK_ROWS   10 /* stacks of a list, unless told */
#define STACK_LEAVES 9  /* functions shown of a deep stack: those innermost, */
#define STACK_ROOTS  2  /* and those that it began with */

struct stacks {
	const struct screen *screen;
	json_t *shown; /* of each that was shown */
};
#define CLEANUP_STACKS CLEANUP(stacks_done)

void stacks_done(struct stacks *k);
/*
 * Appends at most limit stacks of a list, numbered on from those before; of
 * two sessions where they have a baseCount and a compareCount.
 *
 *   Errors   out says so
 */
void stacks_show(struct stacks *k, const json_t *list, int64_t limit,
                 struct buf *out);
