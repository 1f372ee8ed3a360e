/*
 * Recorded processes of each language: every thread's frames, their functions,
 * files and lines. tests/tools/interp_image records one.
 */
#include "base/file.h"
#include "lib/interp_image.h"
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define MAX_TEXT ((size_t)1 << 20)

/* Files of tests/data: NAME.image.gz and NAME.txt. */
static const char *const recorded[] = {
#define PYTHON(minor, ...) "python3." #minor,
#include "capture/python/python_versions.def"
#undef PYTHON
#define RUBY(version, ...) "ruby" #version,
#include "capture/ruby/ruby_versions.def"
#undef RUBY
#define PHP(version, api, current, file, tested) PHP_##tested(#version)
#define PHP_LIVE(version)     "php" version,
#define PHP_RECORDED(version) "php" version,
#define PHP_UNTRIED(version)
#include "capture/php/php_versions.def"
#undef PHP
};

static void
read_recorded(const char *name, struct image *m, struct buf *expected)
{
	char path[64];

	snprintf(path, sizeof(path), "tests/data/%s.image.gz", name);
	ck_assert_int_eq(image_read(path, m), 0);
	snprintf(path, sizeof(path), "tests/data/%s.txt", name);
	ck_assert_int_eq(file_read(AT_FDCWD, path, expected), 0);
}

TEST(a_recorded_process_has_the_frames_it_had)
{
	for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
		CLEANUP(image_done) struct image m = {.n = 0};
		CLEANUP_BUF struct buf expected = BUF_INIT(MAX_TEXT);
		CLEANUP_BUF struct buf got = BUF_INIT(MAX_TEXT);
		const struct host host = image_host(&m);

		read_recorded(recorded[i], &m, &expected);
		ck_assert_msg(!interp_image_frames(&m, &host, 1, &got), "%s",
		              recorded[i]);
		ck_assert_str_eq(buf_str(&got), buf_str(&expected));
	}
}
END

/* A wrong piece soon ends in an error or in other frames. */
TEST(memory_that_holds_anything_does_no_harm)
{
	for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
		CLEANUP(image_done) struct image m = {.n = 0};
		CLEANUP_BUF struct buf expected = BUF_INIT(MAX_TEXT);
		const struct host host = image_host(&m);

		read_recorded(recorded[i], &m, &expected);
		for (size_t k = 0; k < m.n; k++) {
			CLEANUP_BUF struct buf got = BUF_INIT(MAX_TEXT);
			size_t n = m.pieces[k].bytes;
			CLEANUP_FREE uint8_t *saved = malloc(n + 1);
			int rc;

			memcpy(saved, m.data[k], n);
			/* each word points back to the start of its piece */
			for (size_t at = 0; at + 8 <= n; at += 8)
				memcpy(m.data[k] + at, &m.pieces[k].addr, 8);
			rc = interp_image_frames(&m, &host, 1, &got);
			ck_assert_int_le(rc, 0);
			memcpy(m.data[k], saved, n);
		}
	}
}
END

SUITE("interp", a_recorded_process_has_the_frames_it_had,
      memory_that_holds_anything_does_no_harm)
