/*
 * The frames of a Ruby thread: control frames, an array of its fiber that grows
 * downwards, so the innermost has the lowest address.
 *
 *   Source   Ruby 3.1.2, vm_core.h: rb_execution_context_t,
 *            rb_control_frame_t, enum vm_frame_env_flags
 */
#pragma once

#include "capture/interp/walk.h"

enum { RUBY_EC_CFP = 16 }; /* in an execution context: the innermost frame */

/* Words of a control frame that are read, and its size. */
enum { RUBY_CFP_PC, RUBY_CFP_ISEQ = 2, RUBY_CFP_EP = 4, RUBY_CFP_READ };
#define RUBY_CFP_BYTES 64

/* The word at ep. */
enum {
	RUBY_FRAME_FINISH = 0x20, /* vm_exec() returns at the frame's end */
	RUBY_FRAME_CFRAME = 0x80, /* of a function written in C */
	RUBY_FRAME_DUMMY = 0x79990001, /* below a thread's first frame */
	RUBY_FRAME_MAGIC = 0x7fff0001
};

WALK enum interp_end
ruby_walk(const struct memory *m, const struct interp_slot *slot,
          struct interp_stack *to)
{
	uint64_t frame[RUBY_CFP_READ], flags, at = 0;

	if (!walk_first(m, slot, &at))
		return INTERP_FAULT;
	for (uint32_t i = 0; i < INTERP_MAX_FRAMES; i++) {
		if (!walk_copy(m, frame, sizeof(frame), at) ||
		    !walk_copy(m, &flags, sizeof(flags), frame[RUBY_CFP_EP]))
			return INTERP_FAULT;
		if ((flags & RUBY_FRAME_MAGIC) == RUBY_FRAME_DUMMY)
			return INTERP_ROOT;
		to->frames[i] = (struct interp_frame){
			.code = frame[RUBY_CFP_ISEQ],
			.instr = frame[RUBY_CFP_PC],
			.mark = (flags & RUBY_FRAME_FINISH ? INTERP_ENTRY : 0) |
		                (flags & RUBY_FRAME_CFRAME ? INTERP_NO_CODE
		                                           : 0),
		};
		to->n = i + 1;
		at += RUBY_CFP_BYTES;
	}
	return INTERP_FULL;
}
