/*
 * One step of a walk, to the caller: by a rule of the image's tables, or, if
 * there is none, by its code or the contents of the stack.
 */
#include "base/hash.h"
#include "unwind_walk.h"

#include <errno.h>

#define FP_REACH    (1 << 20) /* largest frame of code without tables, bytes */
#define BEGIN_WORDS 48        /* of stack searched for a first frame */
#define SAVED_WORDS 512       /* of stack searched for a saved sp */
#define MAX_TRIAL   512       /* frames of one trial walk */
#define HIGHEST     (UINT64_C(1) << 63) /* user code is below */

/* Finds the rule in the table of the mapping that was entered last. */
static struct unwind_rule
table_rule(const struct unwinder *u, uint64_t addr, bool returns)
{
	struct unwind_table *t = u->here.table;

	if (!t || unwind_table_arch(t) != u->arch)
		return (struct unwind_rule){.cfa = CFA_NONE};
	return unwind_table_rule(t, addr - u->here.bias, returns);
}

static bool
find_rule(struct unwinder *u, uint64_t addr, bool returns,
          struct unwind_rule *out)
{
	if (!unwinder_enter(u, addr))
		return false;
	if (u->step && addr >= u->here.step_start && addr < u->here.step_end)
		*out = (struct unwind_rule){.cfa = CFA_STEP};
	else
		*out = table_rule(u, addr, returns);
	return true;
}

/*
 * Finds the rule that holds before the instruction at pc, or within the call
 * that returns there. False when nothing executable is there; this may change,
 * so it is not remembered.
 */
static inline bool
rule_at(struct unwinder *u, uint64_t pc, bool returns, struct unwind_rule *out)
{
	uint64_t key = pc << 1 | returns;
	struct known_rule *k = &u->cache[hash_u64(key) % UNWIND_CACHE];

	if (!pc || pc >= HIGHEST)
		return false;
	if (k->key != key) {
		if (!find_rule(u, pc - returns, returns, out))
			return false;
		*k = (struct known_rule){key, *out};
	}
	*out = k->rule;
	return true;
}

/*
 * Finds the caller by frame pointer: code without tables (JIT, Go assembly)
 * mostly keeps one. The frame pointer is believed if it points a short way up
 * the stack, to a return address in executable memory.
 *   Source   x86-64 psABI 3.4.1: the deepest frame's frame pointer is zero;
 *            AAPCS64 6.4.6: the same, and the same record of two words
 */
static int
step_by_pointer(struct walk *w, struct frame *f)
{
	struct unwind_rule rule;
	uint64_t fp, ra;

	if (!f->fp_known)
		return UNWIND_NO_INFO;
	/* An unknown leaf without frame pointer is not a root. */
	if (!f->fp)
		return f->interrupted ? UNWIND_NO_INFO : UNWIND_ROOT;
	if (f->fp % 8 || f->fp < f->sp || f->fp - f->sp > FP_REACH)
		return UNWIND_NO_INFO;
	if (!walk_word(w, f->fp, &fp) || !walk_word(w, f->fp + 8, &ra))
		return walk_missing(w, f->fp + 8) == UNWIND_TRUNCATED
		               ? UNWIND_TRUNCATED
		               : UNWIND_NO_INFO;
	ra &= w->arch->code_bits;
	if (!ra)
		return f->interrupted || fp ? UNWIND_NO_INFO : UNWIND_ROOT;
	if (!rule_at(w->u, ra, true, &rule))
		return UNWIND_NO_INFO;
	*f = (struct frame){
		.pc = ra, .sp = f->fp + 16, .fp = fp, .fp_known = true};
	return STEP_DONE;
}

/*
 * Finds the caller of an interpreter's trampoline: the return address is above
 * the trampoline's two words, one of which may be the frame pointer.
 *   Source   CPython 3.12 to 3.14, Python/asm_trampoline.S
 */
