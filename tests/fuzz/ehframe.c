/*
 * Unwind tables of an attacker's making: an ELF image whose code is "running"
 * at its first executable address and a little further on, with a stack of
 * return addresses into itself.
 */
#include "capture/unwind.h"

#include <asm/perf_regs.h>
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>

#define BIAS   UINT64_C(0x550000000000)
#define STACK  UINT64_C(0x7ffc00000000)
#define FRAMES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool
find(void *arg, uint64_t addr, struct unwind_mapping *out)
{
	const struct unwind_mapping *m = arg;

	if (addr < m->start || addr >= m->end)
		return false;
	*out = *m;
	return true;
}

static void
walk_from(struct unwinder *u, uint64_t pc, uint64_t code)
{
	uint64_t regs[UNWIND_REGS], stack[128], pcs[FRAMES];
	size_t n = 0;

	for (size_t i = 0; i < UNWIND_REGS; i++)
		regs[i] = STACK + i * 8;
	for (size_t i = 0; i < 128; i++)
		stack[i] = i % 2 ? code + i : STACK + (i + 4) * 8;
	regs[PERF_REG_X86_IP] = pc;
	regs[PERF_REG_X86_SP] = STACK;
	if (unwind(u, regs, stack, sizeof(stack), pcs, FRAMES, &n) >
	            UNWIND_MAX ||
	    !n || n > FRAMES || pcs[0] != pc)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	CLEANUP_UNWIND_TABLE struct unwind_table *t = NULL;
	CLEANUP_UNWINDER struct unwinder *u = NULL;
	struct unwind_mapping m = {
		.start = BIAS, .end = BIAS + (1u << 30), .bias = BIAS};
	const struct elf_segment *s;

	if (elf_open_memory(data, n, &e) || unwind_table_new(e, &t))
		return 0;
	m.table = t;
	u = unwinder_new(find, &m);
	if (!u)
		return 0;
	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++)
		for (uint64_t at = 0; at < 64 && s->flags & PF_X; at += 3)
			walk_from(u, BIAS + s->vaddr + at, BIAS + s->vaddr);
	return 0;
}
