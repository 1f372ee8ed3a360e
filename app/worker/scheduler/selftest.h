/*
 * The worker tries everything that captures will need, with the same questions
 * to the opener that captures ask, and keeps a finding for each.
 *
 * The checks run when the worker starts, again with each heartbeat while one
 * fails, so that a repair is noticed within seconds, and otherwise every
 * SELFTEST_NS.
 */
#pragma once

#include "base/finding.h"
#include "capture/host.h"
#include "store/store.h"

#define SELFTEST_NS       INT64_C(600000000000)
#define SELFTEST_AGAIN_NS INT64_C(5000000000)

struct selftest {
	const struct conf *conf;
	struct store *store;
	struct host host;                /* the opener */
	const int *proc_fd;              /* directory /proc */
	struct finding findings[CHECKS]; /* of part "worker" */
	int64_t next_ns;                 /* 0: never run */
};

/*
 * Runs the checks that are due.
 *   Errors   -EPIPE when the opener is gone; other failures are findings
 */
MUST_CHECK int selftest_step(struct selftest *t, int64_t now_ns);
/* Writes the worker's findings as member "checks" of an object. */
void selftest_json(const struct selftest *t, struct buf *out);