static int
step_by_trampoline(struct walk *w, struct frame *f)
{
	struct frame to = {.sp = f->sp + 16, .fp_known = f->fp_known};
	struct unwind_mapping m;
	uint64_t ra;

	if (f->interrupted || !walk_mapping(w, f->pc - 1, &m) ||
	    !walk_word(w, f->sp + 8, &ra))
		return UNWIND_NO_INFO;
	to.pc = ra & w->arch->code_bits;
	if (to.pc < m.caller_start || to.pc >= m.caller_end)
		return UNWIND_NO_INFO;
	to.fp = f->fp;
	if (f->fp_known && f->fp == f->sp)
		to.fp_known = walk_word(w, f->sp, &to.fp);
	*f = to;
	return STEP_DONE;
}

static bool
saved_register(const struct walk *w, const struct frame *f, unsigned reg,
               uint64_t *out)
{
	return walk_word(w, f->sp + w->arch->signal_regs[reg], out);
}

/* True if the handler runs on the alternate signal stack, and the interrupted
 * code does not. */
static bool
leaves_stack(const struct walk *w, const struct frame *f, uint64_t sp)
{
	const uint64_t at = f->sp + w->arch->signal_stack;
	uint64_t start, size;

	if (sp <= f->sp)
		return true;
	/* struct sigaltstack: the flags are between */
	return walk_word(w, at, &start) && walk_word(w, at + 16, &size) &&
	       f->sp - start < size && sp - start >= size;
}

static void
save_all(const struct walk *w, const struct frame *f, struct registers *out)
{
	out->known = 0;
	for (unsigned i = 0; i < w->arch->nregs; i++)
		if (saved_register(w, f, i, &out->value[i]))
			out->known |= UINT64_C(1) << i;
}

/* Steps to interrupted code: the kernel saved all of its registers. */
static int
step_by_signal(struct walk *w, struct frame *f)
{
	const struct unwind_arch *a = w->arch;
	struct frame to = {.fp_known = true, .interrupted = true};
	bool leaves;

	if (!walk_word(w, f->sp + a->signal_pc, &to.pc) ||
	    !saved_register(w, f, a->sp, &to.sp) ||
	    !saved_register(w, f, a->fp, &to.fp))
		return (int)walk_missing(w, f->sp + a->signal_pc);
	if (a->index[a->ra] != a->pc_index)
		to.lr_known = saved_register(w, f, a->ra, &to.lr);
	if (!to.pc)
		return UNWIND_ROOT;
	leaves = leaves_stack(w, f, to.sp);
	if (leaves || w->whole)
		save_all(w, f, leaves ? &w->u->other_regs : w->whole);
	*f = to;
	if (leaves)
		w->u->other = to;
	return leaves ? UNWIND_SWITCHED : STEP_INTERRUPTED;
}

static inline int
find_cfa(const struct walk *w, const struct frame *f, struct unwind_rule rule,
         uint64_t *cfa)
{
	uint64_t offset = (uint64_t)(int64_t)rule.cfa_words * 8, at;

	switch (rule.cfa) {
	case CFA_SP:
	case CFA_GO:
		*cfa = f->sp + offset;
		return STEP_DONE;
	case CFA_FP:
		*cfa = f->fp + offset;
		return STEP_DONE;
	case CFA_PLT:
		*cfa = f->sp + 8 +
		       ((f->pc & 15) >= (uint64_t)rule.cfa_words ? 8 : 0);
		return STEP_DONE;
	default:
		at = (rule.cfa == CFA_AT_FP ? f->fp : f->sp) + offset;
		if (!walk_word(w, at, cfa))
			return (int)walk_missing(w, at);
		*cfa += rule.cfa == CFA_AT_SP_8 ? 8 : 0;
		return STEP_DONE;
	}
}

/*
 * Sets the caller's frame pointer. If its slot is below the stack pointer, the
 * slot has been popped by an epilogue, which tables seldom describe: the value
 * is back in the register.
 */
static inline void
restore_pointer(const struct walk *w, const struct frame *f,
                struct unwind_rule rule, uint64_t cfa, struct frame *to)
{
	uint64_t at;

	to->fp = f->fp;
	to->fp_known = f->fp_known;
	if (rule.fp == REG_SAME)
		return;
	at = (rule.fp == REG_AT_CFA ? cfa : f->fp) +
	     (uint64_t)(int64_t)rule.fp_words * 8;
	if (rule.fp == REG_LOST || (rule.fp == REG_AT_FP && !f->fp_known))
		to->fp_known = false;
	else if (walk_word(w, at, &to->fp))
		to->fp_known = true;
	else if (!f->interrupted || at >= f->sp)
		to->fp_known = false;
}

