/*
 * Hostile machine code: each instruction, the ways out of it, and a place for a
 * probe. The first byte selects the architecture.
 */
#include "capture/probes/probe_place.h"
#include "capture/unwind/unwind_code.h"

#include "lib/frames_image.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VADDR  UINT64_C(0x1000000)
#define STARTS 16 /* starts for ways out and places */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
decode_all(const struct unwind_arch *arch, const uint8_t *p, size_t n)
{
	struct code_insn insn;
	int64_t by;

	for (size_t i = 0; i < n; i++) {
		if (arch->decode(p + i, n - i, &insn) &&
		    (!insn.length || insn.length > n - i))
			abort();
		if (i >= UNWIND_CALL_BYTES)
			(void)arch->is_call(p + i - UNWIND_CALL_BYTES, &by);
	}
}

static void
leave_all(const struct elf_image *e, const struct unwind_arch *arch, size_t n)
{
	struct unwind_rule rule;

	for (size_t i = 0; i <= n && i < STARTS; i++)
		if (unwind_code_rule(e, arch, VADDR + i, &rule) &&
		    rule.cfa != CFA_CODE)
			abort();
}

static void
place_all(const uint8_t *p, size_t n)
{
	struct probe_place place;

	for (size_t i = 0; i <= n && i < STARTS; i++) {
		const unsigned arguments = i % (PROBE_MAX_ARGUMENTS + 1);

		if (probe_place(p + i, n - i, arguments, &place))
			continue;
		if (place.at >= n - i)
			abort();
		for (unsigned a = 0; a < arguments; a++)
			if (place.regs[a] > 15)
				abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const uint8_t no_frames[16] = {0};
	const struct unwind_arch *arch;
	CLEANUP_FREE uint8_t *copy = malloc(n + 1);
	CLEANUP_ELF struct elf_image *e = NULL;
	struct frames_image what = {
		.section = ".eh_frame",
		.vaddr = VADDR,
		.frames = no_frames,
		.frames_size = sizeof(no_frames),
	};

	if (!copy || !n--)
		return 0;
	memcpy(copy, data + 1, n); /* nothing follows it */
	what.machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	what.code = copy;
	what.code_size = n;
	arch = unwind_arch_of(what.machine);
	e = frames_image(&what);
	decode_all(arch, copy, n);
	leave_all(e, arch, n);
	place_all(copy, n);
	return 0;
}
