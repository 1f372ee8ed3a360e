#include "unwind.h"

#include "unwind_walk.h"

/* --- the walk ------------------------------------------------------------- */

/* For code that was interrupted, or entered by a return without a call, the
 * byte at the address identifies the function, not the byte before it. */
static int
add_uncalled(struct walk *w, const struct frame *f, int r, uint64_t *pcs,
             size_t *n)
{
	bool was_last = r == UNWIND_SWITCHED && w->u->other.interrupted;

	pcs[*n - 1] += w->uncalled;
	w->uncalled = false;
	if (was_last || r == STEP_INTERRUPTED)
		pcs[(*n)++] = f->pc + 1;
	if (r == STEP_CONTEXT)
		return UNWIND_ROOT;
	return r == STEP_INTERRUPTED ? STEP_DONE : r;
}

static int
recover(struct walk *w, struct frame *f)
{
	int r = walk_recover(w, f);

	if (!w->whole)
		return r == STEP_DONE ? r : STEP_NEEDS_WHOLE;
	w->whole->known = 0; /* f holds the frame pointer that was found */
	return r;
}

/*
 * True if frame information misled the walk at its first frame: the frame
 * seems to be the root, or its caller is not code.
 */
static bool
is_misled(struct walk *w, int r, const uint64_t *pcs, size_t n)
{
	struct unwind_mapping m;

	return n == 1 ? r == UNWIND_ROOT
	              : n == 2 && r != STEP_DONE &&
	                        !walk_mapping(w, pcs[1] - 1, &m);
}

static inline int
walk_all(struct walk *w, struct frame f, uint64_t *pcs, size_t max, size_t *n)
{
	struct frame first = f;
	struct unwind_mapping nowhere;
	int r;

	pcs[0] = f.pc;
	for (*n = 1; *n < max;) {
		w->index = *n - 1;
		r = walk_step(w, &f);
		if (r == STEP_NEEDS_POINTER)
			r = recover(w, &f);
		if (is_misled(w, r, pcs, *n) && walk_called_within(w, &first)) {
			f = first;
			if (w->whole) /* of the misled step */
				w->whole->known = 0;
			*n = 1;
			r = STEP_DONE;
		}
		if (r == STEP_DONE) {
			pcs[(*n)++] = f.pc;
			continue;
		}
		if (r == UNWIND_BAD && *n > 1 &&
		    !walk_mapping(w, f.pc - 1, &nowhere))
			--*n; /* not an address of code */
		if (r >= UNWIND_SWITCHED)
			r = add_uncalled(w, &f, r, pcs, n);
		if (r != STEP_DONE)
			return r;
	}
	return UNWIND_MAX;
}

/*
 * Walks again, with all registers, after a walk that ended with
 * STEP_NEEDS_WHOLE: up to the frame that needs them or, if another frame needs
 * them, too, once more with all registers to the end.
 */
static int
walk_with(struct walk *w, const struct registers *all, struct frame first,
          uint64_t *pcs, size_t max, size_t *n)
{
	struct registers registers;
	int r = STEP_NEEDS_WHOLE;

	for (int i = 0; i < 2 && r == STEP_NEEDS_WHOLE; i++) {
		registers = *all;
		w->whole = &registers;
		w->stays_whole = i > 0;
		r = walk_all(w, first, pcs, max, n);
	}
	return r;
}

static struct frame
first_frame(const struct unwind_arch *a, const uint64_t *regs)
{
	return (struct frame){
		.pc = regs[a->pc_index],
		.sp = regs[a->index[a->sp]],
		.fp = regs[a->index[a->fp]],
		.lr = regs[a->index[a->ra]] & a->code_bits,
		.fp_known = true,
		.lr_known = a->index[a->ra] != a->pc_index,
		.interrupted = true,
	};
}

