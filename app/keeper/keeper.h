/*
 * The keeper does the work that one process does for all API hosts that share a
 * store: retention, rollups of pushed series to minutes, hours and days, and
 * sums over the hosts of a fleet.
 *
 * A keeper runs as the user of the API. Any number of keepers may run: the one
 * that holds the lease works, the others stand by. Each step is a transaction
 * that fails if another keeper has done it already, so that a keeper that
 * stalls past the end of its lease does no harm.
 */
#pragma once

#include "base/conf.h"
#include "store/store.h"

/* Works until SIGTERM or SIGINT. Logs failures and tries again. Returns -errno
 * if it cannot start. */
MUST_CHECK int keeper_run(const struct conf *conf, struct store *s);
/* Does all work that is due once; does nothing if another keeper holds the
 * lease. */
MUST_CHECK int keeper_once(const struct conf *conf, struct store *s);
