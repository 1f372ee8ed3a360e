/*
 * The frames of Lua. Each coroutine has a separate stack of them. While the
 * interpreter runs bytecode, only registers show where the innermost frame is;
 * in a compiled trace, and in C code, memory does.
 *
 * The interpreter keeps the address of its dispatch table in r14, and compiled
 * code leaves it there: what else there is to know lies at fixed distances from
 * it. It is found when a thread is interrupted in such code, and stays the same
 * as long as the state of Lua lives. Frames and pointers are those of builds
 * with LJ_GC64, for x86-64.
 *
 *   Source   LuaJIT 2.1, lj_obj.h: struct lua_State, global_State, GCfunc;
 *            lj_frame.h; vm_x64.dasc
 */
#pragma once

#include "capture/interp/walk.h"

/* In a list and a slot: layout is how many words before the dispatch table the
 * address of the current state is; own[0] is the address of the code that
 * interprets, own[1] its length and, in the upper half, how many bytes the
 * dispatch table is after the start of the global state. */
#define LUAJIT_VMSTATE 184 /* bytes before the current state's address */

/* Words of a state that are read, from its global state's address on. */
#define LUAJIT_STATE 16
enum {
	LUAJIT_GLOBAL,
	LUAJIT_BASE = 2,
	LUAJIT_LIMIT = 4,
	LUAJIT_STACK,
	LUAJIT_CFRAME = 8,
	LUAJIT_STATE_WORDS
};

/* Offsets in the frame that the interpreter has on the C stack. */
enum {
	LUAJIT_C_STATE = 16,
	LUAJIT_C_PC = 24,
	LUAJIT_C_PREVIOUS = 32,
	LUAJIT_C_FP = 64,
	LUAJIT_C_RETURN = 72,
	LUAJIT_C_BYTES = 80
};
#define LUAJIT_C_FLAGS UINT64_C(3) /* in the address of such a frame */

/* Words of a frame of Lua, below its base. */
enum {
	LUAJIT_CONTINUATION,
	LUAJIT_CONTINUE_AT,
	LUAJIT_FUNCTION,
	LUAJIT_LINK,
	LUAJIT_FRAME_WORDS
};

/* Types of links: the lower bits; the rest is an instruction of the caller, or
 * how many bytes the caller's base is below. */
enum {
	LUAJIT_TO_LUA,
	LUAJIT_TO_C,
	LUAJIT_TO_CONTINUATION,
	LUAJIT_TO_SAME, /* the function's own frame, before varargs */
	LUAJIT_TYPE = 3,
	LUAJIT_TYPES = 7
};
#define LUAJIT_CALLED_BY_FFI 1 /* as a continuation */

#define LUAJIT_ADDRESS     ((UINT64_C(1) << 47) - 1)
#define LUAJIT_IS_FUNCTION UINT64_C(0x1fff7) /* above an address */

/* Words of a function that are read. */
enum { LUAJIT_KIND = 1, LUAJIT_CODE = 4, LUAJIT_FUNCTION_WORDS };
#define LUAJIT_PROTO 104 /* bytes of a prototype before its bytecode */

/* In a frame's mark: the function whose trace runs; its trace names it. */
#define LUAJIT_IN_TRACE (UINT64_C(1) << 32)

/* Bits of walk_at.kind. */
enum {
	LUAJIT_BEGUN = 1,
	LUAJIT_SAME = 2,        /* the frame is the function's own again */
	LUAJIT_FIRST_TRACE = 4, /* the frame's function has a trace that runs */
	LUAJIT_SEARCHES = 8     /* the C stack is looked through */
};
#define LUAJIT_FAR          2048 /* bytes of the C stack, at most, */
#define LUAJIT_SEARCH_WORDS 16   /* in steps of this many words */

WALK uint64_t
luajit_distance(uint64_t own)
{
	return own >> 32;
}

WALK bool
luajit_is_code(const uint64_t own[2], uint64_t pc)
{
	return pc - own[0] < (own[1] & UINT32_MAX);
}

