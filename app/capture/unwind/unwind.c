#include "unwind.h"

#include "unwind_walk.h"

#include <elf.h>

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#else
#error "unwinding knows x86-64 and aarch64"
#endif

/* --- the walk --------------------------------------------------------------
 */

/* Where code was interrupted, or is returned to without a call, the byte at
 * that address says what it is, not the one before. */
static int
add_uncalled(struct walk *w, const struct frame *f, int r, uint64_t *pcs,
             size_t *n)
{
	bool told = r == UNWIND_SWITCHED && w->u->other.interrupted;

	pcs[*n - 1] += w->uncalled;
	w->uncalled = false;
	if (told || r == STEP_INTERRUPTED)
		pcs[(*n)++] = f->pc + 1;
	if (r == STEP_CONTEXT)
		return UNWIND_ROOT;
	return r == STEP_INTERRUPTED ? STEP_DONE : r;
}

static inline int
walk_all(struct walk *w, struct frame f, uint64_t *pcs, size_t max, size_t *n)
{
	int r;

	pcs[0] = f.pc;
	for (*n = 1; *n < max;) {
		r = walk_step(w, &f);
		if (r == STEP_NEEDS_POINTER) {
			r = walk_recover(w, &f);
			w->whole->known = 0; /* but for those of f */
		}
		if (r == STEP_DONE) {
			pcs[(*n)++] = f.pc;
			continue;
		}
		if (r >= UNWIND_SWITCHED)
			r = add_uncalled(w, &f, r, pcs, n);
		if (r != STEP_DONE)
			return r;
	}
	return UNWIND_MAX;
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
	                 .stack = stack,
	                 .start = first.sp,
	                 .len = len};
	struct registers all;
	int r = walk_all(&w, first, pcs, max, n);

	if (r != STEP_NEEDS_WHOLE)
		return (enum unwind_end)r;
	all.known = (UINT64_C(1) << a->nregs) - 1;
	for (unsigned i = 0; i < a->nregs; i++)
		all.value[i] = regs[a->index[i]];
	w.whole = &all;
	return (enum unwind_end)walk_all(&w, first, pcs, max, n);
}

/* The first frame of the other stack; false: its memory is not there. */
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
	struct walk w = {.u = u,
	                 .arch = u->arch,
	                 .stack = stack,
	                 .start = u->other.sp,
	                 .len = len};
	const bool told = u->other.interrupted; /* it was the last frame */
	struct registers all = u->other_regs;
	struct frame first;
	int r;

	*n = 0;
	if (!other_frame(&w, &first))
		return UNWIND_TRUNCATED;
	r = walk_all(&w, first, pcs, max, n);
	if (r == STEP_NEEDS_WHOLE && told) {
		w.whole = &all;
		r = walk_all(&w, first, pcs, max, n);
	}
	if (told)
		memmove(pcs, pcs + 1, --*n * sizeof(*pcs));
	return r > UNWIND_MAX ? UNWIND_BAD : (enum unwind_end)r;
}

uint64_t
unwind_other_stack(const struct unwinder *u)
{
	return u->other.sp;
}

enum unwind_end
unwind_blocked(struct unwinder *u, uint64_t pc, uint64_t sp, const void *stack,
               size_t len, uint64_t *pcs, size_t max, size_t *n)
{
	struct registers none = {.known = 0};
	struct walk w = {.u = u,
	                 .arch = u->arch,
	                 .stack = stack,
	                 .start = sp,
	                 .len = len,
	                 .whole = &none};
	struct frame first = {.pc = pc, .sp = sp, .interrupted = true};

	return (enum unwind_end)walk_all(&w, first, pcs, max, n);
}

/* --- life ------------------------------------------------------------------
 */

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
	return unwinder_new_for(HOST_MACHINE, find, arg);
}

void
unwinder_free(struct unwinder *u)
{
	free(u);
}

void
unwinder_flush(struct unwinder *u)
{
	memset(u->cache, 0, sizeof(u->cache));
	memset(u->returns, 0, sizeof(u->returns));
	u->here = (struct unwind_mapping){0};
}
