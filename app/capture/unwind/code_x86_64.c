/*
 * Lengths from the opcode maps; effects of the few instructions with which
 * programs move the stack pointer, and of common ones that write to rbp.
 */
#include "code.h"

#include <string.h>

enum { RAX = 0, RDX = 2, RSP = 4, RBP = 5, R10 = 10, NO_REG = -1 };

/*
 * Operands that follow an opcode: none (.), ModRM (m), ModRM and a byte (M) or
 * a number of operand size (Z), a byte (b), two (w), three (e), a number of
 * operand size (z), of 32 bits (d), of register size (q) or of address size
 * (v), ModRM and, for two of its eight operations, a number (g, G). x: not
 * used by today's programs; prefixes and escapes are read before.
 */
static const char one_byte[] = "mmmmbzxxmmmmbzxx"
			       "mmmmbzxxmmmmbzxx"
			       "mmmmbzxxmmmmbzxx"
			       "mmmmbzxxmmmmbzxx"
			       "xxxxxxxxxxxxxxxx"
			       "................"
			       "xxxmxxxxzZbM...."
			       "bbbbbbbbbbbbbbbb"
			       "MZxMmmmmmmmmmmmm"
			       "..........x....."
			       "vvvv....bz......"
			       "bbbbbbbbqqqqqqqq"
			       "MMw.xxMZe.w..bx."
			       "mmmmxxx.mmmmmmmm"
			       "bbbbbbbbddxb...."
			       "x.xx..gG......mm";
static const char two_byte[] = "mmmmx.....x.xm.M"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmxxxxmmmmmmmm"
			       "......x.xxxxxxxx"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm"
			       "MMMMmmm.mmmmmmmm"
			       "dddddddddddddddd"
			       "mmmmmmmmmmmmmmmm"
			       "...mMmxx...mMmmm"
			       "mmmmmmmmmmMmmmmm"
			       "mmMmMMMm........"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm"
			       "mmmmmmmmmmmmmmmm";

/*
 * The registers that change: none (.), ModRM's reg (r) or rm (m), the opcode's
 * (o), their bytes (R, M, O), rax (a), rdx (d), the opcode's and rax (x), rsp
 * (p), rsp and the opcode's (P), rsp and rbp (f); by ModRM's operation those
 * of compare (c, C), test, multiply and divide (u, U), increment and push (s,
 * S), bit test (t) or endbr (e); and possibly all (?), as in a call.
 */
static const char one_byte_changes[] = "MmRraa??MmRraa??"
				       "MmRraa??MmRraa??"
				       "MmRraa??MmRraa??"
				       "MmRraa??......??"
				       "????????????????"
				       "ppppppppPPPPPPPP"
				       "???r????prpr????"
				       "................"
				       "Cc?c..??MmRrmr??"
				       "xxxxxxxxad?.pp.a"
				       "????????..??????"
				       "OOOOOOOOoooooooo"
				       "Mm????Mmff??????"
				       "MmMm????????????"
				       "?????????.?.????"
				       "??????Uu??????Ss";
static const char two_byte_changes[] = "????????????????"
				       "........??????e."
				       "????????..??????"
				       "????????????????"
				       "rrrrrrrrrrrrrrrr"
				       "???????.????????"
				       "??????????????.."
				       "???????????????."
				       "................"
				       "MMMMMMMMMMMMMMMM"
				       "pp?.mm??pp?mmm?r"
				       "???m??rrr?tmrrrr"
				       "????????oooooooo"
				       "????????????????"
				       "???????????????."
				       "????????????????";

enum map {
	ONE_BYTE,
	TWO_BYTE,
	MAP_38,
	MAP_3A,
	MAP_5 = 5,
	MAP_6,
	XOP_8 = 8,
	XOP_9,
	XOP_A
};

