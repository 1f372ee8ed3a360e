/*
 * Tasks of asyncio: which one a thread runs, and which ones await it.
 *
 * The walk along a thread's frames meets the coroutine that a task began with.
 * After the last frame, it goes on with the task's name and then, for each
 * task that awaits the previous one, with the frames of its coroutines, the
 * first one first, and its name (interp_layout.h: enum interp_mark). Since
 * 3.14 a task holds the address of its awaiter. In older versions, the
 * callbacks that asyncio adds to a task for await, gather(), wait(), shield(),
 * wait_for() and TaskGroup lead there.
 *
 *   Source   CPython 3.8 to 3.14, Modules/_asynciomodule.c: struct FutureObj,
 *            struct TaskObj, task_wakeup(); Lib/asyncio: tasks.py,
 *            taskgroups.py; Include/cpython/genobject.h and 3.14,
 *            pycore_genobject.h: struct _PyCoroObject; Objects/dict-common.h
 *            and later pycore_dict.h: struct _dictkeysobject
 */
#pragma once

#include "capture/interp/walk.h"

#define PYTHON_MAX_LOOPS 16 /* threads that run tasks at one moment */
#define PYTHON_MAX_TASKS 16 /* of one chain */
#define PYTHON_CALLBACKS 3  /* of one task that are examined */
#define PYTHON_MAX_CELLS 8  /* of a callback's closure */
#define PYTHON_LAST_TASK 14 /* last minor version whose tasks are known */

#define PYTHON_FIRST_PAGE 4096 /* bytes; nothing is mapped there */
#define PYTHON_NOWHERE    (UINT64_C(1) << PYTHON_MINOR)

/* own[1] of a slot: the minor version, above an address: that of the
 * dictionary of the running tasks; in 3.14, the distance from the slot's head
 * to the thread's running task. 0: there are no tasks. */
#define PYTHON_MINOR   48
#define PYTHON_ADDRESS ((UINT64_C(1) << PYTHON_MINOR) - 1)

/* The code of a frame that has a task's name: the name's address, with a
 * fingerprint of its text above, or one of these. */
enum { PYTHON_SEVERAL = 1, PYTHON_MORE };

/* Offsets: in a task, its coroutine, which its name follows, and its awaiter;
 * in a callback that wakes a task, the task; in a function, its closure. */
static const struct python_task_of {
	uint16_t coro, awaiter, woken, closure;
} python_task_of[16] = {
	[8] = {112, 0, 16, 48},  [9] = {152, 0, 16, 48},
	[10] = {160, 0, 24, 72}, [11] = {136, 0, 24, 72},
	[12] = {136, 0, 24, 72}, [13] = {120, 0, 24, 72},
	[14] = {128, 96, 0, 0},
};
/* Bits of the word after awaiter. */
enum { PYTHON_IS_TASK = 32, PYTHON_IS_SET = 40 };
/* Offsets in a future. */
enum { PYTHON_LOOP = 16, PYTHON_CALLBACK = 24, PYTHON_MORE_CALLBACKS = 40 };

/* The kind of a walk: what its next step finds. */
enum {
	PYTHON_FRAMES,   /* frames, */
	PYTHON_IN_TASK,  /* also frames: the running task is next; */
	PYTHON_NAME,     /* the name of the task next, */
	PYTHON_CORO,     /* a frame of that task: that of the coroutine at, */
	PYTHON_ENDS,     /* a name that stands for other tasks: next */
	PYTHON_NO_TASKS, /* nothing */
};

/* Returns a word of the target; 0 if it can't be read. A read of the first page
 * is a page fault, which takes long; the kernel refuses others at once. */
WALK uint64_t
python_word(const struct walk_at *w, uint64_t at)
{
	uint64_t word = 0;

#ifndef __bpf__
	if (at < PYTHON_FIRST_PAGE)
		return 0;
#endif
	(void)!walk_copy(w->memory, &word, sizeof(word),
	                 at < PYTHON_FIRST_PAGE ? PYTHON_NOWHERE : at);
	return word;
}

/* Returns a fingerprint of a text, 16 bits, never 0. */
WALK uint64_t
python_print(const uint64_t words[4])
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t h = words[0];

	for (int i = 1; i < 4; i++)
		h = (h * odd) ^ words[i];
	return (h * odd) >> PYTHON_MINOR | 1;
}
#define PYTHON_PRINTED 40 /* offset in a str of the fingerprinted bytes */