static bool
is_return(struct walk *w, uint64_t pc)
{
	uint64_t *known = &w->u->returns[hash_u64(pc) % UNWIND_RETURNS], target;

	if (!pc || *known == pc)
		return pc;
	if (!walk_follows_call(w, pc, &target))
		return false;
	*known = pc;
	return true;
}

/* True if pc, a return address read at address at, can be believed: the copy
 * of the stack contains it, or a call returns there. */
static inline bool
is_fit(struct walk *w, uint64_t at, uint64_t pc)
{
	const struct unwind_piece *near = &w->stack.near;

	return at - near->start < near->len || !pc || is_return(w, pc);
}

static inline int
step_by_cfa(struct walk *w, struct frame *f, struct unwind_rule rule,
            uint64_t cfa)
{
	struct frame to = {0};
	uint64_t at;

	/* A stack only ever shrinks on the way out: no loops. */
	if (cfa < f->sp || (cfa == f->sp && !f->interrupted))
		return UNWIND_BAD;
	if (rule.ra == REG_AT_CFA) {
		at = cfa + (uint64_t)(int64_t)rule.ra_words * 8;
		if (!walk_word(w, at, &to.pc))
			return (int)walk_missing(w, at);
		if (!is_fit(w, at, to.pc))
			return UNWIND_BAD;
	} else if (f->lr_known) {
		to.pc = f->lr;
	} else {
		return UNWIND_BAD;
	}
	to.pc &= w->arch->code_bits;
	to.sp = cfa;
	restore_pointer(w, f, rule, cfa, &to);
	*f = to;
	return to.pc ? STEP_DONE : UNWIND_ROOT;
}

static inline int
step_by_rule(struct walk *w, struct frame *f, struct unwind_rule rule)
{
	uint64_t cfa;
	int r = find_cfa(w, f, rule, &cfa);

	return r == STEP_DONE ? step_by_cfa(w, f, rule, cfa) : r;
}

/* True if the CFA is derived from a word below the stack pointer, which a copy
 * of the stack lacks. */
static inline bool
is_below(struct unwind_rule rule)
{
	return (rule.cfa == CFA_AT_SP || rule.cfa == CFA_AT_SP_8) &&
	       rule.cfa_words < 0;
}

/*
 * Finds the caller of code that keeps its caller's stack pointer in a word
 * below its own, and moves both while it works, as OpenSSL's SHA code for AVX2
 * does. It first saved the pointer in its frame.
 */
static int
step_by_saved(struct walk *w, struct frame *f, struct unwind_rule rule)
{
	uint64_t at = f->sp, word;

	for (unsigned i = 0; i < SAVED_WORDS; i++, at += 8) {
		struct frame to = *f;

		if (!walk_word(w, at, &word))
			return (int)walk_missing(w, at);
		if (word > at &&
		    step_by_cfa(w, &to, rule,
		                word + (rule.cfa == CFA_AT_SP_8 ? 8 : 0)) ==
		            STEP_DONE &&
		    is_return(w, to.pc)) {
			*f = to;
			return STEP_DONE;
		}
	}
	return UNWIND_BAD;
}

/* Reads the register that holds the return address. */
static int
kept_address(const struct walk *w, const struct frame *f,
             struct unwind_rule rule, uint64_t *out)
{
	unsigned column;

	if (!w->arch->regs) {
		*out = f->lr;
		return f->lr_known ? STEP_DONE : UNWIND_NO_INFO;
	}
	if (!w->whole)
		return STEP_NEEDS_WHOLE;
	column = w->arch->regs[rule.ra_words];
	*out = w->whole->value[column];
	return w->whole->known >> column & 1 ? STEP_DONE : UNWIND_NO_INFO;
}

/*
 * Finds the caller by a rule that was derived from the code: the CFA is a
 * number of words from a pointer, or the word there. The return address, which
 * is popped last, is at a distance from the CFA, or in a register.
 */
