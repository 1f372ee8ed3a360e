#include "text.h"

#include "base/driving.h"

#include <stdbool.h>
#include <string.h>

/* True unless c is a continuation byte of UTF-8, which takes no column. */
static bool
starts_character(char c)
{
	return ((unsigned char)c & 0xC0) != 0x80;
}

size_t
text_columns(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += starts_character(*s);
	return n;
}

static void
put_safe(struct buf *out, const char *s, const char *kept)
{
	for (size_t left = strlen(s); left;) {
		size_t n = strchr(kept, *s)
		                   ? 0
		                   : driving((const unsigned char *)s, left);

		buf_putc(out, n ? '?' : *s);
		s += n ? n : 1;
		left -= n ? n : 1;
	}
}

void
safe_puts(struct buf *out, const char *s)
{
	put_safe(out, s, "");
}

void
safe_lines(struct buf *out, const char *s)
{
	put_safe(out, s, "\t\n");
}

void
text_pad(struct buf *out, size_t n)
{
	while (n--)
		buf_putc(out, ' ');
}

/* Appends n columns of s, from column `from` on. */
static void
put_slice(struct buf *out, const char *s, size_t from, size_t n)
{
	size_t at = 0;

	for (; *s; s++) {
		at += starts_character(*s);
		if (at > from && at <= from + n)
			buf_putc(out, *s);
	}
}

void
text_cut(struct buf *out, const char *s, size_t width, size_t tail)
{
	size_t all = text_columns(s);

	if (all <= width) {
		buf_puts(out, s);
		return;
	}
	put_slice(out, s, 0, width - 1 - tail);
	buf_puts(out, ELLIPSIS);
	put_slice(out, s, all - tail, tail);
}

static size_t
columns_of_word(const char *s, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += starts_character(s[i]);
	return n;
}

void
text_wrap(struct buf *out, const char *s, size_t at, size_t indent,
          size_t width)
{
	bool first = true;

	for (size_t n; *s; s += n + strspn(s + n, " ")) {
		size_t columns;

		n = strcspn(s, " ");
		columns = columns_of_word(s, n);
		if (!first && width && at + 1 + columns > width) {
			buf_putc(out, '\n');
			text_pad(out, indent);
			at = indent;
		} else if (!first) {
			buf_putc(out, ' ');
			at++;
		}
		buf_add(out, s, n);
		at += columns;
		first = false;
	}
}
