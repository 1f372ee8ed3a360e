/*
 * One walk of a stack. A step leads to the caller; the few frames that need
 * more take a step by a whole row, or a search for the frame pointer.
 */
#pragma once

#include "unwind_table.h"

#define UNWIND_CACHE    1024      /* remembered addresses, 16 bytes each */
#define UNWIND_RETURNS  128       /* addresses known to follow a call */
#define UNWIND_PAST_END (8 << 20) /* bytes a stack may go on past the dump */

struct walk {
	struct unwinder *u;
	const struct unwind_arch *arch;
	struct unwind_stack stack;
	struct registers *whole; /* NULL: only the registers of struct frame */
	bool stays_whole;        /* whole is kept to the walk's end */
	bool bare;               /* the walk began with pc and sp alone */
	const uint64_t
		*regs; /* of the first frame, as in unwind(); NULL: none */
	size_t index;  /* of the frame in pcs[]; SIZE_MAX: in a trial */
	bool uncalled; /* the last frame was entered by a return to its first
	                  instruction */
};

struct frame {
	uint64_t pc, sp, fp;
	uint64_t lr; /* aarch64: the return address, in leaf functions */
	bool fp_known, lr_known;
	bool interrupted; /* pc is the next instruction, not a return address */
};

/* All registers, for the few stacks that need more than struct frame has. */
struct registers {
	uint64_t value[CFI_REGS];
	uint64_t known; /* bit per register */
};

/* A cached rule. */
struct known_rule {
	uint64_t key; /* 0: empty */
	struct unwind_rule rule;
};

struct unwinder {
	const struct unwind_arch *arch;
	unwind_find *find;
	void *find_arg;
	unwind_step *step; /* NULL: none */
	void *step_arg;
	struct unwind_mapping here; /* found by the last look-up */
	uint64_t missing; /* address of the last word that was not known */
	const struct unwind_piece *far; /* as in struct unwind_stack */
	size_t nfar;
	/* The frame on the other stack at which the last walk ended:
	 * interrupted code, or the switching function (sp is its frame
	 * pointer). sp == 0: unknown. */
	struct frame other;
	struct registers other_regs; /* of interrupted code */
	struct known_rule cache[UNWIND_CACHE];
	uint64_t returns[UNWIND_RETURNS]; /* 0: empty */
	/* libunwind's; created by the first step by a whole row; or NULL */
	struct unw_addr_space *space;
};

/* Results of a step, beside how the walk ended (enum unwind_end). */
enum {
	STEP_DONE = UNWIND_MAX + 1,
	STEP_INTERRUPTED, /* done, but f was interrupted, and made no call */
	STEP_CONTEXT,     /* a root that is entered by a return to its first
	                     instruction */
	STEP_NEEDS_WHOLE,
	STEP_NEEDS_POINTER, /* walk_recover() may find it */
};

static inline bool
walk_word(const struct walk *w, uint64_t addr, uint64_t *out)
{
	return unwind_word(&w->stack, addr, out);
}

/* Returns how a walk ends that could not read the word at addr. */
static inline enum unwind_end
walk_missing(const struct walk *w, uint64_t addr)
{
	const struct unwind_piece *near = &w->stack.near;

	w->u->missing = addr;
	return addr >= near->start &&
	                       addr - near->start < near->len + UNWIND_PAST_END
	               ? UNWIND_TRUNCATED
	               : UNWIND_BAD;
}

/* Sets u->here to the mapping of an address; false: there is none. */
bool unwinder_enter(struct unwinder *u, uint64_t addr);
/* Finds the mapping of an address; false: there is none. */
bool walk_mapping(struct walk *w, uint64_t addr, struct unwind_mapping *out);
/* True if the instruction before pc is a call, which is known only for code of
 * images; *target is the called address, or 0 if the call does not contain
 * it. */
bool walk_follows_call(struct walk *w, uint64_t pc, uint64_t *target);
/* Steps to the caller; returns a STEP_* result, or how the walk ends. */
int walk_step(struct walk *w, struct frame *f);

/*
 * Steps by a whole row of a function's frame information, with the registers
 * in w->whole. libunwind evaluates the row; the only memory it sees is the
 * stack and the row.
 *   Errors   UNWIND_NO_INFO on stacks of another machine, too
 */
int walk_whole(struct walk *w, struct frame *f);
void walk_whole_done(struct unwinder *u);
/*
 * Steps to the caller when the frame pointer is needed but not known: finds
 * where it must point by the function's code, or by searching the stack.
 *   Shape    the function saves the frame pointer as usual, below the return
 *            address
 */
int walk_recover(struct walk *w, struct frame *f);
/* True if a walk from f, which makes no trials itself, reaches the root. */
bool walk_reaches_root(const struct walk *w, struct frame f);
/*
 * True if interrupted code was called within its function, with nothing pushed
 * since; then *f is the caller. Some assembly does so, and does not describe
 * it in its frame information.
 */
bool walk_called_within(struct walk *w, struct frame *f);
