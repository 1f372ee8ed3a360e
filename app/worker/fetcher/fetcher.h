/*
 * The fetcher is the process of the worker with network access, and nothing
 * else. It serves the requests of fetch.h, and parses no body.
 */
#pragma once

#include "base/memory.h"
#include "worker/ipc/fetch.h"

#define FETCHER_NAME "stoker-fetcher" /* as ps shows it */
/* Address space, with libraries; memory is less (memory.h). */
#define FETCHER_ADDRESSES ((int64_t)1 << 30)
/* Limit of all incoming bodies together. */
#define FETCHER_MAX_HELD ((uint64_t)MEMORY_BODIES)

/*
 * Runs the process until it ends; privileges were dropped before.
 *   Shape    own is this host's name, which "self" means in lists; alive is an
 *            eventfd (fetch_silence_s()); secrets were opened before
 *   Errors   -errno when it could not start; -EPIPE when the scheduler is gone
 */
MUST_CHECK int fetcher_run(const struct conf *conf, const char *own, int socket,
                           int alive, const struct fetch_secrets *secrets);
