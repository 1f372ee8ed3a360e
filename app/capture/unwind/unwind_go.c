#include "unwind_go.h"

#include <elf.h>

#define WORD ((int32_t)sizeof(uint64_t))

/* Source: runtime/traceback.go, which follows systemstack, and ends at a
 * function that writes sp, except cgocallback. */
static bool
changes_stacks(const struct gobin_frame *f)
{
	return (f->flags & GOBIN_SPWRITE) && f->func != GOBIN_CGOCALLBACK;
}

/*
 * The return address is above the frame, the caller's frame pointer below it.
 * Frames too large for the rule's words use the frame pointer.
 *   Source   cmd/internal/obj/x86/obj6.go, preprocess
 */
static struct unwind_rule
rule_x86_64(int32_t delta)
{
	bool large = delta / WORD >= INT16_MAX;

	return (struct unwind_rule){
		.cfa = large ? CFA_FP : CFA_GO,
		.cfa_words = (int16_t)(large ? 2 : delta / WORD + 1),
		.ra = REG_AT_CFA,
		.ra_words = -1,
		.fp = delta ? REG_AT_CFA : REG_SAME,
		.fp_words = -2,
	};
}

/*
 * The return address is at sp, the caller's frame pointer below it.
 *   Source   cmd/internal/obj/arm64/obj7.go, preprocess
 */
static struct unwind_rule
rule_aarch64(int32_t delta)
{
	int16_t words = (int16_t)(delta / WORD);

	if (delta / WORD >= INT16_MAX)
		return (struct unwind_rule){.cfa = CFA_NONE};
	return (struct unwind_rule){
		.cfa = CFA_GO,
		.cfa_words = words,
		.ra = delta ? REG_AT_CFA : REG_SAME,
		.ra_words = (int16_t)-words,
		.fp = delta ? REG_AT_CFA : REG_SAME,
		.fp_words = (int16_t)(-words - 1),
	};
}

/*
 * Returns the CFA rule of a function that changed stacks for its callee. The
 * frame pointer still has the goroutine's value.
 *   Source   runtime/asm_amd64.s, asm_arm64.s: systemstack, asmcgocall;
 *            sys_linux_amd64.s: nanotime1
 */
static uint8_t
above_switch(const struct gobin_frame *f)
{
	switch (f->func) {
	case GOBIN_SYSTEMSTACK:
	case GOBIN_ASMCGOCALL:
	case GOBIN_NORMAL: /* calls of the vdso */
		return CFA_SWITCH;
	default:
		return CFA_ROOT;
	}
}

bool
unwind_go_rule(struct gobin *g, uint64_t vaddr, bool returns,
               struct unwind_rule *out)
{
	struct gobin_frame f;

	if (!gobin_frame(g, vaddr, &f))
		return false;
	if (f.flags & GOBIN_TOP)
		*out = (struct unwind_rule){.cfa = CFA_ROOT};
	else if (changes_stacks(&f))
		*out = (struct unwind_rule){.cfa = returns ? above_switch(&f)
		                                           : CFA_NONE};
	else
		*out = gobin_about(g)->machine == EM_X86_64
		               ? rule_x86_64(f.sp_delta)
		               : rule_aarch64(f.sp_delta);
	return true;
}
