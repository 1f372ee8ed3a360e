/*
 * A search table for call frame information that comes without one, as in
 * programs linked statically, and for .debug_frame.
 */
#pragma once

#include "cfi.h"

#define UNWIND_MAX_ROWS (1u << 22)

/* A function and the entry that describes it. */
struct unwind_row {
	int32_t function, entry; /* relative to bases of the table */
};

/*
 * Lists the functions that a section describes.
 *
 *   Shape    from: offset in the section of its first entry; rows ascend;
 *            function is relative to base, entry to from
 *   Owns     *rows is the caller's; free() it
 *   Errors   -ENODATA no entry can be read, -E2BIG, -ENOMEM; outputs untouched
 */
MUST_CHECK int
unwind_rows(const struct cfi_section *s, size_t from, uint64_t base,
            struct unwind_row **rows, uint32_t *n);
