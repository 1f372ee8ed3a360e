/*
 * Tries everything that captures need, with the questions to the opener that
 * captures ask, and keeps a finding for each check.
 *
 * The checks run when the worker starts, and then every SELFTEST_NS; those of
 * the worker's parts, of other workers and of the clock every
 * SELFTEST_PARTS_NS, since processes hang, workers start and clocks are set;
 * that of the store every SELFTEST_STORE_NS, since disks fill up, but a try
 * waits for the disk. A check that fails runs again with each heartbeat, so
 * that a repair is noticed within seconds, unless the kernel lacks a feature
 * (-EOPNOTSUPP): no setting can change that, and some checks take the opener
 * half a second.
 */
#pragma once

#include "base/finding.h"
#include "capture/host.h"
#include "store/store.h"

#define SELFTEST_NS       INT64_C(600000000000)
#define SELFTEST_PARTS_NS INT64_C(20000000000)
#define SELFTEST_STORE_NS INT64_C(60000000000)
#define SELFTEST_AGAIN_NS INT64_C(5000000000)
#define SELFTEST_SOON_NS  INT64_C(60000000000)

struct worker_self;

struct selftest {
	const struct conf *conf;
	const struct worker_self *self;
	struct store *store;
	struct host host;                /* the opener */
	const int *proc_fd;              /* directory /proc */
	const unsigned *given_up;        /* sums of windows (rollup.h) */
	const int64_t *clock_ms;         /* by how much this host's clock is
	                                    ahead of the centre's; NULL: there
	                                    is no centre */
	struct finding findings[CHECKS]; /* of part "worker" */
	int64_t due_ns[CHECKS];          /* 0: never run */
	int64_t next_ns;                 /* the earliest of due_ns */
	int64_t hurried_ns;              /* last effect of selftest_soon() */
};

/*
 * Runs the checks that are due.
 *   Errors   -EPIPE when the opener is gone; other failures are findings
 */
MUST_CHECK int selftest_step(struct selftest *t, int64_t now_ns);
/*
 * Runs one check at once.
 *   Errors   -errno, with the finding; -EPIPE, without one: the opener is gone
 */
MUST_CHECK int
selftest_try(const struct selftest *t, enum check c, struct finding *out);
/* Has all checks run at the next step, since a capture has failed and a check
 * may find the cause. Has an effect once per SELFTEST_SOON_NS, whatever clients
 * start. */
void selftest_soon(struct selftest *t, int64_t now_ns);
/* Writes the findings as the member "checks" of an object. */
void selftest_json(const struct selftest *t, struct buf *out);
