/*
 * Finds the slots of procedure linkage tables, through which functions of other
 * images are called. Each jumps to the address in a slot of the global offset
 * table, and a relocation names the function whose address the loader puts
 * there.
 *
 *   Source   gABI 5, Procedure Linkage Table; x86-64 psABI, 5.2 and 13.2
 *            (.plt.sec); "ELF for the Arm 64-bit Architecture", 9.2
 */
#pragma once

#include "elf.h"

#define PLT_MAX_SLOTS (1u << 20)

struct plt_slot {
	uint64_t start, end; /* vaddr */
	const char *name;    /* name of the function; NULL: it has none */
	uint64_t chooser;    /* without a name: vaddr of the function that
	                        chooses it; else 0 */
};

struct plt {
	struct plt_slot *rows; /* ascending by start, within each section */
	size_t n;
	char *names;
};

/*
 * Reads all slots; plt_done() *out, which also owns the names.
 *   Errors   -ENODATA none, -EIO, -E2BIG, -ENOMEM; *out untouched
 */
MUST_CHECK int plt_read(const struct elf_image *e, struct plt *out);
void plt_done(struct plt *p);