struct decoder {
	const uint8_t *p;
	size_t n, at;
	bool bad;
	bool size16, address32; /* prefixes 66 and 67 */
	uint8_t rex;
	bool vector; /* by VEX, EVEX or XOP */
	enum map map;
	uint8_t op;
	unsigned mod;
	int reg, rm; /* registers; rm is NO_REG for memory */
	int base;    /* of memory without an index; else NO_REG */
	int64_t disp, imm;
};

static uint8_t
byte(struct decoder *d)
{
	if (d->at >= d->n || d->at >= CODE_MAX_INSN) {
		d->bad = true;
		return 0;
	}
	return d->p[d->at++];
}

/* Reads n bytes of two's complement. */
static int64_t
number(struct decoder *d, unsigned n)
{
	unsigned unused = 64 - 8 * n;
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)byte(d) << 8 * i;
	return n ? (int64_t)(v << unused) >> unused : 0;
}

/* --- prefixes and opcode ------------------------------------------------- */

static void
take_vector(struct decoder *d, uint8_t first)
{
	uint8_t p0 = byte(d);
	unsigned map = TWO_BYTE;

	d->vector = true;
	if (first == 0x62) {
		map = p0 & 0x0f;
		d->bad |= !(byte(d) & 4);
		byte(d);
	} else if (first != 0xc5) {
		map = p0 & 0x1f;
		byte(d);
	}
	d->bad |= map < TWO_BYTE || map == 4 || map == 7 || map > XOP_A;
	d->map = (enum map)map;
	d->op = byte(d);
}

/* XOP's maps are the values that the ModRM of POP does not use.
 *   Source   Intel SDM 2A, 2.3 (VEX), 2.7 (EVEX); AMD64 APM 3, 1.2.6 (XOP) */
static bool
is_vector(const struct decoder *d)
{
	return d->op == 0xc4 || d->op == 0xc5 || d->op == 0x62 ||
	       (d->op == 0x8f && d->at < d->n && (d->p[d->at] & 0x1f) >= XOP_8);
}

static void
take_opcode(struct decoder *d)
{
	d->op = byte(d);
	if (is_vector(d)) {
		take_vector(d, d->op);
		return;
	}
	if (d->op != 0x0f)
		return;
	d->map = TWO_BYTE;
	d->op = byte(d);
	if (d->op != 0x38 && d->op != 0x3a)
		return;
	d->map = d->op == 0x38 ? MAP_38 : MAP_3A;
	d->op = byte(d);
}

/* Source: Intel SDM 2A, 2.1.1 (legacy prefixes), 2.2.1 (REX) */
static void
take_prefixes(struct decoder *d)
{
	static const uint8_t others[] = {0xf0, 0xf2, 0xf3, 0x2e, 0x36,
	                                 0x3e, 0x26, 0x64, 0x65};

	while (d->at < d->n) {
		uint8_t b = d->p[d->at];

		if (b == 0x66)
			d->size16 = true;
		else if (b == 0x67)
			d->address32 = true;
		else if (!memchr(others, b, sizeof(others)))
			break;
		d->at++;
	}
	if (d->at < d->n && (d->p[d->at] & 0xf0) == 0x40)
		d->rex = byte(d);
}

/* --- operands ------------------------------------------------------------- */

/* Source: Intel SDM 2A, tables 2-2 and 2-3 */
static void
take_modrm(struct decoder *d)
{
	uint8_t modrm = byte(d), sib = 0;
	int rm = modrm & 7;
	bool indexed = false;

	d->mod = modrm >> 6;
	d->reg = (modrm >> 3 & 7) | (d->rex & 4) << 1;
	if (d->mod == 3) {
		d->rm = rm | (d->rex & 1) << 3;
		return;
	}
	if (rm == RSP) {
		sib = byte(d);
		rm = sib & 7;
		indexed = (sib >> 3 & 7) != RSP || d->rex & 2;
	}
	if (d->mod == 0 && rm == RBP) {
		d->disp = number(d, 4);
		return; /* without a base register, or relative to rip */
	}
	if (!indexed)
		d->base = rm | (d->rex & 1) << 3;
	d->disp = number(d, d->mod == 1 ? 1 : d->mod == 2 ? 4 : 0);
}

