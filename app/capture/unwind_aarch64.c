#include "unwind_arch.h"

#include <elf.h>

/* Samples have x0 to x30, sp, pc in DWARF's order; Source: Linux
 * arch/arm64/include/uapi/asm/perf_regs.h; "DWARF for the Arm 64-bit
 * Architecture", 4.1. */
static const uint8_t sample_index[] = {
	0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};

/* mov x8, #__NR_rt_sigreturn; svc #0: the vdso describes it in no table, for
 * unwinders to know it by. Source: Linux arch/arm64/kernel/vdso/sigreturn.S */
static const uint8_t sigreturn[] = {0x68, 0x11, 0x80, 0xd2,
                                    0x01, 0x00, 0x00, 0xd4};

/* sp is at struct rt_sigframe: 128 bytes of siginfo, then the ucontext with
 * its sigcontext at 176; Source: Linux arch/arm64/kernel/signal.c and
 * include/uapi/asm/{sigcontext,ucontext}.h. */
enum { SIGCONTEXT = 128 + 176, REGS = SIGCONTEXT + 8 };

const struct unwind_arch unwind_aarch64 = {
	.machine = EM_AARCH64,
	.nregs = sizeof(sample_index),
	.sp = 31,
	.fp = 29,
	.ra = 30,
	.pc_index = 32,
	.index = sample_index,
	/* User space has 48 bits unless a program asks for more; above them
         * are tags and the signature of pointer authentication. Source: Linux
         * Documentation/arm64/{memory,pointer-authentication}.rst */
	.code_bits = (UINT64_C(1) << 48) - 1,
	.signal_code = sigreturn,
	.signal_code_size = sizeof(sigreturn),
	.signal_fp = REGS + 29 * 8,
	.signal_lr = REGS + 30 * 8,
	.signal_sp = REGS + 31 * 8,
	.signal_pc = REGS + 32 * 8,
};
