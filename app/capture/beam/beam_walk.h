/*
 * The stack of an Erlang process for which a scheduler runs C code.
 *
 * Compiled functions run on the process's own stack, as the kernel copies it
 * with each sample. C code runs on the scheduler's: then a walk copies the
 * Erlang stack. Its first frame has the stack's bounds, the others are 24 bytes
 * of the stack each; both bounds are 0 if the scheduler runs no process. A walk
 * has no frames if the stack pointer is within the Erlang stack.
 *
 *   Source   Erlang/OTP 25.2 and 27.3, erts/emulator/beam: struct process and
 *            struct ErtsSchedulerData_ in erl_process.h; glibc 2.36 and 2.41,
 *            nptl/descr.h: struct pthread
 */
#pragma once

#include "capture/interp/walk.h"

#define BEAM_KEYS  16        /* thread-specific values that are read */
#define BEAM_VALUE 792       /* offset of the first from the thread pointer */
#define BEAM_KEY   16        /* bytes from one to the next */
#define BEAM_RANGE (4 << 20) /* bytes of the schedulers' data */
/* Bytes that are copied below the stack top that a process has saved: short
 * calls to C do not save it, and the stack may have grown since. */
#define BEAM_BELOW 960

/* Offset in the data of a scheduler. */
enum { BEAM_PROCESS = 168 };
/* Offsets in a process: of its stack's top, and of its heap's start. The next
 * word is the end of the heap and of the stack. OTP 27 moved the heap. */
enum { BEAM_STOP = 88, BEAM_HEAP = 128, BEAM_HEAP_27 = 192 };

WALK uint64_t
beam_word(const struct memory *m, uint64_t at)
{
	uint64_t word = 0;

	return walk_copy(m, &word, sizeof(word), at) ? word : 0;
}

/* Looks at one thread-specific value. The lowest that lies in the schedulers'
 * data is the address of the data of this thread's scheduler. */
WALK enum walk_step
beam_find(const struct memory *m, const struct interp_list *list,
          uint64_t native, struct walk_at *w)
{
	uint64_t value;

	(void)native;
	if (!w->self.pointer)
		return WALK_FAULT;
	if (w->steps >= BEAM_KEYS) {
		w->at = w->end;
		return w->end ? WALK_END : WALK_FAULT;
	}
	value = beam_word(m, w->self.pointer + BEAM_VALUE +
	                             (uint64_t)w->steps * BEAM_KEY);
	if (value - list->head < BEAM_RANGE && !(value & 63) &&
	    (!w->end || value < w->end))
		w->end = value;
	return WALK_ON;
}

/* Sets the stack's bounds to those of a heap if it holds the stack's top. */
WALK bool
beam_has_stack(const struct memory *m, struct walk_at *w, uint64_t at)
{
	uint64_t heap[2] = {0};

	if (!walk_copy(m, heap, sizeof(heap), at) || w->next < heap[0] ||
	    w->next > heap[1])
		return false;
	w->own = heap[0];
	w->end = heap[1];
	return true;
}

/* Finds the stack, and sets its bounds. */
WALK enum walk_step
beam_begin(const struct memory *m, struct walk_at *w, struct interp_frame *to)
{
	uint64_t process = beam_word(m, w->at + BEAM_PROCESS);

	to->code = to->instr = to->mark = 0;
	if (!process) {
		w->kind = 1;
		return WALK_KEPT;
	}
	w->next = beam_word(m, process + BEAM_STOP);
	if (!beam_has_stack(m, w, process + BEAM_HEAP) &&
	    !beam_has_stack(m, w, process + BEAM_HEAP_27))
		return WALK_FAULT;
	if (w->self.sp >= w->own && w->self.sp <= w->end)
		return WALK_END;
	to->code = w->at = w->next - BEAM_BELOW;
	to->instr = w->end;
	w->kind = 1;
	return WALK_KEPT;
}

WALK enum walk_step
beam_copy(const struct memory *m, struct walk_at *w, struct interp_frame *to)
{
	if (!w->kind)
		return beam_begin(m, w, to);
	if (w->at >= w->end || !w->end)
		return WALK_END;
	if (!walk_copy(m, to, sizeof(*to), w->at)) /* below the heap */
		to->code = to->instr = to->mark = 0;
	w->at += sizeof(*to);
	return WALK_KEPT;
}

WALK enum walk_step
beam_step(const struct memory *m, const struct interp_slot *slot,
          struct walk_at *w, struct interp_frame *to)
{
	(void)m;
	(void)slot;
	(void)w;
	(void)to;
	return walk_apart(beam_copy(m, w, to));
}
