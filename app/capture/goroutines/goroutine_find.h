/*
 * Finds in a running Go program the list of goroutines, their layout, and the
 * names of wait reasons. No symbol is needed.
 */
#pragma once

#include "capture/gobin/gobin.h"
#include "capture/host/memory.h"
#include "goroutine_layout.h"

#define GO_MAX_REASONS    96
#define GO_MAX_REASON     64 /* bytes of a reason */
#define GO_MAX_GOROUTINES ((uint64_t)1 << 22)

struct go_runtime {
	const struct memory *mem;
	struct gobin *bin;
	uint64_t bias;  /* address - bias: vaddr */
	unsigned minor; /* Go's minor version */
	struct go_layout layout;
	uint64_t allgs;         /* address of the slice runtime.allgs */
	uint64_t list, entries; /* address and number of its elements */
	char reasons[GO_MAX_REASONS][GO_MAX_REASON + 1]; /* "" unknown */
};

/*
 * Finds the list, the layout and the reasons.
 *
 *   Shape    the caller sets mem, bin and bias
 *   Errors   -EPROTO goroutines could not be found; as memory_read()
 */
MUST_CHECK int go_runtime_find(struct go_runtime *r);
/*
 * Reads the slice again, since the list moves when it grows.
 *   Errors   -EPROTO no longer a list; as memory_copy()
 */
MUST_CHECK int go_runtime_list(struct go_runtime *r);
