/*
 * The slots of procedure linkage tables, through which functions of other
 * images are called: each jumps to what a slot of the global offset table
 * points to, and relocations tell whose address the loader puts there.
 *
 *   Source   gABI 5, Procedure Linkage Table; x86-64 psABI, 5.2 and 13.2
 *            (.plt.sec); "ELF for the Arm 64-bit Architecture", 9.2
 */
#pragma once

#include "capture/elf/elf.h"

#define PLT_MAX_SLOTS (1u << 20)

struct plt_slot {
	uint64_t start, end; /* vaddr */
	const char *name;    /* of the function; NULL: of nothing by name */
	uint64_t chooser;    /* vaddr of who chooses it then; 0 */
};

struct plt {
	struct plt_slot *rows; /* ascending by start, of each section */
	size_t n;
	char *names;
};

/*
 *   Owns     plt_done() *out; names are its, too
 *   Errors   -ENODATA none, -EIO, -E2BIG, -ENOMEM; *out untouched
 */
MUST_CHECK int plt_read(const struct elf_image *e, struct plt *out);
void plt_done(struct plt *p);
