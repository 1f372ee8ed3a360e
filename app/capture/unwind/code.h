/*
 * Decodes machine code as far as needed to find where a function ends and how
 * it returns to its caller: the length of an instruction, where it leads, and
 * what it does to the stack and frame pointers.
 *
 * The bytes are a target's; they are never run, and all reads are within
 * bounds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_MAX_INSN 15 /* bytes; Source: Intel SDM 2A, 2.3.11 */

enum code_flow {
	CODE_NEXT,   /* the next instruction follows */
	CODE_BRANCH, /* the next instruction or the target follows */
	CODE_CALL,   /* the next one, once the called function has returned */
	CODE_JUMP,   /* the target follows */
	CODE_LEAVE,  /* jumps to an address in a register or memory */
	CODE_RETURN,
	CODE_TRAP, /* nothing follows: the program ends here */
};

/* The value of a pointer after an instruction, in terms of values before it. */
enum code_from {
	CODE_SAME,
	CODE_SP,         /* sp + by */
	CODE_FP,         /* fp + by */
	CODE_LR,         /* lr + by */
	CODE_WORD_AT_SP, /* the word at sp + by */
	CODE_WORD_AT_FP, /* the word at fp + by */
	CODE_UNKNOWN,
};
struct code_value {
	enum code_from from;
	int64_t by; /* bytes */
};

struct code_insn {
	unsigned length; /* bytes */
	enum code_flow flow;
	bool padding;    /* does nothing */
	bool has_target; /* for a branch, call or jump */
	int64_t target;  /* from the instruction's end */
	/* lr: the link register; on x86-64 r10, in which compilers keep the
	 * caller's stack pointer while a function aligns its stack. */
	struct code_value sp, fp, lr;
	/* General registers of x86-64 that may have changed, one bit per
	 * register number; all bits if this is not known. */
	uint16_t changes;
	bool copies; /* only copies a whole register to another one */
	uint8_t copy_from, copy_to;
	bool pushes; /* only pushes a whole register */
	uint8_t pushed;
};

/*
 * Decodes the instruction at p.
 *
 *   Errors   false: not an instruction that programs use, or longer than n
 *   Source   Intel SDM 2A, chapter 2 and appendix A; Arm ARM, C4.1
 */
bool code_x86_64(const uint8_t *p, size_t n, struct code_insn *out);
bool code_aarch64(const uint8_t *p, size_t n, struct code_insn *out);

/* Returns the length of the call instruction of x86-64 that ends at end, or 0
 * if there is none in the n bytes before. *by: the target's distance from end,
 * or 0 if the instruction does not contain it. */
unsigned code_x86_64_call(const uint8_t *end, size_t n, int64_t *by);
