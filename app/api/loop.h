/*
 * The accept loop: one request per connection, until a signal ends it.
 */
#pragma once

#include "endpoint/call.h"
#include "jwt.h"

/*
 * Blocks SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2, and opens a descriptor
 * that they are read from between requests.
 *   Errors   -errno
 */
MUST_CHECK int loop_signals(int *out_fd);

/*
 * Serves the listening socket on descriptor 0 until one of these signals; the
 * current request is finished first. A process that is asked to end while it
 * starts still serves one waiting request, so that a pool which is restarted
 * again and again makes progress.
 *
 *   Owns     signals_fd stays the caller's
 *   Errors   -errno
 */
MUST_CHECK int loop_run(struct env *env, struct jwt_keys *keys, int signals_fd);
