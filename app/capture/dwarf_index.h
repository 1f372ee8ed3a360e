/*
 * Source lines and inlined calls of one image, by libdw.
 *
 * Units are found by the addresses they cover and indexed when first asked
 * for: one walk over a unit's tree, then a binary search per address (the
 * ready-made dwarf_getscopes walks the tree for each). Split DWARF (.dwo) is
 * not followed, and neither is a supplementary file: names in it are left
 * out rather than a path opened that the image chose.
 */
#pragma once

#include "capture/elf.h"

#define DWARF_MAX_BYTES  ((uint64_t)512 << 20) /* of debug sections */
#define DWARF_MAX_RANGES (1u << 22)            /* address ranges of units */
#define DWARF_MAX_SCOPES (1u << 20)            /* functions in one unit */
#define DWARF_MAX_DEPTH  64                    /* of nested scopes */

struct dwarf_index;

struct dwarf_frame {
	const char *name; /* linkage name, else plain name; NULL unknown */
	const char *file; /* NULL unknown */
	uint32_t line, start_line; /* 0 unknown */
};

/*
 *   Owns     *out is the caller's; e is borrowed until dwarf_index_free
 *   Errors   -ENODATA no DWARF that can be used, -E2BIG past
 *            DWARF_MAX_BYTES, -ENOMEM; *out untouched
 */
MUST_CHECK int
dwarf_index_new(const struct elf_image *e, struct dwarf_index **out);
void dwarf_index_free(struct dwarf_index *ix);
DEFINE_CLEANUP(struct dwarf_index *, dwarf_index_free)
#define CLEANUP_DWARF_INDEX CLEANUP(dwarf_index_free_ptr)

/* Frames at vaddr, innermost first, the last one not inlined; their number,
 * 0 when no unit covers vaddr. Texts live as long as the index. */
size_t dwarf_index_lookup(struct dwarf_index *ix, uint64_t vaddr,
                          struct dwarf_frame *out, size_t max);
