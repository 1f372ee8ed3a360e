#include "symbols_text.h"

#include <string.h>

char *
text_line(char **rest, const char *end)
{
	char *line = *rest, *nl;

	if (line >= end)
		return NULL;
	nl = memchr(line, '\n', (size_t)(end - line));
	*rest = nl ? nl + 1 : (char *)end;
	if (nl)
		*nl = '\0';
	return line;
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool
text_hex(char **p, uint64_t *out)
{
	const char *start;
	uint64_t v = 0;

	if (!strncmp(*p, "0x", 2)) /* as in the JDK's perf maps */
		*p += 2;
	start = *p;
	for (; digit(**p) >= 0; (*p)++) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)digit(**p);
	}
	if (*p == start || **p != ' ')
		return false;
	*p += strspn(*p, " ");
	*out = v;
	return true;
}
