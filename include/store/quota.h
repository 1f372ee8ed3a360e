/*
 * Quotas: limits on what a tenant holds, by the rows of quotas.def.
 *
 * Every call that adds to what a tenant holds counts it before its transaction
 * ends. Writers are serialised, so that two cannot pass a limit together.
 * Limits apply only after quota_enforce(): the command line, which an
 * administrator of the host runs, has none.
 */
#pragma once

#include "store/store.h"

/* Holds the store to the quotas of conf, which is borrowed. */
void quota_enforce(struct store *s, const struct conf *conf);
/* Counts what a tenant holds. */
MUST_CHECK int
quota_held(struct store *s, const char *tenant, enum quota q, int64_t *out);
/*
 * Waits until no other transaction adds to what the tenant holds; until this
 * one ends, none does. Rows that others added are visible afterwards.
 */
MUST_CHECK int quota_turn(struct store *s, const char *tenant);
/*
 * Checks a quota in a transaction that has added to what the tenant holds.
 *   Errors   -EXFULL if the tenant holds more than it may; s->excess has the
 *            details
 */
MUST_CHECK int
quota_check(struct store *s, const char *tenant, enum quota q, int64_t added);
/* Records that a capture was asked for, and checks captures_per_hour. */
MUST_CHECK int
quota_capture(struct store *s, const char *tenant, const char *session);
/* Forgets captures of more than an hour ago. Returns their number. */
MUST_CHECK int quota_prune(struct store *s);
/* Calls each with every tenant that has a service, at most 1000, until it
 * returns other than 0. Returns that value. */
MUST_CHECK int
quota_tenants(struct store *s, int (*each)(void *arg, const char *tenant),
              void *arg);
