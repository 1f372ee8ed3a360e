/*
 * Reads a goroutine dump, which is text, into a profile like that of a thread
 * snapshot: one sample per goroutine, value type goroutine/count, with the
 * labels of goroutine.def and the goroutine's pprof labels (one with a name
 * from goroutine.def is kept as "label:NAME").
 *
 * A dump is the reply of /debug/pprof/goroutine?debug=2, or the output of a Go
 * program on a panic or SIGQUIT; text around it is skipped. Frames have no
 * address; an inlined frame shares the location of the frame that it is inlined
 * into. "panic" is renamed to runtime.gopanic, as in a pprof file.
 *
 * Source: runtime/traceback.go of Go 1.19 to 1.27.
 */
#pragma once

#include "profile/profile.h"

/* The runtime truncates its reply at 64 MiB. */
#define GODUMP_MAX_BYTES      ((size_t)64 << 20)
#define GODUMP_MAX_GOROUTINES (1u << 20)
/* The name of a frame that stands for frames that the runtime omitted from a
 * deep stack. */
#define GODUMP_ELIDED "[frames elided]"

/* Facts about a dump. */
struct godump_seen {
	uint64_t goroutines; /* samples */
	uint64_t frames;
	uint64_t elided;      /* stacks with omitted frames */
	uint64_t unavailable; /* goroutines without a stack, because they were
	                         running on another thread */
	bool truncated;       /* the text ends within a goroutine, which is
	                         not counted */
};

/* True if the first goroutine is within the first few KB of p. */
bool godump_looks_like(const void *p, size_t n);
/*
 *   Shape    p[n], not NUL-terminated; hostile
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -EBADMSG no goroutine found, -E2BIG past the bounds above,
 *            -ENOMEM, with a one-line explanation in why; outputs untouched
 */
MUST_CHECK int godump_parse(const void *p, size_t n, struct profile **out,
                            struct godump_seen *seen, struct buf *why);
