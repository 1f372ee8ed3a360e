/*
 * The frames of a Ruby thread: control frames, an array of its fiber that grows
 * downwards, so the innermost has the lowest address.
 *
 *   Source   Ruby 3.1.2, vm_core.h: rb_thread_t, rb_execution_context_t,
 *            rb_control_frame_t, enum vm_frame_env_flags; ractor_core.h:
 *            struct rb_ractor_struct; ccan/list/list.h
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

enum {
	RUBY_RACTOR_THREADS = 304, /* list of threads, by their first words */
	RUBY_RACTOR_NODE = 568,    /* its place in the list of ractors */
	RUBY_THREAD_EC = 40,       /* its fiber's execution context */
	RUBY_THREAD_TID = 88       /* number in its pid namespace, of 32 bits */
};

#define RUBY_MAX_STEPS 64 /* threads and ractors that are looked at */

/* Returns the address of a ractor's list of threads. */
WALK uint64_t
ruby_threads_of(uint64_t node)
{
	return node - RUBY_RACTOR_NODE + RUBY_RACTOR_THREADS;
}

/* Finds a thread by its number, the newest of a ractor first; sets out->head.
 * Lists are circles of a head and its members; the second word of each leads
 * to the one before. */
WALK bool
ruby_find(const struct memory *m, const struct interp_list *list,
          uint64_t native, struct interp_slot *out)
{
	uint64_t node = list->head, threads = 0, at = 0;

	for (uint32_t i = 0; i < RUBY_MAX_STEPS; i++) {
		uint32_t number = 0;

		if (at == threads) {
			if (!walk_copy(m, &node, sizeof(node), node) ||
			    node == list->head)
				return false;
			at = threads = ruby_threads_of(node);
		} else {
			if (!walk_copy(m, &number, sizeof(number),
			               at + RUBY_THREAD_TID))
				return false;
			out->head = at + RUBY_THREAD_EC;
			if (number == native)
				return true;
		}
		if (!walk_copy(m, &at, sizeof(at), at + 8))
			return false;
	}
	return false;
}

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
