/*
 * Writes folded stacks with counts chosen by the caller.
 */
#pragma once

#include "profile/tree.h"

/* Returns the column of a tree that its folded form counts: for CPU time
 * samples, if they are known and have the same shares; else the type's
 * value. */
const int64_t *folded_column(const struct tree *t);
/* Appends the counts of a node's line. If it appends nothing, the node has no
 * line. */
typedef void folded_counts(const void *arg, uint32_t node, struct buf *text);

/* Appends a line for each node that has counts. Returns -ENOMEM, -E2BIG. */
MUST_CHECK int folded_lines(const struct tree *t, folded_counts *counts,
                            const void *arg, struct buf *out);
