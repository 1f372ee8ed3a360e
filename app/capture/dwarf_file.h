/*
 * Debug information of one image, opened by libdw.
 *
 * Split DWARF (.dwo) is not followed, and neither is a supplementary file:
 * names in it are left out rather than a path opened that the image chose.
 */
#pragma once

#include "base/buf.h"
#include "capture/elf.h"

#include <elfutils/libdw.h>

#define DWARF_MAX_BYTES ((uint64_t)512 << 20) /* of sections used */

struct dwarf_file {
	struct buf sections; /* what elf reads */
	Elf *elf, *no_elf;
	Dwarf *dw, *none;
};

/*
 *   Owns     *out is the caller's, dwarf_file_done() it even after an error;
 *            e is not kept
 *   Errors   -ENODATA no DWARF that can be used, -E2BIG past
 *            DWARF_MAX_BYTES, -ENOMEM
 */
MUST_CHECK int
dwarf_file_open(const struct elf_image *e, struct dwarf_file *out);
void dwarf_file_done(struct dwarf_file *f);
