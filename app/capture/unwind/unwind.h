/*
 * Call stacks from a register set and a copy of the stack.
 *
 * A table holds what one image says about its frames and is shared by all
 * processes that map it; an unwinder belongs to one address space and caches
 * what it learnt there. Code that no table covers is stepped over as what
 * calls the interpreter, or the way that its instructions return, or by its
 * frame pointer, where that leads somewhere sensible. Every address, length
 * and rule is the target's, so nothing is believed unchecked.
 *
 * Tables are compiled as they are needed, function by function, into short
 * rules that every process mapping the image profits by.
 *
 *   Threads  one at a time, for all that share a table
 */
#pragma once

#include "capture/elf/elf.h"

#define UNWIND_REGS      33                  /* indexed as in asm/perf_regs.h */
#define UNWIND_MAX_TABLE ((size_t)256 << 20) /* bytes of unwind tables */

struct unwind_table;
struct unwinder;

enum unwind_end {
	UNWIND_ROOT,      /* the stack's first frame was reached */
	UNWIND_TRUNCATED, /* the dump ends before the stack does */
	UNWIND_NO_INFO,   /* code that no table describes, no frame pointer */
	UNWIND_BAD,       /* rules or contents that can't be true */
	UNWIND_SWITCHED,  /* the caller, or what was interrupted, is on another
	                   * stack */
	UNWIND_MAX,       /* max frames were found */
};

/*
 * Copies .eh_frame and its search table out of an image; makes the table where
 * the linker made none (static programs). What fills the gaps is Go's own
 * table in programs that have one, else .debug_frame.
 *
 * An image without any, or with ones past UNWIND_MAX_TABLE, has its code.
 *
 *   Owns     elf is borrowed as long as the table lives
 *   Errors   -ENODATA of another machine, -ENOMEM; *out untouched
 *   Source   Linux Standard Base 5, 10.6 (.eh_frame, .eh_frame_hdr);
 *            DWARF 5, 6.4
 */
MUST_CHECK int
unwind_table_new(const struct elf_image *elf, struct unwind_table **out);
/* The same; of an image without .debug_frame that of debug is taken, its
 * separate debug file or NULL, which is not borrowed. */
MUST_CHECK int unwind_table_new_split(const struct elf_image *elf,
                                      const struct elf_image *debug,
                                      struct unwind_table **out);
void unwind_table_free(struct unwind_table *t);
/* Whether the image has any, of whichever kind, beside its code. */
bool unwind_table_has_frames(const struct unwind_table *t);
DEFINE_CLEANUP(struct unwind_table *, unwind_table_free)
#define CLEANUP_UNWIND_TABLE CLEANUP(unwind_table_free_ptr)

/* One executable mapping of the target. */
struct unwind_mapping {
	uint64_t start, end;        /* addresses */
	uint64_t bias;              /* elf_bias() of it */
	struct unwind_table *table; /* NULL: it has none */
	/* Addresses of an interpreter that calls itself through pieces of
	 * code made here, two words of stack each; 0: there is none. */
	uint64_t caller_start, caller_end;
};

/*
 * Finds the executable mapping that holds addr; false when there is none.
 * The mapping must stay valid until unwinder_flush().
 */
typedef bool unwind_find(void *arg, uint64_t addr, struct unwind_mapping *out);

struct unwinder *unwinder_new(unwind_find *find, void *arg); /* or NULL */
/* Makes an unwinder for stacks of another machine: EM_X86_64, EM_AARCH64. */
struct unwinder *
unwinder_new_for(uint16_t machine, unwind_find *find, void *arg);
void unwinder_free(struct unwinder *u);
DEFINE_CLEANUP(struct unwinder *, unwinder_free)
#define CLEANUP_UNWINDER CLEANUP(unwinder_free_ptr)
/* Forgets what was learnt: call it when a mapping went or was replaced.
 * A mapping at addresses that held none needs no flush. */
void unwinder_flush(struct unwinder *u);

/*
 * Walks one stack.
 *
 *   Shape    regs[] indexed by PERF_REG_*; stack[len]: memory from the
 *            stack pointer upwards; pcs[max], max > 0: innermost
 *            first, pcs[0] is the sampled address, the others are return
 *            addresses as they stand (see symbolizer_lookup), or one byte
 *            behind where it goes on without a call: below a handler; *n is
 *            set however the walk ends
 */
MUST_CHECK enum unwind_end
unwind(struct unwinder *u, const uint64_t regs[UNWIND_REGS], const void *stack,
       size_t len, uint64_t *pcs, size_t max, size_t *n);

/*
 * Walks on where a walk ended with UNWIND_SWITCHED. Go's runtime and C code
 * that Go calls run on stacks of their own, and leave the frame pointer at
 * the goroutine's frame that called them; frames of that very function are
 * not among them, for it is known only by where it returns to. A signal's
 * handler may have a stack of its own as well; what it interrupted is the last
 * frame of the first walk.
 *
 *   Shape    stack[len]: memory from unwind_other_stack() upwards, as long
 *            after the sample as it may have been read: only an UNWIND_ROOT
 *            is to be believed
 */
MUST_CHECK enum unwind_end
unwind_on(struct unwinder *u, const void *stack, size_t len, uint64_t *pcs,
          size_t max, size_t *n);
/* Address on the other stack that the last walk ended at; 0 unknown. */
uint64_t unwind_other_stack(const struct unwinder *u);

/*
 * Walks the stack of a thread of which only pc and sp are known, as
 * /proc/PID/task/TID/syscall tells them of a blocked one. The same otherwise.
 */
MUST_CHECK enum unwind_end
unwind_blocked(struct unwinder *u, uint64_t pc, uint64_t sp, const void *stack,
               size_t len, uint64_t *pcs, size_t max, size_t *n);
