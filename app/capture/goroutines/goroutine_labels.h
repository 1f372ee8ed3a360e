/*
 * Labels rows of goroutines: the channel or lock that each waits for, and
 * further facts beside the stack.
 */
#pragma once

#include "goroutine_frames.h"
#include "goroutine_group.h"

#define GO_MAX_GOIDS   4096  /* bytes of a row's list of numbers */
#define GO_MAX_TARGETS 16384 /* goroutines whose target is read */

/* The state of a channel. */
struct go_chan {
	uint64_t addr;
	uint64_t len, cap;
	bool closed;
	bool known; /* false: no channel, or it could not be read */
};

/*
 * Sets the target of members that wait to send, to receive or, from Go 1.26 on,
 * for a semaphore. A select has several targets, so it gets none.
 *   Errors   as memory_read()
 */
MUST_CHECK int go_wait_targets(struct go_groups *s);
/*
 * Reads channels, by addr.
 *   Errors   as memory_read()
 */
MUST_CHECK int
go_wait_channels(const struct go_runtime *r, struct go_chan *c, size_t n);

/* A row: some members of one group. */
struct go_row {
	const struct go_group *group;
	const struct go_member *const *members; /* by goid */
	uint32_t n;
	const struct go_chan *target; /* target of all of them, or NULL */
};

/*
 * Makes the labels of a row.
 *   Shape    stack[n] are locations of the row; now_ns is CLOCK_MONOTONIC.
 *   Errors   as profile_string()
 */
MUST_CHECK int
go_labels(const struct go_groups *s, const struct go_frames *f,
          const struct go_row *row, const uint32_t *stack, uint32_t n,
          int64_t now_ns, struct label out[PROFILE_MAX_LABELS], uint32_t *nout);
