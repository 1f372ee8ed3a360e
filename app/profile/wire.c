#include "wire.h"

#include <string.h>

#define VARINT_MAX 10 /* bytes of 64 bits, 7 at a time */

int
wire_varint_long(struct wire *w, uint64_t *out)
{
	const uint8_t *p = w->p;
	uint64_t v = 0;

	for (unsigned shift = 0; p < w->end && shift < 64; shift += 7) {
		uint8_t c = *p++;

		if (shift == 63 && c > 1)
			return -EBADMSG;
		v |= (uint64_t)(c & 0x7F) << shift;
		if (c < 0x80) {
			w->p = p;
			*out = v;
			return 0;
		}
	}
	return -EBADMSG;
}

static int
take(struct wire *w, uint64_t n, struct wire *out)
{
	if (n > (uint64_t)(w->end - w->p))
		return -EBADMSG;
	*out = (struct wire){w->p, w->p + n};
	w->p += n;
	return 1;
}

int
wire_next(struct wire *w, struct wire_field *f)
{
	uint64_t key, n;

	if (w->p == w->end)
		return 0;
	if (wire_varint(w, &key) || key > UINT32_MAX || key >> 3 == 0)
		return -EBADMSG;
	f->key = (uint32_t)key;
	switch (key & 7) {
	case WIRE_VARINT:
		return wire_varint(w, &f->value) ? -EBADMSG : 1;
	case WIRE_BYTES:
		return wire_varint(w, &n) ? -EBADMSG : take(w, n, &f->bytes);
	case WIRE_FIXED64:
		return take(w, 8, &f->bytes);
	case WIRE_FIXED32:
		return take(w, 4, &f->bytes);
	}
	return -EBADMSG; /* groups: gone since proto2 */
}

size_t
wire_count(struct wire w)
{
	const uint64_t top = UINT64_C(0x8080808080808080);
	size_t n = 0;
	uint64_t word;

	for (; w.end - w.p >= 8; w.p += 8) {
		memcpy(&word, w.p, 8);
		/* the sum of its bytes' lowest bits ends in the highest */
		word = (~word & top) >> 7;
		n += word * UINT64_C(0x0101010101010101) >> 56;
	}
	for (; w.p < w.end; w.p++)
		n += *w.p < 0x80;
	return n;
}

static size_t
varint(uint64_t v, uint8_t out[static VARINT_MAX])
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (uint8_t)(v | 0x80);
	out[n++] = (uint8_t)v;
	return n;
}

void
wire_put_varint(struct buf *out, uint64_t v)
{
	uint8_t b[VARINT_MAX];

	buf_add(out, b, varint(v, b));
}

void
wire_put_number(struct buf *out, uint32_t number, uint64_t v)
{
	if (!v)
		return;
	wire_put_varint(out, WIRE_KEY(number, WIRE_VARINT));
	wire_put_varint(out, v);
}

void
wire_put_bytes(struct buf *out, uint32_t number, const void *p, size_t n)
{
	wire_put_varint(out, WIRE_KEY(number, WIRE_BYTES));
	wire_put_varint(out, n);
	buf_add(out, p, n);
}

/* One byte is kept for the length, which most messages need; wire_close()
 * moves the bytes of a longer one. */
size_t
wire_open(struct buf *out, uint32_t number)
{
	wire_put_varint(out, WIRE_KEY(number, WIRE_BYTES));
	buf_putc(out, 0);
	return out->len;
}

void
wire_close(struct buf *out, size_t place)
{
	uint8_t length[VARINT_MAX];
	size_t n, body;

	if (buf_err(out))
		return;
	body = out->len - place;
	n = varint(body, length);
	if (!buf_reserve(out, n - 1))
		return;
	if (n > 1)
		memmove(out->p + place + n - 1, out->p + place, body);
	memcpy(out->p + place - 1, length, n);
	out->len += n - 1;
}
