/*
 * One section of call frame information with its search table. An image has up
 * to two: .eh_frame and, unless it has Go's own table, .debug_frame.
 */
#pragma once

#include "capture/elf/elf.h"
#include "unwind_rows.h"

struct unwind_index {
	struct cfi_section section;
	size_t origin; /* offset in section; rows' entries count from it */
	uint64_t base; /* vaddr; rows' functions count from it */
	const struct unwind_row *rows;
	uint32_t nrows;
	uint8_t *table; /* memory that contains rows */
};

void unwind_index_done(struct unwind_index *x);
/*
 * Reads .eh_frame with the linker's search table, or else builds the table.
 *   Errors   -ENODATA, -EIO, -E2BIG past UNWIND_MAX_TABLE, -ENOMEM; *out
 *            empty
 *   Source   LSB 5, 10.6 (.eh_frame, .eh_frame_hdr)
 */
MUST_CHECK int
unwind_index_eh(const struct elf_image *e, struct unwind_index *out);
/* As unwind_index_eh(), from .debug_frame, which may be compressed. */
MUST_CHECK int
unwind_index_debug(const struct elf_image *e, struct unwind_index *out);

/*
 * Finds the row whose function may contain vaddr: the last row at or below it.
 *   Errors   false: no such row
 */
MUST_CHECK bool
unwind_index_find(const struct unwind_index *x, uint64_t vaddr, uint32_t *row);
struct unwind_row unwind_index_row(const struct unwind_index *x, uint32_t row);
/*
 * Reads a row's entry.
 *   Errors   -EBADMSG not readable, or the entry of another function
 */
MUST_CHECK int unwind_index_entry(const struct unwind_index *x, uint32_t row,
                                  struct cfi_entry *out);
