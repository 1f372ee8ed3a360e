/*
 * The frames of a CPython thread: a list in the interpreter's memory.
 *
 *   Source   CPython 3.8 to 3.10, Include/cpython/frameobject.h (3.8:
 *            Include/frameobject.h); 3.11, Include/internal/pycore_frame.h and
 *            Include/cpython/pystate.h; 3.12 and 3.13, pycore_frame.h; 3.14
 *            and 3.15, pycore_interpframe_structs.h: struct
 *            _PyInterpreterFrame
 */
#pragma once

#include "python_tasks.h"

enum python_layout {
	PYTHON_3_8, /* and 3.9 */
	PYTHON_3_10,
	PYTHON_3_11,
	PYTHON_3_12, /* and 3.13 */
	PYTHON_3_14,
	PYTHON_3_15,
};

#define PYTHON_FRAME_BYTES 108 /* of the longest frame */

/* Offsets by layout, and the bytes of a frame that are read. Up to 3.10 instr
 * is the number of an instruction. In 3.11 mark is is_entry; later it is
 * owner. */
static const struct python_layout_of {
	int code, previous, instr, mark, bytes;
} python_layouts[] = {
	[PYTHON_3_8] = {32, 24, 104, 0, 108},
	[PYTHON_3_10] = {32, 24, 96, 0, 100},
	[PYTHON_3_11] = {32, 48, 56, 68, 72},
	[PYTHON_3_12] = {0, 8, 56, 70, 72},
	[PYTHON_3_14] = {0, 8, 56, 74, 76},
	[PYTHON_3_15] = {0, 8, 56, 74, 76},
};

/* FRAME_OWNED_BY_CSTACK in 3.12; in 3.14 _BY_INTERPRETER, which another kind
 * that C owns follows. */
enum { PYTHON_OWNED_BY_C = 3 };

#define PYTHON_TAGS UINT64_C(3) /* tag bits of a reference in 3.14 */

/* Offsets of a struct interp_list, whose head is the address of the first
 * interpreter. */
enum {
	PYTHON_NEXT,    /* in an interpreter: the next one, */
	PYTHON_THREADS, /* and its newest thread */
	PYTHON_OLDER,   /* in a thread: the one that started before, */
	PYTHON_NATIVE,  /* its number, */
	PYTHON_FRAME,   /* and its slot's head */
	PYTHON_TID      /* up to 3.10 NATIVE leads to the C library's thread:
	                   the number's offset there, of 32 bits; or 0 */
};

WALK bool
python_tid(const struct memory *m, uint64_t at, uint64_t *out)
{
	uint32_t tid = 0;

	if (!walk_copy(m, &tid, sizeof(tid), at))
		return false;
	*out = tid;
	return true;
}

/* Moves to the next interpreter, and returns its newest thread. */
WALK bool
python_interpreter(const struct memory *m, const struct interp_list *list,
                   struct walk_at *w, uint64_t *thread)
{
	return w->next &&
	       walk_copy(m, thread, 8, w->next + list->at[PYTHON_THREADS]) &&
	       walk_copy(m, &w->next, 8, w->next + list->at[PYTHON_NEXT]);
}

/* Looks at one thread state, or goes on to the next interpreter. A thread that
 * runs several interpreters has a state in each. The newest state with frames
 * is found; if none has frames, the newest. */
WALK enum walk_step
python_find(const struct memory *m, const struct interp_list *list,
            uint64_t native, struct walk_at *w)
{
	uint64_t thread = w->at, number = 0;

	if (!w->steps) {
		if (!walk_copy(m, &w->next, 8, thread))
			return WALK_FAULT;
		thread = 0;
	}
	if (!thread) {
		if (python_interpreter(m, list, w, &w->at))
			return WALK_ON;
		w->at = w->end;
		return w->end ? WALK_END : WALK_FAULT;
	}
	if (!walk_copy(m, &number, 8, thread + list->at[PYTHON_NATIVE]) ||
	    (list->at[PYTHON_TID] &&
	     !python_tid(m, number + list->at[PYTHON_TID], &number)))
		return WALK_FAULT;
	if (number == native) {
		const struct interp_slot slot = {.head = thread +
		                                         list->at[PYTHON_FRAME],
		                                 .hop = list->hop};
		uint64_t frame = 0;

		if (!w->end)
			w->end = slot.head;
		if (walk_first(m, &slot, &frame) && frame) {
			w->at = slot.head;
			return WALK_END;
		}
	}
	return walk_copy(m, &w->at, 8, thread + list->at[PYTHON_OLDER])
	               ? WALK_ON
	               : WALK_FAULT;
}

