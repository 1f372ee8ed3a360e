/*
 * Lua as a language that compiles at run time. A trace runs below the
 * interpreter's frame on the C stack, in a frame without a return address. It
 * stands for the function in whose Lua frame it was entered; that function's
 * callers have Lua frames.
 */
#include "luajit_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define R14        22 /* index in the registers of x86-64 */
#define STATES     4  /* states of Lua that are known in a process */
#define KNOWN      64
#define IS_STATE   6    /* the type of such objects */
#define FAR        2048 /* bytes of the stack in which the frame is looked for */
#define PLACES     2048
#define SAVED      16                 /* bytes that a trace pushes first */
#define NOT_YET_NS UINT64_C(1000000)  /* until a state may have been made */
#define AGAIN_NS   UINT64_C(20000000) /* until traces are looked for again */

struct luajit {
	const struct luajit_image *image;
	uint64_t own[2];
	struct luajit_traces states[STATES];
	/* Addresses that were checked, and whether they are those of a
	 * state. */
	struct known {
		uint64_t at, checked_ns;
		bool is;
	} known[KNOWN];
	struct calls {
		uint64_t pc, trace, checked_ns;
		size_t n;
		struct luajit_call rows[LUAJIT_MAX_CALLS];
	} calls[PLACES];
};

static int
recognise(const struct elf_image *elf, struct jit_image *out)
{
	struct luajit_image *image = malloc(sizeof(*image));
	int rc = image ? luajit_image(elf, image) : -ENOMEM;

	if (rc) {
		free(image);
		return rc;
	}
	out->data = image;
	out->size = sizeof(*image);
	out->start = image->start;
	out->end = image->end;
	return 0;
}

static int
attach(const struct jit_space *space, void **runtime)
{
	struct luajit *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->image = space->image->data;
	l->own[0] = l->image->start + space->bias;
	l->own[1] = (l->image->end - l->image->start) |
	            (uint64_t)l->image->distance << 32;
	*runtime = l;
	return 0;
}

static void
detach(void *runtime)
{
	struct luajit *l = runtime;

	for (uint32_t i = 0; l && i < STATES; i++)
		luajit_traces_done(&l->states[i]);
	free(l);
}

/* --- states --------------------------------------------------------------- */

/* Remembers a state of Lua, in place of the one that was seen least
 * recently. */
static bool
learn(struct luajit *l, const struct jit_space *space, uint64_t dispatch)
{
	struct luajit_traces *to = l->states;

	for (uint32_t i = 0; i < STATES; i++) {
		struct luajit_traces *t = &l->states[i];

		if (t->dispatch == dispatch && dispatch) {
			t->met_ns = space->now_ns;
			return true;
		}
		if (t->met_ns < to->met_ns)
			to = t;
	}
	if (!jit_may_look(space) ||
	    !luajit_is_dispatch(space->memory, dispatch,
	                        (uint16_t)(l->image->state / 8), l->own))
		return false;
	luajit_traces_done(to);
	*to = (struct luajit_traces){.dispatch = dispatch,
	                             .met_ns = space->now_ns};
	return true;
}

/* True for the address of a state: a coroutine, or the main one. */
static bool
is_coroutine(struct luajit *l, const struct jit_space *space, uint64_t at)
{
	struct known *k = &l->known[at / 8 % KNOWN];
	uint64_t words[3];

	if (!at || at % 8 || at >> 47)
		return false;
	if (k->at == at &&
	    space->now_ns - k->checked_ns < (k->is ? JIT_AGE_NS : NOT_YET_NS))
		return k->is;
	if (!jit_may_look(space))
		return false;
	*k = (struct known){.at = at, .checked_ns = space->now_ns};
	k->is = !memory_copy(space->memory, at, words, sizeof(words)) &&
	        (words[1] >> 8 & 255) == IS_STATE &&
	        learn(l, space, words[2] + l->image->distance);
	return k->is;
}

/* Finds a trace by an address of its code. A table is read again when it is
 * old, or when it may lack a new trace. */
static struct luajit_trace *
find_trace(struct luajit *l, const struct jit_space *space, uint64_t pc)
{
	struct luajit_trace *found = NULL;

	for (uint32_t i = 0; i < STATES && !found; i++) {
		struct luajit_traces *t = &l->states[i];
		uint64_t age = space->now_ns - t->read_ns;

		if (!t->dispatch)
			continue;
		if (t->read_ns && age < JIT_AGE_NS)
			found = luajit_traces_find(t, pc);
		if (found || (t->read_ns && age < AGAIN_NS) ||
		    !jit_may_look(space))
			continue;
		if (!luajit_traces_read(l->image, space, t))
			found = luajit_traces_find(t, pc);
	}
	return found;
}

/* --- steps ---------------------------------------------------------------- */