static char
operands(const struct decoder *d)
{
	switch (d->map) {
	case ONE_BYTE:
		return one_byte[d->op];
	case TWO_BYTE:
		return two_byte[d->op];
	case MAP_3A:
	case XOP_8:
		return 'M';
	case XOP_A:
		return 'Z';
	default:
		return 'm';
	}
}

static void
take_operands(struct decoder *d)
{
	const unsigned size = d->size16 ? 2 : 4;
	char how = operands(d);

	if (strchr("mMZgG", how))
		take_modrm(d);
	switch (how) {
	case 'g':
	case 'G':
		if ((d->reg & 7) < 2)
			d->imm = number(d, how == 'g' ? 1 : size);
		break;
	case 'b':
	case 'M':
		d->imm = number(d, 1);
		break;
	case 'w':
		d->imm = number(d, 2);
		break;
	case 'e':
		d->imm = number(d, 3);
		break;
	case 'z':
	case 'Z':
		d->imm = number(d, size);
		break;
	case 'd':
		d->imm = number(d, 4);
		break;
	case 'q':
		d->imm = number(d, d->rex & 8 ? 8 : size);
		break;
	case 'v':
		d->imm = number(d, d->address32 ? 4 : 8);
		break;
	case 'x':
		d->bad = true;
		break;
	default:
		break;
	}
}

/* --- effects -------------------------------------------------------------- */

static void
lead(struct code_insn *out, enum code_flow flow, int64_t target)
{
	out->flow = flow;
	out->has_target = true;
	out->target = target;
}

static void
find_flow_of_one_byte(const struct decoder *d, struct code_insn *out)
{
	const uint8_t op = d->op;

	if ((op & 0xf0) == 0x70 || (op & 0xfc) == 0xe0)
		lead(out, CODE_BRANCH, d->imm);
	else if (op == 0xe8)
		lead(out, CODE_CALL, d->imm);
	else if (op == 0xe9 || op == 0xeb)
		lead(out, CODE_JUMP, d->imm);
	else if (op == 0xc2 || op == 0xc3)
		out->flow = CODE_RETURN;
	else if (op == 0xca || op == 0xcb || op == 0xcf)
		out->flow = CODE_LEAVE;
	else if (op == 0xcc || op == 0xf4) /* int3, hlt */
		out->flow = CODE_TRAP;
	else if (op == 0xff && (d->reg & 6) == 2)
		out->flow = CODE_CALL;
	else if (op == 0xff && (d->reg & 6) == 4)
		out->flow = CODE_LEAVE;
	out->padding = op == 0xcc || (op == 0x90 && !(d->rex & 1));
}

static void
find_flow(const struct decoder *d, struct code_insn *out)
{
	if (d->vector || d->map > TWO_BYTE)
		return;
	if (d->map == ONE_BYTE)
		find_flow_of_one_byte(d, out);
	else if ((d->op & 0xf0) == 0x80)
		lead(out, CODE_BRANCH, d->imm);
	else if (d->op == 0x0b || d->op == 0xb9 || d->op == 0xff) /* ud */
		out->flow = CODE_TRAP;
	out->padding |= d->map == TWO_BYTE && d->op == 0x1f;
}

static struct code_value *
pointer(struct code_insn *out, int reg)
{
	return reg == RSP   ? &out->sp
	       : reg == RBP ? &out->fp
	       : reg == R10 ? &out->lr
	                    : NULL;
}

static void
set(struct code_insn *out, int reg, enum code_from from, int64_t by)
{
	struct code_value *v = pointer(out, reg);

	if (v)
		*v = (struct code_value){from, by};
}

