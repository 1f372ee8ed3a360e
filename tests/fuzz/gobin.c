/* Hostile Go programs: whole ELF images, and the contents of their tables. */
#include "capture/gobin/gobin.h"

#include <stdint.h>
#include <string.h>

#define PLACES 64 /* addresses looked up in each program */

static volatile size_t sink; /* so that no read is optimised away */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
ask(struct gobin *g, uint64_t vaddr)
{
	struct gobin_line lines[GOBIN_MAX_LINES];
	size_t n = gobin_lines(g, vaddr, lines,
	                       vaddr % 3 ? ARRAY_LEN(lines) : vaddr % 5);
	struct gobin_frame f;

	for (size_t i = 0; i < n; i++) {
		if (!*lines[i].name || lines[i].inlined != (i + 1 < n))
			abort();
		sink += strlen(lines[i].name) + strlen(lines[i].file);
	}
	if (gobin_frame(g, vaddr, &f) &&
	    (f.entry > vaddr || f.sp_delta < 0 || f.func > GOBIN_WRAPPER))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP_ELF struct elf_image *elf = NULL;
	CLEANUP_GOBIN struct gobin *g = NULL;
	const struct gobin_about *a;

	if (elf_open_memory(data, n, &elf) || gobin_open(elf, &g))
		return 0;
	a = gobin_about(g);
	for (uint64_t i = 0; i < PLACES; i++)
		ask(g, a->text + i * ((a->etext - a->text) / PLACES));
	ask(g, UINT64_MAX);
	return 0;
}