enum unwind_end
unwind(struct unwinder *u, const uint64_t regs[UNWIND_REGS], const void *stack,
       size_t len, uint64_t *pcs, size_t max, size_t *n)
{
	const struct unwind_arch *a = u->arch;
	struct frame first = first_frame(a, regs);
	struct walk w = {.u = u,
	                 .arch = a,
	                 .stack = {{stack, first.sp, len}, u->far, u->nfar},
	                 .regs = regs};
	struct registers all;
	int r = walk_all(&w, first, pcs, max, n);

	if (r != STEP_NEEDS_WHOLE)
		return (enum unwind_end)r;
	all.known = (UINT64_C(1) << a->nregs) - 1;
	for (unsigned i = 0; i < a->nregs; i++)
		all.value[i] = regs[a->index[i]];
	return (enum unwind_end)walk_with(&w, &all, first, pcs, max, n);
}

/* Makes the first frame of the other stack; false: its memory is missing. */
static bool
other_frame(const struct walk *w, struct frame *out)
{
	const struct frame *o = &w->u->other;

	*out = *o;
	if (o->interrupted)
		return true;
	*out = (struct frame){.sp = o->sp + 16, .fp_known = true};
	return walk_word(w, o->sp, &out->fp) &&
	       walk_word(w, o->sp + 8, &out->pc);
}

enum unwind_end
unwind_on(struct unwinder *u, const void *stack, size_t len, uint64_t *pcs,
          size_t max, size_t *n)
{
	struct walk w = {
		.u = u, .arch = u->arch, .stack = {{stack, u->other.sp, len}}};
	const bool was_last = u->other.interrupted; /* it was the last frame */
	struct frame first;
	int r;

	*n = 0;
	if (!other_frame(&w, &first))
		return UNWIND_TRUNCATED;
	r = walk_all(&w, first, pcs, max, n);
	if (r == STEP_NEEDS_WHOLE && was_last)
		r = walk_with(&w, &u->other_regs, first, pcs, max, n);
	if (was_last)
		memmove(pcs, pcs + 1, --*n * sizeof(*pcs));
	return r > UNWIND_MAX ? UNWIND_BAD : (enum unwind_end)r;
}

uint64_t
unwind_missing(const struct unwinder *u)
{
	return u->missing;
}

void
unwinder_far(struct unwinder *u, const struct unwind_piece *far, size_t n)
{
	u->far = far;
	u->nfar = n;
}

uint64_t
unwind_other_stack(const struct unwinder *u)
{
	return u->other.sp;
}

enum unwind_end
unwind_blocked(struct unwinder *u, uint64_t pc, uint64_t sp,
               const uint64_t *args, const void *stack, size_t len,
               uint64_t *pcs, size_t max, size_t *n)
{
	struct registers known = {.known = 0};
	struct walk w = {.u = u,
	                 .arch = u->arch,
	                 .stack = {{stack, sp, len}, u->far, u->nfar},
	                 .bare = true};
	struct frame first = {.pc = pc, .sp = sp, .interrupted = true};
	int r = walk_all(&w, first, pcs, max, n);

	if (r != STEP_NEEDS_WHOLE)
		return (enum unwind_end)r;
	/* glibc's vfork(2) keeps its return address in an argument register,
	 * since the child uses the stack. */
	for (unsigned i = 0; args && i < UNWIND_ARGS; i++) {
		known.value[u->arch->args[i]] = args[i];
		known.known |= UINT64_C(1) << u->arch->args[i];
	}
	return (enum unwind_end)walk_with(&w, &known, first, pcs, max, n);
}

/* --- life ----------------------------------------------------------------- */

struct unwinder *
unwinder_new_for(uint16_t machine, unwind_find *find, void *arg)
{
	const struct unwind_arch *arch = unwind_arch_of(machine);
	struct unwinder *u = arch ? calloc(1, sizeof(*u)) : NULL;

	if (!u)
		return NULL;
	u->arch = arch;
	u->find = find;
	u->find_arg = arg;
	return u;
}

struct unwinder *
unwinder_new(unwind_find *find, void *arg)
{
	return unwinder_new_for(UNWIND_HOST, find, arg);
}

void
unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	walk_whole_done(u);
	free(u);
}

void
unwinder_step(struct unwinder *u, unwind_step *step, void *arg)
{
	u->step = step;
	u->step_arg = arg;
}

void
unwinder_flush(struct unwinder *u)
{
	memset(u->cache, 0, sizeof(u->cache));
	memset(u->returns, 0, sizeof(u->returns));
	u->here = (struct unwind_mapping){0};
}
