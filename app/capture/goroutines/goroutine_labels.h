/* What is told of goroutines that share a row, beside their stack. */
#pragma once

#include "goroutine_frames.h"
#include "goroutine_wait.h"

#define GO_MAX_GOIDS 4096 /* bytes of a row's list of numbers */

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
