/*
 * One section of call frame information with its search table. An image has
 * up to two: .eh_frame, and .debug_frame where that describes more (Go).
 */
#pragma once

#include "capture/elf/elf.h"
#include "unwind_rows.h"

struct unwind_index {
	struct cfi_section section;
	size_t origin; /* rows' entries are relative to it, in section */
	uint64_t base; /* vaddr that rows' functions are relative to */
	const struct unwind_row *rows;
	uint32_t nrows;
	uint8_t *table; /* what rows lie in */
};

void unwind_index_done(struct unwind_index *x);
/*
 * .eh_frame with the table that the linker made, or else one of our own.
 *   Errors   -ENODATA, -EIO, -E2BIG past UNWIND_MAX_TABLE, -ENOMEM; *out
 *            empty
 *   Source   LSB 5, 10.6 (.eh_frame, .eh_frame_hdr)
 */
MUST_CHECK int
unwind_index_eh(const struct elf_image *e, struct unwind_index *out);
/* .debug_frame, compressed or not; the same. */
MUST_CHECK int
unwind_index_debug(const struct elf_image *e, struct unwind_index *out);

/*
 * The row whose function may hold vaddr: the last at or below it.
 *   Errors   false: none
 */
MUST_CHECK bool
unwind_index_find(const struct unwind_index *x, uint64_t vaddr, uint32_t *row);
struct unwind_row unwind_index_row(const struct unwind_index *x, uint32_t row);
/*
 * Reads a row's entry.
 *   Errors   -EBADMSG, also when it is not of the row's function
 */
MUST_CHECK int unwind_index_entry(const struct unwind_index *x, uint32_t row,
                                  struct cfi_entry *out);
