/*
 * A Go runtime at work: where its list of goroutines is, how it keeps them,
 * and what it calls the reasons to wait. No symbol is needed.
 */
#pragma once

#include "capture/gobin/gobin.h"
#include "capture/host/memory.h"
#include "goroutine_layout.h"

#define GO_MAX_REASONS    96
#define GO_MAX_REASON     64 /* bytes of one */
#define GO_MAX_GOROUTINES ((uint64_t)1 << 22)

struct go_runtime {
	const struct memory *mem;
	struct gobin *bin;
	uint64_t bias;  /* address - bias: vaddr */
	unsigned minor; /* of the version of Go */
	struct go_layout layout;
	uint64_t allgs;         /* address of the slice runtime.allgs */
	uint64_t list, entries; /* what it said last */
	char reasons[GO_MAX_REASONS][GO_MAX_REASON + 1]; /* "" unknown */
};

/*
 * Finds them.
 *
 *   Shape    mem, bin, bias are set, the rest is filled in
 *   Errors   -EPROTO a runtime whose goroutines can't be made out; of
 *            memory_read()
 */
MUST_CHECK int go_runtime_find(struct go_runtime *r);
/* Reads the slice anew: the list grows, and then moves.
 *   Errors   -EPROTO it is none any more; of memory_copy() */
MUST_CHECK int go_runtime_list(struct go_runtime *r);
