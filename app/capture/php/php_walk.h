/*
 * The frames of PHP: a list from the frame that runs to those that called it.
 *
 *   Source   PHP 7.4 to 8.5, Zend/zend_compile.h: struct _zend_execute_data,
 *            struct _zend_op, enum _zend_call_info
 */
#pragma once

#include "capture/interp/walk.h"

/* Indexes of the words of a frame that are read. */
enum {
	PHP_FRAME_AT, /* address of the instruction, stored at times */
	PHP_FRAME_FUNCTION = 3,
	PHP_FRAME_INFO = 5, /* in its lower half */
	PHP_FRAME_PREVIOUS,
	PHP_FRAME_WORDS
};

#define PHP_CALL_TOP (UINT64_C(1) << 17) /* C called the interpreter */
#define PHP_LINE     24                  /* offset in an instruction */

/* Words of a function that are read: its first byte, and addresses. */
enum { PHP_TYPE, PHP_NAME, PHP_SCOPE, PHP_FUNCTION_WORDS };
enum { PHP_INTERNAL = 1, PHP_USER = 2, PHP_EVAL = 4 };

/*
 * Identifies a function in place of its address: closures are copies of a
 * function that are gone when they have been called, and a request's functions
 * are gone when it ends. The arguments are addresses of strings and of a
 * class, which live longer.
 */
WALK uint64_t
php_identity(uint64_t name, uint64_t scope, uint64_t file, uint32_t first_line)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t h = name * odd;

	h = (h ^ h >> 32 ^ scope) * odd;
	h = (h ^ h >> 32 ^ file) * odd;
	return (h ^ h >> 32 ^ first_line) * odd;
}

/*
 * The frames of a process begin at one address: the interpreter has no threads.
 * Threads of libraries have no call of the interpreter on their stacks.
 */
WALK enum walk_step
php_find(const struct memory *m, const struct interp_list *list,
         uint64_t native, struct walk_at *w)
{
	(void)m;
	(void)native;
	w->at = list->head;
	return WALK_END;
}

/*
 * Looks at a frame; some are only there to hold the list together. A function's
 * identity takes the place of its address, which takes that of the instruction;
 * the instruction's line is in the upper half of the mark. A function that is
 * written in C has a frame, but no call of the interpreter. The layout is the
 * offset of the file's name in a function; its first line follows it.
 */
WALK enum walk_step
php_step(const struct memory *m, const struct interp_slot *slot,
         struct walk_at *w, struct interp_frame *to)
{
	uint64_t frame[PHP_FRAME_WORDS], function[PHP_FUNCTION_WORDS];
	uint64_t file[2] = {0, 0};
	uint32_t line = 0;

	if (!w->at)
		return WALK_END;
	if (!walk_copy(m, frame, sizeof(frame), w->at))
		return WALK_FAULT;
	w->at = frame[PHP_FRAME_PREVIOUS];
	to->instr = frame[PHP_FRAME_FUNCTION];
	if (!to->instr)
		return WALK_ON;
	if (!walk_copy(m, function, sizeof(function), to->instr))
		return WALK_FAULT;
	to->mark = 0;
	if ((function[PHP_TYPE] & 255) != PHP_INTERNAL) {
		if (!walk_copy(m, file, sizeof(file), to->instr + slot->layout))
			return WALK_FAULT;
		if (!walk_copy(m, &line, sizeof(line),
		               frame[PHP_FRAME_AT] + PHP_LINE))
			line = 0;
		to->mark = (uint64_t)line << 32;
		if (frame[PHP_FRAME_INFO] & PHP_CALL_TOP)
			to->mark |= INTERP_ENTRY;
	}
	to->code = php_identity(function[PHP_NAME], function[PHP_SCOPE],
	                        file[0], (uint32_t)file[1]);
	return WALK_KEPT;
}
