/*
 * Debug information that -gsplit-dwarf left in files beside the program's: a
 * .dwo file for each unit, or a .dwp file with those of many.
 *
 * The program has a skeleton of each unit: where its file is, its lines, and
 * the addresses that its entries refer to by number.
 *
 *   Source   DWARF 5, 7.3; GCC wiki, DebugFission and DebugFissionDWP, for
 *            DWARF 4
 */
#pragma once

#include "capture/elf/elf.h"
#include "symbols_cache.h"

#include <elfutils/libdw.h>

/* The contents of a skeleton. Texts are libdw's. */
struct dwarf_skeleton {
	Dwarf_Die die;
	const char *name, *dir; /* of the .dwo file; dir may be NULL */
	uint64_t id;
	uint64_t addresses, ranges; /* offsets in .debug_addr and, before DWARF
	                               5, .debug_ranges */
	uint64_t start;             /* where ranges count from */
};

/* Returns false for a unit that is whole. */
MUST_CHECK bool dwarf_skeleton(Dwarf_Die *unit, struct dwarf_skeleton *out);

/* A unit's other part. */
struct dwarf_split {
	struct buf bytes;
	Elf *elf;
	Dwarf *dw;
	Dwarf_Die unit;
};

/*
 * Opens the part of a unit that is in a .dwo or .dwp file.
 *
 *   Shape    main has the sections of the skeleton's file: dwarf_sections()
 *   Owns     *out is the caller's, dwarf_split_done() it even after an error
 *   Errors   -ENODATA the file belongs to another unit or is damaged, -E2BIG,
 *            -EIO, -ENOMEM
 */
MUST_CHECK int
dwarf_split_open(const struct dwarf_skeleton *s, Elf *main,
                 const struct elf_image *file, struct dwarf_split *out);
void dwarf_split_done(struct dwarf_split *s);
