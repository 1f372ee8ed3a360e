/*
 * The program at a probe is told about it by one number that the kernel
 * hands over: the registers, as instructions number them, with the size and
 * with what it is multiplied by, with the memory that is replaced, and with
 * where the new address is written; and the slot of the process.
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
/* Added when the call replaces memory, */
#define ALLOCS_OLD(number)     (UINT64_C(1) << 28 | (uint64_t)(number) << 24)
#define ALLOCS_HAS_OLD(cookie) ((cookie) >> 28 & 1)
#define ALLOCS_OLD_OF(cookie)  ((uint32_t)((cookie) >> 24 & 15))
/* and does not count when there is none, */
#define ALLOCS_UNLESS(on)         ((uint64_t)(on) << 29)
#define ALLOCS_HAS_UNLESS(cookie) ((cookie) >> 29 & 1)
/* and when it writes where the new memory is to the address in a register. */
#define ALLOCS_TO(number)     (UINT64_C(1) << 36 | (uint64_t)(number) << 32)
#define ALLOCS_HAS_TO(cookie) ((cookie) >> 36 & 1)
#define ALLOCS_TO_OF(cookie)  ((uint32_t)((cookie) >> 32 & 15))
