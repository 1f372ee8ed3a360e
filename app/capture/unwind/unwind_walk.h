/*
 * One walk of a stack. A step leads to the caller; a step by a whole row, and
 * the search for a frame pointer, are for the few that need more.
 */
#pragma once

#include "unwind_table.h"

#define UNWIND_CACHE    1024      /* addresses of one space, 16 bytes each */
#define UNWIND_RETURNS  128       /* addresses known to follow a call */
#define UNWIND_PAST_END (8 << 20) /* bytes a stack may go on past the dump */

struct walk {
	struct unwinder *u;
	const struct unwind_arch *arch;
	const uint8_t *stack;
	uint64_t start; /* address of stack[0] */
	size_t len;
	struct registers *whole; /* NULL: just those of struct frame */
	bool stays_whole;        /* also above the first frame that needs it */
	bool bare;     /* the walk began with no register but pc and sp */
	bool uncalled; /* the frame stepped from is returned to at its begin */
};

struct frame {
	uint64_t pc, sp, fp;
	uint64_t lr; /* aarch64: the return address, in leaf functions */
	bool fp_known, lr_known;
	bool interrupted; /* pc is the next instruction, not a return address */
};

/* All registers, for the few stacks that need another than struct frame's. */
struct registers {
	uint64_t value[CFI_REGS];
	uint64_t known; /* bit per register */
};

/* A rule that was looked up before. */
struct known_rule {
	uint64_t key; /* 0: empty */
	struct unwind_rule rule;
};

struct unwinder {
	const struct unwind_arch *arch;
	unwind_find *find;
	void *find_arg;
	struct unwind_mapping here; /* the last that was found */
	/* Where the last walk left its stack: to code that was interrupted, or
	 * with sp at the frame pointer of who switched; sp is 0: unknown. */
	struct frame other;
	struct registers other_regs; /* of interrupted code */
	struct known_rule cache[UNWIND_CACHE];
	uint64_t returns[UNWIND_RETURNS]; /* 0: empty */
	/* libunwind's, which the first step by a whole row makes; or NULL */
	struct unw_addr_space *space;
};

/* Results of a step, beside how the walk ended (enum unwind_end). */
enum {
	STEP_DONE = UNWIND_MAX + 1,
	STEP_INTERRUPTED, /* done as well: f was interrupted, and made no call
	                   */
	STEP_CONTEXT,     /* the root, which is returned to at its begin */
	STEP_NEEDS_WHOLE,
	STEP_NEEDS_POINTER, /* walk_recover() may find it */
};

static inline bool
walk_word(const struct walk *w, uint64_t addr, uint64_t *out)
{
	uint64_t at = addr - w->start;

	if (at >= w->len || w->len - at < sizeof(*out))
		return false;
	memcpy(out, w->stack + at, sizeof(*out));
	return true;
}

/* How a walk ends that wanted the word at addr and did not get it. */
static inline enum unwind_end
walk_missing(const struct walk *w, uint64_t addr)
{
	return addr >= w->start && addr - w->start < w->len + UNWIND_PAST_END
	               ? UNWIND_TRUNCATED
	               : UNWIND_BAD;
}

/* Makes u->here the mapping of an address; false: there is none. */
bool unwinder_enter(struct unwinder *u, uint64_t addr);
/* The mapping of an address; false: there is none. */
bool walk_mapping(struct walk *w, uint64_t addr, struct unwind_mapping *out);
/* Whether the instruction before pc is a call, which can be told of images
 * alone; *target is where to, 0 when it does not say. */
bool walk_follows_call(struct walk *w, uint64_t pc, uint64_t *target);
/* Steps to the caller: one of the above, or how the walk ends. */
int walk_step(struct walk *w, struct frame *f);

/*
 * Steps by a whole row of a function's frame information, whose registers
 * w->whole holds: libunwind does, with the stack and the row for memory.
 *   Errors   UNWIND_NO_INFO also on stacks of another machine than this
 */
int walk_whole(struct walk *w, struct frame *f);
void walk_whole_done(struct unwinder *u);
/*
 * Steps where the frame pointer is needed and not known: the stack is searched
 * for the place that the pointer must have.
 *   Shape    the function saves it the usual way, below the return address
 */
int walk_recover(struct walk *w, struct frame *f);
