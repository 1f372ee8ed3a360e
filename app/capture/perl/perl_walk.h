/*
 * The frames of Perl: contexts. Each sub has one, and so do blocks, loops and
 * evals. They are in arrays, one for each call from C that has a separate
 * stack; the last context of an array is the innermost. A context records
 * where the code around it was.
 *
 *   Source   Perl 5.32 to 5.42, cop.h: struct stackinfo, struct block, struct
 *            cop; cv.h: struct xpvcv; intrpvar.h
 */
#pragma once

#include "capture/interp/walk.h"

/*
 * The layout of a slot is the offset in an interpreter of its statement,
 * PL_curcop. Without threads there is no interpreter but variables: the
 * statement is the head, and the layout has this bit and the distance in words
 * from the statement to PL_curstackinfo, which may be negative.
 */
#define PERL_VARIABLES  0x8000
#define PERL_MOST_WORDS 0x4000
#define PERL_STACK      16 /* offset of PL_curstackinfo from PL_curcop */

/* Words of struct stackinfo that are read, from si_cxstack on. */
enum { PERL_CONTEXTS, PERL_PREVIOUS, PERL_INNERMOST = 3, PERL_STACK_WORDS };
#define PERL_SI 8 /* offset of the first */

/* Words of a context that are read; its type is the first byte. */
enum {
	PERL_TYPE,
	PERL_CALLER = 2, /* the statement around it */
	PERL_RETURN = 6, /* of a sub or an eval: 0 if C called it */
	PERL_CV = 9,     /* of a sub */
	PERL_CONTEXT_WORDS
};
#define PERL_CONTEXT       UINT64_C(104)
#define PERL_MAX_INNERMOST (1 << 24)

/* Types of contexts, and bits of types. */
enum {
	PERL_CX_SORT = 0,
	PERL_CX_BLOCK = 2,
	PERL_CX_SUB = 9,
	PERL_CX_EVAL = 11,
	PERL_CX_DEFER = 13,
	PERL_CX_TYPE = 15,
	PERL_CX_STRING = 0x20,  /* of an eval: of a string, */
	PERL_CX_TRY = 0xc0,     /* or of a block */
	PERL_CX_PATTERN = 0x40, /* of a sub: code in a pattern, */
	PERL_CX_AGAIN = 0x80    /* of the sub around it */
};

/* Words of a statement that are read; the upper half of the first is its
 * line. */
#define PERL_COP 32
enum { PERL_COP_LINE, PERL_COP_FILE = 2, PERL_COP_WORDS };

/* Words of a sub that are read, from xcv_start_u on. */
#define PERL_XCV 40
enum { PERL_START, PERL_NAME = 2, PERL_FLAGS = 6, PERL_CV_WORDS };
#define PERL_IS_XS    (UINT64_C(0x8) << 32)
#define PERL_IS_NAMED (UINT64_C(0x8000) << 32) /* without a glob */

/*
 * The kind of a frame, in the upper bits of its instr; the lower ones are an
 * address. Its code is a sub's first instruction, which closures share, and
 * which outlives them; a file's name; or the kind, where one is enough.
 */
enum perl_kind {
	PERL_BY_GLOB = 1, /* a sub; the address is of its glob, */
	PERL_BY_CV,       /* or of the sub itself */
	PERL_MAIN,        /* the program; the address is of its file's name */
	PERL_EVAL,        /* a string */
	PERL_FILE         /* by require or do; the address is of its name */
};
#define PERL_KIND 60 /* where these bits begin */

/* Offsets of a struct interp_list, whose head is the address of the process's
 * first interpreter: in a thread, of its interpreter; and the number of the
 * process's first thread. */
enum { PERL_KEY, PERL_FIRST };

/* True if this is the address of an interpreter's address: two of the
 * interpreter's members lead to its stack. */
