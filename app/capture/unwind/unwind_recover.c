/*
 * Recovers the frame pointer of a function that uses one, when it is not
 * known: for a blocked thread, the kernel shows only pc and sp. Usually the
 * function's code shows how much it has pushed, and so where its frame is.
 *
 * The frames of other functions, such as those that call alloca(), are
 * searched for: the frame pointer points to a saved frame pointer, above which
 * is a return address that follows a call. A call of this very function
 * settles the matter. If there is none, another call that may lead to it
 * (through the PLT, or a pointer) is believed, provided that the stack above
 * can be walked to its root.
 *
 * An earlier call of the same function may have left words in memory that this
 * call has not overwritten yet. A search can mistake them for a frame: frames
 * of that earlier call then appear in the stack.
 */
#include "unwind_walk.h"

#define REACH     (16 << 10) /* bytes searched */
#define TRIES     32         /* return addresses tried */
#define MAX_JUMPS 4          /* from the target of a call to the function */

struct search {
	struct walk *w;
	uint64_t function; /* start of the function whose frame is sought */
	bool direct;       /* accept only calls that target it */
	unsigned tries;
};

static bool
find_function(struct walk *w, const struct frame *f, uint64_t *start)
{
	uint64_t at = f->pc - !f->interrupted;
	struct unwind_mapping m;

	if (!walk_mapping(w, at, &m) || !m.table ||
	    !unwind_table_function(m.table, at - m.bias, start))
		return false;
	*start += m.bias;
	return true;
}

/*
 * True if a call of target may be a call of a function: target is the function
 * itself, or jumps to it, or jumps through memory, as a slot of a PLT does.
 *   Shape    target 0: the call itself goes through memory or a register
 */
static bool
may_call(struct walk *w, uint64_t target, uint64_t function)
{
	struct unwind_mapping m;
	struct code_insn insn = {.flow = CODE_NEXT};
	uint8_t code[CODE_MAX_INSN + 1];

	for (unsigned i = 0; i < MAX_JUMPS && target; i++) {
		if (target == function)
			return true;
		if (!walk_mapping(w, target, &m) || !m.table ||
		    !unwind_table_code(m.table, target - m.bias, code,
		                       sizeof(code)) ||
		    !w->arch->decode(code, sizeof(code), &insn))
			return false;
		if (insn.flow == CODE_LEAVE)
			return true;
		if (insn.flow != CODE_JUMP &&
		    (insn.flow != CODE_NEXT || insn.changes)) /* endbr64 */
			return false;
		target += insn.length;
		if (insn.flow == CODE_JUMP)
			target += (uint64_t)insn.target;
	}
	return !target;
}

/* True if the frame that the function's code has made holds a caller; then *f
 * is the caller. Callers in generated code, which has no table, are not
 * checked. */
static bool
try_pushed(struct walk *w, uint64_t function, struct frame *f)
{
	struct frame to = {.fp_known = true};
	uint64_t target = 0;
	struct unwind_mapping m;
	int64_t by;

	if (!walk_mapping(w, f->pc - !f->interrupted, &m) ||
	    !unwind_table_pointer(m.table, f->pc - m.bias, !f->interrupted,
	                          &by) ||
	    !walk_word(w, f->sp + (uint64_t)by, &to.fp) ||
	    !walk_word(w, f->sp + (uint64_t)by + 8, &to.pc) ||
	    !walk_mapping(w, to.pc - 1, &m))
		return false;
	if (m.table && (!walk_follows_call(w, to.pc, &target) ||
	                !may_call(w, target, function)))
		return false;
	to.sp = f->sp + (uint64_t)by + 16;
	*f = to;
	return true;
}

/* True if the frame pointer's value is at; then *f is the caller. */
static bool
try(struct search *s, uint64_t at, struct frame *f)
{
	struct frame to = {.sp = at + 16, .fp_known = true};
	uint64_t target;

	if (!walk_word(s->w, at + 8, &to.pc) || !walk_word(s->w, at, &to.fp) ||
	    !walk_follows_call(s->w, to.pc, &target))
		return false;
	if (s->direct ? target != s->function
	              : !may_call(s->w, target, s->function) ||
	                        s->tries++ >= TRIES ||
	                        !walk_reaches_root(s->w, to))
		return false;
	*f = to;
	return true;
}

bool
walk_called_within(struct walk *w, struct frame *f)
{
	uint64_t function, called, to, target;
	struct frame caller;

	if (!w->arch->fp_on_top || !f->interrupted ||
	    !walk_word(w, f->sp, &to) || !find_function(w, f, &function) ||
	    !walk_follows_call(w, to, &target) || target < function ||
	    target > f->pc)
		return false;
	caller = (struct frame){.pc = to,
	                        .sp = f->sp + 8,
	                        .fp = f->fp,
	                        .fp_known = f->fp_known};
	if (!find_function(w, &caller, &called) || called != function)
		return false;
	*f = caller;
	return true;
}

int
walk_recover(struct walk *w, struct frame *f)
{
	uint64_t first = (f->sp + 7) & ~UINT64_C(7);
	struct search s = {.w = w};

	if (!w->arch->fp_on_top || !find_function(w, f, &s.function))
		return UNWIND_BAD;
	if (try_pushed(w, s.function, f))
		return STEP_DONE;
	for (int pass = 0; pass < 2; pass++) {
		s.direct = pass == 0;
		for (uint64_t by = 0; by < REACH; by += 8)
			if (try(&s, first + by, f))
				return STEP_DONE;
	}
	return (int)walk_missing(w, first + REACH);
}
