#include "otlp_json.h"

#include "base/json_scan.h"
#include "foreign.h"
#include "import_build.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct writer {
	const char *file;
	size_t size;
	struct json_scan s;
	struct buf text;
	unsigned layouts; /* layouts that have all fields seen so far */
	enum otlp_layout layout;
	struct buf *out; /* NULL: look only */
	bool in_list;    /* inside a list of attribute values */
	struct buf *why;
};

static void
writer_done(struct writer *w)
{
	buf_done(&w->text);
}

static int
bad(struct writer *w, const char *name, const char *what)
{
	buf_addf(w->why, "%s: %s: see byte %zu", name, what,
	         (size_t)(w->s.p - w->file));
	return -EBADMSG;
}

static int
broken(struct writer *w)
{
	return import_bad_json(w->why, "JSON of OTLP", &w->s, w->file, w->size);
}

/* True if a member's name means a field; the words of field are in upper case
 * and separated by underscores. */
static bool
is_name(const char *name, const char *field)
{
	for (; *name && *field; name++, field++) {
		if (*field == '_')
			field++;
		if (*name == '_')
			name++;
		if (toupper((unsigned char)*name) != *field)
			return false;
	}
	return !*name && !*field;
}

static enum otlp_field
find_field(enum otlp_message m, const char *name)
{
	for (enum otlp_field i = 1; i < OTLP_FIELDS; i++)
		if (otlp_rows[i].message == m &&
		    is_name(name, otlp_rows[i].name))
			return i;
	return OTLP_NO_FIELD;
}

/* --- values --------------------------------------------------------------- */

/* Reads a whole number, signed or not. */
static bool
whole(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = *text == '-' ? (uint64_t)strtoll(text, &end, 10)
	                    : strtoull(text, &end, 10);
	return !errno && end != text && !*end;
}

/* Reads the number that ends a token from its text, which lies after at: a
 * double would round it. */
static bool
exact(const struct json_scan *s, const char *at, uint64_t *out)
{
	char text[32];
	size_t n;

	while (at < s->p &&
	       (isspace((unsigned char)*at) || *at == ':' || *at == ','))
		at++;
	n = (size_t)(s->p - at);
	if (n >= sizeof(text))
		return false;
	memcpy(text, at, n);
	text[n] = '\0';
	if (whole(text, out))
		return true;
	if (s->number < -0x1p53 || s->number > 0x1p53 ||
	    s->number != (double)(int64_t)s->number)
		return false;
	*out = (uint64_t)(int64_t)s->number; /* 1e3 */
	return true;
}

static bool
number(const struct writer *w, enum json_token t, const char *at, uint64_t *out)
{
	if (t == JSON_STRING)
		return whole(buf_str(&w->text), out);
	if (t == JSON_NUMBER)
		return exact(&w->s, at, out);
	if (t != JSON_WORD || w->s.p[-1] != 'e')
		return false;
	*out = w->s.p[-2] == 'u'; /* true or false */
	return true;
}

static bool
real(const struct writer *w, enum json_token t, uint64_t *out)
{
	double v = t == JSON_STRING ? strtod(buf_str(&w->text), NULL)
	                            : w->s.number;

	memcpy(out, &v, sizeof(v));
	return t == JSON_STRING || t == JSON_NUMBER;
}

/* Reads one number of a field. */
static int
read_number(struct writer *w, const struct otlp_row *row, enum json_token t,
            const char *at, uint64_t *out)
{
	bool ok = row->kind == OTLP_KIND_DOUBLE ? real(w, t, out)
	                                        : number(w, t, at, out);

	return ok ? 0 : bad(w, row->name, "it is not a number");
}

static bool
is_fixed(const struct writer *w, const struct otlp_row *row)
{
	return row->kind == OTLP_KIND_FIXED || row->kind == OTLP_KIND_DOUBLE ||
	       (row->kind == OTLP_KIND_TIMES && w->layout != OTLP_1_7);
}

static void
put_number(struct writer *w, const struct otlp_row *row, uint64_t v)
{
	if (is_fixed(w, row))
		wire_put_fixed64(w->out, v);
	else
		wire_put_varint(w->out, v);
}

static int
one_number(struct writer *w, const struct otlp_row *row, enum json_token t,
           const char *at)
{
	uint64_t v;
	int r = read_number(w, row, t, at, &v);

	if (r || !w->out)
		return r;
	wire_put_varint(w->out, WIRE_KEY(row->number[w->layout],
	                                 is_fixed(w, row) ? WIRE_FIXED64
	                                                  : WIRE_VARINT));
	put_number(w, row, v);
	return 0;
}

