#include "text.h"

#include <ctype.h>
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

/*
 * Returns the length in bytes of the character at s if it controls a terminal
 * or sets the direction of text; 0 for any other.
 *   Source   ECMA-48: C0, DEL and C1 (U+0080..U+009F); Unicode 15, section 23.2:
 *            U+061C, U+200E, U+200F, U+202A..U+202E, U+2066..U+2069
 */
static size_t
driving(const char *s)
{
	const unsigned char *c = (const unsigned char *)s;

	if (iscntrl(c[0]))
		return 1;
	if ((c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0) ||
	    (c[0] == 0xD8 && c[1] == 0x9C))
		return 2;
	if (c[0] == 0xE2 &&
	    ((c[1] == 0x80 && (c[2] == 0x8E || c[2] == 0x8F ||
	                       (c[2] >= 0xAA && c[2] <= 0xAE))) ||
	     (c[1] == 0x81 && c[2] >= 0xA6 && c[2] <= 0xA9)))
		return 3;
	return 0;
}

static void
put_safe(struct buf *out, const char *s, const char *kept)
{
	while (*s) {
		size_t n = strchr(kept, *s) ? 0 : driving(s);

		buf_putc(out, n ? '?' : *s);
		s += n ? n : 1;
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
