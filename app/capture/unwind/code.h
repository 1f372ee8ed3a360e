/*
 * Machine code, as far as it tells where a function ends and how it gets back
 * to its caller: instructions' lengths, where they lead, and what they do to
 * the stack and frame pointers.
 *
 * The bytes are a target's; none is run, and each is looked at within bounds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_MAX_INSN 15 /* bytes; Source: Intel SDM 2A, 2.3.11 */

enum code_flow {
	CODE_NEXT,   /* the next instruction follows */
	CODE_BRANCH, /* it, or the target */
	CODE_CALL,   /* it, once the called function has returned */
	CODE_JUMP,   /* the target */
	CODE_LEAVE,  /* wherever a register or memory says */
	CODE_RETURN,
	CODE_TRAP, /* nothing: whoever comes here ends */
};

/* Where a pointer is found after an instruction, by what it was before. */
enum code_from {
	CODE_SAME,
	CODE_SP,         /* sp + by */
	CODE_FP,         /* fp + by */
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
	bool padding;    /* it does nothing */
	bool has_target; /* of a branch, call or jump */
	int64_t target;  /* from the instruction's end */
	/* lr: where the return address is kept, on machines that do. */
	struct code_value sp, fp, lr;
	/* General registers of x86-64 that may hold something else afterwards,
	 * a bit each by their numbers; all where that is not looked at. */
	uint16_t changes;
	bool copies; /* a whole register to another one, and no more */
	uint8_t copy_from, copy_to;
};

/*
 * The instruction at p.
 *
 *   Errors   false: not one that programs have, or cut off by n
 *   Source   Intel SDM 2A, chapter 2 and appendix A; Arm ARM, C4.1
 */
bool code_x86_64(const uint8_t *p, size_t n, struct code_insn *out);
bool code_aarch64(const uint8_t *p, size_t n, struct code_insn *out);

/* Bytes of a call instruction that n bytes of x86-64 end in, of which *by is
 * how far it calls from its end, 0 when it does not say; 0: it is none. */
unsigned code_x86_64_call(const uint8_t *end, size_t n, int64_t *by);