/* Sets a register from another one, or from the memory it points to. */
static void
set_from(struct code_insn *out, int reg, int from, int64_t by, bool word)
{
	enum code_from how = CODE_UNKNOWN;

	if (from == RSP)
		how = word ? CODE_WORD_AT_SP : CODE_SP;
	else if (from == RBP)
		how = word ? CODE_WORD_AT_FP : CODE_FP;
	else if (from == R10 && !word)
		how = CODE_LR;
	set(out, reg, how, by);
}

static void
add_to(struct code_insn *out, int reg, int64_t by)
{
	set_from(out, reg, reg, by, false);
}

#define ALL_REGS UINT16_MAX

static uint16_t
bit(int reg)
{
	return reg == NO_REG ? 0 : (uint16_t)(1u << reg);
}

/* Without REX the numbers 4 to 7 are the second bytes of the first registers.
 *   Source   Intel SDM 2A, table 2-2 and 3.1.1.1 */
static uint16_t
byte_bit(const struct decoder *d, int reg)
{
	return bit(!d->rex && reg >= 4 && reg < 8 ? reg - 4 : reg);
}

static uint16_t
changes_by_operation(const struct decoder *d, char how)
{
	const int operation = d->reg & 7;
	const uint16_t rm = how < 'a' ? byte_bit(d, d->rm) : bit(d->rm);

	switch (how) {
	case 'c':
	case 'C':
		return operation == 7 ? 0 : rm;
	case 'u':
	case 'U':
		if (operation < 4)
			return operation < 2 ? 0 : rm;
		return bit(RAX) | bit(RDX);
	case 's':
	case 'S':
		if (operation < 2)
			return rm;
		return operation == 6 ? bit(RSP) : ALL_REGS;
	case 't':
		return operation == 4 ? 0 : rm;
	case 'e': /* or rdssp */
		return operation == 7 ? 0 : rm;
	default:
		return ALL_REGS;
	}
}

static uint16_t
find_changes(const struct decoder *d)
{
	const int of_op = (d->op & 7) | (d->rex & 1) << 3;
	char how = '?';

	if (!d->vector && d->map <= TWO_BYTE)
		how = (d->map ? two_byte_changes : one_byte_changes)[d->op];
	switch (how) {
	case '.':
		return 0;
	case 'r':
		return bit(d->reg);
	case 'R':
		return byte_bit(d, d->reg);
	case 'm':
		return bit(d->rm);
	case 'M':
		return byte_bit(d, d->rm);
	case 'o':
		return bit(of_op);
	case 'O':
		return byte_bit(d, of_op);
	case 'a':
		return bit(RAX);
	case 'd':
		return bit(RDX);
	case 'x':
		return bit(of_op) | bit(RAX);
	case 'p':
		return bit(RSP);
	case 'P':
		return bit(RSP) | bit(of_op);
	case 'f':
		return bit(RSP) | bit(RBP);
	default:
		return changes_by_operation(d, how);
	}
}

static void
find_push_or_pop(const struct decoder *d, struct code_insn *out)
{
	const int reg = (d->op & 7) | (d->rex & 1) << 3;

	switch (d->op) {
	case 0x68:
	case 0x6a:
	case 0x9c:
		add_to(out, RSP, -8);
		return;
	case 0x9d:
	case 0x8f:
		add_to(out, RSP, 8);
		return;
	case 0xff:
		if ((d->reg & 7) == 6)
			add_to(out, RSP, -8);
		return;
	default:
		break;
	}
	if ((d->op & 0xf8) == 0x50) {
		add_to(out, RSP, -8);
		out->pushes = true;
		out->pushed = (uint8_t)reg;
	}
	if ((d->op & 0xf8) != 0x58)
		return;
	add_to(out, RSP, 8);
	set(out, reg, CODE_WORD_AT_SP, 0);
}

