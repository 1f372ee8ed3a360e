/*
 * Waits for a change of the store: the database tells of commits (db_wake_fd()),
 * and is looked at each second, too.
 */
#pragma once

#include "endpoint/call.h"

/*
 * Waits until check() returns another value than -EAGAIN, which it says while
 * what is awaited has not come.
 *   Units    deadline_ns is a time of clock_mono_ns()
 *   Errors   -ETIMEDOUT past the deadline, or when too many others wait;
 *            -ECANCELED when this process is to stop or the client is gone;
 *            -errno
 */
MUST_CHECK int
db_watch_until(struct call *c, int (*check)(struct call *c, void *arg),
               void *arg, int64_t deadline_ns);
