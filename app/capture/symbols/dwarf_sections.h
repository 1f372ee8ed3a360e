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