WALK uint64_t
python_coro_frame(const struct walk_at *w, uint32_t minor, uint64_t coro)
{
	return minor <= 10 ? python_word(w, coro + 16)
	                   : coro + (minor == 11 ? 80 : 72);
}

/* Returns what a suspended coroutine awaits: the top of its frame's stack. */
WALK uint64_t
python_awaited(const struct walk_at *w, uint32_t minor, uint64_t frame)
{
	uint64_t top;

	if (minor <= 9)
		top = python_word(w, frame + 72);
	else if (minor == 10)
		top = python_word(w, frame + 64) +
		      8 * (python_word(w, frame + 80) & UINT32_MAX);
	else if (minor <= 13)
		top = frame + 72 +
		      8 * (python_word(w, frame + 64) & UINT32_MAX);
	else
		top = python_word(w, frame + 64);
	return python_word(w, top - 8) & ~UINT64_C(3);
}

/* Sets the frame of a coroutine. */
WALK void
python_coro(const struct walk_at *w, uint32_t minor, uint64_t frame,
            struct interp_frame *to)
{
	to->code = python_word(w, frame + (minor <= 11 ? 32 : 0)) &
	           ~UINT64_C(3);
	to->mark = 0;
	if (minor >= 11)
		to->instr = python_word(w, frame + 56);
	else if (minor == 10)
		to->instr = to->code +
		            2 * (python_word(w, frame + 96) & UINT32_MAX);
	else
		to->instr = to->code +
		            (python_word(w, frame + 104) & UINT32_MAX);
}

/* Returns the task that runs the coroutine with the frame own; 0: none. */
WALK_ONCE uint64_t
python_running(const struct walk_at *w, uint64_t head, uint64_t own)
{
	const uint64_t root = own & PYTHON_ADDRESS;
	const uint32_t minor = own >> PYTHON_MINOR & 15;
	uint64_t keys, n = 1, at = head + root - 16, coro, task;

	if (!w)
		return 0;
	if (minor <= 13) {
		keys = python_word(w, root + 32);
		n = python_word(w, keys + (minor <= 10 ? 32 : 24));
		at = python_word(w, keys + 8);
		at = minor <= 10 ? keys + 40 + at
		                 : keys + 32 + (UINT64_C(1) << (at >> 8 & 31));
	}
	for (uint32_t i = 0; i < PYTHON_MAX_LOOPS && i < n; i++) {
		task = python_word(w, at + 24 * i + 16);
		coro = python_word(w, task + python_task_of[minor].coro);
		if (task && python_coro_frame(w, minor, coro) == w->own)
			return task;
	}
	return 0;
}

/* Returns the task that a callback wakes; 0: none. */
WALK uint64_t
python_woken(const struct walk_at *w, uint32_t minor, uint64_t callback,
             uint64_t type)
{
	uint64_t task = python_word(w, callback + python_task_of[minor].woken);

	return python_word(w, task + 8) == type ? task : 0;
}

/* Returns the task that a future wakes; 0: none, or the future does not belong
 * to the event loop of `other`. */
WALK uint64_t
python_wakes(const struct walk_at *w, uint32_t minor, uint64_t future,
             uint64_t other)
{
	if (!future || python_word(w, future + PYTHON_LOOP) !=
	                       python_word(w, other + PYTHON_LOOP))
		return 0;
	return python_woken(w, minor, python_word(w, future + PYTHON_CALLBACK),
	                    python_word(w, other + 8));
}

/* Returns the task that made a TaskGroup. */
WALK uint64_t
python_group(const struct walk_at *w, uint32_t minor, uint64_t group,
             uint64_t type)
{
	uint64_t at = minor == 11   ? python_word(w, group - 32)
	              : minor == 12 ? python_word(w, group - 24) + 1
	                            : group + 24;
	uint64_t task = python_word(w, at + 32);

	return python_word(w, task + 8) == type ? task : 0;
}

/* Returns the task to which a callback of another one leads: a method of the
 * task, or of its TaskGroup; functools.partial() of a future that it awaits; a
 * function with such a future in its closure. */
WALK_ONCE uint64_t
python_behind(const struct walk_at *w, uint32_t version, uint64_t callback,
              uint64_t other)
{
	const uint32_t minor = version & 15;
	uint64_t type, task, self, cell;

	if (!w || !callback)
		return 0;
	type = python_word(w, other + 8);
	task = python_woken(w, minor, callback, type);
	self = python_word(w, callback + 24);
	if (!task && minor >= 11)
		task = python_group(w, minor, self, type);
	if (!task)
		task = python_wakes(w, minor, python_word(w, self + 24), other);
	if (task)
		return task;
	self = python_word(w, callback + python_task_of[minor].closure);
	for (uint32_t i = 0; i < PYTHON_MAX_CELLS && self && !task; i++) {
		cell = python_word(w, self + 24 + 8 * i);
		task = python_wakes(w, minor, python_word(w, cell + 16), other);
	}
	return task;
}

