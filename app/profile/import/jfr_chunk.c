#include "jfr_chunk.h"

#include "base/utf8.h"
#include "import_build.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define HEADER     68
#define COMPRESSED 1          /* bit of the features: compressed integers */
#define MAX_ROWS   (1u << 20) /* rows of metadata: strings, classes, fields */
#define MAX_DEPTH  16         /* of elements, nested values, references */

enum { METADATA, CHECKPOINT };
/* NOTHING: a struct whose fields take no bytes */
enum { STRUCT, NOTHING, BYTE, INTEGER, FLOAT, DOUBLE, STRING };
enum { NO_TEXT, EMPTY, CONSTANT, UTF8, CHARS, LATIN1 };

static int
fail(struct jfr_chunk *c, const char *where, const char *why)
{
	c->where = where;
	c->why = why;
	return -EBADMSG;
}

/* --- integers and strings ------------------------------------------------- */

static const char *
take(struct jfr_cursor *c, uint64_t n)
{
	const char *p = c->p;

	if (n > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p += n;
	return p;
}

static uint8_t
take_byte(struct jfr_cursor *c)
{
	const char *p = take(c, 1);

	return p ? (uint8_t)*p : 0;
}

uint64_t
jfr_int(struct jfr_cursor *c)
{
	uint64_t v = 0;
	uint8_t b = 0x80;

	for (unsigned i = 0; i < 8 && b & 0x80; i++) {
		b = take_byte(c);
		v |= (uint64_t)(b & 0x7f) << 7 * i;
	}
	return b & 0x80 ? v | (uint64_t)take_byte(c) << 56 : v;
}

static uint64_t
big(const char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return be64toh(v);
}

static struct jfr_text
take_text(struct jfr_cursor *c)
{
	struct jfr_text t = {.form = take_byte(c)};

	switch (t.form) {
	case NO_TEXT:
	case EMPTY:
		return t;
	case CONSTANT:
		t.id = jfr_int(c);
		return t;
	case UTF8:
	case LATIN1:
		t.n = jfr_int(c);
		t.p = take(c, t.n);
		break;
	case CHARS:
		t.n = jfr_int(c);
		t.p = c->p;
		for (size_t i = 0; i < t.n && !c->bad; i++)
			(void)jfr_int(c);
		break;
	default:
		c->bad = true;
	}
	return c->bad ? (struct jfr_text){0} : t;
}

/* s is ASCII, which every form has in single bytes. */
bool
jfr_text_is(const struct jfr_text *t, const char *s)
{
	return t->form >= UTF8 && t->n == strlen(s) && !memcmp(t->p, s, t->n);
}

static void
put_text(const struct jfr_text *t, struct buf *out)
{
	struct jfr_cursor at = {t->p, t->p, false};
	char c[UTF8_MAX];

	if (t->form == UTF8)
		buf_add(out, t->p, t->n);
	for (size_t i = 0; t->form == LATIN1 && i < t->n; i++)
		buf_add(out, c, utf8_encode((unsigned char)t->p[i], c));
	for (size_t i = 0; t->form == CHARS && i < t->n; i++) {
		at.end = at.p + 9;
		buf_add(out, c,
		        utf8_encode((uint32_t)jfr_int(&at) & 0xffff, c));
	}
}

/* --- metadata ------------------------------------------------------------- */

static int
read_strings(struct jfr_chunk *c, struct jfr_cursor *at)
{
	uint64_t n = jfr_int(at);

	if (n > MAX_ROWS)
		return fail(c, at->p, "it has too many strings");
	c->strings = calloc(n + 1, sizeof(*c->strings));
	if (!c->strings)
		return -ENOMEM;
	c->nstrings = (uint32_t)n;
	for (uint64_t i = 0; i < n && !at->bad; i++)
		c->strings[i] = take_text(at);
	return at->bad ? fail(c, at->p, "a string ends after it") : 0;
}

static struct jfr_text
string_at(const struct jfr_chunk *c, uint64_t i)
{
	return i < c->nstrings ? c->strings[i] : (struct jfr_text){0};
}

static uint64_t
number_of(const struct jfr_text *t)
{
	uint64_t v = 0;

	for (size_t i = 0; t->p && i < t->n && i < 19; i++)
		if (t->p[i] >= '0' && t->p[i] <= '9')
			v = v * 10 + (uint64_t)(t->p[i] - '0');
	return v;
}

static enum jfr_name
name_of(const struct jfr_text *t)
{
	static const char *const names[] = {
#define F(name) #name,
		JFR_FIELDS(F)
#undef F
	};
	size_t i = 0;

	while (i < ARRAY_LEN(names) && !jfr_text_is(t, names[i]))
		i++;
	return (enum jfr_name)i;
}

static uint8_t
kind_of(const struct jfr_text *t)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} rows[] = {
		{"boolean", BYTE},
		{"byte", BYTE},
		{"char", INTEGER},
		{"short", INTEGER},
		{"int", INTEGER},
		{"long", INTEGER},
		{"float", FLOAT},
		{"double", DOUBLE},
		{"java.lang.String", STRING},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (jfr_text_is(t, rows[i].name))
			return rows[i].kind;
	return STRUCT;
}

