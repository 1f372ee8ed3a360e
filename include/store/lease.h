/*
 * Leases: of several processes one does what need not be done twice.
 *
 * A lease ends by the database's clock, so that hosts whose clocks differ agree
 * on it. A holder that was held up may go on with its work for a moment after
 * another has taken the lease: that work must do no harm twice.
 */
#pragma once

#include "store/store.h"

#define LEASE_KEEPER "keeper" /* see keeper/keeper.h */

/* Takes a lease for so long from now on, or renews it. Returns 1 when the
 * holder has it, 0 when another has. */
MUST_CHECK int
lease_take(struct store *s, const char *name, const char *holder, int64_t ms);
/* Gives it up, if the holder has it. */
MUST_CHECK int
lease_drop(struct store *s, const char *name, const char *holder);
/* Tells the host of the last holder, and for how long it has the lease: below 0
 * since it ended. -ENOENT when nobody ever had it, or gave it up. */
MUST_CHECK int lease_get(struct store *s, const char *name,
                         char host[static CONF_HOST_MAX], int64_t *out_ms);
