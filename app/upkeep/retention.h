/*
 * Bounds what grows with time: profiles, replies, audit lines. It is done by
 * the worker of a store that one host has, and by the keeper of a store that
 * hosts share.
 */
#pragma once

#include "base/conf.h"
#include "store/store.h"

#define SOON_NS  INT64_C(10000000000)
#define LATER_NS INT64_C(60000000000)
#define AUDIT_MS INT64_C(31536000000) /* a year */

struct retention {
	int64_t soon_ns, later_ns; /* when each is due */
	int64_t leases_ns;         /* since when expired leases count */
	int64_t offset_ms;         /* difference to the database's clock */
};

/* Drops bytes of deleted profiles, a batch from each place that the store
 * reaches. Returns how many, or the error of a place once no other has any. */
MUST_CHECK int retention_reap(struct store *s);
/* Does the work that is due; logs failures, and tries again next time. */
void retention_step(struct retention *r, struct store *s,
                    const struct conf *conf, int64_t now_ns);
