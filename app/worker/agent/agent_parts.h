/* The bodies that a host of a fleet sends, and the one that it receives. */
#pragma once

#include "agent.h"
#include "base/json.h"

#define AGENT_POLL_MAX   ((size_t)1 << 20) /* as in routes.def */
#define AGENT_ORDER_MAX  ((size_t)8 << 20)
#define AGENT_ANSWER_MAX ((uint64_t)65536) /* bytes, to a result or a block */
#define AGENT_FULL       200 /* held jobs at which no more are requested */

/*
 * Writes the body of a poll, and records its contents in *a.
 *   Errors   -errno
 */
MUST_CHECK int agent_put_poll(struct agent *a, const struct agent_held_list *l,
                              int64_t now_ns, struct buf *out);
/*
 * Carries out the centre's orders.
 *   Shape    text[n] is its reply
 *   Units    *out_poll_ms: ms until the next poll
 *   Errors   -EBADMSG a malformed reply; -errno of the store
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

/* Sends a request with a body to the centre through the courier; its answer
 * will have *out_id. */
MUST_CHECK int agent_ask(struct agent *a, const char *path, const char *type,
                         uint64_t max, int body, uint64_t *out_id);
/* True once a job's capture has ended, or its session is gone. */
bool agent_has_ended(const struct agent_held *h);
/* Parses an answer as JSON; NULL if it is not JSON. */
json_t *agent_read_answer(int body);
/* True for a status which means that the centre will never take these bytes. */
bool agent_is_refusal(uint32_t status);
/* Writes why a request failed, from its answer. */
void
agent_why_not(const struct fetch_answer *f, int body, char *out, size_t size);
/* Logs why requests to the centre fail, unless the same reason was logged
 * last. */
void agent_complain(struct agent *a, const char *why);
/* Returns the time to wait after a number of successive failures. */
int64_t agent_pause_ns(unsigned failures);
int64_t agent_jitter_ns(int64_t ms);

/* Sends a block of windows if one is due and none is in progress. */
void agent_send_blocks(struct agent *a, int64_t now_ns);
/* Takes the answer to a block. */
void agent_take_block(struct agent *a, const struct fetch_answer *f, int body,
                      int64_t now_ns);
