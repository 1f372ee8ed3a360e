/* The frames of goroutines as locations of a profile. */
#pragma once

#include "base/pairs.h"
#include "capture/process/modules.h"
#include "goroutine_walk.h"

struct go_frames {
	const struct go_runtime *r;
	const struct modules *modules;
	uint32_t module;
	struct profile *p;
	struct pairs known; /* (what it calls, pc) */
	struct go_location {
		uint32_t row;  /* PROFILE_NONE: nothing of it is shown */
		uint8_t calls; /* enum gobin_func of its outermost line */
	} * locations;         /* by known */
	uint32_t cap;
};

void go_frames_done(struct go_frames *f);
/*
 * Turns a stack into locations. What tracebacks hide of it is left out:
 * wrappers, and the function below all others.
 *
 *   Shape    pcs[n] leaf first, as of go_walk(); out has as much room
 *   Errors   of profile_location()
 */
MUST_CHECK int go_frames_stack(struct go_frames *f, const uint64_t *pcs,
                               uint32_t n, uint32_t *out, uint32_t *nout);
/*
 * Who started a goroutine, by the pc of its go statement; 0: nobody.
 *   Shape    strings of the profile: a function's name, and file:line
 */
MUST_CHECK int go_frames_creator(const struct go_frames *f, uint64_t gopc,
                                 uint32_t *name, uint32_t *place);
