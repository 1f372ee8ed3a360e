/*
 * Finds the frames among the addresses of a bucket's stack.
 *
 * A stack has the return address of each call. After that of an inlined call
 * there may be an address for each call into which it is inlined: in all stacks
 * that the runtime found with its unwinder, and for the first frame of those
 * that it walked by frame pointers (from Go 1.23 on).
 *
 *   Source   runtime/traceback.go, tracebackPCs; runtime/mprof.go,
 *            fpTracebackPartialExpand; runtime/symtab.go, Frames.Next
 */
#pragma once

#include "base/buf.h"
#include "base/pairs.h"
#include "capture/gobin/gobin.h"

struct bucket_stacks {
	struct gobin *bin;
	uint64_t bias;
	bool hide_runtime; /* drop the runtime's innermost frames */
	struct pairs known;
	struct buf spans; /* struct bucket_span, for each of known */
	struct buf lines; /* struct gobin_line */
};

void bucket_stacks_done(struct bucket_stacks *s);
/*
 * Copies the addresses that stand for separate frames.
 *
 *   Shape    pcs[n] leaf first, in the runtime's order; out[n]
 *   Errors   -ENOMEM, -E2BIG
 */
MUST_CHECK int bucket_stack(struct bucket_stacks *s, const uint64_t *pcs,
                            uint32_t n, uint64_t *out, uint32_t *nout);
