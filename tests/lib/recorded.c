#include "lib/recorded.h"

#include "base/file.h"
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT ((size_t)1 << 20)

static void
read_image(const char *name, struct image *m)
{
	char path[64];

	snprintf(path, sizeof(path), "tests/data/%s.image.gz", name);
	ck_assert_int_eq(image_read(path, m), 0);
}

void
recorded_is_read(const char *name, recorded_frames *frames)
{
	CLEANUP(image_done) struct image m = {.n = 0};
	CLEANUP_BUF struct buf expected = BUF_INIT(MAX_TEXT);
	CLEANUP_BUF struct buf got = BUF_INIT(MAX_TEXT);
	const struct host host = image_host(&m);
	char path[64];

	snprintf(path, sizeof(path), "tests/data/%s.txt", name);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &expected), 0);
	read_image(name, &m);
	ck_assert_msg(!frames(&m, &host, 1, &got), "%s", name);
	ck_assert_str_eq(buf_str(&got), buf_str(&expected));
}

void
recorded_is_survived(const char *name, recorded_frames *frames)
{
	CLEANUP(image_done) struct image m = {.n = 0};
	const struct host host = image_host(&m);

	read_image(name, &m);
	/* of large recordings, about 128 pieces */
	for (size_t k = 0; k < m.n; k += 1 + m.n / 128) {
		CLEANUP_BUF struct buf got = BUF_INIT(MAX_TEXT);
		size_t n = m.pieces[k].bytes;
		CLEANUP_FREE uint8_t *saved = malloc(n + 1);

		memcpy(saved, m.data[k], n);
		for (size_t at = 0; at + 8 <= n; at += 8)
			memcpy(m.data[k] + at, &m.pieces[k].addr, 8);
		ck_assert_int_le(frames(&m, &host, 1, &got), 0);
		memcpy(m.data[k], saved, n);
	}
}
