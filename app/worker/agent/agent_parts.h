/* The bodies that a host of a fleet sends, and the one that it gets. */
#pragma once

#include "agent.h"
#include "base/json.h"

#define AGENT_POLL_MAX   ((size_t)1 << 20) /* as routes.def has it */
#define AGENT_ORDER_MAX  ((size_t)8 << 20)
#define AGENT_ANSWER_MAX ((uint64_t)65536) /* to a result or a block */
#define AGENT_FULL       200 /* held jobs from which on none is asked for */

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

/* Sends a request with a body to the centre by the courier; *out_id is that of
 * its answer. */
MUST_CHECK int agent_ask(struct agent *a, const char *path, const char *type,
                         uint64_t max, int body, uint64_t *out_id);
/* True once a job's capture is over, or its session gone. */
bool agent_has_ended(const struct agent_held *h);
/* Reads an answer as JSON; NULL when it is none. */
json_t *agent_read_answer(int body);
/* True for statuses by which the centre says that it never takes these bytes.
 */
bool agent_is_refusal(uint32_t status);
/* Says why an answer is not the one that was hoped for. */
void
agent_why_not(const struct fetch_answer *f, int body, char *out, size_t size);
/* Logs what keeps the centre from its work, once as long as it does. */
void agent_complain(struct agent *a, const char *why);
/* How long to wait after so many failures, one after another. */
int64_t agent_pause_ns(unsigned failures);
int64_t agent_jitter_ns(int64_t ms);

/* Sends a block of windows if one is due and none is under way. */
void agent_send_blocks(struct agent *a, int64_t now_ns);
/* Takes the answer to that. */
void agent_take_block(struct agent *a, const struct fetch_answer *f, int body,
                      int64_t now_ns);
