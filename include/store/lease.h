/*
 * Leases: one of several processes does work that need not be done twice.
 *
 * A lease ends by the database's clock, so that hosts whose clocks differ agree
 * on it. A delayed holder may continue for a moment after another process has
 * taken the lease: the work must be harmless when done twice.
 */
#pragma once

#include "store/store.h"

#define LEASE_KEEPER "keeper" /* see keeper/keeper.h */

/* Takes a lease for this long from now, or renews it. Returns 1 when the holder
 * has it, 0 when another has. */
MUST_CHECK int
lease_take(struct store *s, const char *name, const char *holder, int64_t ms);
/* Gives the lease up, if the holder has it. */
MUST_CHECK int
lease_drop(struct store *s, const char *name, const char *holder);
/* Gets the host of the last holder, and the time left of the lease; negative:
 * since its end. -ENOENT if the lease was never taken, or was given up. */
MUST_CHECK int lease_get(struct store *s, const char *name,
                         char host[static CONF_HOST_MAX], int64_t *out_ms);
