/* Facts about architectures that unwinding needs: one row each. */
#pragma once

#include "code.h"
#include "unwind.h"
#include "unwind_rule.h"

#include <elf.h>

#define UNWIND_CALL_BYTES  7 /* length of the longest call instruction */
#define UNWIND_CODE_BYTES  12
#define UNWIND_ENDERS      2
#define UNWIND_STUB_BEFORE 4 /* instructions before the one in question */
#define UNWIND_STUB_WORDS  (UNWIND_STUB_BEFORE + 6)

/* The machine that this program, and with it libunwind, was built for. */
#if defined(__x86_64__)
#define UNWIND_HOST EM_X86_64
#elif defined(__aarch64__)
#define UNWIND_HOST EM_AARCH64
#else
#error "unwinding knows x86-64 and aarch64"
#endif

struct unwind_arch {
	uint16_t machine;     /* EM_* */
	uint8_t nregs;        /* DWARF columns with a sample index */
	uint8_t sp, fp, ra;   /* DWARF columns */
	uint8_t pc_index;     /* index of the pc in a sample */
	const uint8_t *index; /* sample index of each column */
	const uint8_t *args;  /* columns of the six arguments of system calls */
	const uint8_t *regs;  /* columns by register number of code.h */
	uint64_t code_bits;   /* address bits in a pointer to code */
	/* Instructions that end a signal handler: two, the second a system
	 * call. size is 0: end of the list. */
	struct unwind_ender {
		const uint8_t *code;
		uint8_t size, second; /* bytes; offset of the second one */
	} enders[UNWIND_ENDERS];
	const char *ender_name;
	/* Offsets of the registers (by column), of the pc and of struct
	 * sigaltstack, from the sp of a signal's frame. */
	const uint16_t *signal_regs;
	uint16_t signal_pc, signal_stack;
	/* True for the code to which a function started by makecontext(3)
	 * returns; nothing calls this code. */
	bool (*begins_context)(const uint8_t code[UNWIND_CODE_BYTES]);
	/* True for code without tables to which the first function of a thread
	 * or coroutine returns: it ends the thread, or traps. */
	bool (*ends_thread)(const uint8_t code[UNWIND_CODE_BYTES]);
	/* Sets the CFA part of a rule for an expression that has a short form
	 * on this machine only; NULL: there is no such expression. */
	bool (*cfa_expression)(const uint8_t *p, size_t n,
	                       struct unwind_rule *rule);
	/* True if code ends in a call; sets *by to the target's distance from
	 * the end, or to 0 if the call does not contain it. */
	bool (*is_call)(const uint8_t code[UNWIND_CALL_BYTES], int64_t *by);
	/* The frame pointer points to the upper end of the frame, where the
	 * saved frame pointer lies below the return address. */
	bool fp_on_top;
	/* Decodes an instruction; see code.h. */
	bool (*decode)(const uint8_t *p, size_t n, struct code_insn *out);
	/* Finds the rule within stubs (such as .plt) for which linkers write no
	 * tables. NULL: they write tables. */
	bool (*stub)(const uint32_t code[UNWIND_STUB_WORDS],
	             struct unwind_rule *rule);
};

extern const struct unwind_arch unwind_x86_64, unwind_aarch64;

/* Returns the facts of an ELF machine, or NULL. */
const struct unwind_arch *unwind_arch_of(uint16_t machine);
