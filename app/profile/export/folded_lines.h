/* Folded stacks with any counts behind them. */
#pragma once

#include "profile/tree.h"

/* Appends what a node's line ends in; nothing: it has no line. */
typedef void folded_counts(const void *arg, uint32_t node, struct buf *text);

/* Appends a line for each node that has counts; -ENOMEM, -E2BIG. */
MUST_CHECK int folded_lines(const struct tree *t, folded_counts *counts,
                            const void *arg, struct buf *out);
