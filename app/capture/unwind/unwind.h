/*
 * Call stacks from a register set and a copy of the stack.
 *
 * A table holds the frame information of one image and is shared by all
 * processes that map the image; an unwinder belongs to one address space and
 * caches what it learnt there. Code that no table covers is stepped over as an
 * interpreter's trampoline, or by following its instructions to their return,
 * or by its frame pointer, if that leads somewhere sensible. Every address,
 * length and rule comes from the target, so nothing is believed unchecked.
 *
 * Tables are compiled as needed, function by function, into short rules, which
 * serve all processes that map the image.
 *
 *   Threads  one at a time for a table and all unwinders that use it
 */
#pragma once

#include "capture/elf/elf.h"

#define UNWIND_REGS      33                 /* indexed as in asm/perf_regs.h */
#define UNWIND_ARGS      6                  /* of a system call */
#define UNWIND_MAX_TABLE ((size_t)64 << 20) /* bytes of an unwind table */

struct unwind_table;
struct unwinder;

enum unwind_end {
	UNWIND_ROOT,      /* the stack's first frame was reached */
	UNWIND_TRUNCATED, /* the dump ends before the stack does */
	UNWIND_NO_INFO,   /* code without tables and without frame pointer */
	UNWIND_BAD,       /* rules or contents that can't be true */
	UNWIND_SWITCHED,  /* the caller, or the interrupted code, is on another
	                   * stack */
	UNWIND_MAX,       /* max frames were found */
};

/*
 * Copies .eh_frame and its search table out of an image; builds the search
 * table if the linker made none (static programs). Gaps are filled from Go's
 * own table in programs that have one, else from .debug_frame.
 *
 * If an image has none of these, or their size is past UNWIND_MAX_TABLE, rules
 * are derived from its code.
 *
 *   Owns     elf is borrowed as long as the table lives
 *   Errors   -ENODATA the image is for another machine, -ENOMEM; *out untouched
 *   Source   Linux Standard Base 5, 10.6 (.eh_frame, .eh_frame_hdr);
 *            DWARF 5, 6.4
 */
MUST_CHECK int
unwind_table_new(const struct elf_image *elf, struct unwind_table **out);
/* As unwind_table_new(); for an image without .debug_frame, that of debug is
 * used: its separate debug file, or NULL. debug is not borrowed. */
MUST_CHECK int unwind_table_new_split(const struct elf_image *elf,
                                      const struct elf_image *debug,
                                      struct unwind_table **out);
void unwind_table_free(struct unwind_table *t);
/* Returns the bytes of frame information that a table has copied, and of its
 * search tables. Leaves out Go's tables, compiled rules and caches. */
size_t unwind_table_bytes(const struct unwind_table *t);
/* Forgets rules that were derived from code, since the image has changed. */
void unwind_table_forget(struct unwind_table *t);
/* True if the image has frame information of any kind. */
bool unwind_table_has_frames(const struct unwind_table *t);
DEFINE_CLEANUP(struct unwind_table *, unwind_table_free)
#define CLEANUP_UNWIND_TABLE CLEANUP(unwind_table_free_ptr)

/* One executable mapping of the target. */
struct unwind_mapping {
	uint64_t start, end;        /* addresses */
	uint64_t bias;              /* elf_bias() of the mapping */
	struct unwind_table *table; /* NULL: none */
	/* Addresses of the interpreter if the mapping holds its trampolines:
	 * generated code through which the interpreter calls itself, with a
	 * frame of two words; else 0. */
	uint64_t caller_start, caller_end;
	/* Addresses in the mapping at which unwind_step is called first. */
	uint64_t step_start, step_end;
};

/*
 * Finds the executable mapping that holds addr; false when there is none.
 * The mapping must stay valid until unwinder_flush().
 */
typedef bool unwind_find(void *arg, uint64_t addr, struct unwind_mapping *out);

struct unwinder *unwinder_new(unwind_find *find, void *arg); /* or NULL */
/* Creates an unwinder for stacks of another machine: EM_X86_64, EM_AARCH64. */
struct unwinder *
unwinder_new_for(uint16_t machine, unwind_find *find, void *arg);
void unwinder_free(struct unwinder *u);
DEFINE_CLEANUP(struct unwinder *, unwinder_free)
#define CLEANUP_UNWINDER CLEANUP(unwinder_free_ptr)
/* Forgets what was learnt: call it when a mapping was removed or replaced. A
 * new mapping at free addresses needs no flush. */
void unwinder_flush(struct unwinder *u);

