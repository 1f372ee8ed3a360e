/*
 * What every thread of a process does at one moment, without stopping it.
 *
 * A thread that waits is read where it lies; only one that runs, or will not
 * hold still, is stopped, for microseconds and one at a time. The profile has
 * one sample per thread, of type goroutine/count like a Go service's, with
 * the labels of snapshot.def. Parses what targets wrote: run it in a child
 * whose crash costs one capture. What it works out of files is added to
 * symbols.
 */
#pragma once

#include "capture/host.h"
#include "capture/quality.h"
#include "capture/symbols_cache.h"
#include "profile/profile.h"

#define SNAPSHOT_STACK_BYTES ((uint32_t)16 << 10) /* deeper ones are reread */

struct snapshot_ask {
	const int32_t *pids;
	uint32_t npids;
};

/*
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -ESRCH no process is left, -EXDEV not allowed to see them,
 *            -ENOMEM, -E2BIG, -errno; outputs untouched
 */
MUST_CHECK int
snapshot_profile(const struct host *host, const struct snapshot_ask *ask,
                 struct symbols_cache *symbols, struct profile **out,
                 struct quality *quality);
