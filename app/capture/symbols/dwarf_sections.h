/*
 * The debug sections that functions, inlined calls and lines need, unpacked.
 *
 * libdw would unpack all sections there are, by zlib; most bytes describe
 * variables' places, which nobody asks for here, and libdeflate is faster.
 * What was unpacked is a piece of the symbols cache: a library has a unit per
 * source file, and captures go on meeting new ones.
 */
#pragma once

#include "base/buf.h"
#include "capture/elf/elf.h"

/*
 * Writes an ELF file that has these sections and nothing else.
 *
 *   Errors   -ENODATA none, or packed in a way we don't read, -EIO, -E2BIG
 *            past out->max, -ENOMEM
 *   Source   gABI 4, Compressed Sections
 */
MUST_CHECK int dwarf_sections(const struct elf_image *e, struct buf *out);
