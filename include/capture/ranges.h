/*
 * Copies of many ranges of a target's memory at once.
 *
 * The question comes with a file, which the asker may use again; it starts with
 * an array of struct range. The answer is written into the same file: the
 * number of bytes that could be read of each range, and from range_data_at() on
 * the bytes of the ranges, one after another without gaps. A range whose end
 * can't be read is read up to there; the rest of its place is undefined.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RANGES_MAX       (1u << 16)
#define RANGES_MAX_BYTES ((size_t)64 << 20) /* data of one answer */

struct range {
	uint64_t addr;
	uint32_t len, got; /* bytes */
};

/* Returns the offset at which the data of n ranges begins. */
static inline size_t
range_data_at(size_t n)
{
	size_t page = 4096;

	return (n * sizeof(struct range) + page - 1) / page * page;
}
