/*
 * Reads a function twice: its first instructions for a place, then all of them
 * for jumps that would lead over the place again.
 */
#include "probe_place.h"

#include "capture/unwind/code.h"

#include <assert.h>
#include <errno.h>

/* Registers of arguments by their numbers: rdi, rsi, rdx, rcx, r8, r9.
 *   Source   x86-64 psABI, 3.2.3; Intel SDM 2A, table 2-2 */
static const uint8_t argument_regs[PROBE_MAX_ARGUMENTS] = {7, 6, 2, 1, 8, 9};

/* The registers that may hold each argument, as bits. */
struct arguments {
	unsigned n;
	uint16_t regs[PROBE_MAX_ARGUMENTS];
};

static void
arguments_init(struct arguments *a, unsigned n)
{
	a->n = n;
	for (unsigned i = 0; i < n; i++)
		a->regs[i] = (uint16_t)(1u << argument_regs[i]);
}

/* Follows the arguments over an instruction. Returns false when one of them is
 * no longer in a register. */
static bool
arguments_step(struct arguments *a, const struct code_insn *insn)
{
	const unsigned changed = insn->changes;
	bool all = true;

	for (unsigned i = 0; i < a->n; i++) {
		const unsigned regs = a->regs[i];
		unsigned kept = regs & ~changed;

		if (insn->copies && regs >> insn->copy_from & 1)
			kept |= 1u << insn->copy_to;
		a->regs[i] = (uint16_t)kept;
		all &= kept != 0;
	}
	return all;
}

static uint8_t
argument_reg(const struct arguments *a, unsigned i)
{
	if (a->regs[i] >> argument_regs[i] & 1)
		return argument_regs[i];
	return (uint8_t)__builtin_ctz(a->regs[i]);
}

/* True for instructions that every kernel emulates: of pushes, only those with
 * no prefix except REX.B. */
static bool
is_emulated(const uint8_t *p, unsigned length)
{
	switch (length) {
	case 1:
		return (p[0] & 0xf8) == 0x50 || p[0] == 0x90;
	case 2:
		return (p[0] & 0xf0) == 0x70 || p[0] == 0xeb ||
		       (p[0] == 0x41 && (p[1] & 0xf8) == 0x50);
	case 5:
		return p[0] == 0xe8 || p[0] == 0xe9;
	case 6:
		return p[0] == 0x0f && (p[1] & 0xf0) == 0x80;
	default:
		return false;
	}
}

static int
find_place(const uint8_t *code, size_t n, struct arguments *a,
           struct probe_place *place, struct code_insn *out)
{
	for (size_t i = 0; i < n; i += out->length) {
		if (!code_x86_64(code + i, n - i, out))
			return -EBADMSG;
		if (is_emulated(code + i, out->length)) {
			place->at = (uint32_t)i;
			return 0;
		}
		place->moved |= out->sp.from != CODE_SAME;
		if (out->flow != CODE_NEXT || !arguments_step(a, out))
			return -EOPNOTSUPP;
	}
	return -EOPNOTSUPP;
}

static bool
leads_within(const struct code_insn *insn, int64_t end, int64_t limit)
{
	return insn->has_target && insn->flow != CODE_CALL &&
	       end + insn->target >= 0 && end + insn->target < limit;
}

/* Checks that no jump of the function leads to its first limit bytes. */
static int
check_passed_once(const uint8_t *code, size_t n, size_t limit)
{
	struct code_insn insn;

	for (size_t i = 0; i < n; i += insn.length) {
		if (!code_x86_64(code + i, n - i, &insn))
			return -EBADMSG;
		if (leads_within(&insn, (int64_t)(i + insn.length),
		                 (int64_t)limit))
			return -ELOOP;
	}
	return 0;
}

/* Sets where calls continue if the probed instruction leaves the function. */
static void
find_way_on(const struct code_insn *insn, size_t n, struct probe_place *out)
{
	int64_t to = (int64_t)(out->at + insn->length) + insn->target;

	if (insn->flow != CODE_JUMP || (to >= 0 && to < (int64_t)n))
		return;
	out->passes_on = true;
	out->to = to;
}

int
probe_place(const uint8_t *code, size_t n, unsigned arguments,
            struct probe_place *out)
{
	struct probe_place place = {0};
	struct code_insn insn = {0};
	struct arguments a;
	int rc;

	assert(arguments <= PROBE_MAX_ARGUMENTS);
	if (n > UINT32_MAX)
		return -EBADMSG;
	arguments_init(&a, arguments);
	rc = find_place(code, n, &a, &place, &insn);
	if (!rc)
		rc = check_passed_once(code, n, (size_t)place.at + 1);
	if (rc)
		return rc;
	for (unsigned i = 0; i < arguments; i++)
		place.regs[i] = argument_reg(&a, i);
	find_way_on(&insn, n, &place);
	*out = place;
	return 0;
}
