#include "imported.h"

#include "base/file.h"
#include "test.h"

#include <fcntl.h>
#include <string.h>

static void
put_sample(const struct profile *p, uint32_t row, struct buf *out)
{
	const struct sample *s = &p->samples[row];

	for (uint32_t i = s->nstack; i--;) {
		uint32_t location = p->stack[s->stack0 + i];

		for (uint32_t k = profile_frames(p, location); k--;) {
			profile_frame_name(p, location, k, out);
			buf_puts(out, i || k ? ";" : "");
		}
	}
	for (uint32_t i = 0; i < p->ntypes; i++)
		buf_addf(out, " %lld",
		         (long long)p->values[(size_t)row * p->ntypes + i]);
	buf_putc(out, '\n');
}

int
imported(const char *type, const void *p, size_t n, struct buf *out)
{
	const struct import_ask ask = {
		.type = type,
		.content_type = "",
		.limits = {.raw_bytes = 1 << 20,
	                   .memory = 4 << 20,
	                   .ratio = 200,
	                   .strings = 2000,
	                   .samples = 2000},
	};
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *made = NULL;
	const struct input *format;
	const struct type *of;
	int rc = profile_import(p, n, &ask, &made, &format, &of, &why);

	if (!rc)
		buf_addf(out, "%s %s", format->name, of->name);
	for (uint32_t i = 0; !rc && i < made->ntypes; i++)
		buf_addf(out, " %s/%s", profile_text(made, made->types[i].type),
		         profile_text(made, made->types[i].unit));
	buf_puts(out, rc ? "" : "\n");
	for (uint32_t i = 0; !rc && i < made->nsamples; i++)
		put_sample(made, i, out);
	buf_puts(out, buf_str(&why));
	return rc;
}

void
imported_is(const char *type, const char *text, int rc, const char *want)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	int r = imported(type, text, strlen(text), &got);

	ck_assert_str_eq(buf_str(&got), want);
	ck_assert_int_eq(r, rc);
}

void
imported_file_is(const char *type, const char *name, int rc, const char *want)
{
	CLEANUP_BUF struct buf got = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf in = BUF_INIT(1 << 20);
	char path[128];
	int r;

	snprintf(path, sizeof(path), "tests/data/fuzz/import/%s", name);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &in), 0);
	r = imported(type, in.p, in.len, &got);
	ck_assert_str_eq(buf_str(&got), want);
	ck_assert_int_eq(r, rc);
}
