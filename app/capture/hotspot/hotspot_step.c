/*
 * Callers of Java's frames, on x86-64.
 *
 * Compiled code has frames of a fixed size, and uses the frame pointer for
 * other things; the caller's frame pointer is saved below the return address.
 * Interpreted methods have a frame pointer, and their Method* below it.
 *
 *   Source   OpenJDK src/hotspot/cpu/x86/frame_x86.hpp, frame_x86.inline.hpp,
 *            c1_LIRAssembler_x86.cpp, macroAssembler_x86.cpp (verified_entry)
 */
#include "hotspot.h"

#include <errno.h>
#include <string.h>

#define R13            21 /* PERF_REG_X86_R13: the interpreter's byte code */
#define METHOD_SLOT    (-3 * 8)
#define BYTE_CODE_SLOT (-8 * 8)
#define FIXED          64        /* bytes of an interpreter's frame below fp */
#define STUB_FIXED     64        /* bytes that stubs push, at most */
#define MAX_ADAPTER    (1 << 20) /* bytes of arguments between two frames */
#define EPILOGUE       8         /* instructions */

/* The return address, and where the caller's frame pointer is. */
struct shape {
	uint64_t ra; /* distance from sp */
	int64_t fp;  /* likewise; -1: in the register */
};

/* Returns the length of an instruction that compiled code may have between
 * the end of its frame and its return, or 0. *by: what it adds to sp. */
static size_t
epilogue_step(const uint8_t *p, size_t n, uint64_t *by)
{
	static const struct {
		uint8_t bytes[4], n, length;
	} plain[] = {
		{{0x49, 0x3b, 0xa7}, 3, 7}, /* cmp rsp,[r15+n] */
		{{0x49, 0x3b, 0x67}, 3, 4},
		{{0x0f, 0x87}, 2, 6},       /* ja */
		{{0x85, 0x05}, 2, 6},       /* test eax,[rip+n] */
		{{0x4d, 0x8b, 0x97}, 3, 7}, /* mov r10,[r15+n] */
		{{0x4d, 0x8b, 0x57}, 3, 4},
		{{0x41, 0x85, 0x02}, 3, 3}, /* test eax,[r10] */
		{{0x41, 0x85, 0x03}, 3, 3},
		{{0xc5, 0xf8, 0x77}, 3, 3}, /* vzeroupper */
	};
	int32_t wide;

	*by = 0;
	if (n >= 1 && p[0] == 0x5d) { /* pop rbp */
		*by = 8;
		return 1;
	}
	if (n >= 4 && p[0] == 0x48 && p[1] == 0x83 && p[2] == 0xc4) {
		*by = p[3];
		return 4;
	}
	if (n >= 7 && p[0] == 0x48 && p[1] == 0x81 && p[2] == 0xc4) {
		memcpy(&wide, p + 3, sizeof(wide));
		*by = (uint32_t)wide;
		return 7;
	}
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (n >= plain[i].length &&
		    !memcmp(p, plain[i].bytes, plain[i].n))
			return plain[i].length;
	return 0;
}

/* True if the code is about to return; *out is then the frame's shape. */
static bool
in_epilogue(const uint8_t *p, size_t n, struct shape *out)
{
	uint64_t sum = 0, by;
	size_t at = 0, length;

	out->fp = -1;
	for (unsigned i = 0; i < EPILOGUE && at < n; i++) {
		if (p[at] == 0xc3) {
			out->ra = sum;
			return true;
		}
		length = epilogue_step(p + at, n - at, &by);
		if (!length)
			return false;
		if (p[at] == 0x5d)
			out->fp = (int64_t)sum;
		sum += by;
		at += length;
	}
	return false;
}

static bool
is_enlarging(const uint8_t *p, size_t n)
{
	return n >= 3 && p[0] == 0x48 && (p[1] == 0x81 || p[1] == 0x83) &&
	       p[2] == 0xec; /* sub rsp,n */
}

