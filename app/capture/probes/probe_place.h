/*
 * Finds the place at which the kernel can watch the calls of a function at a
 * cost that a program in production can bear.
 *
 * A probe (a uprobe) is a breakpoint in place of an instruction, which the
 * kernel must execute afterwards. The kernel emulates a push of a register, a
 * nop, and direct jumps, branches and calls. It runs any other instruction from
 * a copy, in a single step, at ten times the cost or more. The place found here
 * is an instruction of the first kind that each call passes once, and at which
 * registers still hold all arguments.
 *
 *   Source   Linux 6.1, arch/x86/kernel/uprobes.c, branch_setup_xol_ops() and
 *            push_setup_xol_ops(); newer kernels emulate more
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_MAX_ARGUMENTS 6 /* in registers; Source: x86-64 psABI, 3.2.3 */

struct probe_place {
	uint32_t at; /* bytes from the function's start */
	/* The register of each argument at the place: rax, rcx, rdx, rbx, rsp,
	 * rbp, rsi, rdi, r8, ... are 0 to 15. */
	uint8_t regs[PROBE_MAX_ARGUMENTS];
	/* The stack pointer has changed: the return address is no longer on top
	 * of the stack. */
	bool moved;
	/* The probed instruction jumps out of the function: its target is
	 * reached by all calls of this function, and may have other callers. */
	bool passes_on;
	int64_t to; /* bytes from the function's start, if it passes on */
};

/*
 * Finds the place for a probe in a function of x86-64.
 *
 *   Shape    code[n]: the whole function, from its file; arguments: number of
 *            integers and pointers that registers must hold at the place, at
 *            most PROBE_MAX_ARGUMENTS
 *   Errors   -EOPNOTSUPP an argument is lost, or the function returns, before
 *            an instruction that is emulated; -ELOOP the function jumps back to
 *            the place or before it; -EBADMSG bytes that are not instructions;
 *            *out untouched
 */
MUST_CHECK int probe_place(const uint8_t *code, size_t n, unsigned arguments,
                           struct probe_place *out);
