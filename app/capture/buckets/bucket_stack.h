/*
 * The stack of a bucket: which of its addresses are frames.
 *
 * A stack has the return address of each call. After one of an inlined call
 * there may be an address for each that it is inlined in, too: whatever the
 * runtime found with its unwinder has them, and where it began to walk by
 * frame pointers (from Go 1.23 on) the first frame has.
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
	bool hide_runtime; /* that called nothing of the program's */
	struct pairs known;
	struct buf spans; /* of known: struct bucket_span each */
	struct buf lines; /* struct gobin_line each */
};

void bucket_stacks_done(struct bucket_stacks *s);
/*
 * Copies the addresses that stand for frames of their own.
 *
 *   Shape    pcs[n] leaf first, as the runtime has them; out[n]
 *   Errors   -ENOMEM, -E2BIG
 */
MUST_CHECK int bucket_stack(struct bucket_stacks *s, const uint64_t *pcs,
                            uint32_t n, uint64_t *out, uint32_t *nout);