WALK bool
perl_is_there(const struct memory *m, uint64_t at, uint16_t layout)
{
	uint64_t interpreter, here[2], stack;

	return walk_copy(m, &interpreter, 8, at) &&
	       walk_copy(m, here, sizeof(here), interpreter + layout + 8) &&
	       walk_copy(m, &stack, 8, here[1]) && stack == here[0];
}

/* A thread's own interpreter is a value that it keeps for a key. */
WALK enum walk_step
perl_find(const struct memory *m, const struct interp_list *list,
          uint64_t native, struct walk_at *w)
{
	const uint64_t own = w->self.pointer + list->at[PERL_KEY];

	if (list->layout & PERL_VARIABLES)
		return WALK_END;
	if (w->self.pointer && list->at[PERL_KEY] &&
	    perl_is_there(m, own, list->layout)) {
		w->at = own;
		return WALK_END;
	}
	return native == list->at[PERL_FIRST] &&
	                       perl_is_there(m, w->at, list->layout)
	               ? WALK_END
	               : WALK_FAULT;
}

/* Goes on with the contexts of a stack; next is the innermost, end the
 * outermost. */
WALK enum walk_step
perl_enter(const struct memory *m, struct walk_at *w)
{
	uint64_t si[PERL_STACK_WORDS];
	int32_t innermost;

	if (!walk_copy(m, si, sizeof(si), w->at + PERL_SI))
		return WALK_FAULT;
	innermost = (int32_t)si[PERL_INNERMOST];
	if (innermost < -1 || innermost > PERL_MAX_INNERMOST ||
	    si[PERL_CONTEXTS] < PERL_CONTEXT)
		return WALK_FAULT;
	w->at = si[PERL_PREVIOUS];
	w->end = si[PERL_CONTEXTS];
	w->next = w->end + (uint64_t)(int64_t)innermost * PERL_CONTEXT;
	w->kind = PERL_CX_SORT;
	return WALK_ON;
}

/* Sets a frame by the statement at hand. If code is 0, or instr holds only a
 * kind, the address of the statement's file name is put there. */
WALK enum walk_step
perl_keep(const struct memory *m, const struct walk_at *w, uint64_t code,
          uint64_t instr, uint64_t mark, struct interp_frame *to)
{
	uint64_t cop[PERL_COP_WORDS] = {0};

	if (!walk_copy(m, cop, sizeof(cop), w->own + PERL_COP))
		cop[PERL_COP_FILE] = 0;
	if (!(instr << 4))
		instr |= cop[PERL_COP_FILE] << 4 >> 4;
	to->code = code ? code : cop[PERL_COP_FILE];
	to->instr = instr;
	to->mark = (cop[PERL_COP_LINE] >> 32) << 32 | mark;
	return WALK_KEPT;
}

/* True for contexts of blocks that C runs. */
WALK bool
perl_is_block(uint64_t type)
{
	return (type & PERL_CX_TYPE) == PERL_CX_SORT ||
	       (type & PERL_CX_TYPE) == PERL_CX_DEFER ||
	       ((type & PERL_CX_TYPE) == PERL_CX_SUB &&
	        (type & PERL_CX_PATTERN));
}

/* Returns the mark of a sub or an eval. If it is the last of a block that C
 * runs, it has nowhere to return to either. */
WALK uint64_t
perl_mark(const struct memory *m, const struct walk_at *w,
          const uint64_t *context)
{
	uint8_t type = PERL_CX_BLOCK;

	if (context[PERL_RETURN])
		return 0;
	if (w->next >= w->end && !walk_copy(m, &type, 1, w->next))
		return 0;
	return perl_is_block(type) ? 0 : INTERP_ENTRY;
}

