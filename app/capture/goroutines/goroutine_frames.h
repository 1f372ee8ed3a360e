/* The frames of goroutines, found by the runtime's own tables, as locations of
 * a profile. */
#pragma once

#include "base/pairs.h"
#include "capture/process/modules.h"
#include "goroutine_find.h"
#include "profile/profile.h"

/* Frames of one goroutine; PROFILE_MAX_FRAMES at most are kept. */
#define GO_EXACT ((uint64_t)1 << 63) /* of a pc: not a return address */

enum go_end {
	GO_END_TOP,  /* where its goroutine begins */
	GO_END_MORE, /* the stack goes on beyond what was read of it */
	GO_END_MAX,
	GO_END_LOST, /* there is no frame known */
};

struct go_stack {
	uint64_t pcs[PROFILE_MAX_FRAMES]; /* leaf first; some | GO_EXACT */
	uint32_t n;
	enum go_end end;
};

/* Where a walk begins. */
struct go_place {
	uint64_t pc, sp;
	bool exact;           /* pc was interrupted, it is no return address */
	uint64_t hi;          /* end of the stack */
	const uint8_t *stack; /* bytes from sp upwards */
	size_t len;
};

/* Source: runtime/traceback.go, unwinder.next() */
void go_walk(const struct go_runtime *r, const struct go_place *at,
             struct go_stack *out);

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
