#include "unwind_expr.h"

#include <dwarf.h>
#include <errno.h>

struct machine {
	struct cursor at;
	size_t begin;
	const struct expr_state *state;
	uint64_t stack[EXPR_MAX_DEPTH];
	unsigned n;
	int error;
};

static void
fail(struct machine *m, int error)
{
	if (!m->error)
		m->error = error;
}

static void
push(struct machine *m, uint64_t v)
{
	if (m->n == EXPR_MAX_DEPTH)
		fail(m, -EBADMSG);
	else
		m->stack[m->n++] = v;
}

static uint64_t
pop(struct machine *m)
{
	if (m->n)
		return m->stack[--m->n];
	fail(m, -EBADMSG);
	return 0;
}

static void
pick(struct machine *m, uint64_t depth)
{
	if (depth >= m->n)
		fail(m, -EBADMSG);
	else
		push(m, m->stack[m->n - 1 - depth]);
}

static void
push_register(struct machine *m, uint64_t reg, int64_t offset)
{
	if (reg >= CFI_REGS || !(m->state->known >> reg & 1))
		fail(m, -EFAULT);
	else
		push(m, m->state->regs[reg] + (uint64_t)offset);
}

static void
deref(struct machine *m, unsigned bytes)
{
	uint64_t word = 0;

	if (!bytes || bytes > 8)
		fail(m, -EBADMSG);
	else if (!m->state->word(m->state->arg, pop(m), &word))
		fail(m, -EFAULT);
	else
		push(m, bytes == 8 ? word
		                   : word & ((UINT64_C(1) << 8 * bytes) - 1));
}

static void
jump(struct machine *m, bool taken)
{
	int64_t by = (int64_t)take_signed(&m->at, 2);
	int64_t to = (int64_t)m->at.at + by;

	if (!taken)
		return;
	if (to < (int64_t)m->begin || to > (int64_t)m->at.end)
		fail(m, -EBADMSG);
	else
		m->at.at = (size_t)to;
}

/* Turns the top three: a b c becomes c a b. */
static void
rotate(struct machine *m)
{
	uint64_t c = pop(m), b = pop(m), a = pop(m);

	push(m, c);
	push(m, a);
	push(m, b);
}

static void
divide(struct machine *m, uint64_t a, uint64_t b, bool modulo)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	if (!b)
		fail(m, -EBADMSG);
	else if (modulo)
		push(m, a % b); /* DW_OP_mod is of unsigned numbers */
	else
		push(m, y == -1 ? -a : (uint64_t)(x / y));
}

static uint64_t
shift(uint8_t op, uint64_t a, uint64_t by)
{
	bool negative = op == DW_OP_shra && a >> 63;

	if (by > 63)
		return negative ? ~UINT64_C(0) : 0;
	if (op == DW_OP_shl)
		return a << by;
	return a >> by | (negative && by ? ~UINT64_C(0) << (64 - by) : 0);
}

/* Two operands, one result; false: another operation. */
static bool
compare(struct machine *m, uint8_t op, uint64_t a, uint64_t b)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case DW_OP_eq:
		push(m, x == y);
		return true;
	case DW_OP_ne:
		push(m, x != y);
		return true;
	case DW_OP_ge:
		push(m, x >= y);
		return true;
	case DW_OP_gt:
		push(m, x > y);
		return true;
	case DW_OP_le:
		push(m, x <= y);
		return true;
	case DW_OP_lt:
		push(m, x < y);
		return true;
	default:
		return false;
	}
}

static void
binary(struct machine *m, uint8_t op)
{
	uint64_t b = pop(m), a = pop(m);

	switch (op) {
	case DW_OP_and:
		push(m, a & b);
		break;
	case DW_OP_or:
		push(m, a | b);
		break;
	case DW_OP_xor:
		push(m, a ^ b);
		break;
	case DW_OP_plus:
		push(m, a + b);
		break;
	case DW_OP_minus:
		push(m, a - b);
		break;
	case DW_OP_mul:
		push(m, a * b);
		break;
	case DW_OP_div:
	case DW_OP_mod:
		divide(m, a, b, op == DW_OP_mod);
		break;
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
		push(m, shift(op, a, b));
		break;
	default:
		if (!compare(m, op, a, b))
			fail(m, -EBADMSG);
	}
}

