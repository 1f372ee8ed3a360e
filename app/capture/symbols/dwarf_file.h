/*
 * Debug information of one image, opened by libdw from the few sections that
 * dwarf_sections() kept.
 *
 * A file that several debug files share is used when it is given; otherwise its
 * names are missing, since libdw opens no path that the image chose.
 */
#pragma once

#include "symbols_cache.h"

#include <elfutils/libdw.h>

struct dwarf_file {
	Elf *elf, *alt_elf;
	Dwarf *dw, *alt;
};

/*
 *   Shape    both pieces come from dwarf_sections(), or are empty
 *   Owns     *out is the caller's, dwarf_file_done() it even after an error;
 *            the pieces are borrowed until then
 *   Errors   -ENODATA no DWARF that can be used, -ENOMEM
 */
MUST_CHECK int
dwarf_file_open(const struct symbols_piece *sections,
                const struct symbols_piece *shared, struct dwarf_file *out);
void dwarf_file_done(struct dwarf_file *f);

/* --- its units ------------------------------------------------------------ */

/*
 * An index, which is a piece of the symbols cache, finds the unit that covers
 * an address.
 *
 * Units are found by the addresses they cover and indexed, by dwarf_unit.h,
 * when first asked for: one walk over a unit's tree, then a binary search
 * per address (the ready-made dwarf_getscopes walks the tree for each).
 */
#define DWARF_MAX_RANGES (1u << 22)

struct dwarf_range {
	uint64_t start, end; /* vaddr */
	uint64_t unit;       /* offset in .debug_info of the unit's entry */
};

/* A view of an index; all zero: no unit. */
struct dwarf_index {
	const struct dwarf_range *ranges; /* ascending */
	size_t n;
};

/* Builds the index. Errors -E2BIG past DWARF_MAX_RANGES, the poison of out */
MUST_CHECK int dwarf_index_build(Dwarf *dw, struct buf *out);
/* Opens a view; *out points into piece. Errors -EBADMSG; *out untouched */
MUST_CHECK int
dwarf_index_open(const struct symbols_piece *piece, struct dwarf_index *out);
/* Finds the unit of vaddr; false when there is none. */
MUST_CHECK bool dwarf_index_lookup(const struct dwarf_index *ix, uint64_t vaddr,
                                   uint64_t *unit);