/* The attributes of an element that are read. */
struct attributes {
	struct jfr_text name, id, class;
	bool pool, list;
};

static void
read_attributes(const struct jfr_chunk *c, struct jfr_cursor *at,
                struct attributes *out)
{
	uint64_t n = jfr_int(at);

	*out = (struct attributes){0};
	while (n-- && !at->bad) {
		struct jfr_text key = string_at(c, jfr_int(at));
		struct jfr_text value = string_at(c, jfr_int(at));

		if (jfr_text_is(&key, "name"))
			out->name = value;
		else if (jfr_text_is(&key, "id"))
			out->id = value;
		else if (jfr_text_is(&key, "class"))
			out->class = value;
		else if (jfr_text_is(&key, "constantPool"))
			out->pool = jfr_text_is(&value, "true");
		else if (jfr_text_is(&key, "dimension"))
			out->list = number_of(&value) > 0;
	}
}

static int
add_class(struct jfr_chunk *c, const struct attributes *a)
{
	int rc = ROWS_ROOM(c->classes, c->class_room, c->nclasses, 1);

	if (rc)
		return rc;
	c->classes[c->nclasses++] = (struct jfr_class){
		.id = number_of(&a->id),
		.name = a->name,
		.field0 = c->nfields,
		.kind = kind_of(&a->name),
	};
	return 0;
}

static int
add_field(struct jfr_chunk *c, const struct attributes *a)
{
	int rc = ROWS_ROOM(c->fields, c->field_room, c->nfields, 1);

	if (rc)
		return rc;
	c->fields[c->nfields++] = (struct jfr_field){
		.class_id = number_of(&a->class),
		.name = name_of(&a->name),
		.pool = a->pool,
		.list = a->list,
	};
	c->classes[c->nclasses - 1].nfields++;
	return 0;
}

/* Reads an element and those in it: classes, and the fields in them. */
static int
read_element(struct jfr_chunk *c, struct jfr_cursor *at, bool in_class,
             int depth)
{
	struct jfr_text what = string_at(c, jfr_int(at));
	bool class = jfr_text_is(&what, "class");
	struct attributes a;
	uint64_t n;
	int rc = 0;

	read_attributes(c, at, &a);
	if (depth == MAX_DEPTH || c->nclasses > MAX_ROWS ||
	    c->nfields > MAX_ROWS)
		return fail(c, at->p, "its metadata is too large");
	if (class)
		rc = add_class(c, &a);
	else if (in_class && jfr_text_is(&what, "field"))
		rc = add_field(c, &a);
	for (n = jfr_int(at); !rc && n && !at->bad; n--)
		rc = read_element(c, at, class, depth + 1);
	return rc || !at->bad ? rc : fail(c, at->p, "its metadata is cut off");
}

