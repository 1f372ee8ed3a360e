/*
 * The cookie of a probe: one number that the kernel passes to the BPF program
 * at the probe. It holds the slot of the process, and the numbers, as in
 * instructions, of the registers with the size, its factor, the memory to
 * replace, and the address to which the new address is written. A static probe
 * has the index of its arguments in place of registers.
 */
#pragma once

#include <stdint.h>

#define ALLOCS_COOKIE(slot, size, has_count, count)            \
	((uint64_t)(slot) << 16 | (uint64_t)(has_count) << 8 | \
	 (uint64_t)(count) << 4 | (uint64_t)(size))
#define ALLOCS_SIZE(cookie)      ((uint32_t)((cookie)&15))
#define ALLOCS_COUNT(cookie)     ((uint32_t)((cookie) >> 4 & 15))
#define ALLOCS_HAS_COUNT(cookie) ((cookie) >> 8 & 1)
#define ALLOCS_SLOT(cookie)      ((uint32_t)((cookie) >> 16) & (EMIT_SLOTS - 1))
/* Bits to add for a call that replaces memory, */
#define ALLOCS_OLD(number)     (UINT64_C(1) << 28 | (uint64_t)(number) << 24)
#define ALLOCS_HAS_OLD(cookie) ((cookie) >> 28 & 1)
#define ALLOCS_OLD_OF(cookie)  ((uint32_t)((cookie) >> 24 & 15))
/* that is not counted when this memory is NULL, */
#define ALLOCS_UNLESS(on)         ((uint64_t)(on) << 29)
#define ALLOCS_HAS_UNLESS(cookie) ((cookie) >> 29 & 1)
/* and that writes the new address to memory that a register points to. */
#define ALLOCS_TO(number)     (UINT64_C(1) << 36 | (uint64_t)(number) << 32)
#define ALLOCS_HAS_TO(cookie) ((cookie) >> 36 & 1)
#define ALLOCS_TO_OF(cookie)  ((uint32_t)((cookie) >> 32 & 15))
/* Calls of the worker itself are counted in the last slot. */
#define ALLOCS_NOBODY ALLOCS_COOKIE(EMIT_SLOTS - 1, 7, 0, 0)

/* The cookie of a static probe: n is its index within the slot. */
#define ALLOCS_STATIC(slot, n) ((uint64_t)(slot) << 16 | (uint64_t)(n))
#define ALLOCS_STATIC_OF(cookie)                    \
	(ALLOCS_SLOT(cookie) * ALLOCS_MOST_STATIC + \
	 ((uint32_t)(cookie) & (ALLOCS_MOST_STATIC - 1)))