static int
step_by_code(struct walk *w, struct frame *f, struct unwind_rule rule)
{
	const enum unwind_base base = rule.ra & (UNWIND_BASES - 1);
	const bool of_fp = base == UNWIND_FROM_FP || base == UNWIND_AT_FP;
	const bool by_word = base == UNWIND_AT_SP || base == UNWIND_AT_FP;
	const bool in_reg = rule.ra & UNWIND_IN_REG;
	uint64_t cfa = (of_fp ? f->fp : f->sp) +
	               (uint64_t)(int64_t)rule.cfa_words * 8;
	struct frame to = {.pc = 0};
	uint64_t at;
	int r = in_reg ? kept_address(w, f, rule, &to.pc) : STEP_DONE;

	if (r != STEP_DONE)
		return r;
	if (of_fp && !f->fp_known)
		return UNWIND_NO_INFO;
	at = cfa;
	if (by_word && !walk_word(w, at, &cfa))
		return (int)walk_missing(w, at);
	at = cfa + (uint64_t)(int64_t)rule.ra_words * 8;
	if (!in_reg && !walk_word(w, at, &to.pc))
		return (int)walk_missing(w, at);
	to.pc &= w->arch->code_bits;
	to.sp = by_word ? at + 8 : cfa;
	if (to.sp < f->sp || (to.sp == f->sp && !f->interrupted) ||
	    !is_return(w, to.pc))
		return UNWIND_NO_INFO;
	restore_pointer(w, f, rule, cfa, &to);
	*f = to;
	return STEP_DONE;
}

/* True for the first frame of a program or thread. */
static bool
is_begin(struct walk *w, uint64_t pc)
{
	struct unwind_mapping m;

	return walk_mapping(w, pc - 1, &m) && m.table &&
	       unwind_table_begins(m.table, pc - m.bias);
}

/* True for a thread's first instructions, after the system call that made
 * it. */
static bool
is_new(struct walk *w, uint64_t pc)
{
	struct unwind_mapping m;

	return walk_mapping(w, pc, &m) && m.table &&
	       unwind_table_starts(m.table, pc - m.bias);
}

/* True if a frame made its call through a pointer, and tables lead from there
 * to the root. Return addresses that earlier calls left below mostly follow
 * direct calls, which name their function. */
static bool
called_indirectly(struct walk *w, struct frame f)
{
	uint64_t target;

	return w->index != SIZE_MAX && walk_follows_call(w, f.pc, &target) &&
	       !target && walk_reaches_root(w, f);
}

/*
 * Finds the caller of a function that never returns, so that the size of its
 * frame can't be derived from its code. In libcs without tables (musl), the
 * caller must be the first frame or the second, since the code that calls main
 * calls exit() afterwards; elsewhere the function must have been called through
 * a pointer, as main and the first function of a thread are.
 */
static int
step_to_begin(struct walk *w, struct frame *f)
{
	struct frame first = {.pc = 0};
	uint64_t at = f->sp, word;
	unsigned returns = 0;

	for (unsigned i = 0; i < BEGIN_WORDS; i++, at += 8) {
		struct frame here = {.sp = at + 8};

		if (!walk_word(w, at, &word) || !is_return(w, word))
			continue;
		here.pc = word;
		if (!returns++)
			first = here;
		if (returns <= 2 && is_begin(w, word)) {
			*f = first;
			return STEP_DONE;
		}
		if (called_indirectly(w, here)) {
			*f = here;
			return STEP_DONE;
		}
	}
	return UNWIND_NO_INFO;
}

/* Steps by a rule that is not from call frame information. */
static int
step_by_custom(struct walk *w, struct frame *f, struct unwind_rule rule)
{
	int r = step_by_trampoline(w, f);

	if (r != STEP_DONE && rule.cfa == CFA_CODE)
		r = step_by_code(w, f, rule);
	if (r == UNWIND_NO_INFO && f->interrupted && is_new(w, f->pc))
		return UNWIND_ROOT;
	if (r != STEP_DONE && r != UNWIND_TRUNCATED && r != STEP_NEEDS_WHOLE)
		r = step_by_pointer(w, f);
	if (r != UNWIND_NO_INFO || f->interrupted)
		return r;
	return is_begin(w, f->pc) ? UNWIND_ROOT : step_to_begin(w, f);
}

