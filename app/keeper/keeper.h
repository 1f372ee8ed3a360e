/*
 * The keeper does what one process does for all API hosts that share a store:
 * retention, windows of pushed series added up to minutes, hours and days, and
 * sums over the hosts of a fleet.
 *
 * A keeper runs as the API does, as the same user. Any number may run: the one
 * that has the lease works, and the others stand by. Whatever it does is a
 * transaction that fails when another has done the same, so that a keeper which
 * was held up past its lease does no harm.
 */
#pragma once

#include "base/conf.h"
#include "store/store.h"

/* Works until SIGTERM or SIGINT; logs failures, and tries again.
 *   Errors   -errno when it can't begin */
MUST_CHECK int keeper_run(const struct conf *conf, struct store *s);
/* Does all that is due, and returns; nothing while another has the lease. */
MUST_CHECK int keeper_once(const struct conf *conf, struct store *s);
