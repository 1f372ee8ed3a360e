/* The unwind tables of one image, as unwind.c reads them. */
#pragma once

#include "capture/unwind.h"

struct unwind_chunk {
	uint64_t vaddr;
	size_t size; /* bytes */
	uint8_t *bytes;
};

/* The search table: functions, ascending. */
struct unwind_row {
	int32_t function, fde; /* relative to base */
};

struct unwind_table {
	const struct elf_image *elf;
	struct unwind_chunk index, frames; /* holds the rows; .eh_frame */
	uint64_t base;                     /* vaddr of .eh_frame_hdr, or of
	                                      .eh_frame without one */
	uint64_t rows_vaddr;               /* in index */
	const struct unwind_row *rows;     /* in index */
	uint32_t nrows;
};

/*
 * The 8 bytes at vaddr: from the copies, or else from the file. Past the end
 * of what the file holds they are zero.
 *   Errors   -EIO no byte there
 */
MUST_CHECK int
unwind_table_word(const struct unwind_table *t, uint64_t vaddr, uint64_t *out);
/* Index of the row whose function may hold vaddr; false: none. */
MUST_CHECK bool
unwind_table_row(const struct unwind_table *t, uint64_t vaddr, uint32_t *row);
