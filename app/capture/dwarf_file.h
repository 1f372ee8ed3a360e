/*
 * Debug information of one image, opened by libdw from the few sections that
 * dwarf_sections() kept.
 *
 * Split DWARF (.dwo) is not followed, and neither is a supplementary file:
 * names in it are left out rather than a path opened that the image chose.
 */
#pragma once

#include "capture/symbols_cache.h"

#include <elfutils/libdw.h>

struct dwarf_file {
	Elf *elf, *no_elf;
	Dwarf *dw, *none;
};

/*
 *   Shape    sections: as dwarf_sections() wrote them, or empty
 *   Owns     *out is the caller's, dwarf_file_done() it even after an error;
 *            sections are borrowed until then
 *   Errors   -ENODATA no DWARF that can be used, -ENOMEM
 */
MUST_CHECK int
dwarf_file_open(const struct symbols_piece *sections, struct dwarf_file *out);
void dwarf_file_done(struct dwarf_file *f);
