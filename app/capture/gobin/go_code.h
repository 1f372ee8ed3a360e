/*
 * Which variables a piece of x86-64 code names.
 *
 * The instructions by which Go's compiler takes a variable of fixed place are
 * looked for, no others are understood: bytes within another instruction may
 * look like one. Who asks checks what it is told.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GO_CODE_MAX 64 /* operands of one piece that are kept */

enum go_use {
	GO_ADDRESS, /* lea x(%rip), %r64 */
	GO_LOAD,    /* mov x(%rip), %r64 */
	GO_LOAD32,  /* mov x(%rip), %r32 */
	GO_COMPARE, /* cmpq $imm8, x(%rip) */
};

/* Operands of one use, each once, in the order of the code. */
struct go_operands {
	uint64_t at[GO_CODE_MAX];
	size_t n;
};

/*
 * Adds the operands within [low, high), on whole words of their size.
 *
 *   Shape    code[n] as it lies at vaddr
 *   Source   Intel SDM volume 2: 2.2.1.6 RIP-Relative Addressing
 */
void
go_code_operands(const uint8_t *code, size_t n, uint64_t vaddr, enum go_use use,
                 uint64_t low, uint64_t high, struct go_operands *out);
/* Keeps those that other has as well, or has not. */
void go_operands_keep(struct go_operands *o, const struct go_operands *other,
                      int has);