/* Returns the address of an instruction by its number; -1 before the first.
 * 3.10 counts instructions, 3.8 their bytes. */
WALK uint64_t
python_instr(const uint8_t *copy, enum python_layout layout, uint64_t code)
{
	int64_t at =
		*(const int32_t *)(const void *)(copy +
	                                         python_layouts[layout].instr);

	return code + (uint64_t)(layout == PYTHON_3_10 ? 2 * at : at);
}

/* Keeps what the copy of a frame holds, and returns the next frame. Up to 3.10
 * each frame has a call of the interpreter. */
WALK uint64_t
python_keep(const uint8_t *copy, enum python_layout layout,
            struct interp_frame *to)
{
	const struct python_layout_of *l = &python_layouts[layout];

	to->code = walk_word(copy, l->code);
	if (layout >= PYTHON_3_14)
		to->code &= ~PYTHON_TAGS;
	if (layout <= PYTHON_3_10) {
		to->instr = python_instr(copy, layout, to->code);
		to->mark = INTERP_ENTRY;
	} else {
		to->instr = walk_word(copy, l->instr);
		if (layout == PYTHON_3_11)
			to->mark = copy[l->mark] ? INTERP_ENTRY : 0;
		else
			to->mark = copy[l->mark] >= PYTHON_OWNED_BY_C
			                   ? INTERP_ENTRY | INTERP_NO_CODE
			                   : 0;
	}
	return walk_word(copy, l->previous);
}

/* True for the frame of a generator or a coroutine.
 *   Source   f_gen; owner: FRAME_OWNED_BY_GENERATOR */
WALK bool
python_is_coroutine(const uint8_t *copy, enum python_layout layout)
{
	const struct python_layout_of *l = &python_layouts[layout];

	return layout == PYTHON_3_8    ? walk_word(copy, 96)
	       : layout == PYTHON_3_10 ? walk_word(copy, 88)
	       : layout == PYTHON_3_11 ? copy[l->mark + 1] == 1
	                               : copy[l->mark] == 1;
}

/* Looks at a frame. In 3.15 a frame that C owns, and for which there is no
 * call, ends the list. A task calls the outermost of the coroutines that call
 * one another. */
WALK enum walk_step
python_step_as(const struct memory *m, const struct interp_slot *slot,
               enum python_layout layout, struct walk_at *w,
               struct interp_frame *to)
{
	uint8_t copy[PYTHON_FRAME_BYTES] __attribute__((aligned(8)));
	int bytes = python_layouts[layout].bytes;

	if (!walk_copy(m, copy, (size_t)bytes, w->at))
		return WALK_FAULT;
	w->end = w->at;
	w->at = python_keep(copy, layout, to);
	if (slot->own[1] && python_is_coroutine(copy, layout))
		w->own = w->end;
	else if (w->own && w->kind == PYTHON_FRAMES)
		return walk_apart(python_task_step(slot, w, to));
	return layout == PYTHON_3_15 && !w->at && to->mark ? WALK_END
	                                                   : WALK_KEPT;
}

WALK enum walk_step
python_step(const struct memory *m, const struct interp_slot *slot,
            struct walk_at *w, struct interp_frame *to)
{
	if (!w->at || w->kind > PYTHON_IN_TASK)
		return w->kind ? walk_apart(python_task_step(slot, w, to))
		               : WALK_END;
	switch (slot->layout) {
	case PYTHON_3_8:
		return python_step_as(m, slot, PYTHON_3_8, w, to);
	case PYTHON_3_10:
		return python_step_as(m, slot, PYTHON_3_10, w, to);
	case PYTHON_3_11:
		return python_step_as(m, slot, PYTHON_3_11, w, to);
	case PYTHON_3_12:
		return python_step_as(m, slot, PYTHON_3_12, w, to);
	case PYTHON_3_14:
		return python_step_as(m, slot, PYTHON_3_14, w, to);
	default:
		return python_step_as(m, slot, PYTHON_3_15, w, to);
	}
}