static bool
is_moving(const uint8_t *p, size_t n)
{
	return n >= 3 && p[0] == 0x48 &&
	       ((p[1] == 0x8b && p[2] == 0xec) ||
	        (p[1] == 0x89 && p[2] == 0xe5)); /* mov rbp,rsp */
}

/* Finds the shape of a frame that is not complete. */
static bool
in_prologue(const uint8_t *code, size_t at, size_t complete, struct shape *out)
{
	for (size_t i = at; i < complete; i++) {
		const uint8_t *p = code + i;
		const size_t n = complete - i;

		if (p[0] == 0x55 &&
		    (is_enlarging(p + 1, n - 1) || is_moving(p + 1, n - 1))) {
			*out = (struct shape){.ra = 0, .fp = -1};
			return true;
		}
		if (!is_enlarging(p, n))
			continue;
		*out = (struct shape){.ra = 0, .fp = -1};
		if ((i >= 1 && code[i - 1] == 0x55) ||
		    (i >= 4 && code[i - 4] == 0x55 && is_moving(p - 3, 3)))
			*out = (struct shape){.ra = 8, .fp = 0};
		return true;
	}
	return false;
}

/* Steps to the caller that the return address and the frame pointer give. */
static int
leave(const struct unwind_stack *stack, struct unwind_frame *f,
      const struct shape *s)
{
	struct unwind_frame to = {
		.sp = f->sp + s->ra + 8, .fp = f->fp, .fp_known = f->fp_known};

	if (!unwind_word(stack, f->sp + s->ra, &to.pc))
		return -EFAULT;
	if (s->fp >= 0)
		to.fp_known =
			unwind_word(stack, f->sp + (uint64_t)s->fp, &to.fp);
	if (to.sp <= f->sp)
		return -EBADMSG;
	f->pc = to.pc;
	f->sp = to.sp;
	f->fp = to.fp;
	f->fp_known = to.fp_known;
	return 0;
}

/*
 * Steps from code without a frame of fixed size. Such stubs make a frame with a
 * frame pointer, or none. Uncertain cases are left to frame pointer unwinding.
 */
static int
step_stub(const struct hotspot *h, const struct unwind_stack *stack,
          struct unwind_frame *f)
{
	uint64_t word;

	if (!f->interrupted)
		return -ENOENT;
	if (f->fp_known && f->fp >= f->sp && f->fp - f->sp < STUB_FIXED &&
	    unwind_word(stack, f->fp + 8, &word) && hotspot_is_code(h, word))
		return -ENOENT;
	if (unwind_word(stack, f->sp, &word) && hotspot_is_code(h, word))
		return leave(stack, f, &(struct shape){.ra = 0, .fp = -1});
	if (unwind_word(stack, f->sp + 8, &word) && hotspot_is_code(h, word))
		return leave(stack, f, &(struct shape){.ra = 8, .fp = 0});
	return -ENOENT;
}

static int
step_compiled(struct hotspot *h, const struct jit_space *space,
              struct hotspot_blob *b, const struct unwind_stack *stack,
              struct unwind_frame *f)
{
	struct shape s = {.ra = b->frame - 8, .fp = (int64_t)b->frame - 16};
	const uint64_t at = f->pc - b->code;
	uint64_t caller;

	if (s.fp < 0)
		s.fp = -1;
	if (f->interrupted && f->pc >= b->code && f->pc < b->code_end &&
	    !hotspot_blob_bytes(h, space, b) && at < b->ncode) {
		const uint64_t complete = b->complete - b->code;

		if (b->complete && f->pc < b->complete && complete <= b->ncode)
			(void)in_prologue(b->bytes, at, complete, &s);
		else if (!in_epilogue(b->bytes + at, b->ncode - at, &s))
			s = (struct shape){.ra = b->frame - 8,
			                   .fp = (int64_t)b->frame - 16};
	}
	/* Only other code of the cache calls compiled code. */
	if (unwind_word(stack, f->sp + s.ra, &caller) &&
	    !hotspot_is_code(h, caller))
		return f->interrupted ? step_stub(h, stack, f) : -EBADMSG;
	return leave(stack, f, &s);
}