static int
numbers(struct writer *w, const struct otlp_row *row, enum json_token t)
{
	size_t place = w->out ? wire_open(w->out, row->number[w->layout]) : 0;
	const char *at = w->s.p;
	uint64_t v;
	int r = t == JSON_ARRAY ? 0 : bad(w, row->name, "it is not a list");

	while (!r && (t = json_scan_next(&w->s)) != JSON_ARRAY_END) {
		r = read_number(w, row, t, at, &v);
		at = w->s.p;
		if (!r && w->out)
			put_number(w, row, v);
	}
	if (!r && w->out)
		wire_close(w->out, place);
	return r;
}

/* --- messages ------------------------------------------------------------- */

static int members(struct writer *w, enum otlp_message m);

static int
item(struct writer *w, const struct otlp_row *row, enum json_token t)
{
	bool outer = w->in_list;
	size_t place;
	int r;

	if (row->kind == OTLP_KIND_TEXT) {
		if (t != JSON_STRING)
			return bad(w, row->name, "it is not a string");
		if (w->out)
			wire_put_bytes(w->out, row->number[w->layout],
			               buf_str(&w->text), w->text.len);
		return 0;
	}
	if (t != JSON_OBJECT)
		return bad(w, row->name, "it is not an object");
	place = w->out ? wire_open(w->out, row->number[w->layout]) : 0;
	w->in_list = outer || row->of == OTLP_ARRAY;
	r = members(w, row->of);
	w->in_list = outer;
	if (w->out)
		wire_close(w->out, place);
	return r;
}

/* Reads the texts or messages of a field: one of them, or a list. */
static int
items(struct writer *w, const struct otlp_row *row, enum json_token t)
{
	int r = 0;

	if (t != JSON_ARRAY)
		return item(w, row, t);
	while (!r && (t = json_scan_next(&w->s)) != JSON_ARRAY_END)
		r = item(w, row, t);
	return r;
}

static int
member(struct writer *w, enum otlp_message m)
{
	enum otlp_field f = find_field(m, buf_str(&w->text));
	const struct otlp_row *row = &otlp_rows[f];
	const char *at = w->s.p;
	enum json_token t = json_scan_next(&w->s);

	if (f && !w->out)
		w->layouts &= otlp_layouts(f);
	if (!w->layouts) {
		buf_addf(w->why,
		         "it is OTLP of another layout: %s does not fit; "
		         "Stoker reads the layouts of OTLP 1.7 to 1.11",
		         row->name);
		return -EPROTONOSUPPORT;
	}
	/* Nested lists have no use here, and would be copied once per
	 * level. */
	if (!f || row->kind == OTLP_KIND_BYTES ||
	    (w->in_list && row->of == OTLP_ARRAY) ||
	    (t == JSON_WORD && w->s.p[-1] == 'l'))
		return json_scan_skip(&w->s, t) ? 0 : broken(w);
	switch (row->kind) {
	case OTLP_KIND_NUMBERS:
	case OTLP_KIND_TIMES:
		return numbers(w, row, t);
	case OTLP_KIND_TEXT:
	case OTLP_KIND_MESSAGE:
		return items(w, row, t);
	default:
		return one_number(w, row, t, at);
	}
}

/* Reads the members of an object that has begun. */
static int
members(struct writer *w, enum otlp_message m)
{
	enum json_token t;
	int r = 0;

	while (!r && (t = json_scan_next(&w->s)) == JSON_NAME)
		r = member(w, m);
	return r || t == JSON_OBJECT_END ? r : broken(w);
}

static int
pass(struct writer *w, const char *p, size_t n, struct buf *out)
{
	w->out = out;
	json_scan_init(&w->s, p, n, &w->text);
	if (json_scan_next(&w->s) != JSON_OBJECT)
		return broken(w);
	return members(w, OTLP_DATA);
}

int
otlp_json(const char *p, size_t n, struct buf *out, unsigned *layouts,
          struct buf *why)
{
	CLEANUP(writer_done)
	struct writer w = {.file = p,
	                   .size = n,
	                   .text = BUF_INIT(JSON_SCAN_TEXT),
	                   .layouts = OTLP_ALL_LAYOUTS,
	                   .why = why};
	int r = pass(&w, p, n, NULL);

	if (r)
		return r;
	w.layout = 31 - (enum otlp_layout)__builtin_clz(w.layouts);
	r = pass(&w, p, n, out);
	*layouts = 1u << w.layout;
	return r ? r : buf_err(out);
}

bool
otlp_json_looks(const char *p, size_t n)
{
	CLEANUP_BUF struct buf text = BUF_INIT(JSON_SCAN_TEXT);
	struct json_scan s;

	json_scan_init(&s, p, n < FOREIGN_LOOK ? n : FOREIGN_LOOK, &text);
	return json_scan_next(&s) == JSON_OBJECT &&
	       json_scan_next(&s) == JSON_NAME &&
	       find_field(OTLP_DATA, buf_str(&text));
}
