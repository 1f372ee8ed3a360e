/*
 * Stored profiles that are named anew, one at a time: the old one is handed to
 * the analyser with an empty file beside; what comes back takes its place in
 * one transaction. A worker that dies meanwhile leaves the old one.
 */
#pragma once

#include "worker/ipc/messages.h"
#include "store/symbolize.h"

struct symbolizing {
	struct symbolize asked;     /* session NULL: none is under way */
	struct blob_writer profile; /* the new one */
	int64_t deadline_ns;
};

/*
 * Starts the one that waits longest, unless one is under way.
 *   Shape    analyser: its socket, or -1
 *   Errors   of the store, of the analyser's socket
 */
MUST_CHECK int
symbolizing_step(struct symbolizing *y, struct store *s, const char *host,
                 int analyser, int64_t now_ns, int64_t finish_ns);
/* Takes a DONE of it; true: it was about it. */
bool symbolizing_take(struct symbolizing *y, struct store *s,
                      const struct msg_done *done, int top_fd);
/* Leaves it to the next worker. */
void symbolizing_forget(struct symbolizing *y);
/* The analyser is gone: it is queued again. */
void symbolizing_drop(struct symbolizing *y, struct store *s, const char *host);
