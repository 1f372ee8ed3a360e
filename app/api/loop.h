/*
 * The accept loop: one request per connection, until a signal ends it.
 */
#pragma once

#include "endpoint/call.h"
#include "jwt.h"

/*
 * Serves the listening socket on descriptor 0 until SIGTERM, SIGINT, SIGHUP,
 * SIGUSR1 or SIGUSR2; the current request is finished first.
 *   Errors   -errno
 */
MUST_CHECK int loop_run(struct env *env, struct jwt_keys *keys);
