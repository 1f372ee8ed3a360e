/*
 * Waiting for the store to change, without asking it over and over:
 * db_commit() touches the database file, and inotify tells. (A write to the
 * WAL says too little: it comes before the commit can be seen.)
 */
#pragma once

#include "endpoint/call.h"

/* fd is an inotify descriptor, -1 none. */
struct watch {
	int fd;
};
#define CLEANUP_WATCH CLEANUP(watch_close)

/* Open it before the read whose change is waited for. */
MUST_CHECK int watch_open(const struct store *s, struct watch *out);
void watch_close(struct watch *w);
/*
 * Waits for a commit.
 *   Units    deadline_ns as clock_mono_ns() counts
 *   Errors   -ETIMEDOUT past the deadline; -ECANCELED when this process is
 *            to stop or the client is gone; -errno
 */
MUST_CHECK int
watch_wait(const struct watch *w, const struct request *r, int64_t deadline_ns);
