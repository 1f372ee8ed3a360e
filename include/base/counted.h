/*
 * A sum with its parts: the layout that the store and profile/stored share.
 *
 * A counted file has no stacks, but counts of the stacks of a base, a packed
 * file that lies before it: COUNTED_MAGIC, then the distance from the start of
 * the base, the length of the base, and the length of the counts, which follow.
 * Readers of bytes append the base, so that a counted file that has been read
 * is complete by itself.
 *
 * A bundle is a base, the counted files of its parts, the length of each, the
 * number of parts and the length of the base. Numbers are 32 bits, little
 * endian.
 */
#pragma once

#include "base/buf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define COUNTED_MAGIC "SPC1"
#define COUNTED_HEAD  16

struct counted {
	uint32_t distance, base, counts;
};

static inline void
counted_put(struct buf *b, uint32_t v)
{
	const uint8_t bytes[] = {(uint8_t)v, (uint8_t)(v >> 8),
	                         (uint8_t)(v >> 16), (uint8_t)(v >> 24)};

	buf_add(b, bytes, sizeof(bytes));
}

static inline uint32_t
counted_get(const void *from)
{
	const uint8_t *p = from;

	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

/* Sets the distance of a counted file from its base. */
static inline void
counted_refer(void *file, uint32_t distance)
{
	uint8_t *p = (uint8_t *)file + 4;

	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(distance >> 8 * i);
}

/* Reads the head of a counted file; false for another file. */
static inline bool
counted_head(const void *p, size_t n, struct counted *out)
{
	const char *at = p;

	if (n < COUNTED_HEAD || memcmp(p, COUNTED_MAGIC, 4))
		return false;
	*out = (struct counted){counted_get(at + 4), counted_get(at + 8),
	                        counted_get(at + 12)};
	return true;
}

/* Reads the head of a counted file without its base; false for another file. */
static inline bool
counted_alone(const void *p, size_t n, struct counted *out)
{
	return counted_head(p, n, out) &&
	       n == COUNTED_HEAD + (size_t)out->counts;
}

/* The parts of a bundle. Their lengths are at its end. */
struct bundle {
	const char *lengths;
	size_t base, bytes; /* bytes: length of base and parts together */
	uint32_t n;
};

/* Returns the length of a part. */
static inline uint32_t
bundle_length(const struct bundle *b, uint32_t part)
{
	return counted_get(b->lengths + (size_t)part * 4);
}

/* Reads the end of a bundle; -EBADMSG unless the lengths add up. */
static inline int
bundle_read(const void *p, size_t n, struct bundle *out)
{
	const char *end = (const char *)p + n;
	struct bundle b;
	uint64_t bytes;

	if (n < 8)
		return -EBADMSG;
	b.n = counted_get(end - 8);
	b.base = counted_get(end - 4);
	if (b.n > (n - 8) / 4)
		return -EBADMSG;
	b.lengths = end - 8 - (size_t)b.n * 4;
	b.bytes = (size_t)(b.lengths - (const char *)p);
	bytes = b.base;
	for (uint32_t i = 0; i < b.n; i++)
		bytes += bundle_length(&b, i);
	if (bytes != b.bytes)
		return -EBADMSG;
	*out = b;
	return 0;
}