/* Returns the task that awaits a task (3.14: task_awaited_by), or
 * PYTHON_SEVERAL; 0: none. Skips up to three futures in between, as of
 * gather(). */
WALK uint64_t
python_noted(const struct walk_at *w, uint32_t minor, uint64_t task)
{
	const uint64_t offset = python_task_of[minor].awaiter;
	uint64_t flags = python_word(w, task + offset + 8);

	for (uint32_t i = 0; i < 4; i++) {
		task = python_word(w, task + offset);
		if (task && flags >> PYTHON_IS_SET & 255)
			return PYTHON_SEVERAL;
		flags = python_word(w, task + offset + 8);
		if (!task || flags >> PYTHON_IS_TASK & 255)
			return task;
	}
	return 0;
}

/* Returns the task that awaits a task, or PYTHON_SEVERAL; 0: none. */
WALK uint64_t
python_awaiter(const struct walk_at *w, uint32_t minor, uint64_t task)
{
	uint64_t more = python_word(w, task + PYTHON_MORE_CALLBACKS), found, by;
	uint64_t callback;

	if (minor >= 14)
		return python_noted(w, minor, task);
	more = python_word(w, more + 24);
	callback = python_word(w, task + PYTHON_CALLBACK);
	found = python_behind(w, minor, callback, task);
	for (uint32_t i = 0; i < PYTHON_CALLBACKS && more; i++) {
		callback = python_word(w, python_word(w, more + 8 * i) + 24);
		by = python_behind(w, minor, callback, task);
		if (by && found && by != found)
			return PYTHON_SEVERAL;
		found = by ? by : found;
	}
	return found;
}

/* Sets the name of the task w->next, and goes on with its awaiter. */
WALK void
python_name(struct walk_at *w, uint32_t minor, struct interp_frame *to)
{
	const uint64_t coro = python_task_of[minor].coro;
	uint64_t name = python_word(w, w->next + coro + 8), words[4] = {0};

	if (!walk_copy(w->memory, words, sizeof(words), name + PYTHON_PRINTED))
		words[0] = 0;
	to->code = (name & PYTHON_ADDRESS) | python_print(words)
	                                             << PYTHON_MINOR;
	w->next = python_awaiter(w, minor, w->next);
	if (w->next > PYTHON_MORE && ++w->steps == PYTHON_MAX_TASKS)
		w->next = PYTHON_MORE;
	w->at = w->next > PYTHON_MORE ? python_word(w, w->next + coro) : 0;
	w->end = python_word(w, w->at + 8);
	w->kind = !w->next                 ? PYTHON_NO_TASKS
	          : w->next <= PYTHON_MORE ? PYTHON_ENDS
	          : w->at                  ? PYTHON_CORO
	                                   : PYTHON_NAME;
}

/* Takes a step after the frames; or, among them, checks whether a task called
 * the coroutine with the frame own. */
WALK_ONCE int
python_task_step(const struct interp_slot *slot, struct walk_at *w,
                 struct interp_frame *to)
{
	uint64_t frame;
	uint32_t minor;

	if (!slot || !w || !to)
		return WALK_FAULT;
	minor = slot->own[1] >> PYTHON_MINOR & 15;
	switch (w->kind) {
	case PYTHON_FRAMES:
		w->next = python_running(w, slot->head, slot->own[1]);
		w->own = 0;
		if (w->next) {
			w->kind = PYTHON_IN_TASK;
			to->mark |= INTERP_OUTSIDE;
		}
		return WALK_KEPT;
	case PYTHON_IN_TASK:
	case PYTHON_NAME:
		python_name(w, minor, to);
		break;
	case PYTHON_ENDS:
		to->code = w->next;
		w->kind = PYTHON_NO_TASKS;
		break;
	case PYTHON_CORO:
		frame = python_coro_frame(w, minor, w->at);
		python_coro(w, minor, frame, to);
		w->at = python_awaited(w, minor, frame);
		if (!w->at || python_word(w, w->at + 8) != w->end)
			w->kind = PYTHON_NAME;
		return WALK_KEPT;
	default:
		return WALK_END;
	}
	to->instr = to->code;
	to->mark = INTERP_TASK;
	return WALK_KEPT;
}
