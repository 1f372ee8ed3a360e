/*
 * Debug information of one image, opened by libdw from the few sections that
 * dwarf_sections() kept.
 *
 * Split DWARF (.dwo) is not followed. The file that several debug files share
 * entries with is used when it is given; else names in it are left out rather
 * than a path opened that the image chose.
 */
#pragma once

#include "symbols_cache.h"

#include <elfutils/libdw.h>

struct dwarf_file {
	Elf *elf, *alt_elf;
	Dwarf *dw, *alt;
};

/*
 *   Shape    both as dwarf_sections() wrote them, or empty
 *   Owns     *out is the caller's, dwarf_file_done() it even after an error;
 *            sections are borrowed until then
 *   Errors   -ENODATA no DWARF that can be used, -ENOMEM
 */
MUST_CHECK int
dwarf_file_open(const struct symbols_piece *sections,
                const struct symbols_piece *shared, struct dwarf_file *out);
void dwarf_file_done(struct dwarf_file *f);
