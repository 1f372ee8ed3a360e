/*
 * Copies of many ranges of a target's memory at once.
 *
 * The question comes with a file, which the caller may reuse; the file starts
 * with an array of struct memory_range. The answer is written into the same
 * file: for each range, the number of bytes that could be read, and from
 * range_data_at() on the bytes of the ranges, one after another without gaps.
 * If the end of a range can't be read, the rest of its data is undefined.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RANGES_MAX       (1u << 16)
#define RANGES_MAX_BYTES ((size_t)64 << 20) /* data of one answer */

struct memory_range {
	uint64_t addr;
	uint32_t len, got; /* bytes */
};

/* Returns the offset at which the data of n ranges begins. */
static inline size_t
range_data_at(size_t n)
{
	size_t page = 4096;

	return (n * sizeof(struct memory_range) + page - 1) / page * page;
}