/* Learns the method of an interpreter's frame, and its byte code. */
static void
learn_method(struct hotspot *h, const struct jit_space *space,
             const struct unwind_stack *stack, const struct unwind_frame *f,
             uint64_t *detail)
{
	struct hotspot_method *m;
	uint64_t method, bcp, bci;

	if (!unwind_word(stack, f->fp + (uint64_t)METHOD_SLOT, &method) ||
	    method >> (64 - HOTSPOT_BCI_BITS) ||
	    hotspot_method(h, space, method, &m))
		return;
	bci = f->regs ? f->regs[R13] - m->code : UINT64_MAX;
	if (bci >= m->code_size &&
	    unwind_word(stack, f->fp + (uint64_t)BYTE_CODE_SLOT, &bcp))
		bci = bcp - m->code;
	if (bci >= m->code_size)
		bci = 0;
	*detail = method << HOTSPOT_BCI_BITS | bci;
}

static int
step_interpreted(struct hotspot *h, const struct jit_space *space,
                 const struct unwind_stack *stack, struct unwind_frame *f,
                 uint64_t *detail)
{
	const int64_t slot = h->tables.constant[HOTSPOT_CONSTANT_SENDER_SP];
	uint64_t fp, pc, sp;

	if (!f->fp_known)
		return -ENOENT;
	/* The call begins or ends, so its frame is not complete. */
	if (f->fp < f->sp || f->fp - f->sp < FIXED)
		return step_stub(h, stack, f);
	if (!unwind_word(stack, f->fp, &fp) ||
	    !unwind_word(stack, f->fp + 8, &pc))
		return -EFAULT;
	if (f->interrupted && !hotspot_is_code(h, pc))
		return step_stub(h, stack, f);
	learn_method(h, space, stack, f, detail);
	if (!*detail && f->interrupted && step_stub(h, stack, f) == 0)
		return 0;
	if (!slot || !unwind_word(stack, f->fp + (uint64_t)(slot * 8), &sp) ||
	    sp < f->fp + 16 || sp - f->fp > MAX_ADAPTER)
		sp = f->fp + 16;
	f->pc = pc;
	f->sp = sp;
	f->fp = fp;
	return 0;
}

/*
 * True for the stub to which the outermost frame of a virtual thread returns
 * while other frames of the thread are in the heap. On the stack it is followed
 * by the frame of Continuation.enterSpecial().
 */
static bool
is_barrier(const struct hotspot *h, const struct hotspot_blob *b,
           const struct unwind_frame *f)
{
	return h->entry && !b->frame && b->kind == HOTSPOT_KIND_STUB &&
	       !f->interrupted && f->pc != h->call_stub;
}

int
hotspot_step(void *runtime, const struct jit_space *space,
             const struct unwind_stack *stack, struct unwind_frame *f,
             uint64_t *detail)
{
	struct hotspot *h = runtime;
	const uint64_t at = f->pc - !f->interrupted;
	struct hotspot_blob *b;
	int rc;

	hotspot_refresh(h, space);
	if (at >= h->interpreter && at < h->interpreter_end)
		return step_interpreted(h, space, stack, f, detail);
	rc = hotspot_blob(h, space, at, &b);
	if (!rc && is_barrier(h, b, f)) {
		rc = hotspot_blob(h, space, h->entry - 1, &b);
		f->pc = h->entry;
	}
	if (rc)
		return -ENOENT;
	*detail = f->interrupted          ? HOTSPOT_LEAF
	          : f->pc == h->call_stub ? HOTSPOT_CALL
	                                  : 0;
	return b->frame ? step_compiled(h, space, b, stack, f)
	                : step_stub(h, stack, f);
}
