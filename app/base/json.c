#include "base/json.h"

#include "base/driving.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static bool
plain(unsigned char c)
{
	/* '<' is escaped so that a document can be embedded in <script> */
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' && c != '<' &&
	       c != 0x7F;
}

/* Returns the number of a character of at most three bytes. */
static unsigned
number_of(const unsigned char *s, size_t len)
{
	if (len == 1)
		return s[0];
	return len == 2 ? (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu)
	                : (s[0] & 0xFu) << 12 | (s[1] & 0x3Fu) << 6 |
	                          (s[2] & 0x3Fu);
}

static size_t
escape_one(struct buf *out, const unsigned char *s, size_t n)
{
	size_t len = utf8_len(s, n);

	if (len == 0) {
		buf_puts(out, "\\ufffd");
		return 1;
	}
	if (len > 1 && !driving(s, n))
		buf_add(out, s, len);
	else if (s[0] == '"' || s[0] == '\\')
		buf_add(out, (char[]){'\\', (char)s[0]}, 2);
	else
		buf_addf(out, "\\u%04x", number_of(s, len));
	return len;
}

void
json_escape(struct buf *out, const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s, *end = p + n;

	buf_putc(out, '"');
	while (p < end) {
		const unsigned char *run = p;

		while (p < end && plain(*p))
			p++;
		buf_add(out, run, (size_t)(p - run));
		if (p < end)
			p += escape_one(out, p, (size_t)(end - p));
	}
	buf_putc(out, '"');
}

/* Escapes what json_escape() does. jansson splits no character between
 * chunks. */
static int
write_chunk(const char *p, size_t n, void *out)
{
	const unsigned char *s = (const unsigned char *)p, *end = s + n,
			    *run = s;

	while (s < end) {
		size_t len = *s < 0x7F ? 0 : driving(s, (size_t)(end - s));

		if (len) {
			buf_add(out, run, (size_t)(s - run));
			buf_addf(out, "\\u%04x", number_of(s, len));
			run = s + len;
		}
		s += len ? len : 1;
	}
	buf_add(out, run, (size_t)(end - run));
	return buf_err(out) ? -1 : 0;
}

/* 15 digits keep decimals as they were written: 61.76 stays 61.76. */
static int
write_as(const json_t *j, struct buf *out, size_t layout)
{
	if (json_dump_callback(j, write_chunk, out,
	                       layout | JSON_ENCODE_ANY |
	                               JSON_REAL_PRECISION(15)))
		return buf_err(out) ? buf_err(out) : -EINVAL;
	return buf_err(out);
}

int
json_write(const json_t *j, struct buf *out)
{
	return write_as(j, out, JSON_COMPACT);
}

int
json_write_indented(const json_t *j, struct buf *out)
{
	return write_as(j, out, JSON_INDENT(2));
}

json_t *
json_text(const char *s)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	json_t *j = json_string(s);

	if (j)
		return j;
	json_escape(&b, s, strlen(s));
	j = json_loadb(buf_str(&b), b.len, JSON_DECODE_ANY, NULL);
	return j ? j : json_string("");
}

const char *
json_member(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key)) ?: "";
}

const char *
json_item(const json_t *list, size_t i)
{
	return json_string_value(json_array_get(list, i)) ?: "";
}

void
json_remove_prefix(json_t *list, const char *prefix, size_t n)
{
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v) {
		const char *is = json_string_value(v);

		if (!is || !n || strncmp(is, prefix, n) != 0)
			continue;
		json_array_remove(list, i);
		return;
	}
}
