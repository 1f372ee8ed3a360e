/*
 * Symbolizes stored profiles again, one at a time: the analyser gets the old
 * profile and an empty file for the new one, which replaces the old in one
 * transaction. If the worker dies meanwhile, the old one stays.
 */
#pragma once

#include "worker/ipc/messages.h"
#include "store/symbolize.h"

struct symbolizing {
	struct symbolize asked;     /* session is NULL when none is being
	                               symbolized */
	struct blob_writer profile; /* the new one */
	int64_t deadline_ns;
};

/*
 * Starts the oldest request, unless one is in progress.
 *   Shape    analyser is a socket, or -1
 *   Errors   those of the store, and of msg_send() to the analyser
 */
MUST_CHECK int
symbolizing_step(struct symbolizing *y, struct store *s, const char *host,
                 int analyser, int64_t now_ns, int64_t finish_ns);
/* Takes a DONE; false when it is not about symbolizing. */
bool symbolizing_take(struct symbolizing *y, struct store *s,
                      const struct msg_done *done, int top_fd);
/* Leaves the request to the next worker. */
void symbolizing_forget(struct symbolizing *y);
/* Queues the request again, since the analyser is gone. */
void symbolizing_drop(struct symbolizing *y, struct store *s, const char *host);
