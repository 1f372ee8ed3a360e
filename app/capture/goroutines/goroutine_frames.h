/*
 * Walks the stacks of goroutines with the runtime's own tables, and makes
 * locations of a profile.
 */
#pragma once

#include "base/pairs.h"
#include "capture/process/modules.h"
#include "goroutine_find.h"
#include "profile/profile.h"

/* Walks keep PROFILE_MAX_FRAMES frames of a goroutine at most. */
#define GO_EXACT ((uint64_t)1 << 63) /* in a pc that is no return address */

enum go_end {
	GO_END_TOP,  /* the goroutine's first frame */
	GO_END_MORE, /* the stack goes on past the bytes that were read */
	GO_END_MAX,
	GO_END_LOST, /* the frame, or its caller, could not be found */
};

struct go_stack {
	uint64_t pcs[PROFILE_MAX_FRAMES]; /* leaf first; may have GO_EXACT */
	uint32_t n;
	enum go_end end;
};

/* The place where a walk begins. */
struct go_place {
	uint64_t pc, sp;
	bool exact;           /* pc was interrupted: it is not a return
	                         address */
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
	struct pairs known; /* (gobin_func of the callee, pc) */
	struct go_location {
		uint32_t row;  /* PROFILE_NONE: not shown */
		uint8_t calls; /* enum gobin_func of its outermost line */
	} * locations;         /* by known */
	uint32_t cap;
};

void go_frames_done(struct go_frames *f);
/*
 * Turns a stack into locations, without frames that tracebacks hide: wrappers,
 * and the outermost function.
 *
 *   Shape    pcs[n] leaf first, from go_walk(); out has as much room
 *   Errors   as profile_location()
 */
MUST_CHECK int go_frames_stack(struct go_frames *f, const uint64_t *pcs,
                               uint32_t n, uint32_t *out, uint32_t *nout);
/*
 * Finds the creator of a goroutine by the pc of its go statement; 0: none.
 *   Shape    *name and *place are strings of the profile: a function, and
 *            file:line
 */
MUST_CHECK int go_frames_creator(const struct go_frames *f, uint64_t gopc,
                                 uint32_t *name, uint32_t *place);