/* True for the address of a dispatch table: its current state leads back. */
WALK bool
luajit_is_dispatch(const struct memory *m, uint64_t at, uint16_t layout,
                   const uint64_t own[2])
{
	uint64_t state, global;

	return at % 8 == 0 && at >> 47 == 0 && at &&
	       walk_copy(m, &state, 8, at - 8 * (uint64_t)layout) &&
	       walk_copy(m, &global, 8, state + LUAJIT_STATE) &&
	       global + luajit_distance(own[1]) == at;
}

/*
 * Goes on with the frames of a state, from the innermost that memory shows. If
 * a trace runs in it, that is the one in which the trace was entered. False,
 * with *w untouched, if the state cannot be read, or own is not 0 and its frame
 * on the C stack is another.
 */
WALK bool
luajit_enter(const struct memory *m, const struct interp_slot *slot,
             uint64_t state, uint64_t own, struct walk_at *w,
             uint64_t words[LUAJIT_STATE_WORDS])
{
	const uint64_t here = 8 * (uint64_t)slot->layout;
	uint64_t dispatch, current[2];
	int32_t trace;

	if (!walk_copy(m, words, 8 * LUAJIT_STATE_WORDS,
	               state + LUAJIT_STATE) ||
	    (own && (words[LUAJIT_CFRAME] & ~LUAJIT_C_FLAGS) != own))
		return false;
	dispatch = words[LUAJIT_GLOBAL] + luajit_distance(slot->own[1]);
	if (!walk_copy(m, current, sizeof(current), dispatch - here) ||
	    !walk_copy(m, &trace, sizeof(trace),
	               dispatch - here - LUAJIT_VMSTATE))
		return false;
	w->at = words[LUAJIT_BASE];
	w->end = words[LUAJIT_STACK] + 16;
	w->own = words[LUAJIT_CFRAME] & ~LUAJIT_C_FLAGS;
	w->kind = LUAJIT_BEGUN;
	w->next = 0;
	if (current[0] == state && current[1] && trace > 0) {
		w->at = current[1];
		w->kind |= LUAJIT_FIRST_TRACE;
	}
	return true;
}

/* True for the base of a frame, on the stack of a state. */
WALK bool
luajit_is_base(const struct memory *m, const struct walk_at *w,
               const uint64_t words[LUAJIT_STATE_WORDS], uint64_t base)
{
	uint64_t function;

	return base > w->end && base <= words[LUAJIT_LIMIT] && base % 8 == 0 &&
	       walk_copy(m, &function, 8, base - 16) &&
	       function >> 47 == LUAJIT_IS_FUNCTION;
}

/* Sets the instruction of the innermost frame, which the interpreter saved
 * when it called C. A frame on the C stack for C alone has none. */
WALK void
luajit_kept_pc(const struct memory *m, struct walk_at *w)
{
	uint64_t c[3], at = w->own;

	for (int i = 0; i < 2; i++) {
		if (!walk_copy(m, c, sizeof(c), at + LUAJIT_C_STATE))
			return;
		if (c[0] != c[1])
			break;
		at = c[2] & ~LUAJIT_C_FLAGS;
	}
	w->next = c[0] != c[1] ? c[1] : 0;
}

/* Begins to search the C stack, from an address on, for frames of states that
 * run. */
WALK enum walk_step
luajit_begin_search(struct walk_at *w, uint64_t from)
{
	w->kind = LUAJIT_BEGUN | LUAJIT_SEARCHES;
	w->at = w->end = 0;
	w->own = from & ~UINT64_C(15);
	w->next = w->own + LUAJIT_FAR;
	return WALK_ON;
}

/* A thread may have several states of Lua, and the one that was found first may
 * be gone. */
WALK enum walk_step
luajit_begin(const struct memory *m, const struct interp_slot *slot,
             struct walk_at *w)
{
	const uint64_t base = w->self.dx;
	uint64_t dispatch = w->at, state, words[LUAJIT_STATE_WORDS];

