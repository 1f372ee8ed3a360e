/*
 * The accept loop: one connection, one request, until a signal says stop.
 */
#pragma once

#include "jwt.h"
#include "endpoint/call.h"

/*
 * Serves the listening socket on descriptor 0 until SIGTERM, SIGINT, SIGHUP,
 * SIGUSR1 or SIGUSR2; the current request is finished first.
 *   Errors   -errno
 */
MUST_CHECK int loop_run(struct env *env, struct jwt_keys *keys);
