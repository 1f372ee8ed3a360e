/*
 * The program at a probe is told about it by one number that the kernel
 * hands over: the registers with the size and with what it is multiplied by, as
 * instructions number them, one that must not be 0, and the slot of the process.
 */
#pragma once

#include <stdint.h>

#define ALLOCS_COOKIE(slot, size, has_count, count)            \
	((uint64_t)(slot) << 16 | (uint64_t)(has_count) << 8 | \
	 (uint64_t)(count) << 4 | (uint64_t)(size))
/* Added when a call does not count with 0 in that register. */
#define ALLOCS_UNLESS(number)    (UINT64_C(1) << 13 | (uint64_t)(number) << 9)
#define ALLOCS_HAS_UNLESS(cookie) ((cookie) >> 13 & 1)
#define ALLOCS_UNLESS_OF(cookie) ((uint32_t)((cookie) >> 9 & 15))
#define ALLOCS_SIZE(cookie)      ((uint32_t)((cookie)&15))
#define ALLOCS_COUNT(cookie)     ((uint32_t)((cookie) >> 4 & 15))
#define ALLOCS_HAS_COUNT(cookie) ((cookie) >> 8 & 1)
#define ALLOCS_SLOT(cookie)      ((uint32_t)((cookie) >> 16) & (EMIT_SLOTS - 1))
