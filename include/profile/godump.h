/*
 * Goroutine dumps as text, into the shape of a thread snapshot: one sample
 * per goroutine, type goroutine/count, labels of goroutine.def and the
 * goroutine's own (one that bears a name of ours is kept as "label:NAME").
 *
 * Reads what /debug/pprof/goroutine?debug=2 answers and what a Go program
 * prints that panics or gets SIGQUIT; text around it is passed over. Frames
 * have no address; one that was inlined shares the location of the frame it
 * was inlined into. "panic" is called runtime.gopanic, as in a pprof file.
 *
 * Source: runtime/traceback.go of Go 1.19 to 1.27.
 */
#pragma once

#include "profile/profile.h"

/* The runtime cuts its own answer at 64 MiB. */
#define GODUMP_MAX_BYTES      ((size_t)64 << 20)
#define GODUMP_MAX_GOROUTINES (1u << 20)
/* Stands for the frames that the runtime left out of a deep stack. */
#define GODUMP_ELIDED "[frames elided]"

/* What a dump says about itself. */
struct godump_seen {
	uint64_t goroutines; /* samples */
	uint64_t frames;
	uint64_t elided;      /* stacks with frames left out */
	uint64_t unavailable; /* ran elsewhere: without a stack */
	bool truncated;       /* cut in a goroutine, which is not counted */
};

/* True when the first goroutine stands within the first few KB of p. */
bool godump_looks_like(const void *p, size_t n);
/*
 *   Shape    p[n], not NUL-terminated; hostile
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -EBADMSG no goroutine in it, -E2BIG past the bounds above,
 *            -ENOMEM; one line for a person in why; outputs untouched
 */
MUST_CHECK int godump_parse(const void *p, size_t n, struct profile **out,
                            struct godump_seen *seen, struct buf *why);