	if (w->self.r14 != dispatch &&
	    luajit_is_dispatch(m, w->self.r14, slot->layout, slot->own))
		dispatch = w->self.r14;
	if (!walk_copy(m, &state, 8, dispatch - 8 * (uint64_t)slot->layout) ||
	    !luajit_enter(m, slot, state, 0, w, words) || !w->own ||
	    words[LUAJIT_GLOBAL] + luajit_distance(slot->own[1]) != dispatch)
		return luajit_begin_search(w, w->self.sp);
	if (w->kind & LUAJIT_FIRST_TRACE)
		return WALK_ON;
	if (w->self.r14 == dispatch && luajit_is_code(slot->own, w->self.pc) &&
	    luajit_is_base(m, w, words, base)) {
		w->at = base;
		w->next = w->self.bx;
	} else {
		luajit_kept_pc(m, w);
	}
	return WALK_ON;
}

/* Leaves the frame at hand by its link, and returns its mark. */
WALK bool
luajit_leave(const struct memory *m, struct walk_at *w,
             const uint64_t frame[LUAJIT_FRAME_WORDS], uint64_t *mark)
{
	const uint64_t link = frame[LUAJIT_LINK];
	const uint64_t type = link & LUAJIT_TYPE;
	uint64_t down = link & ~(uint64_t)LUAJIT_TYPES;
	uint8_t call[4];

	*mark = 0;
	w->kind &= ~(uint32_t)(LUAJIT_SAME | LUAJIT_FIRST_TRACE);
	if (type == LUAJIT_TO_LUA) {
		if (!walk_copy(m, call, sizeof(call), link - 4))
			return false;
		down = 8 * (2 + (uint64_t)call[1]);
		w->next = link;
	} else if (type == LUAJIT_TO_SAME) {
		w->kind |= LUAJIT_SAME;
	} else if (type == LUAJIT_TO_CONTINUATION) {
		w->next = frame[LUAJIT_CONTINUE_AT];
		if (frame[LUAJIT_CONTINUATION] == LUAJIT_CALLED_BY_FFI)
			*mark = INTERP_ENTRY;
	} else {
		w->next = 0;
		*mark = INTERP_ENTRY;
	}
	if (!down || down > w->at)
		return false;
	w->at -= down;
	return true;
}

/* Looks at a frame of Lua. Builtin functions and those of C have one, too. */
WALK enum walk_step
luajit_frame(const struct memory *m, struct walk_at *w, struct interp_frame *to)
{
	uint64_t frame[LUAJIT_FRAME_WORDS], function[LUAJIT_FUNCTION_WORDS];
	const uint64_t instr = w->next;
	const uint32_t kind = w->kind;
	uint64_t mark, at;

	if (!walk_copy(m, frame, sizeof(frame), w->at - sizeof(frame)) ||
	    !luajit_leave(m, w, frame, &mark))
		return WALK_FAULT;
	at = frame[LUAJIT_FUNCTION] & LUAJIT_ADDRESS;
	to->code = to->instr = 0;
	to->mark = mark | INTERP_NO_CODE;
	if (kind & LUAJIT_SAME)
		return mark ? WALK_KEPT : WALK_ON;
	if (frame[LUAJIT_FUNCTION] >> 47 != LUAJIT_IS_FUNCTION)
		return WALK_KEPT;
	if (!walk_copy(m, function, sizeof(function), at))
		return WALK_FAULT;
	if (function[LUAJIT_KIND] >> 16 & 255)
		return WALK_KEPT;
	to->code = function[LUAJIT_CODE] - LUAJIT_PROTO;
	to->instr = kind & LUAJIT_FIRST_TRACE ? 0 : instr;
	to->mark = mark | (kind & LUAJIT_FIRST_TRACE ? LUAJIT_IN_TRACE : 0);
	return WALK_KEPT;
}

/* Goes on with the state whose frame on the C stack is at an address. False if
 * the frame is a leftover of an earlier call: the state then has another. */
WALK bool
luajit_go_on(const struct memory *m, const struct interp_slot *slot,
             uint64_t at, struct walk_at *w)
{
	uint64_t state, words[LUAJIT_STATE_WORDS];

	return walk_copy(m, &state, 8, at + LUAJIT_C_STATE) &&
	       luajit_enter(m, slot, state, at, w, words);
}

