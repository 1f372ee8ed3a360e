/*
 * State that the pool shares: request counters, and tickets that let at most
 * half of the pool wait. Both are in one file in [api] run_dir, which every
 * process maps.
 *
 * A process owns a slot by an open-file-description lock on its byte of the
 * file; the kernel releases the lock when the process is gone, so a killed
 * process is neither counted as busy nor keeps its ticket. The file is named
 * after the layout: a release with other routes starts a new one.
 * Source: fcntl(2), "Open file description locks".
 */
#pragma once

#include "base/buf.h"
#include "tables.h"

#include <stdbool.h>

#define COUNTERS_MAX_SLOTS 512 /* two pools, since a reload overlaps */
#define COUNTERS_CLASSES   5   /* 1xx..5xx */

/* Upper bounds of the latency histogram in microseconds. */
#define COUNTERS_BOUNDS                                                \
	{                                                              \
		100, 250, 500, 1000, 2500, 5000, 10000, 50000, 250000, \
			1000000, 5000000, 25000000                     \
	}
#define COUNTERS_NBOUNDS 12

struct counters;

/*
 * Maps the file in dir, and creates it if necessary.
 *   Owns     *out is the caller's; counters_close() it
 *   Errors   -errno
 */
MUST_CHECK int counters_open(const char *dir, int pool, struct counters **out);
void counters_close(struct counters *c);

/* Marks this process as busy, or as idle. */
void counters_busy(struct counters *c, bool busy);
/* Counts a request; op is OP_COUNT for an unknown path. */
void counters_request(struct counters *c, enum op op, int status, int64_t us);
void counters_store_error(struct counters *c);

/* Takes one of pool / 2 tickets; false when none is free. */
bool counters_wait_begin(struct counters *c);
void counters_wait_end(struct counters *c);

/* Appends all counters as Prometheus text. */
void counters_write(struct counters *c, struct buf *out);
