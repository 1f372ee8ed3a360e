/*
 * Expressions of call frame information: a small stack machine, bounded in
 * depth and steps. Operations that frames don't need (pieces, calls, types)
 * are refused.
 *
 * Source: DWARF 5, 2.5.1 and 6.4.2
 */
#pragma once

#include "cfi.h"

#define EXPR_MAX_DEPTH 32
#define EXPR_MAX_STEPS 1024

struct expr_state {
	const uint64_t *regs; /* [CFI_REGS] */
	uint64_t known;       /* bit per register */
	/* A word of memory; false: not to be had. */
	bool (*word)(void *arg, uint64_t addr, uint64_t *out);
	void *arg;
};

/*
 * Evaluates the expression of a rule.
 *
 *   Shape    *value: what the machine's stack starts with, and its top in the
 *            end; NULL start: an empty stack
 *   Errors   -EBADMSG refused, too deep or too long, divided by zero;
 *            -EFAULT a word or register that is not to be had
 */
MUST_CHECK int
expr_run(const struct cfi_section *s, const struct cfi_rule *rule,
         const struct expr_state *state, const uint64_t *start,
         uint64_t *value);