/* Memory of a target. */
struct unwind_piece {
	const uint8_t *p;
	uint64_t start; /* address of p[0] */
	size_t len;
};
static inline bool
unwind_piece_word(const struct unwind_piece *s, uint64_t addr, uint64_t *out)
{
	uint64_t at = addr - s->start;

	if (at >= s->len || s->len - at < sizeof(*out))
		return false;
	__builtin_memcpy(out, s->p + at, sizeof(*out));
	return true;
}

/* The part of the stack that is known. */
struct unwind_stack {
	struct unwind_piece near;       /* from the stack pointer upwards */
	const struct unwind_piece *far; /* above it, beyond large frames */
	size_t nfar;
};
/* Reads the word at addr; false: it is not known. */
static inline bool
unwind_word(const struct unwind_stack *s, uint64_t addr, uint64_t *out)
{
	if (unwind_piece_word(&s->near, addr, out))
		return true;
	for (size_t i = 0; i < s->nfar; i++)
		if (unwind_piece_word(&s->far[i], addr, out))
			return true;
	return false;
}

/* A frame of JIT-compiled code. */
struct unwind_frame {
	/* the next instruction: a return address, or the interrupted one */
	uint64_t pc;
	uint64_t sp, fp;
	bool fp_known;
	bool interrupted;
	bool moves;   /* set it if the caller's frame is on another stack whose
	                 memory is known, too */
	size_t index; /* of pc in pcs[]; SIZE_MAX: this is a trial */
	/* As in unwind(); NULL for all but the first frame. */
	const uint64_t *regs;
};
/*
 * Finds the caller of a frame that no table describes.
 *
 *   Shape    f becomes the caller: pc, sp after its call returned, and fp if
 *            fp_known; the rest is ignored. It may be called again for the
 *            same frame
 *   Errors   -ENOENT not known: the frame is treated like other code without
 *            tables; -ENODATA it has no caller; -EFAULT the stack's known part
 *            ends before; -EBADMSG it can't be a frame
 */
typedef int unwind_step(void *arg, const struct unwind_stack *stack,
                        struct unwind_frame *f);
/* Sets the callback for code between step_start and step_end of mappings. */
void unwinder_step(struct unwinder *u, unwind_step *step, void *arg);

/*
 * Walks one stack.
 *
 *   Shape    regs[] indexed by PERF_REG_*; stack[len]: memory from the
 *            stack pointer upwards; pcs[max], max > 0: innermost
 *            first, pcs[0] is the sampled address, the others are return
 *            addresses as they are on the stack (see symbolizer_lookup). For a
 *            frame that a signal interrupted, which made no call, it is the
 *            interrupted address plus one. *n is set however the walk ends
 */
MUST_CHECK enum unwind_end
unwind(struct unwinder *u, const uint64_t regs[UNWIND_REGS], const void *stack,
       size_t len, uint64_t *pcs, size_t max, size_t *n);

/* Returns the address of the missing word that ended a walk with
 * UNWIND_TRUNCATED. */
uint64_t unwind_missing(const struct unwinder *u);
/*
 * Gives the next walks more of the stack: what lies beyond frames that are too
 * large to copy. These pieces are read some time after the sample, so a return
 * address there counts only if a call precedes it, and a walk that uses them
 * is to be believed only if it ends with UNWIND_ROOT.
 *
 *   Owns     far[n] is borrowed until it is replaced; n 0: no pieces
 */
void unwinder_far(struct unwinder *u, const struct unwind_piece *far, size_t n);

/*
 * Continues a walk that ended with UNWIND_SWITCHED. Go's runtime and C code
 * that Go calls run on a separate stack, and leave the frame pointer at the
 * goroutine's frame that called them; the calling function itself has no frame
 * in the result, since only its return address is known. A signal handler may
 * have a separate stack, too; the code it interrupted is the last frame of the
 * first walk.
 *
 *   Shape    stack[len]: memory from unwind_other_stack() upwards; it is read
 *            some time after the sample, so believe only a walk that ends with
 *            UNWIND_ROOT
 */
MUST_CHECK enum unwind_end
unwind_on(struct unwinder *u, const void *stack, size_t len, uint64_t *pcs,
          size_t max, size_t *n);
/* Returns the address on the other stack at which the last walk ended; 0 if
 * unknown. */
uint64_t unwind_other_stack(const struct unwinder *u);

/*
 * As unwind(), for a blocked thread: only the contents of
 * /proc/PID/task/TID/syscall are known.
 *   Shape    args[UNWIND_ARGS]: arguments of the system call; NULL: not known
 */
MUST_CHECK enum unwind_end
unwind_blocked(struct unwinder *u, uint64_t pc, uint64_t sp,
               const uint64_t *args, const void *stack, size_t len,
               uint64_t *pcs, size_t max, size_t *n);
