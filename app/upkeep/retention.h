/*
 * Deletes what would otherwise grow without bound: profiles, kept replies,
 * audit lines. The worker does this for a store on one host, the keeper for a
 * store that several hosts share.
 */
#pragma once

#include "base/conf.h"
#include "store/job.h"

#define SOON_NS  INT64_C(10000000000)
#define LATER_NS INT64_C(60000000000)
#define AUDIT_MS INT64_C(31536000000) /* a year */

struct retention {
	int64_t soon_ns, later_ns; /* monotonic times at which work is due */
	struct lease_clock leases;
	bool held; /* nothing is deleted by age (store/clock_jump.h) */
};

/* Deletes the bytes of deleted profiles, one batch from each place that the
 * store can reach. Returns the number deleted; if that is 0, the error of a
 * place that failed, if any. */
MUST_CHECK int retention_reap(struct store *s);
/* Does the work that is due. Logs failures; the work is tried again next
 * time. */
void retention_step(struct retention *r, struct store *s,
                    const struct conf *conf, int64_t now_ns);
