/*
 * Reads goroutine dumps as text into a profile like a thread snapshot: one
 * sample per goroutine, type goroutine/count, labels of goroutine.def and the
 * goroutine's own (a label with one of our names is kept as "label:NAME").
 *
 * Dumps are answers of /debug/pprof/goroutine?debug=2, and texts that a Go
 * program prints on a panic or SIGQUIT; text around them is skipped. Frames
 * have no address; an inlined frame shares the location of the frame it was
 * inlined into. "panic" is called runtime.gopanic, as in a pprof file.
 *
 * Source: runtime/traceback.go of Go 1.19 to 1.27.
 */
#pragma once

#include "profile/profile.h"

/* The runtime cuts its own answer at 64 MiB. */
#define GODUMP_MAX_BYTES      ((size_t)64 << 20)
#define GODUMP_MAX_GOROUTINES (1u << 20)
/* Name of a frame that stands for the frames which the runtime left out of a
 * deep stack. */
#define GODUMP_ELIDED "[frames elided]"

/* Facts about a dump. */
struct godump_seen {
	uint64_t goroutines; /* samples */
	uint64_t frames;
	uint64_t elided;      /* stacks with omitted frames */
	uint64_t unavailable; /* goroutines without a stack, since they ran
	                         elsewhere */
	bool truncated;       /* the text ends within a goroutine, which is
	                         not counted */
};

/* True when the first goroutine stands within the first few KB of p. */
bool godump_looks_like(const void *p, size_t n);
/*
 *   Shape    p[n], not NUL-terminated; hostile
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -EBADMSG no goroutine found, -E2BIG past the bounds above,
 *            -ENOMEM, with a one-line explanation in why; outputs untouched
 */
MUST_CHECK int godump_parse(const void *p, size_t n, struct profile **out,
                            struct godump_seen *seen, struct buf *why);
