#include "base/driving.h"

#include <string.h>

size_t
driving(const unsigned char *s, size_t n)
{
	if (s[0] < ' ' || s[0] == 0x7F)
		return 1;
	if (n >= 2 && ((s[0] == 0xC2 && s[1] >= 0x80 && s[1] < 0xA0) ||
	               (s[0] == 0xD8 && s[1] == 0x9C)))
		return 2;
	if (n >= 3 && s[0] == 0xE2 &&
	    ((s[1] == 0x80 && (s[2] == 0x8E || s[2] == 0x8F ||
	                       (s[2] >= 0xAA && s[2] <= 0xAE))) ||
	     (s[1] == 0x81 && s[2] >= 0xA6 && s[2] <= 0xA9)))
		return 3;
	return 0;
}

void
driving_replace(char *text, size_t n, char by)
{
	for (size_t len; n; text += len, n -= len) {
		len = driving((const unsigned char *)text, n);
		if (len)
			memset(text, *text == '\n' ? ' ' : by, len);
		else
			len = 1;
	}
}