/* True for an instruction whose effect is known exactly; sets the effect. */
static bool
find_move(const struct decoder *d, struct code_insn *out)
{
	const int operation = d->reg & 7;

	switch (d->op) {
	case 0x81:
	case 0x83:
		if (operation == 0 || operation == 5)
			add_to(out, d->rm, operation ? -d->imm : d->imm);
		else if (operation != 7)
			set(out, d->rm, CODE_UNKNOWN, 0);
		return true;
	case 0x89:
		set_from(out, d->rm, d->reg, 0, false);
		return true;
	case 0x8b:
		set_from(out, d->reg, d->mod == 3 ? d->rm : d->base, d->disp,
		         d->mod != 3);
		return true;
	case 0x8d:
		set_from(out, d->reg, d->base, d->disp, false);
		return true;
	case 0x87:
		set(out, d->reg, CODE_UNKNOWN, 0);
		set(out, d->rm, CODE_UNKNOWN, 0);
		return true;
	case 0xc9: /* leave */
		out->sp = (struct code_value){CODE_FP, 8};
		out->fp = (struct code_value){CODE_WORD_AT_FP, 0};
		return true;
	default:
		return false;
	}
}

/* Source: Intel SDM 2B, MOV; without REX.W half of the register is cleared. */
static void
find_copy(const struct decoder *d, struct code_insn *out)
{
	if (d->vector || d->map != ONE_BYTE || d->mod != 3 || !(d->rex & 8) ||
	    (d->op != 0x89 && d->op != 0x8b))
		return;
	out->copies = true;
	out->copy_from = (uint8_t)(d->op == 0x89 ? d->reg : d->rm);
	out->copy_to = (uint8_t)(d->op == 0x89 ? d->rm : d->reg);
}

/* Marks sp, fp and r10 as unknown if the instruction changes them. An
 * instruction whose changes are not known is assumed to leave them alone,
 * except that calls change r10: compilers do not use such instructions to move
 * them. */
static void
lose_changed(struct code_insn *out)
{
	if (out->flow == CODE_CALL)
		set(out, R10, CODE_UNKNOWN, 0);
	if (out->changes == ALL_REGS)
		return;
	if (out->changes & bit(R10))
		set(out, R10, CODE_UNKNOWN, 0);
	if (out->changes & bit(RSP))
		set(out, RSP, CODE_UNKNOWN, 0);
	if (out->changes & bit(RBP))
		set(out, RBP, CODE_UNKNOWN, 0);
}

static void
find_effects(const struct decoder *d, struct code_insn *out)
{
	if (d->vector || d->map > TWO_BYTE)
		return;
	if (d->map == TWO_BYTE && (d->op & 0xf7) == 0xa0) /* push fs, gs */
		add_to(out, RSP, -8);
	else if (d->map == TWO_BYTE && (d->op & 0xf7) == 0xa1)
		add_to(out, RSP, 8);
	else if (d->map == TWO_BYTE || !find_move(d, out))
		lose_changed(out);
	if (d->map == ONE_BYTE)
		find_push_or_pop(d, out);
	if (out->flow == CODE_RETURN)
		add_to(out, RSP, 8);
}

bool
code_x86_64(const uint8_t *p, size_t n, struct code_insn *out)
{
	struct decoder d = {
		.p = p, .n = n, .reg = NO_REG, .rm = NO_REG, .base = NO_REG};

	take_prefixes(&d);
	take_opcode(&d);
	if (!d.bad)
		take_operands(&d);
	if (d.bad)
		return false;
	*out = (struct code_insn){.length = (unsigned)d.at,
	                          .changes = find_changes(&d)};
	find_flow(&d, out);
	find_copy(&d, out);
	find_effects(&d, out);
	return true;
}

unsigned
code_x86_64_call(const uint8_t *end, size_t n, int64_t *by)
{
	struct code_insn insn;

	for (unsigned length = 2; length <= 7 && length <= n; length++) {
		if (!code_x86_64(end - length, length, &insn) ||
		    insn.length != length || insn.flow != CODE_CALL)
			continue;
		*by = insn.has_target ? insn.target : 0;
		return length;
	}
	return 0;
}