/* Searches the C stack for the frame of an outer state, whose code called the
 * C code that runs this one. It is right above a return address to the
 * interpreter. */
WALK enum walk_step
luajit_search(const struct memory *m, const struct interp_slot *slot,
              struct walk_at *w)
{
	uint64_t words[LUAJIT_SEARCH_WORDS], found = 0;

	if (w->own >= w->next || !walk_copy(m, words, sizeof(words), w->own))
		return WALK_END;
	for (int i = LUAJIT_SEARCH_WORDS - 1; i > 0; i -= 2)
		if (luajit_is_code(slot->own, words[i]))
			found = w->own + 8 * (uint64_t)i + 8;
	w->own = found ? found : w->own + sizeof(words);
	if (found)
		(void)luajit_go_on(m, slot, found, w);
	return WALK_ON;
}

/* Looks for the dispatch table while C code runs: the interpreter that called
 * the code has a frame on the C stack. */
WALK enum walk_step
luajit_find_below(const struct memory *m, const struct interp_list *list,
                  struct walk_at *w)
{
	uint64_t words[LUAJIT_SEARCH_WORDS], at = 0;

	if (!walk_copy(m, words, sizeof(words), w->own))
		return WALK_FAULT;
	for (int i = LUAJIT_SEARCH_WORDS - 1; i > 0; i -= 2)
		if (luajit_is_code(list->own, words[i]))
			at = w->own + 8 * (uint64_t)i + 8;
	w->own = at ? at : w->own + sizeof(words);
	/* one room for both, since stack is scarce here */
	if (!at || !walk_copy(m, words, 8, at + LUAJIT_C_STATE) ||
	    !walk_copy(m, words, 8 * LUAJIT_STATE_WORDS,
	               words[0] + LUAJIT_STATE) ||
	    (words[LUAJIT_CFRAME] & ~LUAJIT_C_FLAGS) != at)
		return WALK_ON;
	w->at = words[LUAJIT_GLOBAL] + luajit_distance(list->own[1]);
	return luajit_is_dispatch(m, w->at, list->layout, list->own) ? WALK_END
	                                                             : WALK_ON;
}

/* Only registers and stacks contain the address of a process's state. */
WALK enum walk_step
luajit_find(const struct memory *m, const struct interp_list *list,
            uint64_t native, struct walk_at *w)
{
	(void)native;
	if (w->own)
		return luajit_find_below(m, list, w);
	if (luajit_is_dispatch(m, w->self.r14, list->layout, list->own)) {
		w->at = w->self.r14;
		return WALK_END;
	}
	w->own = w->self.sp & ~UINT64_C(15);
	return w->own ? WALK_ON : WALK_FAULT;
}

/* Leads from the last frame of a state to the state that resumed it, or whose
 * code called the C code that runs it. If the interpreter itself resumed it,
 * the frame is right above that of the coroutine on the C stack. */
WALK enum walk_step
luajit_outer(const struct memory *m, const struct interp_slot *slot,
             struct walk_at *w)
{
	uint64_t previous, back;
	const uint64_t at = w->own;

	if (w->kind & LUAJIT_SEARCHES)
		return luajit_search(m, slot, w);
	if (!walk_copy(m, &previous, 8, at + LUAJIT_C_PREVIOUS))
		return WALK_FAULT;
	previous &= ~LUAJIT_C_FLAGS;
	if (previous > at) {
		w->own = previous;
		return WALK_ON;
	}
	if (!walk_copy(m, &back, 8, at + LUAJIT_C_RETURN))
		return WALK_FAULT;
	if (luajit_is_code(slot->own, back))
		return luajit_go_on(m, slot, at + LUAJIT_C_BYTES, w) ? WALK_ON
		                                                     : WALK_END;
	return luajit_begin_search(w, at + LUAJIT_C_BYTES);
}

WALK enum walk_step
luajit_step(const struct memory *m, const struct interp_slot *slot,
            struct walk_at *w, struct interp_frame *to)
{
	if (!w->kind)
		return luajit_begin(m, slot, w);
	if (w->at > w->end)
		return luajit_frame(m, w, to);
	return luajit_outer(m, slot, w);
}
