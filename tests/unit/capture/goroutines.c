/*
 * The goroutines of a recorded Go program: how many there are of each kind,
 * what they wait for, what they are labelled with, and every frame.
 */
#include "base/file.h"
#include "lib/goroutine_image.h"
#include "lib/test.h"

#include <fcntl.h>
#include <string.h>

#define IMAGE     "tests/data/goroutines.image.gz"
#define EXPECTED  "tests/data/goroutines.txt"
#define MAX_BYTES ((size_t)16 << 20)

static const char *
text(const struct profile *p, uint32_t id)
{
	return strings_get(p->strings, id, NULL);
}

static void
put_label(const struct profile *p, const struct label *l, struct buf *out)
{
	buf_addf(out, " %s=%s", text(p, l->key), text(p, l->str));
	if (l->num)
		buf_addf(out, "%lld%s", (long long)l->num, text(p, l->unit));
}

/* Writes "VALUE KEY=VALUE..." and, below that, a line per frame. */
static void
put_sample(const struct profile *p, uint32_t i, struct buf *out)
{
	const struct sample *s = &p->samples[i];

	buf_addf(out, "%lld", (long long)p->values[i * p->ntypes]);
	for (uint32_t k = 0; k < s->nlabels; k++)
		put_label(p, &p->labels[s->label0 + k], out);
	buf_putc(out, '\n');
	for (uint32_t k = 0; k < s->nstack; k++) {
		const struct location *at =
			&p->locations[p->stack[s->stack0 + k]];

		for (uint32_t j = 0; j < at->nlines; j++) {
			const struct line *l = &p->lines[at->line0 + j];
			const struct function *f = &p->functions[l->function];

			buf_addf(out, "\t%s %s:%ld\n", text(p, f->name),
			         text(p, f->file), (long)l->line);
		}
	}
}

/* Fails at the first line that differs. */
static void
assert_lines(const char *got, const char *expected)
{
	for (int line = 1; *got || *expected; line++) {
		size_t n = strcspn(got, "\n"), m = strcspn(expected, "\n");

		ck_assert_msg(n == m && !memcmp(got, expected, n),
		              "%s:%d: '%.*s', not '%.*s'", EXPECTED, line,
		              (int)n, got, (int)m, expected);
		got += n + (got[n] == '\n');
		expected += m + (expected[m] == '\n');
	}
}

TEST(a_recorded_program_is_read_goroutine_by_goroutine)
{
	CLEANUP(image_done) struct image m = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf got = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf expected = BUF_INIT(MAX_BYTES);

	ck_assert_int_eq(image_read(IMAGE, &m), 0);
	ck_assert_int_eq(image_play(&m, &p), 0);
	for (uint32_t i = 0; i < p->nsamples; i++)
		put_sample(p, i, &got);
	ck_assert_int_eq(file_read(AT_FDCWD, EXPECTED, &expected), 0);
	assert_lines(buf_str(&got), buf_str(&expected));
}
END

SUITE("goroutines", a_recorded_program_is_read_goroutine_by_goroutine)
