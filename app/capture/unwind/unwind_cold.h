/*
 * The part of a function that its compiler put elsewhere. GCC does so with code
 * that its profile has seldom seen, or that is marked cold: that part has a
 * separate entry among the unwind tables, and the function jumps into it. In
 * Debian's Python 3.14 almost the whole interpreter is there.
 */
#pragma once

#include "capture/elf/elf.h"

/*
 * Finds the function around an address by the unwind tables alone.
 *   Errors   -ENOENT nothing describes it, those of unwind_index_eh()
 */
MUST_CHECK int unwind_cold_function(const struct elf_image *elf, uint64_t vaddr,
                                    uint64_t *start, uint64_t *end);

/*
 * Finds the cold part of the function in [start, end).
 *   Shape    *cold_start, *cold_end: 0 when there is none
 *   Errors   -ENOMEM
 */
MUST_CHECK int
unwind_cold(const struct elf_image *elf, uint64_t start, uint64_t end,
            uint64_t *cold_start, uint64_t *cold_end);