/* Numbers that stand in the expression; false: another operation. */
static bool
constant(struct machine *m, uint8_t op)
{
	struct cursor *c = &m->at;

	switch (op) {
	case DW_OP_addr:
	case DW_OP_const8u:
	case DW_OP_const8s:
		push(m, take(c, 8));
		return true;
	case DW_OP_const1u:
		push(m, take(c, 1));
		return true;
	case DW_OP_const1s:
		push(m, take_signed(c, 1));
		return true;
	case DW_OP_const2u:
		push(m, take(c, 2));
		return true;
	case DW_OP_const2s:
		push(m, take_signed(c, 2));
		return true;
	case DW_OP_const4u:
		push(m, take(c, 4));
		return true;
	case DW_OP_const4s:
		push(m, take_signed(c, 4));
		return true;
	case DW_OP_constu:
		push(m, take_leb(c));
		return true;
	case DW_OP_consts:
		push(m, (uint64_t)take_sleb(c));
		return true;
	default:
		return false;
	}
}

/* What turns the stack about; false: another operation. */
static bool
shuffle(struct machine *m, uint8_t op)
{
	uint64_t a;

	switch (op) {
	case DW_OP_dup:
		pick(m, 0);
		return true;
	case DW_OP_over:
		pick(m, 1);
		return true;
	case DW_OP_pick:
		pick(m, take(&m->at, 1));
		return true;
	case DW_OP_drop:
		pop(m);
		return true;
	case DW_OP_swap:
		a = pop(m);
		pick(m, 0);
		if (m->n > 1)
			m->stack[m->n - 2] = a;
		return true;
	case DW_OP_rot:
		rotate(m);
		return true;
	default:
		return false;
	}
}

static void
unary(struct machine *m, uint8_t op)
{
	uint64_t a;

	switch (op) {
	case DW_OP_deref:
		deref(m, 8);
		break;
	case DW_OP_deref_size:
		deref(m, (unsigned)take(&m->at, 1));
		break;
	case DW_OP_abs:
		a = pop(m);
		push(m, a >> 63 ? -a : a);
		break;
	case DW_OP_neg:
		push(m, -pop(m));
		break;
	case DW_OP_not:
		push(m, ~pop(m));
		break;
	case DW_OP_plus_uconst:
		a = pop(m);
		push(m, a + take_leb(&m->at));
		break;
	case DW_OP_skip:
		jump(m, true);
		break;
	case DW_OP_bra:
		jump(m, pop(m) != 0);
		break;
	case DW_OP_nop:
		break;
	default:
		binary(m, op);
	}
}

static void
step(struct machine *m)
{
	uint8_t op = (uint8_t)take(&m->at, 1);
	uint64_t reg;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		push(m, op - DW_OP_lit0);
	} else if (op >= DW_OP_breg0 && op <= DW_OP_breg31) {
		push_register(m, op - DW_OP_breg0, take_sleb(&m->at));
	} else if (op == DW_OP_bregx) {
		reg = take_leb(&m->at);
		push_register(m, reg, take_sleb(&m->at));
	} else if (!constant(m, op) && !shuffle(m, op)) {
		unary(m, op);
	}
	if (m->at.bad)
		fail(m, -EBADMSG);
}

int
expr_run(const struct cfi_section *s, const struct cfi_rule *rule,
         const struct expr_state *state, const uint64_t *start, uint64_t *value)
{
	size_t at = (size_t)rule->value;
	struct machine m = {
		.at = {.in = &s->bytes, .at = at, .end = at + rule->size},
		.begin = at,
		.state = state,
	};

	if (start)
		push(&m, *start);
	for (unsigned i = 0; !m.error && m.at.at < m.at.end; i++) {
		if (i == EXPR_MAX_STEPS)
			return -EBADMSG;
		step(&m);
	}
	if (!m.error && !m.n)
		m.error = -EBADMSG;
	if (m.error)
		return m.error;
	*value = m.stack[m.n - 1];
	return 0;
}
