/*
 * The wire format of protocol buffers, both ways.
 *
 * Reading never leaves the bytes it was given. A field is told apart by key:
 * number and wire type, so that a known number of a wrong type is skipped as
 * an unknown field is.
 * Source: protobuf.dev/programming-guides/encoding.
 */
#pragma once

#include "base/buf.h"

#include <errno.h>

enum wire_type { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };

#define WIRE_KEY(number, type) ((uint32_t)(number) << 3 | (uint32_t)(type))

/* Bytes still to be read. */
struct wire {
	const uint8_t *p, *end;
};

struct wire_field {
	uint32_t key;
	uint64_t value;    /* of WIRE_VARINT */
	struct wire bytes; /* of WIRE_BYTES */
};

/*
 * Reads the next field.
 *   Errors   returns 1 for a field, 0 at the end, -EBADMSG
 */
MUST_CHECK int wire_next(struct wire *w, struct wire_field *f);
/* Varints that p..end holds when it is all whole varints; never fewer. */
size_t wire_count(struct wire w);
MUST_CHECK int wire_varint_long(struct wire *w, uint64_t *out);

/* Reads one varint; -EBADMSG when cut short or past 64 bits. */
MUST_CHECK static inline int
wire_varint(struct wire *w, uint64_t *out)
{
	const uint8_t *p = w->p;

	if (w->end - p >= 3) { /* most are this short */
		uint32_t v = p[0] & 0x7F;

		if (p[0] < 0x80) {
			w->p = p + 1;
		} else if (v |= (uint32_t)(p[1] & 0x7F) << 7, p[1] < 0x80) {
			w->p = p + 2;
		} else if (v |= (uint32_t)(p[2] & 0x7F) << 14, p[2] < 0x80) {
			w->p = p + 3;
		} else {
			return wire_varint_long(w, out);
		}
		*out = v;
		return 0;
	}
	return wire_varint_long(w, out);
}

/* The same where lengths of 1 to 4 bytes come in no order that a branch could
 * be predicted by: the length is computed. */
MUST_CHECK static inline int
wire_varint_mixed(struct wire *w, uint64_t *out)
{
	uint32_t v, ends;

	if (w->end - w->p < 4)
		return wire_varint(w, out);
	v = (uint32_t)w->p[0] | (uint32_t)w->p[1] << 8 |
	    (uint32_t)w->p[2] << 16 | (uint32_t)w->p[3] << 24;
	ends = ~v & UINT32_C(0x80808080);
	if (!ends)
		return wire_varint_long(w, out);
	w->p += (__builtin_ctz(ends) + 1) / 8;
	v &= ends ^ (ends - 1); /* up to the first byte that ends it */
	*out = (v & 0x7F) | (v >> 1 & 0x7F << 7) | (v >> 2 & 0x7F << 14) |
	       (v >> 3 & 0x7F << 21);
	return 0;
}

void wire_put_varint(struct buf *out, uint64_t v);
/* A varint field; nothing when 0, which is what readers take it for. */
void wire_put_number(struct buf *out, uint32_t number, uint64_t v);
void wire_put_bytes(struct buf *out, uint32_t number, const void *p, size_t n);
/* Begins a field of bytes whose length is known at wire_close(out, place). */
size_t wire_open(struct buf *out, uint32_t number);
void wire_close(struct buf *out, size_t place);