WALK enum walk_step
perl_sub(const struct memory *m, const struct walk_at *w,
         const uint64_t *context, struct interp_frame *to)
{
	const uint64_t mark = perl_mark(m, w, context);
	uint64_t cv[PERL_CV_WORDS], body, name, kind;

	if (!walk_copy(m, &body, 8, context[PERL_CV]) ||
	    !walk_copy(m, cv, sizeof(cv), body + PERL_XCV))
		return WALK_FAULT;
	if (cv[PERL_FLAGS] & PERL_IS_XS)
		return WALK_ON;
	if (context[PERL_TYPE] & PERL_CX_AGAIN) {
		to->mark = mark | INTERP_NO_CODE;
		return WALK_KEPT;
	}
	kind = cv[PERL_FLAGS] & PERL_IS_NAMED ? PERL_BY_CV : PERL_BY_GLOB;
	name = kind == PERL_BY_CV ? context[PERL_CV] : cv[PERL_NAME];
	return perl_keep(m, w, cv[PERL_START],
	                 kind << PERL_KIND | (name << 4 >> 4), mark, to);
}

WALK enum walk_step
perl_eval(const struct memory *m, const struct walk_at *w,
          const uint64_t *context, struct interp_frame *to)
{
	const uint64_t mark = perl_mark(m, w, context);

	if (context[PERL_TYPE] & PERL_CX_STRING)
		return perl_keep(m, w, PERL_EVAL,
		                 (uint64_t)PERL_EVAL << PERL_KIND | 1, mark,
		                 to);
	return perl_keep(m, w, 0, (uint64_t)PERL_FILE << PERL_KIND, mark, to);
}

/* Looks at a context. */
WALK enum walk_step
perl_look(const struct memory *m, struct walk_at *w, struct interp_frame *to)
{
	uint64_t context[PERL_CONTEXT_WORDS];
	enum walk_step rc = WALK_ON;

	if (!walk_copy(m, context, sizeof(context), w->next))
		return WALK_FAULT;
	w->next -= PERL_CONTEXT;
	w->kind = context[PERL_TYPE] & PERL_CX_TYPE;
	switch (w->kind) {
	case PERL_CX_SUB:
		rc = perl_sub(m, w, context, to);
		break;
	case PERL_CX_EVAL:
		if (context[PERL_TYPE] & PERL_CX_TRY)
			return WALK_ON; /* a block of the sub around it */
		rc = perl_eval(m, w, context, to);
		break;
	case PERL_CX_SORT:
	case PERL_CX_DEFER:
		to->mark = INTERP_ENTRY | INTERP_NO_CODE;
		rc = WALK_KEPT;
		break;
	default:
		return WALK_ON;
	}
	w->own = context[PERL_CALLER];
	return rc;
}

/* The outermost context is a block while the program itself runs; while it is
 * compiled, and for other threads, it is what C called. */
WALK enum walk_step
perl_outermost(const struct memory *m, struct walk_at *w,
               struct interp_frame *to)
{
	if (w->kind != PERL_CX_BLOCK)
		return WALK_END;
	w->kind = PERL_CX_SORT;
	return perl_keep(m, w, PERL_MAIN, (uint64_t)PERL_MAIN << PERL_KIND,
	                 INTERP_ENTRY, to);
}

WALK enum walk_step
perl_begin(const struct memory *m, uint16_t layout, struct walk_at *w)
{
	uint64_t statement = w->at, stack;

	if (layout & PERL_VARIABLES) {
		stack = statement +
		        (uint64_t)((int64_t)(int16_t)(layout << 1) * 4);
	} else {
		statement += layout;
		stack = statement + PERL_STACK;
	}
	return walk_copy(m, &w->own, 8, statement) &&
	                       walk_copy(m, &w->at, 8, stack)
	               ? perl_enter(m, w)
	               : WALK_FAULT;
}

WALK enum walk_step
perl_step(const struct memory *m, const struct interp_slot *slot,
          struct walk_at *w, struct interp_frame *to)
{
	if (!w->end)
		return perl_begin(m, slot->layout, w);
	if (w->next >= w->end)
		return perl_look(m, w, to);
	return w->at ? perl_enter(m, w) : perl_outermost(m, w, to);
}
