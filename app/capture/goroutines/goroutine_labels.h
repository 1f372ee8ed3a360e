/* Goroutines that share a row: the channel or lock that each waits for, and the
 * labels that tell of them beside their stack. */
#pragma once

#include "goroutine_frames.h"
#include "goroutine_group.h"

#define GO_MAX_GOIDS   4096  /* bytes of a row's list of numbers */
#define GO_MAX_TARGETS 16384 /* goroutines asked for a target */

/* A channel as it was. */
struct go_chan {
	uint64_t addr;
	uint64_t len, cap;
	bool closed;
	bool known; /* false: it is no channel, or could not be read */
};

/*
 * Sets the target of members: of those that wait to send, to receive, or,
 * from Go 1.26 on, for a semaphore. A select has many and none is told.
 *   Errors   of memory_read()
 */
MUST_CHECK int go_wait_targets(struct go_groups *s);
/* Looks at channels, by addr.
 *   Errors   of memory_read() */
MUST_CHECK int
go_wait_channels(const struct go_runtime *r, struct go_chan *c, size_t n);

/* Some members of one group. */
struct go_row {
	const struct go_group *group;
	const struct go_member *const *members; /* by goid */
	uint32_t n;
	const struct go_chan *target; /* that all of them wait for, or NULL */
};

/*
 *   Shape    stack[n]: locations of the row; now_ns: of CLOCK_MONOTONIC
 *   Errors   of profile_string()
 */
MUST_CHECK int
go_labels(const struct go_groups *s, const struct go_frames *f,
          const struct go_row *row, const uint32_t *stack, uint32_t n,
          int64_t now_ns, struct label out[PROFILE_MAX_LABELS], uint32_t *nout);
