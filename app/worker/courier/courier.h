/*
 * The courier is the process of the worker that talks to the centre of a fleet:
 * it holds the key of this host's worker, and the network, and nothing else. It
 * is a fetcher whose only purpose is FETCH_CENTRE: it parses no body, and
 * reaches no address but [agent] url, by HTTPS.
 */
#pragma once

#include "base/conf.h"
#include "worker/ipc/fetch.h"

#define COURIER_NAME "stoker-courier" /* as ps shows it */

/*
 * Runs the process until it ends; privileges were dropped before.
 *   Shape    secrets were opened before that
 *   Errors   -errno when it could not start; -EPIPE when the scheduler is gone
 */
MUST_CHECK int courier_run(const struct conf *conf, const char *own, int socket,
                           const struct fetch_secrets *secrets);
