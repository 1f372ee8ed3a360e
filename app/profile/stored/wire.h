/*
 * Reads and writes the wire format of protocol buffers.
 *
 * Readers never read outside the given bytes. A field is identified by its key,
 * number and wire type, so that a known number with a wrong type is skipped
 * like an unknown field. Source: protobuf.dev/programming-guides/encoding.
 */
#pragma once

#include "base/buf.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum wire_type { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };

#define WIRE_KEY(number, type) ((uint32_t)(number) << 3 | (uint32_t)(type))

/* The bytes still to be read. */
struct wire {
	const uint8_t *p, *end;
};

struct wire_field {
	uint32_t key;
	uint64_t value;    /* value of a WIRE_VARINT */
	struct wire bytes; /* contents of a WIRE_BYTES */
};

#define WIRE_BLOCK 64
/* Returns a mask in which bit i is set if byte i, of WIRE_BLOCK bytes of
 * varints, ends a varint. */
static inline uint64_t
wire_ends(const uint8_t *p)
{
	uint64_t more = 0;

#ifdef __SSE2__
	for (unsigned i = 0; i < WIRE_BLOCK; i += 16) {
		__m128i part = _mm_loadu_si128((const void *)(p + i));

		more |= (uint64_t)(unsigned)_mm_movemask_epi8(part) << i;
	}
#else
	const uint64_t tops = UINT64_C(0x8080808080808080);
	const uint64_t gather = UINT64_C(0x0002040810204081);
	uint64_t part;

	for (unsigned i = 0; i < WIRE_BLOCK; i += 8) {
		memcpy(&part, p + i, sizeof(part));
		more |= (le64toh(part) & tops) * gather >> 56 << i;
	}
#endif
	return ~more;
}

/* Counts the varints in w. Never counts too few, and is exact if all are
 * complete. */
size_t wire_count(struct wire w);
MUST_CHECK int wire_varint_long(struct wire *w, uint64_t *out);
MUST_CHECK int wire_next_long(struct wire *w, struct wire_field *f);
/* Sets *out to the last field with this key, which must be of WIRE_BYTES;
 * leaves it if there is none. Returns 0 or -EBADMSG. */
MUST_CHECK int wire_last(struct wire w, uint32_t key, struct wire *out);
/* Calls a function with each field of this key, which must be of WIRE_BYTES,
 * until it returns another number than 0. Returns that number, or -EBADMSG. */
typedef int wire_seen(void *arg, struct wire bytes);
MUST_CHECK int
wire_each(struct wire w, uint32_t key, wire_seen *seen, void *arg);
/* True if the bytes equal s. */
bool wire_is(struct wire w, const char *s);

/* Reads one varint. Returns -EBADMSG if it is truncated or longer than 64
 * bits. */
MUST_CHECK static inline int
wire_varint(struct wire *w, uint64_t *out)
{
	const uint8_t *p = w->p;

	if (w->end - p < 3)
		return wire_varint_long(w, out);
	if (p[0] < 0x80) {
		*out = p[0];
		w->p = p + 1;
	} else if (p[1] < 0x80) {
		*out = (p[0] & 0x7Fu) | (uint32_t)p[1] << 7;
		w->p = p + 2;
	} else if (p[2] < 0x80) {
		*out = (p[0] & 0x7Fu) | (p[1] & 0x7Fu) << 7 |
		       (uint32_t)p[2] << 14;
		w->p = p + 3;
	} else {
		return wire_varint_long(w, out);
	}
	return 0;
}

/*
 * Reads the next field. Most fields are decoded inline: those whose key, and
 * whose value or length, take one byte each.
 *   Errors   returns 1 for a field, 0 at the end, or -EBADMSG
 */
MUST_CHECK static inline int
wire_next(struct wire *w, struct wire_field *f)
{
	struct wire at;
	uint64_t v;

	if (w->end - w->p < 2 || *w->p < 1 << 3 || *w->p >= 0x80 ||
	    *w->p & (WIRE_FIXED64 | WIRE_FIXED32))
		return wire_next_long(w, f);
	f->key = *w->p;
	at = (struct wire){w->p + 1, w->end};
	if (wire_varint(&at, &v))
		return -EBADMSG;
	w->p = at.p;
	if (!(f->key & WIRE_BYTES)) {
		f->value = v;
		return 1;
	}
	if (v > (uint64_t)(w->end - w->p))
		return -EBADMSG;
	f->bytes = (struct wire){w->p, w->p + v};
	w->p += v;
	return 1;
}

void wire_put_varint_long(struct buf *out, uint64_t v);
/* Writes one varint: in place where there is room, as there nearly always is,
 * since files are made of small numbers. */
static inline void
wire_put_varint(struct buf *out, uint64_t v)
{
	char *to;

	if (v >= 0x4000 || out->err || out->cap - out->len < 3) {
		wire_put_varint_long(out, v);
		return;
	}
	to = out->p + out->len;
	if (v < 0x80) {
		*to++ = (char)v;
	} else {
		*to++ = (char)(v | 0x80);
		*to++ = (char)(v >> 7);
	}
	*to = '\0';
	out->len = (size_t)(to - out->p);
}

/* Writes a varint field. Writes nothing if v is 0, the default. */
void wire_put_number(struct buf *out, uint32_t number, uint64_t v);
/* Writes 8 bytes, without a key. */
void wire_put_fixed64(struct buf *out, uint64_t v);
void wire_put_bytes(struct buf *out, uint32_t number, const void *p, size_t n);
/* Begins a field of bytes, which ends at wire_close(out, place). */
size_t wire_open(struct buf *out, uint32_t number);
void wire_close(struct buf *out, size_t place);