static int
by_id(const void *a, const void *b)
{
	const struct jfr_class *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static uint32_t
class_by_id(const struct jfr_chunk *c, uint64_t id)
{
	const struct jfr_class key = {.id = id};
	const struct jfr_class *p = c->nclasses ? bsearch(&key, c->classes,
	                                                  c->nclasses,
	                                                  sizeof(key), by_id)
	                                        : NULL;

	return p ? (uint32_t)(p - c->classes) : JFR_NONE;
}

static bool
is_nothing(const struct jfr_chunk *c, const struct jfr_field *f)
{
	return !f->pool && !f->list && f->class != JFR_NONE &&
	       c->classes[f->class].kind == NOTHING;
}

/* Removes fields that take no bytes: reading them would be work that the size
 * of a file does not bound. */
static void
drop_nothing(struct jfr_chunk *c)
{
	for (uint32_t n = 0; n < MAX_DEPTH * c->nclasses; n++) {
		struct jfr_class *k = &c->classes[n % c->nclasses];
		uint32_t kept = 0;

		for (uint32_t i = 0; i < k->nfields; i++) {
			const struct jfr_field *f = &c->fields[k->field0 + i];

			if (!is_nothing(c, f))
				c->fields[k->field0 + kept++] = *f;
		}
		k->nfields = kept;
		if (!kept && k->kind == STRUCT)
			k->kind = NOTHING;
	}
}

static int
read_metadata(struct jfr_chunk *c, const char *p)
{
	struct jfr_cursor at = {p, c->end, false};
	int rc;

	(void)jfr_int(&at); /* size */
	if (jfr_int(&at) != METADATA)
		return fail(c, p, "its metadata is missing");
	for (int i = 0; i < 3; i++)
		(void)jfr_int(&at); /* start, duration, id */
	rc = read_strings(c, &at) ?: read_element(c, &at, false, 0);
	if (rc || !c->nclasses)
		return rc ? rc : fail(c, p, "it has no classes");
	qsort(c->classes, c->nclasses, sizeof(*c->classes), by_id);
	for (uint32_t i = 0; i < c->nfields; i++)
		c->fields[i].class = class_by_id(c, c->fields[i].class_id);
	drop_nothing(c);
	c->strings_class = jfr_class(c, "java.lang.String");
	return 0;
}

int
jfr_open(struct jfr_chunk *c, const char *p, size_t n)
{
	uint64_t size, metadata;
	double ticks;

	*c = (struct jfr_chunk){.p = p, .end = p + n};
	if (n < HEADER || memcmp(p, "FLR\0", 4) != 0)
		return fail(c, p, "no chunk begins here");
	size = big(p + 8);
	metadata = big(p + 24);
	ticks = (double)big(p + 56);
	if (!size)
		return fail(
			c, p,
			"the recording is not finished: stop it, or dump it "
			"with `jcmd PID JFR.dump`");
	if (size < HEADER || size > n)
		return fail(c, p, "the chunk is longer than the file");
	if (metadata < HEADER || metadata >= size || !(ticks > 0))
		return fail(c, p, "its header is damaged");
	if (!(p[67] & COMPRESSED))
		return fail(c, p,
		            "its integers are not compressed, which is "
		            "not read");
	c->end = p + size;
	c->start_ns = (int64_t)big(p + 32);
	c->duration_ns = (int64_t)big(p + 40);
	c->ticks_per_s = ticks;
	return read_metadata(c, p + metadata);
}

void
jfr_close(struct jfr_chunk *c)
{
	free(c->strings);
	free(c->classes);
	free(c->fields);
	free(c->constants);
	*c = (struct jfr_chunk){0};
}

uint32_t
jfr_class(const struct jfr_chunk *c, const char *name)
{
	uint32_t i = 0;

	while (i < c->nclasses && !jfr_text_is(&c->classes[i].name, name))
		i++;
	return i < c->nclasses ? i : JFR_NONE;
}

int
jfr_event(struct jfr_chunk *c, const char **at, uint64_t *type,
          struct jfr_cursor *out)
{
	const char *from = *at ? *at : c->p + HEADER;
	uint64_t size;

	if (from == c->end)
		return 0;
	*out = (struct jfr_cursor){from, c->end, false};
	size = jfr_int(out);
	if (!size || size > (uint64_t)(c->end - from))
		return fail(c, from, "an event has a wrong size");
	out->end = from + size;
	*at = out->end;
	*type = jfr_int(out);
	return out->bad ? fail(c, from, "an event has a wrong size") : 1;
}

/* --- values --------------------------------------------------------------- */

static void skip_field(const struct jfr_chunk *c, const struct jfr_field *f,
                       struct jfr_cursor *at, int depth);

static void
skip_value(const struct jfr_chunk *c, uint32_t class, struct jfr_cursor *at,
           int depth)
{
	const struct jfr_class *k = &c->classes[class];

	switch (k->kind) {
	case BYTE:
		(void)take_byte(at);
		return;
	case INTEGER:
		(void)jfr_int(at);
		return;
	case FLOAT:
	case DOUBLE:
		(void)take(at, k->kind == FLOAT ? 4 : 8);
		return;
	case STRING:
		(void)take_text(at);
		return;
	default:
		at->bad |= depth == MAX_DEPTH;
	}
	for (uint32_t i = 0; i < k->nfields && !at->bad; i++)
		skip_field(c, &c->fields[k->field0 + i], at, depth + 1);
}

/* Passes over one element, or a list of them. */
static void
skip_field(const struct jfr_chunk *c, const struct jfr_field *f,
           struct jfr_cursor *at, int depth)
{
	uint64_t n = f->list ? jfr_int(at) : 1;

	at->bad |= f->class == JFR_NONE;
	while (n-- && !at->bad) {
		const char *from = at->p;

		if (f->pool)
			(void)jfr_int(at);
		else
			skip_value(c, f->class, at, depth);
		if (at->p == from)
			return; /* elements take no bytes */
	}
}

static void
read_field(const struct jfr_chunk *c, const struct jfr_field *f,
           struct jfr_cursor *at, struct jfr_value *out)
{
	uint8_t kind = f->class == JFR_NONE ? STRUCT
	                                    : c->classes[f->class].kind;

	out->class = f->class;
	out->at = *at;
	if (f->list ||
	    (!f->pool && kind != BYTE && kind != INTEGER && kind != STRING))
		skip_field(c, f, at, 0);
	else if (!f->pool && kind == STRING)
		out->text = take_text(at);
	else if (!f->pool && kind == BYTE)
		out->n = take_byte(at);
	else
		out->n = jfr_int(at);
}

void
jfr_fields(const struct jfr_chunk *c, uint32_t class, struct jfr_cursor *at,
           struct jfr_value out[JFR_NAMES])
{
	const struct jfr_class *k = &c->classes[class];

	memset(out, 0, JFR_NAMES * sizeof(*out));
	for (uint32_t i = 0; i < k->nfields && !at->bad; i++) {
		const struct jfr_field *f = &c->fields[k->field0 + i];

		if (f->name < JFR_NAMES)
			read_field(c, f, at, &out[f->name]);
		else
			skip_field(c, f, at, 0);
	}
}

/* --- constants ------------------------------------------------------------ */

static int
by_class(const void *a, const void *b)
{
	const struct jfr_constant *x = a, *y = b;
	int class = (x->class > y->class) - (x->class < y->class);

	return class ? class : (x->id > y->id) - (x->id < y->id);
}

static int
add_constant(struct jfr_chunk *c, uint32_t class, struct jfr_cursor *at,
             uint32_t most)
{
	struct jfr_constant *p;
	int rc = ROWS_ROOM_OF(c->constants, c->constant_room, c->nconstants, 1,
	                      most);

	if (rc)
		return rc;
	p = &c->constants[c->nconstants++];
	p->class = class;
	p->made = JFR_NONE;
	p->id = jfr_int(at);
	p->at = at->p;
	skip_value(c, class, at, 0);
	return 0;
}

static int
read_checkpoint(struct jfr_chunk *c, struct jfr_cursor *at, uint32_t most)
{
	uint64_t pools, n;
	int rc = 0;

	for (int i = 0; i < 3; i++)
		(void)jfr_int(at); /* start, duration, the one before */
	(void)take_byte(at);       /* its kind */
	for (pools = jfr_int(at); pools && !rc && !at->bad; pools--) {
		uint32_t class = class_by_id(c, jfr_int(at));

		if (class == JFR_NONE)
			return fail(c, at->p, "constants have no class");
		for (n = jfr_int(at); n && !rc && !at->bad; n--)
			rc = add_constant(c, class, at, most);
	}
	return rc || !at->bad ? rc
	                      : fail(c, at->p, "its constants are cut off");
}

int
jfr_constants(struct jfr_chunk *c, uint32_t most)
{
	const char *at = NULL;
	struct jfr_cursor e;
	uint64_t type;
	int rc;

	while ((rc = jfr_event(c, &at, &type, &e)) > 0) {
		rc = type == CHECKPOINT ? read_checkpoint(c, &e, most) : 0;
		if (rc)
			return rc;
	}
	if (!rc && c->nconstants)
		qsort(c->constants, c->nconstants, sizeof(*c->constants),
		      by_class);
	return rc;
}

struct jfr_constant *
jfr_constant(const struct jfr_chunk *c, uint32_t class, uint64_t id)
{
	const struct jfr_constant key = {.class = class, .id = id};

	return c->nconstants ? bsearch(&key, c->constants, c->nconstants,
	                               sizeof(key), by_class)
	                     : NULL;
}

bool
jfr_refer(const struct jfr_chunk *c, const struct jfr_value *to,
          struct jfr_value out[JFR_NAMES])
{
	const struct jfr_constant *k = jfr_constant(c, to->class, to->n);
	struct jfr_cursor at;

	memset(out, 0, JFR_NAMES * sizeof(*out));
	if (!k || c->classes[k->class].kind != STRUCT)
		return false;
	at = (struct jfr_cursor){k->at, c->end, false};
	jfr_fields(c, k->class, &at, out);
	return !at.bad;
}

/* Finds the string behind references, up to a few. */
static struct jfr_text
follow(const struct jfr_chunk *c, const struct jfr_value *v)
{
	struct jfr_value fields[JFR_NAMES], at = *v;

	for (int i = 0; i < 4; i++) {
		const struct jfr_constant *k;
		struct jfr_cursor p;

		if (at.text.form && at.text.form != CONSTANT)
			return at.text;
		k = at.text.form ? jfr_constant(c, c->strings_class, at.text.id)
		                 : jfr_constant(c, at.class, at.n);
		if (!k)
			break;
		p = (struct jfr_cursor){k->at, c->end, false};
		if (c->classes[k->class].kind == STRING) {
			at.text = take_text(&p);
			continue;
		}
		jfr_fields(c, k->class, &p, fields);
		at = fields[JFR_string].class || fields[JFR_string].text.form
		             ? fields[JFR_string]
		             : fields[JFR_name];
	}
	return (struct jfr_text){0};
}

void
jfr_text(const struct jfr_chunk *c, const struct jfr_value *v, struct buf *out)
{
	const struct jfr_text t = follow(c, v);

	put_text(&t, out);
}
