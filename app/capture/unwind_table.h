/* The unwind tables of one image, as unwind.c reads them. */
#pragma once

#include "capture/unwind.h"

struct unwind_chunk {
	uint64_t vaddr;
	size_t size; /* bytes */
	uint8_t *bytes;
};

/* .eh_frame_hdr's search table: functions, ascending. */
struct unwind_row {
	int32_t function, fde; /* relative to .eh_frame_hdr */
};
#define UNWIND_HEADER 12 /* bytes before the rows */

struct unwind_table {
	const struct elf_image *elf;
	struct unwind_chunk header, frames; /* .eh_frame_hdr, .eh_frame */
	uint64_t header_vaddr;
	const struct unwind_row *rows; /* in header */
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
