/*
 * Waits for a change of the store: the database signals commits (db_wake_fd()),
 * and is also read each second.
 */
#pragma once

#include "endpoint/call.h"

/*
 * Waits until check() returns something other than -EAGAIN, which means "not
 * yet".
 *   Units    deadline_ns is a time of clock_mono_ns()
 *   Errors   -ETIMEDOUT past the deadline, or when too many others wait;
 *            -ECANCELED if this process is asked to stop or the client is gone;
 *            -errno
 */
MUST_CHECK int
db_watch_until(struct call *c, int (*check)(struct call *c, void *arg),
               void *arg, int64_t deadline_ns);
