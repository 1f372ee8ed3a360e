/*
 * Stacks of goroutines, threads or samples, in replies.
 */
#pragma once

#include "base/json_out.h"
#include "profile/analysis.h"

/* Writes the members of a Stack into an open object. */
void analysis_put_stack(struct buf *out, const struct groups *g,
                        const struct group *x, int64_t count);
