/*
 * What every thread, or goroutine, of a process does at one moment, without
 * stopping it.
 *
 * A thread that waits is read where it lies; only one that runs, or will not
 * hold still, is stopped, for microseconds and one at a time. The profile has
 * one sample per thread, of type goroutine/count like a Go service's, with
 * the labels of snapshot.def. Parses what targets wrote: run it in a child
 * whose crash costs one capture. What it works out of files is added to
 * symbols.
 *
 * Goroutines are read out of the Go runtime's own structures: no endpoint, no
 * symbols. They have the labels of profile/goroutine.def and their own. Those
 * that do the same, with equal labels, are one sample with their number as
 * its value: "goids" then tells who they are, as far as it has room, and
 * "waitSince" and "waitSinceMin" the longest and the shortest wait. A group
 * that waits for no more than 16 different channels or locks has a sample for
 * each; "waitTarget" is told of the first 16384 goroutines that wait for one,
 * of locks from Go 1.26 on, never of a select. Goroutines of the runtime
 * itself are left out, as Go's own profile does.
 *
 * Stacks begin with the runtime's frames that put the goroutine to sleep
 * (runtime.gopark, ...), as those of /debug/pprof/goroutine do;
 * profile/groups.h leaves them out.
 */
#pragma once

#include "capture/host.h"
#include "capture/quality.h"
#include "capture/symbols/symbols_cache.h"
#include "profile/profile.h"

#define SNAPSHOT_STACK_BYTES ((uint32_t)16 << 10) /* deeper ones are reread */

/* Whose stacks. */
enum snapshot_of {
	SNAPSHOT_ANY, /* goroutines of Go programs, else threads */
	SNAPSHOT_THREADS,
	SNAPSHOT_GOROUTINES,
};

struct snapshot_ask {
	enum snapshot_of of;
	const int32_t *pids;
	uint32_t npids;
};

/*
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -ESRCH no process is left, -EXDEV not allowed to see them,
 *            -ENOEXEC no Go program that can be read, -EPROTO one whose
 *            goroutines can't be made out, -ENOMEM, -E2BIG, -errno; outputs
 *            untouched
 */
MUST_CHECK int
snapshot_profile(const struct host *host, const struct snapshot_ask *ask,
                 struct symbols_cache *symbols, struct profile **out,
                 struct quality *quality);
