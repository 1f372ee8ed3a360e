/* The frames of a goroutine, by the runtime's own tables. */
#pragma once

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
