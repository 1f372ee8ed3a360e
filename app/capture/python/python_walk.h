/*
 * The frames of a CPython thread: a list in the interpreter's memory.
 *
 *   Source   CPython 3.11, Include/internal/pycore_frame.h and
 *            Include/cpython/pystate.h; 3.12 and 3.13, pycore_frame.h:
 *            struct _PyInterpreterFrame
 */
#pragma once

#include "capture/interp/walk.h"

#define PYTHON_FRAME_BYTES 72 /* bytes of a frame that are read */

enum python_layout {
	PYTHON_3_11,
	PYTHON_3_12, /* and 3.13 */
	PYTHON_LAYOUTS
};

/* Offsets by layout. In 3.11 mark is is_entry; later it is owner. */
static const struct python_layout_of {
	int code, previous, instr, mark;
} python_layouts[] = {
	[PYTHON_3_11] = {32, 48, 56, 68},
	[PYTHON_3_12] = {0, 8, 56, 70},
};

enum { PYTHON_OWNED_BY_C = 3 }; /* FRAME_OWNED_BY_CSTACK */

/* Offsets of a struct interp_list, whose head is the address of the first
 * interpreter. */
enum {
	PYTHON_NEXT,    /* in an interpreter: the next one, */
	PYTHON_THREADS, /* and its newest thread */
	PYTHON_OLDER,   /* in a thread: the one that started before, */
	PYTHON_NATIVE,  /* its number, */
	PYTHON_FRAME    /* and its slot's head */
};

#define PYTHON_MAX_STEPS 64 /* threads and interpreters that are looked at */

/* Finds a thread by its number; sets out->head. */
WALK bool
python_find(const struct memory *m, const struct interp_list *list,
            uint64_t native, struct interp_slot *out)
{
	uint64_t interpreter = 0, thread = 0, number = 0;

	if (!walk_copy(m, &interpreter, 8, list->head))
		return false;
	for (uint32_t i = 0; i < PYTHON_MAX_STEPS; i++) {
		if (!thread) {
			if (!interpreter ||
			    !walk_copy(m, &thread, 8,
			               interpreter +
			                       list->at[PYTHON_THREADS]) ||
			    !walk_copy(m, &interpreter, 8,
			               interpreter + list->at[PYTHON_NEXT]))
				return false;
			continue;
		}
		if (!walk_copy(m, &number, 8, thread + list->at[PYTHON_NATIVE]))
			return false;
		out->head = thread + list->at[PYTHON_FRAME];
		if (number == native)
			return true;
		if (!walk_copy(m, &thread, 8, thread + list->at[PYTHON_OLDER]))
			return false;
	}
	return false;
}

/* Keeps what the copy of a frame holds, and returns the next frame. */
WALK uint64_t
python_keep(const uint8_t *copy, enum python_layout layout,
            struct interp_frame *to)
{
	const struct python_layout_of *l = &python_layouts[layout];

	to->code = walk_word(copy, l->code);
	to->instr = walk_word(copy, l->instr);
	if (layout == PYTHON_3_11)
		to->mark = copy[l->mark] ? INTERP_ENTRY : 0;
	else
		to->mark = copy[l->mark] == PYTHON_OWNED_BY_C
		                   ? INTERP_ENTRY | INTERP_NO_CODE
		                   : 0;
	return walk_word(copy, l->previous);
}

WALK enum interp_end
python_walk(const struct memory *m, const struct interp_slot *slot,
            struct interp_stack *to)
{
	bool older = slot->layout == PYTHON_3_11;
	uint8_t copy[PYTHON_FRAME_BYTES] __attribute__((aligned(8)));
	uint64_t frame = 0;

	if (!walk_first(m, slot, &frame))
		return INTERP_FAULT;
	for (uint32_t i = 0; i < INTERP_MAX_FRAMES; i++) {
		if (!frame)
			return INTERP_ROOT;
		if (!walk_copy(m, copy, sizeof(copy), frame))
			return INTERP_FAULT;
		if (older)
			frame = python_keep(copy, PYTHON_3_11, &to->frames[i]);
		else
			frame = python_keep(copy, PYTHON_3_12, &to->frames[i]);
		to->n = i + 1;
	}
	return INTERP_FULL;
}
