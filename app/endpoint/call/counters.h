/*
 * State that the pool shares: request counters, tickets that let at most half
 * of the pool wait, and places for heavy requests, not all of which one tenant
 * may take. These are in one file in [api] run_dir, which every process maps.
 *
 * A process owns a slot by an open-file-description lock on its byte of the
 * file; the kernel releases the lock when the process is gone, so a killed
 * process is neither counted as busy nor keeps its ticket or place. The file is
 * named after the layout: a release with other routes starts a new one. Source:
 * fcntl(2), "Open file description locks".
 */
#pragma once

#include "base/conf.h"
#include "tables.h"

#include <stdbool.h>

#define COUNTERS_MAX_SLOTS 512 /* two pools, since a reload overlaps */
#define COUNTERS_MAX_HEAVY 64
#define COUNTERS_CLASSES   5 /* 1xx..5xx */

/* Upper bounds of the latency histogram in microseconds. */
#define COUNTERS_BOUNDS                                                \
	{                                                              \
		100, 250, 500, 1000, 2500, 5000, 10000, 50000, 250000, \
			1000000, 5000000, 25000000                     \
	}
#define COUNTERS_NBOUNDS 12

struct counters;

/*
 * Maps the file in dir, and creates it if necessary. pool, heavy: of
 * stoker.conf.
 *   Owns     *out is the caller's; counters_close() it
 *   Errors   -errno
 */
MUST_CHECK int
counters_open(const char *dir, int pool, int heavy, struct counters **out);
void counters_close(struct counters *c);

/* Marks this process as busy, or as idle. */
void counters_busy(struct counters *c, bool busy);
/* Counts a request; op is OP_COUNT for an unknown path. */
void counters_request(struct counters *c, enum op op, int status, int64_t us);
void counters_store_error(struct counters *c);
/* Counts a request that was answered with a kept result. */
void counters_kept(struct counters *c);
/* Counts a request that a quota refused. */
void counters_quota(struct counters *c, enum quota q);

/* Takes one of pool / 2 tickets; false when none is free. */
bool counters_wait_begin(struct counters *c);
void counters_wait_end(struct counters *c);

/*
 * Takes one of the places for heavy requests; false when none is free for the
 * tenant. changes: a number that grows whenever a place becomes free.
 */
bool
counters_heavy_begin(struct counters *c, const char *tenant, uint32_t *changes);
void counters_heavy_end(struct counters *c);
/* Waits until changes has grown, or for ms. */
void counters_heavy_wait(struct counters *c, uint32_t changes, int ms);

/* Appends the two lines before the values of a metric, for Prometheus. kind:
 * "counter" or "gauge". */
void metric_head(struct buf *out, const char *name, const char *kind,
                 const char *help);
/* Appends all counters as Prometheus text. */
void counters_write(struct counters *c, struct buf *out);
