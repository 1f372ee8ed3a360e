/*
 * The form of a block, and what the code that makes, reads and keeps blocks
 * shares.
 *
 * A block has the bytes of its windows, an entry for each window, the tenant
 * and the series as texts, and an end that locates these:
 *
 * 	entry    start_ms, end_ms, duration_ms, windows, sample_count, value,
 * 	         offset, length: 64 bits each; SHA-256; quota_ms: 64 bits,
 * 	         which form 1 lacks
 * 	texts    the tenant; a series' service, type, labels and number of
 * 	         windows; each ends with a NUL
 * 	end      tier, series, windows, bytes of texts: 32 bits each; start_ms,
 * 	         end_ms, offset of the entries: 64 bits each; magic
 *
 * Numbers are little-endian.
 */
#pragma once

#include "store/block.h"

#include <assert.h>

#define BLOCK_ENTRY     104 /* bytes of a window in the directory */
#define BLOCK_ENTRY_1   96
#define BLOCK_MAGIC     "stoker-blocks 2\n"
#define BLOCK_MAGIC_1   "stoker-blocks 1\n"
#define BLOCK_MAGIC_LEN (sizeof(BLOCK_MAGIC) - 1)
#define BLOCK_NUMBERS   8 /* numbers in an entry */
#define BLOCK_DIGEST    32

struct block_end {
	uint32_t tier, series, windows, texts;
	uint64_t start_ms, end_ms, entries;
	char magic[BLOCK_MAGIC_LEN];
};
struct block_entry_bytes {
	uint64_t numbers[BLOCK_NUMBERS];
	unsigned char digest[BLOCK_DIGEST];
	uint64_t quota_ms;
};
static_assert(sizeof(struct block_end) == 56, "no padding");
static_assert(sizeof(struct block_entry_bytes) == BLOCK_ENTRY, "no padding");

/* A block lies within one period of this length, counted from 1970. */
int64_t block_range_ms(enum block_tier tier);
/* True for a range that a block of the tier may have. */
bool block_range_valid(enum block_tier tier, int64_t start_ms, int64_t end_ms);
/* True for the length of an entry in a known form. */
static inline bool
block_entry_bytes_valid(int64_t n)
{
	return n == BLOCK_ENTRY || n == BLOCK_ENTRY_1;
}
/* Reads an entry of n valid bytes from the directory; its values are not
 * verified. */
void block_entry(const char *p, int64_t n, struct block_window *out);
