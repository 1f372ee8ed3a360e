#include "quote.h"

#include "base/utf8.h"

#include <string.h>

/* Characters that are invisible or reorder text. Source: Unicode 15, general
 * categories Cc, Cf, Zl, Zp and Co, as far as fonts hide them. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{0x00, 0x1f},       {0x7f, 0x9f},        {0xad, 0xad},
	{0x34f, 0x34f},     {0x61c, 0x61c},      {0x115f, 0x1160},
	{0x17b4, 0x17b5},   {0x180b, 0x180f},    {0x200b, 0x200f},
	{0x2028, 0x202e},   {0x2060, 0x206f},    {0x3164, 0x3164},
	{0xe000, 0xf8ff},   {0xfe00, 0xfe0f},    {0xfeff, 0xfeff},
	{0xffa0, 0xffa0},   {0xfff0, 0xfffb},    {0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a}, {0xe0000, 0x10ffff},
};

static bool
is_hidden(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return false;
}

static uint32_t
decode(const unsigned char *s, size_t n)
{
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

/* Appends bytes from..to of a name. */
static void
put_part(struct buf *out, const char *name, size_t from, size_t to)
{
	const unsigned char *s = (const unsigned char *)name;

	for (size_t i = from, n; i < to; i += n) {
		uint32_t c;

		n = utf8_len(s + i, to - i);
		c = n ? decode(s + i, n) : s[i];
		if (!n || is_hidden(c))
			buf_addf(out, n ? "\\u{%x}" : "\\x%02x", c);
		else if (c == '"' || c == '\\')
			buf_addf(out, "\\%c", (char)c);
		else
			buf_add(out, s + i, n);
		n = n ? n : 1;
	}
}

/* Returns the beginning of the character at a byte. */
static size_t
character_at(const char *s, size_t at)
{
	while (at && (s[at] & 0xc0) == 0x80)
		at--;
	return at;
}

void
quote_name(struct buf *out, const char *name)
{
	size_t n = strlen(name), half = QUOTE_MAX / 2;

	buf_putc(out, '"');
	if (n <= QUOTE_MAX) {
		put_part(out, name, 0, n);
	} else {
		put_part(out, name, 0, character_at(name, half));
		buf_puts(out, "[...]");
		put_part(out, name, character_at(name, n - half), n);
	}
	buf_putc(out, '"');
}
