/*
 * A row of call frame information in 8 bytes: nearly all rows that compilers
 * write need only the stack and frame pointers, and offsets of whole words.
 * Rows that don't fit are CFA_FULL and are interpreted whole.
 */
#pragma once

#include "cfi.h"

enum rule_cfa {
	CFA_NONE,    /* nothing describes this code */
	CFA_SP,      /* sp + cfa */
	CFA_FP,      /* fp + cfa */
	CFA_AT_FP,   /* the word at fp + cfa: realigned stacks */
	CFA_AT_SP,   /* the word at sp + cfa */
	CFA_AT_SP_8, /* the word at sp + cfa, plus 8 */
	CFA_GO,      /* sp + cfa; no other register outlives a call */
	CFA_PLT,     /* sp + 8; from byte cfa of a 16-byte slot on, sp + 16 */
	CFA_SIGNAL,  /* a signal's frame, laid out by the kernel */
	CFA_SWITCH,  /* the caller is on another stack: Go's runtime */
	CFA_ROOT,    /* the first frame: it has no caller */
	CFA_CONTEXT, /* a root frame that was entered by a return to its first
	                instruction (makecontext) */
	CFA_CODE,    /* derived from the code: step_by_code in unwind_step.c */
	CFA_STEP,    /* ask unwind_step */
	CFA_FULL,    /* interpret the row */
};

enum rule_reg {
	REG_SAME, /* for the return address: in its register */
	REG_AT_CFA,
	REG_AT_FP,
	REG_LOST, /* for the frame pointer: only the whole row has it */
};

/* The base of a CFA_CODE rule, stored in ra: the CFA is at a distance from this
 * pointer, or is the word there. */
enum unwind_base {
	UNWIND_FROM_SP,
	UNWIND_FROM_FP,
	UNWIND_AT_SP,
	UNWIND_AT_FP,
	UNWIND_BASES,
	UNWIND_IN_REG = 4, /* a flag: the return address is in lr, or in the
	                      general register of x86-64 with the number
	                      ra_words */
};

struct unwind_rule {
	uint8_t cfa;            /* enum rule_cfa */
	uint8_t fp : 4, ra : 4; /* enum rule_reg */
	int16_t cfa_words;      /* bytes for CFA_PLT */
	int16_t fp_words, ra_words;
};
_Static_assert(sizeof(struct unwind_rule) == 8, "what caches count on");

struct unwind_arch;

/* Makes the rule of a row: CFA_FULL if the row has no short form. */
struct unwind_rule
unwind_rule_of(const struct unwind_arch *arch, const struct cfi_section *s,
               const struct cfi_entry *e, const struct cfi_row *row);
