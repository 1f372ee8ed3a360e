/*
 * Finds the variables that a piece of x86-64 code refers to.
 *
 * The code is searched for instructions with which Go's compiler accesses a
 * variable at a fixed place. Other instructions are not decoded, so bytes
 * inside one may look like a match: the caller must check the result.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GO_CODE_MAX 64 /* operands kept per piece of code */

enum go_use {
	GO_ADDRESS, /* lea x(%rip), %r64 */
	GO_LOAD,    /* mov x(%rip), %r64 */
	GO_LOAD32,  /* mov x(%rip), %r32 */
	GO_COMPARE, /* cmpq $imm8, x(%rip) */
};

/* Operands of one kind of use, each once, in the order of the code. */
struct go_operands {
	uint64_t at[GO_CODE_MAX];
	size_t n;
};

/*
 * Adds the operands in [low, high) that are aligned to their size.
 *
 *   Shape    code[n] is the code at vaddr
 *   Source   Intel SDM volume 2: 2.2.1.6 RIP-Relative Addressing
 */
void
go_code_operands(const uint8_t *code, size_t n, uint64_t vaddr, enum go_use use,
                 uint64_t low, uint64_t high, struct go_operands *out);
/* Keeps the operands that other has too (has is 1), or lacks (has is 0). */
void go_operands_keep(struct go_operands *o, const struct go_operands *other,
                      int has);