/* True if the interpreter's frame on the C stack may be there. */
static bool
may_be_frame(const struct unwind_stack *stack, uint64_t at, uint64_t *state)
{
	uint64_t previous, back;

	return unwind_word(stack, at + LUAJIT_C_STATE, state) &&
	       unwind_word(stack, at + LUAJIT_C_PREVIOUS, &previous) &&
	       unwind_word(stack, at + LUAJIT_C_RETURN, &back) && *state &&
	       *state % 8 == 0 && *state >> 47 == 0 &&
	       (!previous || previous > at) && back && back >> 47 == 0;
}

/*
 * Finds the interpreter's frame. It is at the stack pointer or, while the
 * interpreter calls its own code or has left a trace, above it. Only for a
 * frame above it must the state still exist: by the time a sample is read, the
 * state may be gone.
 */
static bool
find_frame(struct luajit *l, const struct jit_space *space,
           const struct unwind_stack *stack, uint64_t sp, uint64_t *out)
{
	const uint64_t from = (sp + 15) & ~UINT64_C(15);
	uint64_t state;

	for (uint64_t at = from; at - from < FAR; at += 16) {
		if (!may_be_frame(stack, at, &state) ||
		    (!is_coroutine(l, space, state) && at != from))
			continue;
		*out = at;
		return true;
	}
	return false;
}

static int
leave_interpreter(struct luajit *l, const struct jit_space *space,
                  const struct unwind_stack *stack, struct unwind_frame *f)
{
	struct unwind_frame to = *f;
	uint64_t at;

	if (!find_frame(l, space, stack, f->sp, &at))
		return -ENOENT;
	if (!unwind_word(stack, at + LUAJIT_C_FP, &to.fp) ||
	    !unwind_word(stack, at + LUAJIT_C_RETURN, &to.pc))
		return -EFAULT;
	to.sp = at + LUAJIT_C_BYTES;
	to.fp_known = true;
	*f = to;
	return 0;
}

static bool
is_interpreter(const struct luajit *l, uint64_t pc)
{
	return luajit_is_code(l->own, pc);
}

/* Leads to the interpreter, in whose frame a trace runs. The detail is 1 if the
 * trace calls C. */
static int
step(void *runtime, const struct jit_space *space,
     const struct unwind_stack *stack, struct unwind_frame *f, uint64_t *detail)
{
	struct luajit *l = runtime;
	const uint64_t pc = f->pc - !f->interrupted;
	const struct luajit_trace *t;
	uint64_t at, state;

	*detail = !f->interrupted;
	if (f->regs)
		(void)learn(l, space, f->regs[R14]);
	if (is_interpreter(l, pc))
		return leave_interpreter(l, space, stack, f);
	t = find_trace(l, space, pc);
	if (!t)
		return -ENOENT;
	at = f->sp + t->adjust + SAVED;
	if (!may_be_frame(stack, at, &state))
		return -ENOENT;
	f->pc = l->own[0] + 1;
	f->sp = at;
	f->fp_known = false;
	return 0;
}

/* --- names ---------------------------------------------------------------- */

static const struct calls *
calls_at(struct luajit *l, const struct jit_space *space, uint64_t pc,
         bool in_call, struct luajit_trace *t, int *rc)
{
	struct calls *c = &l->calls[pc % PLACES];

	*rc = 0;
	if (c->pc == pc && c->trace == t->at &&
	    space->now_ns - c->checked_ns < JIT_AGE_NS)
		return c;
	*c = (struct calls){.pc = pc, .checked_ns = space->now_ns};
	*rc = jit_may_look(space) ? luajit_calls(space->memory, t, pc, in_call,
	                                         c->rows, &c->n)
	                          : -ESTALE;
	if (!*rc)
		c->trace = t->at;
	return *rc ? NULL : c;
}

static int
names(void *runtime, const struct jit_space *space, uint64_t pc,
      uint64_t detail, uint64_t *out, size_t *n)
{
	struct luajit *l = runtime;
	struct luajit_trace *t =
		is_interpreter(l, pc) ? NULL : find_trace(l, space, pc);
	const struct calls *c;
	int rc;

	*n = 0;
	if (!t)
		return -ENOENT;
	c = calls_at(l, space, pc, detail, t, &rc);
	for (size_t i = 0; c && i < c->n && !rc; i++)
		rc = luajit_place(
			space->codes, space->memory, space->now_ns, &c->rows[i],
			i + 1 < c->n ? &c->rows[i + 1] : NULL, &out[i]);
	if (!rc)
		*n = c->n;
	return rc;
}

const struct jit luajit_jit = {
	.id = JIT_LUA,
	.recognise = recognise,
	.forget = free,
	.attach = attach,
	.detach = detach,
	.step = step,
	.names = names,
	.line = luajit_line,
};
