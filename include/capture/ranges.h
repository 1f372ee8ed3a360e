/*
 * Pieces of a target's memory, many at once.
 *
 * The question brings a file, which is the asker's to use again: struct range
 * from its start on. The answer is written into it: how much of each range
 * could be read, and from range_data_at() on the ranges' bytes, one after
 * another without gaps. A range that can't be read whole is read up to where
 * it can; what follows in its place means nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RANGES_MAX       (1u << 16)
#define RANGES_MAX_BYTES ((size_t)64 << 20) /* of one answer's data */

struct range {
	uint64_t addr;
	uint32_t len, got; /* bytes */
};

/* Where the data of n ranges begins. */
static inline size_t
range_data_at(size_t n)
{
	size_t page = 4096;

	return (n * sizeof(struct range) + page - 1) / page * page;
}
