/*
 * Constants shared by the encoder and the decoder of packed files.
 */
#pragma once

#include "profile/packed.h"

/* Kinds of rows; the file begins with the number of each. */
enum packed_count {
	PACKED_STRINGS,
	PACKED_TYPES,
	PACKED_COMMENTS,
	PACKED_MAPPINGS,
	PACKED_FUNCTIONS,
	PACKED_LOCATIONS,
	PACKED_LINES,
	PACKED_NODES,
	PACKED_SAMPLES,
	PACKED_LABELS,
	PACKED_COUNTS
};

/* As packed_encode(). Unless out_at is NULL, (*out_at)[row] is the place of
 * each row of samples in the file; the caller frees it. */
MUST_CHECK int
packed_encode_at(const struct packed *k, struct buf *out, uint32_t **out_at);
/* Maps numbers of small magnitude, of either sign, to small unsigned ones.
 * Source: protobuf's sint64. */
static inline uint64_t
packed_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}
static inline int64_t
packed_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}
