/*
 * Hostile unwind tables, with a stack of return addresses into the code they
 * describe. An input is an ELF image, or else a byte of flags and a section of
 * call frame information, around which an image is made.
 */
#include "capture/unwind/cfi.h"

#include "capture/unwind/unwind.h"
#include "lib/frames_image.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>

#define BIAS    UINT64_C(0x550000000000)
#define STACK   UINT64_C(0x7ffc00000000)
#define VADDR   UINT64_C(0x1000000)
#define FRAMES  64
#define WORDS   128
#define ENTRIES 16 /* entries of a section that are walked */

enum { AARCH64 = 1, DEBUG = 2, BLOCKED = 4 }; /* flags */

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
walk_from(struct unwinder *u, uint64_t pc, uint64_t code, bool blocked)
{
	uint64_t regs[UNWIND_REGS], stack[WORDS], pcs[FRAMES];
	enum unwind_end end;
	size_t n = 0;

	for (size_t i = 0; i < UNWIND_REGS; i++)
		regs[i] = STACK + i * 8;
	for (size_t i = 0; i < WORDS; i++)
		stack[i] = i % 2 ? code + i % 5 : STACK + (i + 4) * 8;
	regs[8] = regs[32] = pc;    /* of x86-64, aarch64 */
	regs[7] = regs[31] = STACK; /* their stack pointers */
	end = blocked ? unwind_blocked(u, pc, STACK, regs, stack, sizeof(stack),
	                               pcs, FRAMES, &n)
	              : unwind(u, regs, stack, sizeof(stack), pcs, FRAMES, &n);
	if (end > UNWIND_MAX || !n || n > FRAMES || pcs[0] != pc)
		abort();
}

/* Walks from the image's segments, which may contain code. */
static void
walk_image(struct unwinder *u, const struct elf_image *e)
{
	const struct elf_segment *s;

	for (uint32_t i = 0; (s = elf_segment(e, PT_LOAD, i)); i++)
		for (uint64_t at = 0; at < 64 && s->flags & PF_X; at += 3)
			walk_from(u, BIAS + s->vaddr + at, BIAS + s->vaddr, 0);
}

/* Walks from the functions that the section describes. */
static void
walk_frames(struct unwinder *u, const struct cfi_section *s, unsigned flags)
{
	struct cfi_cursor all = {.in = &s->bytes, .end = s->bytes.size}, inside;
	struct cfi_entry e;
	size_t at = 0;

	for (unsigned i = 0; i < ENTRIES && cfi_next(&all, &inside); i++) {
		for (uint64_t by = 0; by < 12 && !cfi_entry_read(s, at, &e);
		     by += 3)
			walk_from(u, BIAS + e.start + by, BIAS + e.start + 1,
			          flags & BLOCKED);
		at = all.at;
	}
}

static struct elf_image *
wrap(unsigned flags, const uint8_t *frames, size_t n)
{
	struct frames_image what = {
		.machine = flags & AARCH64 ? EM_AARCH64 : EM_X86_64,
		.section = flags & DEBUG ? ".debug_frame" : ".eh_frame",
		.vaddr = VADDR,
		.frames = frames,
		.frames_size = n,
	};

	return frames_image(&what);
}

static void
walk(const struct elf_image *e, const struct cfi_section *s, unsigned flags)
{
	CLEANUP_UNWIND_TABLE struct unwind_table *t = NULL;
	CLEANUP_UNWINDER struct unwinder *u = NULL;
	struct unwind_mapping m = {
		.start = BIAS, .end = BIAS + (1u << 30), .bias = BIAS};

	if (unwind_table_new(e, &t))
		return;
	m.table = t;
	u = unwinder_new_for(e->machine, find, &m);
	if (!u)
		return;
	if (s)
		walk_frames(u, s, flags);
	else
		walk_image(u, e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_ELF struct elf_image *e = NULL;
	CLEANUP_FREE uint8_t *copy = NULL;
	struct cfi_section s;

	if (!n)
		return 0;
	if (data[0] == ELFMAG0) {
		if (!elf_open_memory(data, n, &e))
			walk(e, NULL, 0);
		return 0;
	}
	e = wrap(data[0], data + 1, n - 1);
	copy = malloc(n);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, n - 1);
	s.debug = data[0] & DEBUG;
	s.bytes = (struct cfi_bytes){s.debug ? 0 : VADDR, n - 1, copy};
	walk(e, &s, data[0]);
	return 0;
}
