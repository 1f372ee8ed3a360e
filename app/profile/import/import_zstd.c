#include "import_zstd.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define RATIO_USUAL 8 /* usual ratio of profiles */
#define ROOM_MIN    ((size_t)4 << 10)

bool
zstd_is(const void *p, size_t n)
{
	return n >= 4 && memcmp(p, "\x28\xb5\x2f\xfd", 4) == 0;
}

/* A frame may state any length or none, so the buffer grows until all frames
 * fit. Decompressing in one call, unlike streaming, needs no window. */
int
zstd_inflate(const void *p, size_t n, struct buf *out)
{
	size_t room = n * RATIO_USUAL + ROOM_MIN;

	for (;;) {
		size_t left = out->max - out->len, made;
		char *to;

		if (room > left)
			room = left;
		to = buf_reserve(out, room);
		if (!to)
			return buf_err(out);
		made = ZSTD_decompress(to, room, p, n);
		if (!ZSTD_isError(made)) {
			out->len += made;
			return 0;
		}
		switch (ZSTD_getErrorCode(made)) {
		case ZSTD_error_dstSize_tooSmall:
			if (room == left)
				return out->err = -E2BIG;
			room *= 2;
			continue;
		case ZSTD_error_memory_allocation:
			return out->err = -ENOMEM;
		default:
			return out->err = -EBADMSG;
		}
	}
}
