/*
 * The courier is the process of the worker that talks to the centre of a fleet:
 * it has the key of this host's worker and network access, and nothing else. It
 * is a fetcher whose only purpose is FETCH_CENTRE: it parses no body, and
 * connects only to [agent] url, by HTTPS.
 */
#pragma once

#include "base/conf.h"
#include "worker/ipc/fetch.h"

#define COURIER_NAME "stoker-courier" /* as ps shows it */

/*
 * Runs the process until it ends; privileges were dropped before.
 *   Shape    alive is as in fetcher_run(); secrets were opened before
 *            privileges were dropped
 *   Errors   -errno when it could not start; -EPIPE when the scheduler is gone
 */
MUST_CHECK int courier_run(const struct conf *conf, const char *own, int socket,
                           int alive, const struct fetch_secrets *secrets);
