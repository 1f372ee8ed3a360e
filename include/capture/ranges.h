/*
 * Pieces of a target's memory, many at once.
 *
 * The question brings a file of struct range; the answer is a file of the
 * same ranges, told how much of each could be read, and behind them, at
 * range_data_at(), their bytes one after another, each at a multiple of
 * RANGE_ALIGN. A range that can't be read whole is read up to where it can.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RANGES_MAX       (1u << 16)
#define RANGES_MAX_BYTES ((size_t)64 << 20) /* of one answer's data */
#define RANGE_ALIGN      ((size_t)16)

struct range {
	uint64_t addr;
	uint32_t len, got; /* bytes; got: 0 in the question */
};

static inline size_t
range_room(const struct range *r)
{
	return (r->len + RANGE_ALIGN - 1) / RANGE_ALIGN * RANGE_ALIGN;
}

/* Where the data of n ranges begins. */
static inline size_t
range_data_at(size_t n)
{
	size_t page = 4096;

	return (n * sizeof(struct range) + page - 1) / page * page;
}
