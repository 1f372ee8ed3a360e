/*
 * The one thing that is ever written into a target: how often a Go program
 * notes that it blocks, or waits for a mutex, where its service allows it.
 *
 * Only where the scheduler granted it (opener_grants.h). What is written is a
 * rate, over a 0, into a variable of the program itself, and is taken back when
 * whoever wished for it is gone, however it went, or, where it is kept for
 * windows side by side, when that grant ends. A journal lets the next
 * opener do that when this one is killed: until it starts, the program stays as
 * it is. Who can't have the journal writes nothing.
 *
 * The next opener does as the journal says, with all its capabilities, so the
 * journal lies in a directory that nobody else may write to (state_dir of
 * [worker]). The store's folder is the API's as well.
 */
#pragma once

#include "base/conf.h"
#include "base/id.h"
#include "capture/host.h"
#include "opener_grants.h"

#define RATES_MAX      512
#define RATES_JOURNAL  "go-rates"
#define RATES_MAX_RATE (UINT64_C(1) << 32)
#define RATES_BOOT_ID  40

/* A row of the journal, too. */
struct rate {
	uint64_t start_time; /* of the process, ticks since boot */
	uint64_t address, value;
	int32_t pid;   /* 0: unused */
	int32_t owner; /* descriptor of who wished for it; -1: is gone */
	char boot_id[RATES_BOOT_ID];
};

struct rates {
	int journal; /* -1: nothing may be written */
	char boot_id[RATES_BOOT_ID];
	struct rate rows[RATES_MAX];
	uint32_t kept[RATES_MAX]; /* the grant it hangs on, too; 0: none */
	int64_t lapsed_ns;        /* when that was last looked at */
};

/* Takes the journal, and takes back what is in it. */
void rates_open(struct rates *r, const struct conf *conf);
/* Takes everything back. */
void rates_done(struct rates *r);
/*
 * Writes what a client asks for with HOST_RATE.
 *   Errors   -EPERM nobody allowed it, or there is no journal; -EINVAL no
 *            rate, or no variable of the program; -EALREADY there is one
 *            that is not ours;
 *            -EBUSY as many as can be are written; -errno
 */
MUST_CHECK int rates_write(struct rates *r, const struct grants *granted,
                           int owner, const struct host_ask *ask);
/* The client is gone: what it wished for is taken back, unless it is kept. */
void rates_leave(struct rates *r, const struct grants *granted, int owner);
/* Takes back what was kept and is not granted any more. */
void rates_lapse(struct rates *r, const struct grants *granted);
/* The same once in a second; ms until then, or -1: nothing is kept. */
int rates_wait(struct rates *r, const struct grants *granted);
