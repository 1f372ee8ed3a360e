#include "base/utf8.h"

#include "base/driving.h"

#include <string.h>

size_t
utf8_len(const unsigned char *s, size_t n)
{
	unsigned char lo = 0x80, hi = 0xBF;
	size_t len;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xC2 || s[0] > 0xF4)
		return 0;
	len = s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
	if (len > n)
		return 0;
	if (s[0] == 0xE0)
		lo = 0xA0;
	if (s[0] == 0xED)
		hi = 0x9F;
	if (s[0] == 0xF0)
		lo = 0x90;
	if (s[0] == 0xF4)
		hi = 0x8F;
	if (s[1] < lo || s[1] > hi)
		return 0;
	for (size_t i = 2; i < len; i++)
		if (s[i] < 0x80 || s[i] > 0xBF)
			return 0;
	return len;
}

bool
utf8_valid(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;

	for (size_t len; n; p += len, n -= len) {
		len = utf8_len(p, n);
		if (!len)
			return false;
	}
	return true;
}

bool
utf8_printable(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	bool any = n;

	for (size_t len; n; p += len, n -= len) {
		len = utf8_len(p, n);
		if (!len || driving(p, len))
			return false;
	}
	return any;
}

void
utf8_mend(char *text, size_t n)
{
	size_t len;

	for (size_t i = 0; i < n; i += len ? len : 1) {
		len = utf8_len((const unsigned char *)text + i, n - i);
		if (!len)
			text[i] = '?';
	}
}

size_t
utf8_escape(const char *text, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *s = (const unsigned char *)text;
	size_t made = 0, len;

	for (size_t i = 0; i < n; i += len ? len : 1) {
		len = utf8_len(s + i, n - i);
		memcpy(out + made, len ? text + i : "\\x", len ? len : 2);
		made += len ? len : 2;
		if (len)
			continue;
		out[made++] = digits[s[i] >> 4];
		out[made++] = digits[s[i] & 15];
	}
	return made;
}

size_t
utf8_encode(uint32_t c, char out[static UTF8_MAX])
{
	static const unsigned char first[] = {0, 0, 0xC0, 0xE0, 0xF0};
	size_t n;

	if (c >= 0xD800 && c < 0xE000)
		c = 0xFFFD;
	n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n; i-- > 1; c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3F));
	out[0] = (char)(first[n] | c);
	return n;
}
