/*
 * Threads that run goroutines, which are stopped to see where they are.
 */
#pragma once

#include "capture/threads/snapshot_batch.h"
#include "goroutine_frames.h"

struct go_read_stats;

struct go_threads {
	struct snapshot_batch batch;
	size_t n; /* number of rows */
};

/*
 * Reads the threads that run any of g[n]. A thread that waits in the kernel is
 * not stopped.
 *
 *   Shape    reads 32 KiB of each stack, or THREADS_MAX_STACK if room exceeds
 *            that
 *   Owns     go_threads_done() it, also on failure
 *   Errors   -EBADMSG, -ENOMEM, -errno; threads that ended are ignored
 */
MUST_CHECK int go_threads_read(struct go_threads *t, const struct go_runtime *r,
                               const struct go_g *g, size_t n, uint32_t room,
                               struct go_read_stats *stats);
void go_threads_done(struct go_threads *t);
/* Finds where a thread was on the stack of this goroutine; false when none was,
 * with *out untouched. */
bool go_threads_place(const struct go_threads *t, const struct go_g *g,
                      struct go_place *out);
