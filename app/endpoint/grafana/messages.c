#include "messages.h"

#include "base/json_out.h"
#include "profile/stored/wire.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define NAME_MAX_BYTES 64
#define NUMBER_MAX     32 /* digits of a number in a text */

enum field_type { TEXT, INT64, UINT64, DOUBLE, BOOL, ENUM, NESTED };

/* Values of the column `of`; for a message, its number. */
enum of {
#define MESSAGE(name) OF_##name = M_##name,
#include "messages.def"
	OF_None = MESSAGES,
#define ENUM(name) OF_##name,
#include "messages.def"
};

struct field {
	const char *name;
	uint32_t number;
	enum field_type type;
	bool many;
	enum of of;
};

#define ONE  false
#define MANY true
static const struct field rows[] = {
#define FIELD(message, name, number, type, many, of) \
	{#name, number, type, many, OF_##of},
#include "messages.def"
};

/* FIRST_message is the row of its first field: a message itself has none. */
/* clang-format off */
enum {
#define MESSAGE(name) FIRST_##name, BEFORE_##name = FIRST_##name - 1,
#define FIELD(message, name, number, type, many, of) ROW_##message##_##name,
#include "messages.def"
	ROWS
};
/* clang-format on */
static const struct {
	uint32_t first;
	const char *name;
} messages[MESSAGES + 1] = {
#define MESSAGE(name) {FIRST_##name, #name},
#include "messages.def"
	{ROWS, ""}};

static const struct {
	enum of of;
	const char *name;
	int value;
} values[] = {
#define VALUE(of, name, number) {OF_##of, #name, number},
#include "messages.def"
};

/* Makes a name's form in JSON: max_nodes becomes maxNodes. */
static void
camel(const char *name, char out[static NAME_MAX_BYTES])
{
	size_t n = 0;

	for (; *name && n < NAME_MAX_BYTES - 1; name++) {
		if (*name == '_' && name[1])
			out[n++] = (char)toupper((unsigned char)*++name);
		else
			out[n++] = *name;
	}
	out[n] = '\0';
}

/* --- protobuf to JSON ----------------------------------------------------- */

static enum wire_type
wire_of(enum field_type t)
{
	switch (t) {
	case TEXT:
	case NESTED:
		return WIRE_BYTES;
	case DOUBLE:
		return WIRE_FIXED64;
	default:
		return WIRE_VARINT;
	}
}

static void
put_real(struct buf *out, double v)
{
	if (isfinite(v))
		buf_addf(out, "%.17g", v);
	else
		buf_puts(out, isnan(v) ? "\"NaN\""
		              : v > 0  ? "\"Infinity\""
		                       : "\"-Infinity\"");
}

static void
put_enum(struct buf *out, enum of of, int value)
{
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (values[i].of == of && values[i].value == value) {
			buf_addf(out, "\"%s\"", values[i].name);
			return;
		}
	buf_addf(out, "%d", value);
}

static void
put_number(struct buf *out, const struct field *f, uint64_t v)
{
	switch (f->type) {
	case BOOL:
		buf_puts(out, v ? "true" : "false");
		break;
	case ENUM:
		put_enum(out, f->of, (int)(int64_t)v);
		break;
	case UINT64:
		buf_addf(out, "\"%llu\"", (unsigned long long)v);
		break;
	default:
		buf_addf(out, "\"%lld\"", (long long)(int64_t)v);
	}
}

static double
double_of(const uint8_t *p)
{
	uint64_t bits;
	double v;

	memcpy(&bits, p, sizeof(bits));
	bits = le64toh(bits);
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static int
put_one(struct buf *out, const struct field *f, const struct wire_field *w)
{
	const char *text = (const char *)w->bytes.p;
	size_t n = wire_of(f->type) == WIRE_VARINT
	                   ? 0
	                   : (size_t)(w->bytes.end - w->bytes.p);

	switch (f->type) {
	case NESTED:
		return message_json((enum message)f->of, text, n, out);
	case TEXT:
		json_escape(out, text, n);
		return 0;
	case DOUBLE:
		put_real(out, double_of(w->bytes.p));
		return 0;
	default:
		put_number(out, f, w->value);
		return 0;
	}
}

/* Writes the numbers of a packed field. */
static int
put_packed(struct buf *out, const struct field *f, struct wire w, bool *first)
{
	struct wire_field one;

	while (w.p < w.end) {
		if (f->type == DOUBLE && w.end - w.p < 8)
			return -EBADMSG;
		if (f->type == DOUBLE) {
			one.bytes = (struct wire){w.p, w.p + 8};
			w.p += 8;
		} else if (wire_varint(&w, &one.value)) {
			return -EBADMSG;
		}
		if (!*first)
			buf_putc(out, ',');
		*first = false;
		if (put_one(out, f, &one))
			return -EBADMSG;
	}
	return 0;
}

static int
put_many(struct buf *out, const struct field *f, struct wire w)
{
	enum wire_type type = wire_of(f->type);
	struct wire_field at;
	bool first = true;
	int r;

	buf_putc(out, '[');
	while ((r = wire_next(&w, &at)) > 0) {
		if (at.key == WIRE_KEY(f->number, WIRE_BYTES) &&
		    type != WIRE_BYTES) {
			if (put_packed(out, f, at.bytes, &first))
				return -EBADMSG;
			continue;
		}
		if (at.key != WIRE_KEY(f->number, type))
			continue;
		if (!first)
			buf_putc(out, ',');
		first = false;
		if (put_one(out, f, &at))
			return -EBADMSG;
	}
	buf_putc(out, ']');
	return r;
}

/* Finds the last value of a field. Returns 1, 0 for none, or -EBADMSG. */
static int
find(const struct field *f, struct wire w, struct wire_field *out)
{
	uint32_t key = WIRE_KEY(f->number, wire_of(f->type));
	struct wire_field at;
	int r, found = 0;

	while ((r = wire_next(&w, &at)) > 0) {
		bool packed = f->many &&
		              at.key == WIRE_KEY(f->number, WIRE_BYTES);

		if (at.key != key && !packed)
			continue;
		*out = at;
		found = 1;
	}
	return r ? r : found;
}

int
message_json(enum message m, const void *p, size_t n, struct buf *out)
{
	const struct wire w = {p, (const uint8_t *)p + n};
	const char *mark = "";
	int r = 0;

	buf_putc(out, '{');
	for (uint32_t i = messages[m].first; i < messages[m + 1].first; i++) {
		const struct field *f = &rows[i];
		struct wire_field at;
		char name[NAME_MAX_BYTES];

		r = find(f, w, &at);
		if (r < 0)
			return r;
		if (!r)
			continue;
		camel(f->name, name);
		buf_addf(out, "%s\"%s\":", mark, name);
		mark = ",";
		r = f->many ? put_many(out, f, w) : put_one(out, f, &at);
		if (r)
			return r;
	}
	buf_putc(out, '}');
	return 0;
}

/* --- requests ------------------------------------------------------------- */

static int
wrong(struct buf *why, const struct field *f, const char *expected)
{
	buf_addf(why, "%s must be %s", f->name, expected);
	return -EBADMSG;
}

static json_t *
read_integer(const json_t *v)
{
	const char *text = json_string_value(v);
	double real = json_real_value(v);
	long long n;
	char *end;

	if (json_is_integer(v))
		return json_integer(json_integer_value(v));
	if (json_is_real(v) && fabs(real) < 0x1p63 && real == trunc(real))
		return json_integer((json_int_t)real);
	if (!text || !*text || isspace((unsigned char)*text) ||
	    strlen(text) > NUMBER_MAX)
		return NULL;
	errno = 0;
	n = strtoll(text, &end, 10);
	return *end || errno ? NULL : json_integer(n);
}

static json_t *
read_real(const json_t *v)
{
	const char *text = json_string_value(v);
	double real = json_number_value(v);
	char *end;

	if (text) {
		if (!*text || isspace((unsigned char)*text) ||
		    strlen(text) > NUMBER_MAX)
			return NULL;
		real = strtod(text, &end);
		if (*end)
			return NULL;
	} else if (!json_is_number(v)) {
		return NULL;
	}
	return isfinite(real) ? json_real(real) : NULL;
}

/* Reads a value of an enum: its name or its number. */
static json_t *
read_enum(enum of of, const json_t *v)
{
	const char *text = json_string_value(v);

	for (size_t i = 0; text && i < ARRAY_LEN(values); i++)
		if (values[i].of == of && !strcmp(values[i].name, text))
			return json_integer(values[i].value);
	return json_is_integer(v) ? json_integer(json_integer_value(v)) : NULL;
}

static int
fit(enum message m, const json_t *from, json_t **out, struct buf *why);

static int
fit_one(const struct field *f, const json_t *v, json_t **out, struct buf *why)
{
	json_t *made = NULL;

	switch (f->type) {
	case NESTED:
		return fit((enum message)f->of, v, out, why);
	case TEXT:
		made = json_is_string(v) ? json_string(json_string_value(v))
		                         : NULL;
		break;
	case DOUBLE:
		made = read_real(v);
		break;
	case BOOL:
		made = json_is_boolean(v) ? json_boolean(json_is_true(v))
		                          : NULL;
		break;
	case ENUM:
		made = read_enum(f->of, v);
		if (!made)
			return wrong(why, f, "a known name");
		break;
	default:
		made = read_integer(v);
	}
	if (!made)
		return wrong(why, f,
		             f->type == TEXT   ? "a text"
		             : f->type == BOOL ? "true or false"
		                               : "a number");
	*out = made;
	return 0;
}

static int
fit_many(const struct field *f, const json_t *v, json_t **out, struct buf *why)
{
	CLEANUP_JSON json_t *list = json_array();
	size_t i;
	json_t *item;

	if (!json_is_array(v))
		return wrong(why, f, "a list");
	json_array_foreach(v, i, item) {
		json_t *one = NULL;
		int rc = fit_one(f, item, &one, why);

		if (rc)
			return rc;
		if (json_array_append_new(list, one))
			return -ENOMEM;
	}
	*out = TAKE(list);
	return 0;
}

/* Returns the field of a message with a name in either form, or NULL. */
static const struct field *
field_of(enum message m, const char *name)
{
	char text[NAME_MAX_BYTES];

	for (uint32_t i = messages[m].first; i < messages[m + 1].first; i++) {
		camel(rows[i].name, text);
		if (!strcmp(rows[i].name, name) || !strcmp(text, name))
			return &rows[i];
	}
	return NULL;
}

/* Makes an object of the members that a message has. */
static int
fit(enum message m, const json_t *from, json_t **out, struct buf *why)
{
	CLEANUP_JSON json_t *made = json_object();
	const char *name;
	json_t *v;

	if (!json_is_object(from)) {
		buf_addf(why, "%s must be an object", messages[m].name);
		return -EBADMSG;
	}
	json_object_foreach((json_t *)from, name, v) {
		const struct field *f = field_of(m, name);
		json_t *one = NULL;
		int rc;

		if (!f || json_is_null(v))
			continue;
		rc = f->many ? fit_many(f, v, &one, why)
		             : fit_one(f, v, &one, why);
		if (rc)
			return rc;
		if (json_object_set_new(made, f->name, one))
			return -ENOMEM;
	}
	*out = TAKE(made);
	return 0;
}

int
message_read(enum message m, bool is_json, const void *p, size_t n,
             json_t **out, struct buf *why)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_JSON json_t *from = NULL;
	json_error_t e = {0};

	if (is_json)
		buf_add(&text, p, n);
	else if (message_json(m, p, n, &text)) {
		buf_puts(why, "the body is not a protobuf message");
		return -EBADMSG;
	}
	if (buf_err(&text))
		return buf_err(&text);
	from = json_loadb(buf_str(&text), text.len, 0, &e);
	if (!from) {
		buf_addf(why, "the body is not JSON: %s", e.text);
		return -EBADMSG;
	}
	return fit(m, from, out, why);
}
