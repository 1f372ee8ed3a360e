#include "unwind_arch.h"

#include <elf.h>
#include <string.h>

/* Samples have x0 to x30, sp, pc in DWARF's order; Source: Linux
 * arch/arm64/include/uapi/asm/perf_regs.h; "DWARF for the Arm 64-bit
 * Architecture", 4.1. */
static const uint8_t sample_index[] = {
	0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

static const uint8_t call_args[] = {0, 1, 2, 3, 4, 5};

/* mov x8, #__NR_rt_sigreturn; svc #0: the vdso has no table for it, and
 * unwinders are expected to recognize the instructions. Source: Linux
 * arch/arm64/kernel/vdso/sigreturn.S */
static const uint8_t sigreturn[] = {0x68, 0x11, 0x80, 0xd2,
                                    0x01, 0x00, 0x00, 0xd4};

/* sp is at struct rt_sigframe: 128 bytes of siginfo, then the ucontext with
 * its sigcontext at 176; Source: Linux arch/arm64/kernel/signal.c and
 * include/uapi/asm/{sigcontext,ucontext}.h. */
enum { UCONTEXT = 128, SIGCONTEXT = UCONTEXT + 176, REGS = SIGCONTEXT + 8 };
#define FOUR_REGS(i) \
	REGS + (i)*8, REGS + (i)*8 + 8, REGS + (i)*8 + 16, REGS + (i)*8 + 24
static const uint16_t signal_regs[] = {
	FOUR_REGS(0),  FOUR_REGS(4),  FOUR_REGS(8),  FOUR_REGS(12),
	FOUR_REGS(16), FOUR_REGS(20), FOUR_REGS(24), FOUR_REGS(28),
};

/* mov x0, x19; cbnz x0, ...; b ...; with bti c or without.
 *   Source   glibc 2.36, sysdeps/unix/sysv/linux/aarch64/setcontext.S */
static bool
begins_context(const uint8_t code[UNWIND_CODE_BYTES])
{
	uint32_t w[3];

	memcpy(w, code, sizeof(w));
	if (w[0] == 0xd503245f)
		return w[1] == 0xaa1303e0 && (w[2] & 0xff00001f) == 0xb5000000;
	return w[0] == 0xaa1303e0 && (w[1] & 0xff00001f) == 0xb5000000 &&
	       (w[2] & 0xfc000000) == 0x14000000;
}

/*
 * Slots of .plt, and veneers to functions that bl can't reach: x16 and x17 are
 * set, the return address stays in x30. The first slot pushes x16 and x30.
 *   Source   binutils bfd/elfnn-aarch64.c, elfNN_aarch64_small_plt*_entry,
 *            aarch64_adrp_branch_stub; AAPCS64 6.1.1
 */
static const struct {
	uint32_t mask, bits;
} stub_code[] = {
	{0xffffffff, 0xa9bf7bf0}, /* stp x16, x30, [sp, #-16]! */
	{0xffffffff, 0xd503245f}, /* bti c */
	{0x9f00001f, 0x90000010}, /* adrp x16, PAGE */
	{0xffc003ff, 0xf9400211}, /* ldr x17, [x16, #OFFSET] */
	{0xffc003ff, 0x91000210}, /* add x16, x16, #OFFSET */
	{0xffffffff, 0xd503219f}, /* autia1716 */
};
enum { BRANCH = 0xd61f0200, BRANCH_MASK = 0xffffffdf }; /* br x16, br x17 */

static bool
is_stub_code(uint32_t insn, size_t first)
{
	for (size_t i = first; i < sizeof(stub_code) / sizeof(*stub_code); i++)
		if ((insn & stub_code[i].mask) == stub_code[i].bits)
			return true;
	return false;
}

static bool
stub(const uint32_t code[UNWIND_STUB_WORDS], struct unwind_rule *rule)
{
	size_t at = UNWIND_STUB_BEFORE, before = at;

	while (at < UNWIND_STUB_WORDS && is_stub_code(code[at], 0))
		at++;
	if (at == UNWIND_STUB_WORDS || (code[at] & BRANCH_MASK) != BRANCH)
		return false;
	while (before && is_stub_code(code[before - 1], 1))
		before--;
	*rule = (struct unwind_rule){.cfa = CFA_SP};
	if (before && code[before - 1] == stub_code[0].bits)
		rule->cfa_words = 2;
	return true;
}

/* mov x8, #__NR_exit; svc #0
 *   Source   musl 1.2.3, src/thread/aarch64/clone.s */
static bool
ends_thread(const uint8_t code[UNWIND_CODE_BYTES])
{
	static const uint32_t end[] = {0xd2800ba8, 0xd4000001};

	return !memcmp(code, end, sizeof(end));
}

static bool
is_call(const uint8_t code[UNWIND_CALL_BYTES], int64_t *by)
{
	struct code_insn insn;

	if (!code_aarch64(code + UNWIND_CALL_BYTES - 4, 4, &insn) ||
	    insn.flow != CODE_CALL)
		return false;
	*by = insn.has_target ? insn.target : 0;
	return true;
}

const struct unwind_arch unwind_aarch64 = {
	.machine = EM_AARCH64,
	.nregs = sizeof(sample_index),
	.sp = 31,
	.fp = 29,
	.ra = 30,
	.pc_index = 32,
	.index = sample_index,
	.args = call_args,
	/* User space has 48 bits unless a program asks for more; above them
         * are tags and the signature of pointer authentication. Source: Linux
         * Documentation/arm64/{memory,pointer-authentication}.rst */
	.code_bits = (UINT64_C(1) << 48) - 1,
	.enders = {{sigreturn, sizeof(sigreturn), 4}},
	.ender_name = "__kernel_rt_sigreturn",
	.signal_regs = signal_regs,
	.signal_pc = REGS + 32 * 8,
	.signal_stack = UCONTEXT + 16,
	.begins_context = begins_context,
	.ends_thread = ends_thread,
	.is_call = is_call,
	.stub = stub,
	.decode = code_aarch64,
};
