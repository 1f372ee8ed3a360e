#include "unwind_arch.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

/* PERF_REG_X86_* of asm/perf_regs.h, which other hosts don't have, by DWARF
 * number; Source: x86-64 psABI, figure 3.36. */
static const uint8_t sample_index[] = {
	0,                              /* rax */
	3,                              /* rdx */
	2,                              /* rcx */
	1,                              /* rbx */
	4,                              /* rsi */
	5,                              /* rdi */
	6,                              /* rbp */
	7,                              /* rsp */
	16, 17, 18, 19, 20, 21, 22, 23, /* r8 to r15 */
	8,                              /* rip */
};

/* rdi, rsi, rdx, r10, r8, r9; Source: x86-64 psABI A.2.1 */
static const uint8_t call_args[] = {5, 4, 1, 10, 8, 9};

/* rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi; Source: Intel SDM 2A, table 3-1 */
static const uint8_t columns[] = {0, 2, 1,  3,  7,  6,  4,  5,
                                  8, 9, 10, 11, 12, 13, 14, 15};

/* mov $__NR_rt_sigreturn, %rax or %eax; syscall: some libcs have no tables for
 * it, and most no symbol. */
static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00,
                                    0x00, 0x00, 0x0f, 0x05};
static const uint8_t short_sigreturn[] = {0xb8, 0x0f, 0x00, 0x00,
                                          0x00, 0x0f, 0x05};

/* sp is at the ucontext in a signal's frame; Source: Linux
 * arch/x86/include/uapi/asm/sigcontext.h, struct sigcontext_64. */
static const uint16_t signal_regs[] = {
	144, 136, 152, 128, 112, 104, 120, 160, /* rax to rsp, as above */
	40,  48,  56,  64,  72,  80,  88,  96,  /* r8 to r15 */
	168,                                    /* rip */
};

/*
 * mov %rbx, %rsp, and then mov (%rsp), %rdi or a test for a shadow stack: a
 * function of glibc that has no name when stripped.
 *   Source   glibc 2.36, sysdeps/unix/sysv/linux/x86_64/__start_context.S
 */
static bool
begins_context(const uint8_t code[UNWIND_CODE_BYTES])
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t start[] = {0x48, 0x89, 0xdc, 0x48,
	                                0x8b, 0x3c, 0x24};
	static const uint8_t shadow[] = {0x48, 0x89, 0xdc, 0x64, 0xf7};

	if (!memcmp(code, endbr, sizeof(endbr)))
		code += sizeof(endbr);
	return !memcmp(code, start, sizeof(start)) ||
	       !memcmp(code, shadow, sizeof(shadow));
}

/*
 * Recognizes the expression that linkers write for .plt, where the second of
 * the two pushes is 10 or 11 bytes into a slot of 16:
 *	rsp + 8 + (((rip & 15) >= 11) << 3)
 *   Source   binutils bfd/elfxx-x86.c and elf64-x86-64.c, *_eh_frame_plt
 */
static bool
plt_expression(const uint8_t *p, size_t n, struct unwind_rule *rule)
{
	static const uint8_t want[] = {
		DW_OP_breg7, 8,         DW_OP_breg16, 0,
		DW_OP_lit15, DW_OP_and, DW_OP_lit0,   DW_OP_ge,
		DW_OP_lit3,  DW_OP_shl, DW_OP_plus,
	};

	if (n != sizeof(want) || memcmp(p, want, 6) ||
	    memcmp(p + 7, want + 7, sizeof(want) - 7) || p[6] < DW_OP_lit0 ||
	    p[6] > DW_OP_lit15)
		return false;
	rule->cfa = CFA_PLT;
	rule->cfa_words = (int16_t)(p[6] - DW_OP_lit0);
	return true;
}

/* ud2 or hlt: assembly that starts a coroutine calls its function, which never
 * returns; or xor %rdi, %rdi; call _exit; hlt, where Boost's fibers return to;
 * or mov %eax, %edi; xor %eax, %eax; mov $__NR_exit, %al; syscall; hlt
 *   Source   Boost 1.74, make_x86_64_sysv_elf_gas.S; musl 1.2.3,
 *            src/thread/x86_64/clone.s */
static bool
ends_thread(const uint8_t code[UNWIND_CODE_BYTES])
{
	static const uint8_t end[] = {0x89, 0xc7, 0x31, 0xc0, 0xb0,
	                              0x3c, 0x0f, 0x05, 0xf4};
	static const uint8_t exits[] = {0x48, 0x31, 0xff, 0xe8};

	return (code[0] == 0x0f && code[1] == 0x0b) || code[0] == 0xf4 ||
	       !memcmp(code, end, sizeof(end)) ||
	       (!memcmp(code, exits, sizeof(exits)) && code[8] == 0xf4);
}

static bool
is_call(const uint8_t code[UNWIND_CALL_BYTES], int64_t *by)
{
	return code_x86_64_call(code + UNWIND_CALL_BYTES, UNWIND_CALL_BYTES,
	                        by) > 0;
}

const struct unwind_arch unwind_x86_64 = {
	.machine = EM_X86_64,
	.nregs = sizeof(sample_index),
	.sp = 7,
	.fp = 6,
	.ra = 16,
	.pc_index = 8,
	.index = sample_index,
	.args = call_args,
	.regs = columns,
	.code_bits = ~UINT64_C(0),
	.enders = {{sigreturn, sizeof(sigreturn), 7},
                   {short_sigreturn, sizeof(short_sigreturn), 5}},
	.ender_name = "__restore_rt",
	.signal_regs = signal_regs,
	.signal_pc = 168,
	.signal_stack = 16,
	.begins_context = begins_context,
	.ends_thread = ends_thread,
	.cfa_expression = plt_expression,
	.is_call = is_call,
	.fp_on_top = true,
	.decode = code_x86_64,
};
