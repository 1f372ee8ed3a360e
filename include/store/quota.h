/*
 * Quotas: how much a tenant holds of what it may, by the rows of quotas.def.
 *
 * Every call that gives a tenant more of something counts, before its
 * transaction ends, what the tenant holds then. Writers come one after the
 * other, so that no two of them pass a limit together. A store is held to the
 * limits only once quota_enforce() was called: the command line, which an
 * administrator of the host runs, is not.
 */
#pragma once

#include "store/store.h"

/* Holds the store to the quotas of conf, which is borrowed. */
void quota_enforce(struct store *s, const struct conf *conf);
/* Counts what a tenant holds. */
MUST_CHECK int
quota_held(struct store *s, const char *tenant, enum quota q, int64_t *out);
/*
 * Checks a quota in a transaction that has added so much to what the tenant
 * holds.
 *   Errors   -EXFULL when that is more than the tenant may hold; s->excess then
 *            tells about it
 */
MUST_CHECK int
quota_check(struct store *s, const char *tenant, enum quota q, int64_t added);
/* Records that a capture was asked for, and checks captures_per_hour. */
MUST_CHECK int
quota_capture(struct store *s, const char *tenant, const char *session);
/* Forgets captures of more than an hour ago. Returns their number. */
MUST_CHECK int quota_prune(struct store *s);
/* Calls each with tenants that have a service, at most 1000, until it returns
 * other than 0, and returns that. */
MUST_CHECK int
quota_tenants(struct store *s, int (*each)(void *arg, const char *tenant),
              void *arg);
