/*
 * Waits for a change of the store without polling: db_commit() touches the
 * database file, and inotify reports that. (A write to the WAL is too early: it
 * comes before the commit is visible.)
 */
#pragma once

#include "endpoint/call.h"

/* fd is an inotify descriptor, -1 none. */
struct db_watch {
	int fd;
};
#define CLEANUP_DB_WATCH CLEANUP(db_watch_close)

/* Opens a watch; call it before the read whose change is awaited. */
MUST_CHECK int db_watch_open(const struct store *s, struct db_watch *out);
void db_watch_close(struct db_watch *w);
/*
 * Waits for a commit.
 *   Units    deadline_ns is a time of clock_mono_ns()
 *   Errors   -ETIMEDOUT past the deadline; -ECANCELED when this process is
 *            to stop or the client is gone; -errno
 */
MUST_CHECK int db_watch_wait(const struct db_watch *w, const struct request *r,
                             int64_t deadline_ns);
/*
 * Waits until check() returns another value than -EAGAIN, which it says while
 * what is awaited has not come.
 *   Errors   as db_watch_wait(); -ETIMEDOUT also when too many others wait
 */
MUST_CHECK int
db_watch_until(struct call *c, int (*check)(struct call *c, void *arg),
               void *arg, int64_t deadline_ns);
