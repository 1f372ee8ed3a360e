/*
 * The frames of a Ruby thread: its fiber's array of control frames. The array
 * grows downwards, so the innermost frame has the lowest address.
 *
 *   Source   Ruby 2.7.4, 3.1.2 and 3.3.8, vm_core.h: rb_thread_t,
 *            rb_execution_context_t, rb_control_frame_t, enum
 *            vm_frame_env_flags; ractor_core.h: struct rb_ractor_struct;
 *            ccan/list/list.h
 */
#pragma once

#include "capture/interp/walk.h"

enum { RUBY_EC_CFP = 16 }; /* in an execution context: the innermost frame */

/* Words of a control frame that are read. */
enum { RUBY_CFP_PC, RUBY_CFP_ISEQ = 2, RUBY_CFP_EP = 4, RUBY_CFP_READ };

/* The word at ep. */
enum {
	RUBY_FRAME_FINISH = 0x20, /* vm_exec() returns at the frame's end */
	RUBY_FRAME_CFRAME = 0x80, /* of a function written in C */
	RUBY_FRAME_DUMMY = 0x79990001, /* below a thread's first frame */
	RUBY_FRAME_MAGIC = 0x7fff0001
};

/* Offsets of a struct interp_list, whose head is the address of the list of
 * ractors, or of threads if NODE and THREADS are 0; see ruby_versions.def. The
 * layout of a slot is the size of a frame in bytes. */
enum { RUBY_NODE, RUBY_THREADS, RUBY_EC, RUBY_NATIVE, RUBY_TID };

/* Returns the address of a ractor's list of threads. */
WALK uint64_t
ruby_threads_of(const struct interp_list *list, uint64_t node)
{
	return node - list->at[RUBY_NODE] + list->at[RUBY_THREADS];
}

/* Reads the number of a thread in its pid namespace. */
WALK bool
ruby_number(const struct memory *m, const struct interp_list *list,
            uint64_t thread, uint32_t *out)
{
	if (list->at[RUBY_NATIVE] && !walk_copy(m, &thread, sizeof(thread),
	                                        thread + list->at[RUBY_NATIVE]))
		return false;
	return walk_copy(m, out, sizeof(*out), thread + list->at[RUBY_TID]);
}

/* Looks at a thread, the newest of a ractor first, or at a ractor. Lists are
 * circles of a head and its members, each of whose second word leads to the one
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
		if (!list->at[RUBY_NODE] && w->steps)
			return WALK_FAULT;
		if (list->at[RUBY_NODE] &&
		    (!walk_copy(m, &w->next, 8, w->next) ||
		     w->next == list->head))
			return WALK_FAULT;
		w->at = w->end = ruby_threads_of(list, w->next);
	} else {
		if (!ruby_number(m, list, w->at, &number))
			return WALK_FAULT;
		if (number == native) {
			w->at += list->at[RUBY_EC];
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

	if (!walk_copy(m, frame, sizeof(frame), w->at) ||
	    !walk_copy(m, &flags, sizeof(flags), frame[RUBY_CFP_EP]))
		return WALK_FAULT;
	if ((flags & RUBY_FRAME_MAGIC) == RUBY_FRAME_DUMMY)
		return WALK_END;
	to->code = frame[RUBY_CFP_ISEQ];
	to->instr = frame[RUBY_CFP_PC];
	to->mark = (flags & RUBY_FRAME_FINISH ? INTERP_ENTRY : 0) |
	           (flags & RUBY_FRAME_CFRAME ? INTERP_NO_CODE : 0);
	w->at += slot->layout;
	return WALK_KEPT;
}
