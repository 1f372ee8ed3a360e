/*
 * Sets the rates at which Go programs record allocations, blocking and waits
 * for mutexes, if their services allow it. Nothing else is ever written into a
 * target.
 *
 * The scheduler must have granted it (opener_grants.h). A rate replaces a 0 in
 * a variable of the program. The 0 is restored when the client that set the
 * rate is gone, for whatever reason, or, for continuous profiling, when the
 * grant ends. If the opener is killed, the program keeps counting until the
 * next opener restores the 0, with the help of a journal (opener_journal.h).
 * Without a journal nothing is written.
 */
#pragma once

#include "base/conf.h"
#include "base/id.h"
#include "capture/host.h"
#include "opener_grants.h"
#include "opener_journal.h"

#define RATES_MAX      512
#define RATES_JOURNAL  "go-rates"
#define RATES_MAX_RATE (UINT64_C(1) << 32)

/* A rate that was written; also a row of the journal. */
struct rate {
	uint64_t start_time; /* of the process, ticks since boot */
	uint64_t address, value;
	int32_t pid;   /* 0: unused */
	int32_t owner; /* descriptor of the client that asked; -1: gone */
	char boot_id[BOOT_ID];
};

struct rates {
	int journal; /* -1: nothing may be written */
	char boot_id[BOOT_ID];
	struct rate rows[RATES_MAX];
	uint32_t kept[RATES_MAX]; /* the grant that also keeps it; 0: none */
	int64_t lapsed_ns;        /* when grants were last checked */
};

/* Opens the journal, and restores what it lists. */
void rates_open(struct rates *r, const struct conf *conf);
/* Restores all rates. */
void rates_done(struct rates *r);
/*
 * Sets the rate that a client asks for with HOST_RATE.
 *   Errors   -EPERM not granted, or no journal; -EINVAL not a rate, or not a
 *            variable of the program; -EALREADY the program has set a rate;
 *            -EBUSY RATES_MAX is reached; -errno
 */
MUST_CHECK int rates_write(struct rates *r, const struct grants *granted,
                           int owner, const struct host_ask *ask);
/* Restores the rates of a client that is gone, except those that are kept. */
void rates_leave(struct rates *r, const struct grants *granted, int owner);
/* Restores rates whose grant to keep them has ended. */
void rates_lapse(struct rates *r, const struct grants *granted);
/* Calls rates_lapse() once per second. Returns the ms until the next call, or
 * -1 when nothing is kept. */
int rates_wait(struct rates *r, const struct grants *granted);
