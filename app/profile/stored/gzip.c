#include "profile/gzip.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>

#define RATIO_MAX  1032 /* highest ratio of deflate: 258 bytes from 2 bits */
#define MEMBER_MIN 18   /* header and trailer */
#define ROOM_MIN   ((size_t)4 << 10)
#define LEVEL      6 /* takes half the time of level 9, for 1 % more bytes */
#define FAST       1

DEFINE_CLEANUP(struct libdeflate_decompressor *, libdeflate_free_decompressor)
DEFINE_CLEANUP(struct libdeflate_compressor *, libdeflate_free_compressor)

bool
gzip_is(const void *p, size_t n)
{
	return n >= 2 && memcmp(p, "\x1f\x8b", 2) == 0;
}

/* Reads the length in the trailer, which is modulo 2^32; limits it to what n
 * bytes can inflate to. */
static size_t
claimed(const uint8_t *p, size_t n)
{
	uint32_t isize;
	size_t most = n * RATIO_MAX;

	if (n < MEMBER_MIN)
		return ROOM_MIN;
	memcpy(&isize, p + n - 4, 4);
	if (isize > most)
		isize = (uint32_t)most;
	return isize < ROOM_MIN ? ROOM_MIN : isize;
}

static int
member(struct libdeflate_decompressor *d, const uint8_t *p, size_t n,
       size_t *used, struct buf *out)
{
	size_t room = claimed(p, n), left, made;
	char *to;

	for (;;) {
		left = out->max - out->len;
		if (room > left)
			room = left;
		to = buf_reserve(out, room);
		if (!to)
			return buf_err(out);
		switch (libdeflate_gzip_decompress_ex(d, p, n, to, room, used,
		                                      &made)) {
		case LIBDEFLATE_SUCCESS:
			out->len += made;
			return 0;
		case LIBDEFLATE_INSUFFICIENT_SPACE:
			if (room == left)
				return -E2BIG;
			room *= 2;
			continue;
		default:
			return -EBADMSG;
		}
	}
}

/* True for zeros that pad the last member to a block, as on tapes. gzip(1)
 * ignores them, too. */
static bool
is_padding(const uint8_t *p, const uint8_t *end)
{
	while (p < end && !*p)
		p++;
	return p == end;
}

int
gzip_inflate(const void *p, size_t n, struct buf *out)
{
	CLEANUP(libdeflate_free_decompressor_ptr)
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	const uint8_t *at = p, *end = at + n;
	size_t used = 0;

	if (!d)
		out->err = -ENOMEM;
	while (!buf_err(out) && at < end) {
		int r = member(d, at, (size_t)(end - at), &used, out);

		if (r)
			out->err = r;
		at += used;
		if (is_padding(at, end))
			break;
	}
	return buf_err(out);
}

static int
deflate(int level, const void *p, size_t n, struct buf *out)
{
	CLEANUP(libdeflate_free_compressor_ptr)
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
	size_t room, made;
	char *to;

	if (buf_err(out))
		return buf_err(out);
	if (!c)
		return out->err = -ENOMEM;
	room = libdeflate_gzip_compress_bound(c, n);
	if (room > out->max - out->len)
		room = out->max - out->len;
	to = buf_reserve(out, room);
	if (!to)
		return buf_err(out);
	made = libdeflate_gzip_compress(c, p, n, to, room);
	if (!made)
		return out->err = -E2BIG;
	out->len += made;
	return 0;
}

int
gzip_deflate(const void *p, size_t n, struct buf *out)
{
	return deflate(LEVEL, p, n, out);
}

int
gzip_deflate_fast(const void *p, size_t n, struct buf *out)
{
	return deflate(FAST, p, n, out);
}
