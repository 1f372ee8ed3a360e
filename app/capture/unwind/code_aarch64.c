/* Source: Arm ARM, C4.1 "A64 instruction set encoding". */
#include "code.h"

#include <string.h>

enum { FP = 29, LR = 30, SP = 31 };

/* Returns n bits of w from bit at on. */
static uint32_t
bits(uint32_t w, unsigned at, unsigned n)
{
	return w >> at & ((UINT32_C(1) << n) - 1);
}

/* Returns a field as a number in two's complement. */
static int64_t
number(uint32_t w, unsigned at, unsigned n)
{
	return (int64_t)((uint64_t)bits(w, at, n) << (64 - n)) >> (64 - n);
}

static unsigned
rd(uint32_t w)
{
	return bits(w, 0, 5);
}

static unsigned
rn(uint32_t w)
{
	return bits(w, 5, 5);
}

/* Sets a target, which is encoded in words from the instruction's start. */
static void
lead(struct code_insn *out, enum code_flow flow, int64_t words)
{
	out->flow = flow;
	out->has_target = true;
	out->target = (words - 1) * 4;
}

static void
find_flow_by_register(uint32_t w, struct code_insn *out)
{
	switch (bits(w, 21, 2)) { /* with pointer authentication or without */
	case 0:
		out->flow = CODE_LEAVE;
		break;
	case 1:
		out->flow = CODE_CALL;
		break;
	case 2:
		out->flow = rn(w) == LR ? CODE_RETURN : CODE_LEAVE;
		break;
	default:
		out->flow = CODE_TRAP;
		break;
	}
}

static void
find_flow(uint32_t w, struct code_insn *out)
{
	if ((w & 0xfc000000) == 0x14000000)
		lead(out, CODE_JUMP, number(w, 0, 26));
	else if ((w & 0xfc000000) == 0x94000000)
		lead(out, CODE_CALL, number(w, 0, 26));
	else if ((w & 0xff000000) == 0x54000000 ||
	         (w & 0x7e000000) == 0x34000000) /* b.cond; cbz, cbnz */
		lead(out, CODE_BRANCH, number(w, 5, 19));
	else if ((w & 0x7e000000) == 0x36000000) /* tbz, tbnz */
		lead(out, CODE_BRANCH, number(w, 5, 14));
	else if ((w & 0xfe000000) == 0xd6000000)
		find_flow_by_register(w, out);
	else if ((w & 0xff800000) == 0xd4000000 && bits(w, 0, 2) == 0 &&
	         bits(w, 21, 2)) /* brk, hlt */
		out->flow = CODE_TRAP;
	else if (!(w >> 16)) /* udf */
		out->flow = CODE_TRAP;
	out->padding = w == 0xd503201f || !w;
	if (out->flow == CODE_CALL)
		out->lr.from = CODE_UNKNOWN;
}

static struct code_value *
pointer(struct code_insn *out, unsigned reg)
{
	return reg == FP ? &out->fp : reg == LR ? &out->lr : NULL;
}

/* Returns the value base + by, where base is sp or x29. */
static struct code_value
sum(unsigned base, int64_t by)
{
	return (struct code_value){base == SP   ? CODE_SP
	                           : base == FP ? CODE_FP
	                                        : CODE_UNKNOWN,
	                           by};
}

/* Notes that a register is loaded from the word `by` bytes above another
 * register's value. */
static void
load(struct code_insn *out, unsigned reg, unsigned base, int64_t by)
{
	struct code_value *v = pointer(out, reg);

	if (!v)
		return;
	*v = sum(base, by);
	if (v->from != CODE_UNKNOWN)
		v->from = base == SP ? CODE_WORD_AT_SP : CODE_WORD_AT_FP;
}

/* Adds by to the base register of a load or store that updates it. */
static void
move_base(struct code_insn *out, unsigned base, int64_t by)
{
	if (base == SP)
		out->sp = sum(SP, by);
	else if (base == FP)
		out->fp = sum(FP, by);
}

enum { OFFSET_ALONE, AFTER, OFFSET, BEFORE }; /* modes of pairs, bits 24:23 */

/* ldp, stp: two registers of one kind. */
static void
find_pair(uint32_t w, struct code_insn *out)
{
	const unsigned kind = bits(w, 30, 2), mode = bits(w, 23, 2);
	const bool vector = bits(w, 26, 1), loads = bits(w, 22, 1);
	const unsigned size = vector ? 4u << kind : kind == 2 ? 8 : 4;
	const int64_t by = number(w, 15, 7) * size;
	const int64_t at = mode == AFTER ? 0 : by;

	if (mode == AFTER || mode == BEFORE)
		move_base(out, rn(w), by);
	if (!loads || vector)
		return;
	load(out, rd(w), rn(w), at);
	load(out, bits(w, 10, 5), rn(w), at + size);
}

/* ldr, str with a 9-bit offset. */
static void
find_single(uint32_t w, struct code_insn *out)
{
	const unsigned mode = bits(w, 10, 2); /* 0: ldur, 1: after, 3: before */
	const int64_t by = number(w, 12, 9);

	if (mode == 1 || mode == 3)
		move_base(out, rn(w), by);
	if (!bits(w, 26, 1) && bits(w, 22, 2))
		load(out, rd(w), rn(w), mode == 1 ? 0 : by);
}

/* add, sub of an immediate; this is how sp is moved. */
static void
find_sum(uint32_t w, struct code_insn *out)
{
	int64_t by = bits(w, 10, 12);
	struct code_value v, *to;

	if (bits(w, 22, 1))
		by <<= 12;
	v = sum(rn(w), bits(w, 30, 1) ? -by : by);
	to = rd(w) == SP ? &out->sp : pointer(out, rd(w));
	if (to)
		*to = v;
}

static void
find_effects(uint32_t w, struct code_insn *out)
{
	const unsigned group = bits(w, 25, 4); /* op0 in the manual */
	struct code_value *to = pointer(out, rd(w));

	if ((w & 0xbf800000) == 0x91000000)
		find_sum(w, out);
	else if ((w & 0x3a000000) == 0x28000000)
		find_pair(w, out);
	else if ((w & 0x3b200000) == 0x38000000)
		find_single(w, out);
	else if ((w & 0x3f400000) == 0x39400000) /* ldr, scaled offset */
		load(out, rd(w), rn(w),
		     (int64_t)bits(w, 10, 12) << bits(w, 30, 2));
	else if (rd(w) == SP && ((w & 0x7f800000) == 0x12000000 ||
	                         (w & 0x3fe00000) == 0x0b200000))
		out->sp.from = CODE_UNKNOWN; /* and; add of a register */
	else if (to && ((group & 14) == 8 || (group & 7) == 5))
		to->from = CODE_UNKNOWN; /* computed */
}

bool
code_aarch64(const uint8_t *p, size_t n, struct code_insn *out)
{
	uint32_t w;

	if (n < sizeof(w))
		return false;
	memcpy(&w, p, sizeof(w));
	*out = (struct code_insn){.length = sizeof(w)};
	find_flow(w, out);
	find_effects(w, out);
	return true;
}
