#include "base/json_scan.h"

#include "base/utf8.h"

#include <string.h>

#define NUMBER_MAX 64 /* characters of a number */
#define EXACT      15 /* digits of an integer that any double holds */

void
json_scan_init(struct json_scan *s, const void *p, size_t n, struct buf *text)
{
	*s = (struct json_scan){
		.p = p,
		.end = (const char *)p + n,
		.text = text,
		.first = true,
	};
}

/* True if the innermost level is an object. */
static bool
in_object(const struct json_scan *s)
{
	int at = s->depth - 1;

	return at >= 0 && s->objects[at / 8] >> at % 8 & 1;
}

/* Ends the scan here: no more tokens are read. */
static enum json_token
bad(struct json_scan *s)
{
	s->end = s->p;
	s->depth = 0;
	s->first = true;
	return JSON_BAD;
}

static void
skip_space(struct json_scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' ||
	                         *s->p == '\r' || *s->p == '\t'))
		s->p++;
}

static bool
hex4(struct json_scan *s, uint32_t *out)
{
	uint32_t v = 0;

	if (s->end - s->p < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		char c = *s->p++;
		int digit = c >= '0' && c <= '9'   ? c - '0'
		            : c >= 'a' && c <= 'f' ? c - 'a' + 10
		            : c >= 'A' && c <= 'F' ? c - 'A' + 10
		                                   : -1;

		if (digit < 0)
			return false;
		v = v << 4 | (uint32_t)digit;
	}
	*out = v;
	return true;
}

/* Reads the digits after "\\u". A lone surrogate becomes U+FFFD. */
static bool
unicode(struct json_scan *s)
{
	char text[UTF8_MAX];
	uint32_t c, low;

	if (!hex4(s, &c))
		return false;
	if (c >= 0xD800 && c < 0xDC00 && s->end - s->p >= 6 &&
	    s->p[0] == '\\' && s->p[1] == 'u') {
		s->p += 2;
		if (!hex4(s, &low))
			return false;
		c = low >= 0xDC00 && low < 0xE000
		            ? 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00)
		            : 0xFFFD;
	}
	buf_add(s->text, text, utf8_encode(c, text));
	return true;
}

static bool
escape(struct json_scan *s)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (s->p == s->end)
		return false;
	if (*s->p == 'u') {
		s->p++;
		return unicode(s);
	}
	at = *s->p ? strchr(from, *s->p) : NULL;
	if (!at)
		return false;
	buf_putc(s->text, to[at - from]);
	s->p++;
	return true;
}

/* Reads a string, after its opening quote. */
static bool
string(struct json_scan *s)
{
	buf_clear(s->text);
	while (s->p < s->end && *s->p != '"') {
		const char *run = s->p;

		while (s->p < s->end && *s->p != '"' && *s->p != '\\' &&
		       (unsigned char)*s->p >= ' ')
			s->p++;
		buf_add(s->text, run, (size_t)(s->p - run));
		if (s->p == s->end || *s->p == '"')
			break;
		if (*s->p != '\\')
			return false; /* a raw control character */
		s->p++;
		if (!escape(s))
			return false;
	}
	if (s->p == s->end || buf_err(s->text))
		return false;
	s->p++;
	return true;
}

static bool
is_digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

static bool
digits(const char **p, const char *end)
{
	if (!is_digit(*p, end))
		return false;
	while (is_digit(*p, end))
		(*p)++;
	return true;
}

/* Most numbers are small integers, which need no strtod(). */
static double
integer(const char *p, size_t n)
{
	int64_t v = 0;

	for (size_t i = *p == '-'; i < n; i++)
		v = v * 10 + (p[i] - '0');
	return *p == '-' ? -(double)v : (double)v;
}

static bool
number(struct json_scan *s)
{
	const char *p = s->p;
	char text[NUMBER_MAX + 1];
	size_t n;

	p += p < s->end && *p == '-';
	if (!digits(&p, s->end))
		return false;
	if (p - s->p <= EXACT &&
	    (p == s->end || (*p != '.' && *p != 'e' && *p != 'E'))) {
		s->number = integer(s->p, (size_t)(p - s->p));
		s->p = p;
		return true;
	}
	if (p < s->end && *p == '.' && (p++, !digits(&p, s->end)))
		return false;
	if (p < s->end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < s->end && (*p == '+' || *p == '-');
		if (!digits(&p, s->end))
			return false;
	}
	n = (size_t)(p - s->p);
	if (n > NUMBER_MAX)
		return false;
	memcpy(text, s->p, n);
	text[n] = '\0';
	s->number = strtod(text, NULL);
	s->p = p;
	return true;
}

static bool
word(struct json_scan *s)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(s->end - s->p) < n || memcmp(s->p, words[i], n))
			continue;
		s->p += n;
		return true;
	}
	return false;
}

static enum json_token
open_level(struct json_scan *s, char bracket)
{
	s->too_deep = s->depth == JSON_SCAN_DEPTH;
	if (s->too_deep)
		return bad(s);
	s->p++;
	s->first = true;
	s->name_next = bracket == '{';
	s->objects[s->depth / 8] &= (uint8_t) ~(1 << s->depth % 8);
	s->objects[s->depth / 8] |= (uint8_t)(s->name_next << s->depth % 8);
	s->depth++;
	return s->name_next ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_token
close_level(struct json_scan *s)
{
	bool object = in_object(s);

	s->p++;
	s->depth--;
	s->first = false;
	s->name_next = in_object(s);
	return object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static enum json_token
name(struct json_scan *s)
{
	if (*s->p != '"' || (s->p++, !string(s)))
		return bad(s);
	skip_space(s);
	if (s->p == s->end || *s->p++ != ':')
		return bad(s);
	s->name_next = false;
	s->first = true; /* no comma before the first value */
	return JSON_NAME;
}

static enum json_token
value(struct json_scan *s)
{
	enum json_token t = JSON_WORD;
	bool ok;

	if (*s->p == '{' || *s->p == '[')
		return open_level(s, *s->p);
	if (*s->p == '"') {
		s->p++;
		t = JSON_STRING;
		ok = string(s);
	} else if (*s->p == '-' || is_digit(s->p, s->end)) {
		t = JSON_NUMBER;
		ok = number(s);
	} else {
		ok = word(s);
	}
	s->first = false;
	s->name_next = in_object(s);
	return ok ? t : bad(s);
}

enum json_token
json_scan_next(struct json_scan *s)
{
	bool object = in_object(s), in_member = object && !s->name_next;

	skip_space(s);
	if (s->p == s->end)
		return s->depth || s->first ? bad(s) : JSON_END;
	if (!s->depth && !s->first)
		return bad(s); /* a second document */
	if (s->depth && !in_member && *s->p == (object ? '}' : ']'))
		return close_level(s);
	if (s->depth && !s->first) {
		if (*s->p++ != ',')
			return bad(s);
		skip_space(s);
		if (s->p == s->end)
			return bad(s);
	}
	return s->name_next ? name(s) : value(s);
}

bool
json_scan_skip(struct json_scan *s, enum json_token t)
{
	int depth = s->depth - 1;

	if (t != JSON_OBJECT && t != JSON_ARRAY)
		return t != JSON_BAD;
	while (s->depth > depth)
		if (json_scan_next(s) == JSON_BAD)
			return false;
	return true;
}
