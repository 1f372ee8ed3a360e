/* The bodies that a host of a fleet sends, and the one that it gets. */
#pragma once

#include "agent.h"

#define AGENT_POLL_MAX  ((size_t)1 << 20) /* as routes.def has it */
#define AGENT_ORDER_MAX ((size_t)8 << 20)
#define AGENT_FULL      200 /* held jobs from which on none is asked for */

/*
 * Writes the body of a poll; what it tells is noted in *a.
 *   Errors   -errno
 */
MUST_CHECK int agent_put_poll(struct agent *a, const struct agent_held_list *l,
                              int64_t now_ns, struct buf *out);
/*
 * Does what the centre wants.
 *   Shape    text[n] is its reply
 *   Units    *out_poll_ms: when to ask again
 *   Errors   -EBADMSG for a reply that is none, -errno of the store
 */
MUST_CHECK int agent_take_orders(struct agent *a, const char *text, size_t n,
                                 int64_t *out_poll_ms);
/*
 * Makes the body of a result in a file.
 *   Owns     *out_fd is the caller's
 *   Errors   -errno
 */
MUST_CHECK int
agent_open_result(struct agent *a, const struct agent_held *h, int *out_fd);
