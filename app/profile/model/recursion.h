/* Stacks without repetitions of functions. */
#pragma once

#include "profile/profile.h"

/*
 * Removes repetitions from stacks: of the frames of one function, by name, the
 * innermost takes the place of the outermost, and the frames between them are
 * removed. The self cost of each function stays. Nothing may be added to p
 * after this.
 *
 *   Errors   -ENOMEM; -E2BIG past TREE_MAX_FRAMES of all samples together, or
 *            past ROWS_MAX; p is unchanged
 */
MUST_CHECK int recursion_fold(struct profile *p);
