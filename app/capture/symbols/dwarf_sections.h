/*
 * The debug sections that functions, inlined calls and lines need, unpacked.
 *
 * libdw would unpack all sections, by zlib; most bytes describe variables,
 * which are not needed here, and libdeflate is faster. The unpacked sections
 * are a piece of the symbols cache: a library has a unit per source file, and
 * later captures need further units.
 */
#pragma once

#include "base/buf.h"
#include "capture/elf/elf.h"

/*
 * Writes an ELF file with just these sections.
 *
 *   Errors   -ENODATA none, or in an unknown compression, -EIO, -E2BIG past
 *            out->max, -ENOMEM
 *   Source   gABI 4, Compressed Sections
 */
MUST_CHECK int dwarf_sections(const struct elf_image *e, struct buf *out);

/* --- split DWARF ---------------------------------------------------------- */

#define DWARF_MAX_PARTS 16

/* Parts of sections; sections that are not listed are whole. */
struct dwarf_parts {
	struct dwarf_part {
		const char *name;
		uint64_t offset, size;
	} rows[DWARF_MAX_PARTS];
	size_t n;
};

/* A section from another file. */
struct dwarf_bytes {
	const char *name;
	const uint8_t *p; /* NULL: none */
	size_t n;
};

/*
 * Does the same for a .dwo file, or for one unit in a .dwp file. The names of
 * sections lose their suffix .dwo, so that libdw looks for no other file.
 *   Errors   as dwarf_sections()
 */
MUST_CHECK int
dwarf_sections_split(const struct elf_image *e, const struct dwarf_parts *parts,
                     const struct dwarf_bytes *more, size_t nmore,
                     struct buf *out);
