/*
 * Waiting for the store to change, without asking it over and over:
 * db_commit() touches the database file, and inotify tells. (A write to the
 * WAL says too little: it comes before the commit can be seen.)
 */
#pragma once

#include "endpoint/call.h"

/* fd is an inotify descriptor, -1 none. */
struct db_watch {
	int fd;
};
#define CLEANUP_DB_WATCH CLEANUP(db_watch_close)

/* Open it before the read whose change is waited for. */
MUST_CHECK int db_watch_open(const struct store *s, struct db_watch *out);
void db_watch_close(struct db_watch *w);
/*
 * Waits for a commit.
 *   Units    deadline_ns as clock_mono_ns() counts
 *   Errors   -ETIMEDOUT past the deadline; -ECANCELED when this process is
 *            to stop or the client is gone; -errno
 */
MUST_CHECK int db_watch_wait(const struct db_watch *w, const struct request *r,
                             int64_t deadline_ns);
