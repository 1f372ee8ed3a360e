/*
 * Stacks of goroutines, threads or samples, in replies.
 */
#pragma once

#include "endpoint/call.h"
#include "profile/analysis.h"
#include "store/session.h"

/* Writes the members of a Stack into an open object. */
void analysis_put_stack(struct buf *out, const struct groups *g,
                        const struct group *x, int64_t count);
/*
 * Analyses the goroutines of a session or window, whose profile is p, compared
 * with the newest earlier baseline, or else with the session before.
 *   Errors   -1 with the reply
 */
MUST_CHECK int analysis_of(struct call *c, const struct session *s,
                           const struct profile *p, struct analysis **out);
