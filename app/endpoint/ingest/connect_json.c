#include "connect_json.h"

#include "base/json_scan.h"
#include "profile/stored/wire.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum push_level { PUSH_REQUEST, PUSH_SERIES, PUSH_LABEL, PUSH_SAMPLE };
enum push_kind { PUSH_TEXT, PUSH_BASE64, PUSH_LIST };

/* Source: as connect_push.c. */
static const struct push_row {
	enum push_level in;
	const char *name, *camel;
	uint32_t number;
	enum push_kind kind;
	enum push_level of; /* of PUSH_LIST */
} rows[] = {
	{PUSH_REQUEST, "series", "series", 1, PUSH_LIST, PUSH_SERIES},
	{PUSH_SERIES, "labels", "labels", 1, PUSH_LIST, PUSH_LABEL},
	{PUSH_SERIES, "samples", "samples", 2, PUSH_LIST, PUSH_SAMPLE},
	{PUSH_LABEL, "name", "name", 1, PUSH_TEXT, 0},
	{PUSH_LABEL, "value", "value", 2, PUSH_TEXT, 0},
	{PUSH_SAMPLE, "raw_profile", "rawProfile", 1, PUSH_BASE64, 0},
};

struct push_json {
	struct json_scan s;
	struct buf text, *out, *why;
};

static void
push_json_done(struct push_json *j)
{
	buf_done(&j->text);
}

static int
wrong(struct push_json *j, const struct push_row *row, const char *expected)
{
	buf_addf(j->why, "%s must be %s", row->camel, expected);
	return -EBADMSG;
}

static int
broken(struct push_json *j)
{
	buf_puts(j->why, "the body is not the JSON of a push");
	return -EBADMSG;
}

/* --- base64 --------------------------------------------------------------- */

/* Returns the value of a digit, or -1. */
static int
digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (isdigit((unsigned char)c))
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Decodes a text in place. */
static int
decode(struct buf *text)
{
	size_t n = text->len, made = 0;
	uint32_t bits = 0;

	while (n && text->len - n < 2 && text->p[n - 1] == '=')
		n--;
	if (n % 4 == 1)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		int v = digit(text->p[i]);

		if (v < 0)
			return -EBADMSG;
		bits = bits << 6 | (uint32_t)v;
		if (i % 4)
			text->p[made++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	text->len = made;
	return 0;
}

/* --- messages ------------------------------------------------------------- */

static int members(struct push_json *j, enum push_level in);

static int
put_value(struct push_json *j, const struct push_row *row, enum json_token t)
{
	if (t != JSON_STRING)
		return wrong(j, row, "a text");
	if (row->kind == PUSH_BASE64 && decode(&j->text))
		return wrong(j, row, "base64");
	wire_put_bytes(j->out, row->number, buf_str(&j->text), j->text.len);
	return 0;
}

static int
put_list(struct push_json *j, const struct push_row *row, enum json_token t)
{
	int rc = 0;

	if (t != JSON_ARRAY)
		return wrong(j, row, "a list");
	while (!rc && (t = json_scan_next(&j->s)) == JSON_OBJECT) {
		size_t place = wire_open(j->out, row->number);

		rc = members(j, row->of);
		wire_close(j->out, place);
	}
	return rc                    ? rc
	       : t == JSON_ARRAY_END ? 0
	       : t == JSON_BAD       ? broken(j)
	                             : wrong(j, row, "a list of objects");
}

static const struct push_row *
find_row(enum push_level in, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].in == in && (!strcmp(rows[i].name, name) ||
		                         !strcmp(rows[i].camel, name)))
			return &rows[i];
	return NULL;
}

static int
member(struct push_json *j, enum push_level in)
{
	const struct push_row *row = find_row(in, buf_str(&j->text));
	enum json_token t = json_scan_next(&j->s);

	if (!row || (t == JSON_WORD && j->s.p[-1] == 'l')) /* null */
		return json_scan_skip(&j->s, t) ? 0 : broken(j);
	if (t == JSON_BAD)
		return broken(j);
	return row->kind == PUSH_LIST ? put_list(j, row, t)
	                              : put_value(j, row, t);
}

/* Reads the members of an object that has begun. */
static int
members(struct push_json *j, enum push_level in)
{
	enum json_token t;
	int rc = 0;

	while (!rc && (t = json_scan_next(&j->s)) == JSON_NAME)
		rc = member(j, in);
	return rc || t == JSON_OBJECT_END ? rc : broken(j);
}

int
connect_json(const char *p, size_t n, struct buf *out, struct buf *why)
{
	CLEANUP(push_json_done)
	struct push_json j = {.text = BUF_INIT(n), .out = out, .why = why};
	int rc;

	json_scan_init(&j.s, p, n, &j.text);
	rc = json_scan_next(&j.s) == JSON_OBJECT ? members(&j, PUSH_REQUEST)
	                                         : broken(&j);
	if (!rc && json_scan_next(&j.s) != JSON_END)
		rc = broken(&j);
	return rc ? rc : buf_err(out);
}
