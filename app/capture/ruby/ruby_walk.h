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

/* Returns the address of a ractor's list of threads. */
WALK uint64_t
ruby_threads_of(uint64_t node)
{
	return node - RUBY_RACTOR_NODE + RUBY_RACTOR_THREADS;
}

/* Looks at a thread, the newest of a ractor first, or at a ractor. Lists are
 * circles of a head and its members; the second word of each leads to the one
 * before. */
WALK enum walk_step
ruby_find(const struct memory *m, const struct interp_list *list,
          uint64_t native, struct walk_at *w)
{
	uint32_t number = 0;

	if (!w->steps) {
		w->next = list->head;
		w->at = w->end;
	}
	if (w->at == w->end) {
		if (!walk_copy(m, &w->next, 8, w->next) ||
		    w->next == list->head)
			return WALK_FAULT;
		w->at = w->end = ruby_threads_of(w->next);
	} else {
		if (!walk_copy(m, &number, sizeof(number),
		               w->at + RUBY_THREAD_TID))
			return WALK_FAULT;
		if (number == native) {
			w->at += RUBY_THREAD_EC;
			return WALK_END;
		}
	}
	return walk_copy(m, &w->at, 8, w->at + 8) ? WALK_ON : WALK_FAULT;
}

WALK enum walk_step
ruby_step(const struct memory *m, const struct interp_slot *slot,
          struct walk_at *w, struct interp_frame *to)
{
	uint64_t frame[RUBY_CFP_READ], flags;

	(void)slot;
	if (!walk_copy(m, frame, sizeof(frame), w->at) ||
	    !walk_copy(m, &flags, sizeof(flags), frame[RUBY_CFP_EP]))
		return WALK_FAULT;
	if ((flags & RUBY_FRAME_MAGIC) == RUBY_FRAME_DUMMY)
		return WALK_END;
	to->code = frame[RUBY_CFP_ISEQ];
	to->instr = frame[RUBY_CFP_PC];
	to->mark = (flags & RUBY_FRAME_FINISH ? INTERP_ENTRY : 0) |
	           (flags & RUBY_FRAME_CFRAME ? INTERP_NO_CODE : 0);
	w->at += RUBY_CFP_BYTES;
	return WALK_KEPT;
}
