#include "wire.h"
#define VARINT_MAX 10 /* bytes of 64 bits, 7 at a time */
#define WORD       ((ptrdiff_t)sizeof(uint64_t))
#define ONES       UINT64_C(0x0101010101010101)
#define TOPS       (0x80 * ONES)

/* Reads 8 bytes as a little-endian number. */
static inline uint64_t
word_at(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
	return le64toh(word);
}

/* Joins the lowest 7 bits of each byte. */
static inline uint64_t
squeeze(uint64_t v)
{
	const uint64_t a = UINT64_C(0x007F007F007F007F);
	const uint64_t b = UINT64_C(0x00003FFF00003FFF);
	const uint64_t c = UINT64_C(0x000000000FFFFFFF);

	v = (v & a) | (v >> 1 & a << 7);
	v = (v & b) | (v >> 2 & b << 14);
	return (v & c) | (v >> 4 & c << 28);
}

static int
varint_slow(struct wire *w, uint64_t *out)
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

int
wire_varint_long(struct wire *w, uint64_t *out)
{
	uint64_t word, ends;

	if (w->end - w->p < WORD)
		return varint_slow(w, out);
	word = word_at(w->p);
	ends = ~word & TOPS;
	if (!ends)
		return varint_slow(w, out);
	w->p += (__builtin_ctzll(ends) + 1) / 8;
	*out = squeeze(word & (ends ^ (ends - 1)));
	return 0;
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
wire_next_long(struct wire *w, struct wire_field *f)
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
	return -EBADMSG; /* a group, which proto3 does not have */
}

/* Counts the bits that are set. */
static inline size_t
ones(uint64_t v)
{
	v -= v >> 1 & 0x55 * ONES;
	v = (v & 0x33 * ONES) + (v >> 2 & 0x33 * ONES);
	return ((v + (v >> 4)) & 0x0F * ONES) * ONES >> 56;
}

/* Sums the lowest bit of each byte; the sum ends up in the highest byte. */
static inline size_t
ones_of_tops(uint64_t tops)
{
	return (tops >> 7) * ONES >> 56;
}

size_t
wire_count(struct wire w)
{
	const uint8_t *from = w.p;
	size_t n = 0;

	for (; w.end - w.p >= WIRE_BLOCK; w.p += WIRE_BLOCK)
		n += ones(wire_ends(w.p));
	for (; w.end - w.p >= WORD; w.p += WORD)
		n += ones_of_tops(~word_at(w.p) & TOPS);
	if (w.p < w.end && w.end - from >= WORD)
		return n + ones_of_tops((~word_at(w.end - WORD) & TOPS) >>
		                        8 * (WORD - (w.end - w.p)));
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
wire_put_varint_long(struct buf *out, uint64_t v)
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
wire_put_fixed64(struct buf *out, uint64_t v)
{
	uint64_t word = htole64(v);

	buf_add(out, &word, sizeof(word));
}

void
wire_put_bytes(struct buf *out, uint32_t number, const void *p, size_t n)
{
	wire_put_varint(out, WIRE_KEY(number, WIRE_BYTES));
	wire_put_varint(out, n);
	buf_add(out, p, n);
}

/* Reserves one byte for the length, enough for most messages; wire_close()
 * moves the contents of longer ones. */
size_t
wire_open(struct buf *out, uint32_t number)
{
	wire_put_varint(out, WIRE_KEY(number, WIRE_BYTES));
	wire_put_varint(out, 0);
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
	if (n > 1) {
		if (!buf_reserve(out, n - 1))
			return;
		memmove(out->p + place + n - 1, out->p + place, body);
	}
	memcpy(out->p + place - 1, length, n);
	out->len += n - 1;
}

int
wire_last(struct wire w, uint32_t key, struct wire *out)
{
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&w, &f)) > 0)
		if (f.key == key)
			*out = f.bytes;
	return rc;
}

int
wire_each(struct wire w, uint32_t key, wire_seen *seen, void *arg)
{
	struct wire_field f;
	int rc, end = 0;

	while ((rc = wire_next(&w, &f)) > 0 && !end)
		if (f.key == key)
			end = seen(arg, f.bytes);
	return end ? end : rc;
}

bool
wire_is(struct wire w, const char *s)
{
	const size_t n = strlen(s);

	return (size_t)(w.end - w.p) == n && !memcmp(w.p, s, n);
}
