/*
 * Decodes ids without branches on their length: lengths of 1 to 3 bytes
 * alternate in an order that no branch predictor guesses. The ends of all
 * varints in a block are found first; then each varint is extracted,
 * independently of the one before. Source: masked VByte, Plaisance, Kurz,
 * Lemire 2015, without its tables.
 */
#include "pprof_frames.h"

#include <endian.h>
#include <string.h>

#define SHORT 4 /* most bytes of an id that needs no loop */
/* Bytes that decoding a block may read, because extracting its last varint
 * reads past the block. */
#define READ (WIRE_BLOCK + SHORT)

/* Extracts a varint of n <= SHORT bytes; reads SHORT bytes. */
static inline uint32_t
cut(const uint8_t *p, size_t n)
{
	static const uint32_t mask[SHORT + 1] = {0, 0xFF, 0xFFFF, 0xFFFFFF,
	                                         UINT32_MAX};
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	v = le32toh(v) & mask[n];
	v = (v & 0x007F007F) | (v >> 1 & 0x3F803F80);
	return (v & 0x3FFF) | (v >> 2 & 0x0FFFC000);
}

/* Extracts a longer varint. Returns 0, which is not an id, past 64 bits. */
static uint64_t
cut_long(const uint8_t *p, size_t n)
{
	struct wire one = {p, p + n};
	uint64_t id;

	return wire_varint(&one, &id) ? 0 : id;
}

/* State after the varints read so far. */
struct at {
	const uint8_t *p;
	uint32_t *row;
	uint64_t bad; /* not 0 if an id was out of range */
};

/* Writes the rows of the varints whose ends are given by the bits of ends. */
static inline struct at
read_block(struct at at, uint64_t ends, uint64_t first, uint32_t n)
{
	const uint8_t *p = at.p;
	size_t from = 0, next;
	uint64_t id;

	for (; ends; ends &= ends - 1, from = next) {
		next = (size_t)__builtin_ctzll(ends) + 1;
		if (__builtin_expect(next - from <= SHORT, 1))
			id = cut(p + from, next - from);
		else
			id = cut_long(p + from, next - from);
		id -= first;
		at.bad |= id >= n;
		*at.row++ = (uint32_t)id;
	}
	at.p += from;
	return at;
}

/* Decodes ids that are a row plus a constant. */
static int
plain_frames(struct wire w, const uint8_t *limit, const struct idmap *ids,
             uint32_t *rows)
{
	const uint64_t first = ids->first;
	const uint32_t n = ids->n;
	struct at at = {.p = w.p, .row = rows};
	uint64_t ends, id;

	while (at.p < w.end && limit - at.p >= READ) {
		ends = wire_ends(at.p);
		if (w.end - at.p < WIRE_BLOCK)
			ends &= UINT64_MAX >> (WIRE_BLOCK - (w.end - at.p));
		if (!ends)
			return -EBADMSG;
		at = read_block(at, ends, first, n);
	}
	for (w.p = at.p; w.p < w.end; *at.row++ = (uint32_t)id) {
		if (wire_varint(&w, &id))
			return -EBADMSG;
		id -= first;
		at.bad |= id >= n;
	}
	return at.bad ? -ENOENT : (int)(at.row - rows);
}

int
pprof_frames(struct wire w, const uint8_t *limit, const struct idmap *ids,
             uint32_t *rows)
{
	uint32_t *to = rows;
	uint64_t id;

	if (idmap_is_plain(ids))
		return plain_frames(w, limit, ids, rows);
	for (; w.p < w.end; to++) {
		if (wire_varint(&w, &id))
			return -EBADMSG;
		*to = idmap_find(ids, id);
		if (*to == IDMAP_NONE)
			return -ENOENT;
	}
	return (int)(to - rows);
}
