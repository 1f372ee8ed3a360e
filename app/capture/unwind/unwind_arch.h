/* Facts about architectures that unwinding needs: one row each. */
#pragma once

#include "code.h"
#include "unwind.h"
#include "unwind_rule.h"

#include <elf.h>

#define UNWIND_CALL_BYTES  7 /* of the longest call instruction */
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
	uint8_t pc_index;     /* of the pc in a sample's registers */
	const uint8_t *index; /* of a column in them */
	uint64_t code_bits;   /* of an address in a pointer to code */
	/* Instructions that end a handler: two, the second a call of the
	 * kernel. No size: there is no more. */
	struct unwind_ender {
		const uint8_t *code;
		uint8_t size, second; /* bytes; where that begins */
	} enders[UNWIND_ENDERS];
	const char *ender_name;
	/* Where a signal's frame keeps registers, by column, the pc and
	 * struct sigaltstack, bytes above its sp. */
	const uint16_t *signal_regs;
	uint16_t signal_pc, signal_stack;
	/* Whether code is what makecontext(3) has its function return to,
	 * which nothing calls. */
	bool (*begins_context)(const uint8_t code[UNWIND_CODE_BYTES]);
	/* Whether code is what a thread's first function returns to, in libcs
	 * without tables: it ends the thread. */
	bool (*ends_thread)(const uint8_t code[UNWIND_CODE_BYTES]);
	/* Sets the CFA part of a rule for an expression that has a short form
	 * here only; NULL: there is none. */
	bool (*cfa_expression)(const uint8_t *p, size_t n,
	                       struct unwind_rule *rule);
	/* Whether code ends in a call; sets *by when it says how far from its
	 * end. */
	bool (*is_call)(const uint8_t code[UNWIND_CALL_BYTES], int64_t *by);
	/* A saved frame pointer lies where the frame pointer points to, below
	 * the return address, at the upper end of the frame. */
	bool fp_on_top;
	/* Instructions, as code.h has them. */
	bool (*decode)(const uint8_t *p, size_t n, struct code_insn *out);
	/* The rule within code that linkers write without tables for it, on
	 * the way into a function. NULL: they write tables. */
	bool (*stub)(const uint32_t code[UNWIND_STUB_WORDS],
	             struct unwind_rule *rule);
};

extern const struct unwind_arch unwind_x86_64, unwind_aarch64;

/* The facts of an ELF machine, or NULL. */
const struct unwind_arch *unwind_arch_of(uint16_t machine);