/*
 * Asks unwind_step for the caller. Returns how the step ended, or
 * UNWIND_NO_INFO with the rule by which to step instead.
 */
static int
step_by_asking(struct walk *w, struct frame *f, struct unwind_rule *rule)
{
	struct unwind_frame to = {
		.pc = f->pc,
		.sp = f->sp,
		.fp = f->fp,
		.fp_known = f->fp_known,
		.interrupted = f->interrupted,
		.index = w->index,
		.regs = w->index ? NULL : w->regs,
	};
	int rc = w->u->step(w->u->step_arg, &w->stack, &to);

	if (rc == -ENOENT) {
		*rule = (struct unwind_rule){.cfa = CFA_NONE};
		if (unwinder_enter(w->u, f->pc - !f->interrupted))
			*rule = table_rule(w->u, f->pc - !f->interrupted,
			                   !f->interrupted);
		return UNWIND_NO_INFO;
	}
	if (rc)
		return rc == -ENODATA  ? UNWIND_ROOT
		       : rc == -EFAULT ? UNWIND_TRUNCATED
		                       : UNWIND_BAD;
	if (!to.moves && (to.sp < f->sp || (to.sp == f->sp && !f->interrupted)))
		return UNWIND_BAD;
	*f = (struct frame){.pc = to.pc & w->arch->code_bits,
	                    .sp = to.sp,
	                    .fp = to.fp,
	                    .fp_known = to.fp_known};
	return f->pc ? STEP_DONE : UNWIND_ROOT;
}

static inline bool
needs_pointer(struct unwind_rule rule)
{
	return rule.cfa == CFA_FP || rule.cfa == CFA_AT_FP;
}

/* Marks all registers but those of the frame as lost. */
static int
forget_others(struct walk *w, int r)
{
	if (w->whole)
		w->whole->known = 0;
	return r;
}

int
walk_step(struct walk *w, struct frame *f)
{
	struct unwind_rule rule;
	int r;

	if (!rule_at(w->u, f->pc, !f->interrupted, &rule)) {
		if (!f->interrupted)
			return UNWIND_BAD; /* wrong rules led here */
		rule = (struct unwind_rule){.cfa = CFA_NONE};
	}
	if (rule.cfa == CFA_STEP) {
		r = step_by_asking(w, f, &rule);
		if (r != UNWIND_NO_INFO)
			return forget_others(w, r);
	}
	switch (rule.cfa) {
	case CFA_NONE:
	case CFA_CODE:
		return forget_others(w, step_by_custom(w, f, rule));
	case CFA_CONTEXT:
		w->uncalled = true;
		return STEP_CONTEXT;
	case CFA_ROOT:
		return UNWIND_ROOT;
	case CFA_SWITCH:
		w->u->other = (struct frame){.sp = f->fp_known ? f->fp : 0};
		return UNWIND_SWITCHED;
	case CFA_SIGNAL:
		w->uncalled = !f->interrupted;
		return step_by_signal(w, f);
	case CFA_GO:
		return forget_others(w, step_by_rule(w, f, rule));
	case CFA_FULL:
		r = w->whole ? walk_whole(w, f) : STEP_NEEDS_WHOLE;
		if (!w->stays_whole)
			w->whole = NULL; /* short rules suffice for most */
		return r;
	default:
		if (is_below(rule))
			return forget_others(w, step_by_saved(w, f, rule));
		if (!needs_pointer(rule) || f->fp_known)
			return w->whole ? walk_whole(w, f)
			                : step_by_rule(w, f, rule);
		return w->whole || w->bare ? STEP_NEEDS_POINTER
		                           : STEP_NEEDS_WHOLE;
	}
}

bool
walk_reaches_root(const struct walk *w, struct frame f)
{
	struct walk trial = *w;
	int r = STEP_DONE;

	trial.whole = NULL; /* the trial must not search in turn */
	trial.bare = false;
	trial.index = SIZE_MAX;
	for (unsigned i = 0;
	     (r == STEP_DONE || r == STEP_INTERRUPTED) && i < MAX_TRIAL; i++)
		r = walk_step(&trial, &f);
	return r == UNWIND_ROOT || r == STEP_CONTEXT;
}
