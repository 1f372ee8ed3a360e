/*
 * A search table for an .eh_frame that comes without one, as in programs
 * linked statically.
 */
#pragma once

#include "unwind_table.h"

#define UNWIND_MAX_ROWS (1u << 22)

/*
 * Lists the functions that frames describes.
 *
 *   Shape    base: where .eh_frame begins, within frames; rows ascend, and
 *            both of their fields are relative to base
 *   Owns     *rows is the caller's; free() it
 *   Errors   -ENODATA none that can be read, -E2BIG, -ENOMEM; outputs
 *            untouched
 *   Source   LSB 5, 10.6.1 (.eh_frame), 10.5.1 (pointer encodings)
 */
MUST_CHECK int unwind_rows(const struct unwind_chunk *frames, uint64_t base,
                           struct unwind_row **rows, uint32_t *n);
