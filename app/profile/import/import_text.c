#include "import_text.h"

#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

#define LOOK ((size_t)64 << 10) /* bytes in which a line must end */
#define WIDE 64                 /* bytes that identify UTF-16 without a mark */

struct units {
	const unsigned char *p, *end;
	int low; /* which byte of a unit has its low bits */
};

/* Returns the unit at u->p, which is not the end. */
static uint32_t
unit(const struct units *u)
{
	return (uint32_t)(u->p[u->low] | u->p[1 - u->low] << 8);
}

/* Takes a character: one unit or a pair. */
static uint32_t
next(struct units *u)
{
	uint32_t c = unit(u), low;

	u->p += 2;
	if (c < 0xD800 || c >= 0xDC00 || u->p == u->end)
		return c;
	low = unit(u);
	if (low < 0xDC00 || low >= 0xE000)
		return c;
	u->p += 2;
	return 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
}

/* True for UTF-16 without a byte order mark if its first characters are ASCII;
 * low is the place of the low byte in a character, 0 or 1. */
static bool
is_wide(const char *p, size_t n, int low)
{
	n = n < WIDE ? n : WIDE;
	for (size_t i = 0; i + 1 < n; i += 2)
		if (p[i + (size_t)(1 - low)] ||
		    !(isprint((unsigned char)p[i + (size_t)low]) ||
		      isspace((unsigned char)p[i + (size_t)low])))
			return false;
	return n > 3;
}

/* True for text whose lines end with a carriage return alone, as old programs
 * and terminals write them. */
static bool
ends_with_cr(const char *p, size_t n)
{
	for (size_t i = 0; i < n && i < LOOK; i++)
		if ((unsigned char)p[i] < '\t')
			return false;
	return memchr(p, '\r', n < LOOK ? n : LOOK) && !memchr(p, '\n', n);
}

/* Makes each carriage return the end of a line. */
static int
take_lines(const char **p, size_t *n, struct buf *room)
{
	buf_add(room, *p, *n);
	if (buf_err(room))
		return buf_err(room);
	for (size_t i = 0; i < room->len; i++)
		if (room->p[i] == '\r')
			room->p[i] = '\n';
	*p = buf_str(room);
	return 0;
}

int
import_text(const char **p, size_t *n, struct buf *room)
{
	static const struct {
		const char *bytes;
		size_t n;
		int low;
	} marks[] = {{"\xef\xbb\xbf", 3, -1},
	             {"\xff\xfe", 2, 0},
	             {"\xfe\xff", 2, 1}};
	struct units u;
	size_t i = 0, mark;
	char text[UTF8_MAX];

	while (i < ARRAY_LEN(marks) &&
	       (*n < marks[i].n || memcmp(*p, marks[i].bytes, marks[i].n)))
		i++;
	mark = i < ARRAY_LEN(marks) ? marks[i].n : 0;
	u.p = (const unsigned char *)*p + mark;
	u.end = u.p + (*n - mark) / 2 * 2;
	u.low = mark                 ? marks[i].low
	        : is_wide(*p, *n, 0) ? 0
	        : is_wide(*p, *n, 1) ? 1
	                             : -1;
	if (u.low < 0) {
		*n -= mark;
		*p += mark;
		return !mark && ends_with_cr(*p, *n) ? take_lines(p, n, room)
		                                     : 0;
	}
	while (u.p < u.end && !buf_err(room))
		buf_add(room, text, utf8_encode(next(&u), text));
	if (buf_err(room))
		return buf_err(room);
	*p = buf_str(room);
	*n = room->len;
	return 0;
}
