/*
 * Callers and functions of V8's frames, on x86-64.
 *
 *   Source   V8 src/execution/frame-constants.h, frames.h (TypeToMarker),
 *            src/codegen/x64/code-generator-x64.cc (AssembleConstructFrame,
 *            AssembleReturn)
 */
#include "v8.h"

#include "capture/host/memory.h"

#include <errno.h>
#include <string.h>

#define RDI       5         /* PERF_REG_X86_DI: the function that is called */
#define MAX_FRAME (1 << 20) /* bytes */
#define AHEAD     48        /* bytes before a frame is made, at most */
#define MAX_TYPE  128       /* of a frame */

/* --- where an instruction is ---------------------------------------------- */

/* Finds "push rbp; mov rbp,rsp" before anything that ends a function. */
static enum v8_spot
spot_in(const uint8_t *code, size_t n)
{
	static const uint8_t moves[] = {0x48, 0x89, 0xe5};

	if (code[0] == 0xc3 || code[0] == 0xc2)
		return V8_AT_END;
	if (n >= sizeof(moves) && !memcmp(code, moves, sizeof(moves)))
		return V8_PUSHED_FP;
	for (size_t i = 0; i + 1 + sizeof(moves) <= n; i++) {
		if (code[i] == 0x55 &&
		    !memcmp(code + i + 1, moves, sizeof(moves)))
			return V8_AT_START;
		if (code[i] == 0xc3 || code[i] == 0xcc)
			break;
	}
	return V8_IN_FRAME;
}

static enum v8_spot
spot_of(struct v8 *v, const struct jit_space *space, uint64_t pc)
{
	struct v8_leaf *leaf = &v->leaves[pc % V8_LEAVES];
	uint8_t code[AHEAD];

	if (leaf->pc == pc && space->now_ns - leaf->checked_ns < JIT_AGE_NS)
		return leaf->spot;
	*leaf = (struct v8_leaf){.pc = pc, .checked_ns = space->now_ns};
	if (!memory_copy(space->memory, pc, code, sizeof(code)))
		leaf->spot = spot_in(code, sizeof(code));
	return leaf->spot;
}

/* --- steps ---------------------------------------------------------------- */

/* Learns the function of a frame, or the frame's type. */
static void
learn(const struct v8 *v, const struct unwind_stack *stack, uint64_t fp,
      uint64_t *detail)
{
	const int32_t *field = v->image->field;
	uint64_t type, function;

	if (!unwind_word(stack, fp + (uint64_t)(int64_t)field[V8_FRAME_TYPE],
	                 &type))
		return;
	if (!v8_is_object(type))
		*detail = type % 2 == 0 && type / 2 < MAX_TYPE ? type : 0;
	else if (unwind_word(stack,
	                     fp + (uint64_t)(int64_t)field[V8_FRAME_FUNCTION],
	                     &function) &&
	         v8_is_object(function) && !(function >> V8_ADDRESS_BITS))
		*detail = v8_detail(function, type);
}

static int
leave_frame(const struct unwind_stack *stack, struct unwind_frame *f)
{
	struct unwind_frame to = *f;

	if (!unwind_word(stack, f->fp, &to.fp) ||
	    !unwind_word(stack, f->fp + 8, &to.pc))
		return -EFAULT;
	to.sp = f->fp + 16;
	*f = to;
	return 0;
}

static int
leave_early(const struct unwind_stack *stack, struct unwind_frame *f,
            bool pushed)
{
	struct unwind_frame to = *f;

	if ((pushed && !unwind_word(stack, f->sp, &to.fp)) ||
	    !unwind_word(stack, f->sp + 8 * pushed, &to.pc))
		return -EFAULT;
	to.sp = f->sp + 8 + 8 * pushed;
	*f = to;
	return 0;
}

int
v8_step(void *runtime, const struct jit_space *space,
        const struct unwind_stack *stack, struct unwind_frame *f,
        uint64_t *detail)
{
	struct v8 *v = runtime;
	enum v8_spot spot = f->interrupted ? spot_of(v, space, f->pc)
	                                   : V8_IN_FRAME;

	if (spot == V8_UNKNOWN || !f->fp_known)
		return -ENOENT;
	if (spot != V8_IN_FRAME) {
		if (spot != V8_AT_END && f->regs &&
		    v8_is_object(f->regs[RDI]) &&
		    !(f->regs[RDI] >> V8_ADDRESS_BITS))
			*detail = v8_detail(f->regs[RDI], 0);
		return leave_early(stack, f, spot == V8_PUSHED_FP);
	}
	if (f->fp < f->sp || f->fp - f->sp > MAX_FRAME || f->fp % 8)
		return -ENOENT;
	learn(v, stack, f->fp, detail);
	return leave_frame(stack, f);
}
