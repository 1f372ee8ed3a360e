#include "otlp_shape.h"

#include <errno.h>
#include <string.h>

#define LAYOUTS_TEXT "Stoker reads the layouts of OTLP 1.7 to 1.11"

const struct otlp_row otlp_rows[OTLP_FIELDS] = {
	{.name = ""},
#define OTLP(message, field, kind, of, n7, n8, n9, n10) \
	{OTLP_##message,                                \
	 #field,                                        \
	 OTLP_KIND_##kind,                              \
	 OTLP_##of,                                     \
	 {n7, n8, n9, n10}},
#include "profile/stored/otlp.def"
#undef OTLP
};

static const char *const message_names[OTLP_MESSAGES] = {
	[OTLP_DATA] = "ProfilesData",
	[OTLP_DICTIONARY] = "ProfilesDictionary",
	[OTLP_RESOURCES] = "ResourceProfiles",
	[OTLP_RESOURCE] = "Resource",
	[OTLP_SCOPES] = "ScopeProfiles",
	[OTLP_SCOPE] = "InstrumentationScope",
	[OTLP_PROFILE] = "Profile",
	[OTLP_VALUE_TYPE] = "ValueType",
	[OTLP_SAMPLE] = "Sample",
	[OTLP_MAPPING] = "Mapping",
	[OTLP_LOCATION] = "Location",
	[OTLP_LINE] = "Line",
	[OTLP_FUNCTION] = "Function",
	[OTLP_STACK] = "Stack",
	[OTLP_LINK] = "Link",
	[OTLP_ATTRIBUTE] = "KeyValueAndUnit",
	[OTLP_KEY_VALUE] = "KeyValue",
	[OTLP_ANY] = "AnyValue",
	[OTLP_ARRAY] = "ArrayValue",
};

unsigned
otlp_layouts(enum otlp_field f)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < OTLP_LAYOUTS; i++)
		bits |= (unsigned)(otlp_rows[f].number[i] != 0) << i;
	return bits;
}

static enum wire_type
wire_of(enum otlp_kind kind)
{
	switch (kind) {
	case OTLP_KIND_NUMBER:
		return WIRE_VARINT;
	case OTLP_KIND_FIXED:
	case OTLP_KIND_DOUBLE:
		return WIRE_FIXED64;
	default:
		return WIRE_BYTES;
	}
}

/* --- fields by number ----------------------------------------------------- */

static void
number_fields(struct otlp_shape *s)
{
	memset(s->at, 0, sizeof(s->at));
	for (enum otlp_field i = 1; i < OTLP_FIELDS; i++)
		s->at[otlp_rows[i].message][otlp_rows[i].number[s->layout]] =
			(uint8_t)i;
	for (unsigned m = 0; m < OTLP_MESSAGES; m++)
		s->at[m][0] = OTLP_NO_FIELD;
}

int
otlp_next(const struct otlp_shape *s, enum otlp_message m, struct wire *w,
          struct wire_field *f, enum otlp_field *field)
{
	int r = wire_next(w, f);
	enum otlp_field found;

	*field = OTLP_NO_FIELD;
	if (r <= 0 || f->key >> 3 >= OTLP_MAX_NUMBER)
		return r;
	found = s->at[m][f->key >> 3];
	if (found && wire_of(otlp_rows[found].kind) == (f->key & 7))
		*field = found;
	return r;
}

/* --- the layout ----------------------------------------------------------- */

/* A field's evidence for the layouts, by number and wire type. */
struct hint {
	uint8_t layouts; /* bits: layouts that have the field */
	bool known;      /* a layout has the number */
	bool descend;    /* it is one message in all these layouts */
	enum otlp_message of;
};

struct look {
	struct hint hints[OTLP_MESSAGES][OTLP_MAX_NUMBER][WIRE_FIXED32 + 1];
	struct otlp_shape *shape;
	unsigned layouts;    /* still possible */
	uint64_t attributes; /* highest number in field 2 of samples that may
	                        be an attribute or a value */
	struct buf *why;
};

static void
hint_at(struct look *k, const struct otlp_row *row)
{
	for (unsigned i = 0; i < OTLP_LAYOUTS; i++) {
		struct hint *h = k->hints[row->message][row->number[i]];

		if (!row->number[i])
			continue;
		for (unsigned t = 0; t <= WIRE_FIXED32; t++)
			h[t].known = true;
		h += wire_of(row->kind);
		h->descend = row->kind == OTLP_KIND_MESSAGE &&
		             (!h->layouts || (h->descend && h->of == row->of));
		h->layouts |= (uint8_t)(1u << i);
		h->of = row->of;
	}
}

static int
contradicts(struct look *k, enum otlp_message m, uint32_t number)
{
	buf_addf(k->why,
	         "it is OTLP of another layout: field %u of %s does not "
	         "fit; " LAYOUTS_TEXT,
	         number, message_names[m]);
	return -EPROTONOSUPPORT;
}

#define OLD (1u << OTLP_1_8 | 1u << OTLP_1_9)
#define NEW (1u << OTLP_1_10)

/* The parts of a sample that layouts 1.8, 1.9 and 1.10 may have in common. */
struct ambiguous {
	bool others;        /* it has fields that only one of them has */
	struct wire field2; /* its numbers; p is NULL if there are none */
	uint32_t times;     /* points in time */
};

/*
 * True if numbers can't be attributes: one is 0 or occurs twice. Raises *most
 * to the highest.
 */
static bool
are_values(struct wire w, uint64_t *most)
{
	uint64_t v, before = 0;

	while (w.p < w.end && !wire_varint(&w, &v)) {
		if (!v || v == before)
			return true;
		before = v;
		*most = v > *most ? v : *most;
	}
	return false;
}

/* Without field 4, field 2 of a sample may have values, as in 1.8 and 1.9, or
 * attributes, as in 1.10. They are no attributes if there are no points in
 * time, which 1.10 needs in a sample without values, and no values if their
 * number differs from that of the points. */
static void
settle_sample(struct look *k, const struct ambiguous *a)
{
	if (a->others || !a->field2.p || !(k->layouts & OLD) ||
	    !(k->layouts & NEW))
		return;
	if (!a->times || are_values(a->field2, &k->attributes))
		k->layouts &= ~NEW;
	else if (wire_count(a->field2) != a->times)
		k->layouts &= ~OLD;
}

/* Decides between layouts that fit all samples. */
static void
settle(struct look *k)
{
	if (k->layouts & OLD && k->layouts & NEW &&
	    k->attributes >= k->shape->messages[OTLP_ATTRIBUTE] &&
	    k->attributes)
		k->layouts &= ~NEW;
}

static int look_at(struct look *k, enum otlp_message m, struct wire w);

static int
look_at_field(struct look *k, enum otlp_message m, const struct wire_field *f)
{
	uint32_t number = f->key >> 3;
	const struct hint *h;

	if (number >= OTLP_MAX_NUMBER)
		return 0;
	h = &k->hints[m][number][f->key & 7];
	if (!h->known)
		return 0;
	k->layouts &= h->layouts;
	if (!k->layouts)
		return contradicts(k, m, number);
	/* lists of values may be nested; they are not evidence for a layout */
	if (h->descend && h->of != OTLP_ARRAY)
		return look_at(k, h->of, f->bytes);
	if (m == OTLP_DICTIONARY && number == OTLP_N_DICTIONARY_STRING_TABLE)
		k->shape->strings++;
	/* the number has other contents in other layouts */
	if (m == OTLP_DICTIONARY && number == OTLP_N_DICTIONARY_STACK_TABLE)
		k->shape->messages[OTLP_STACK]++;
	return 0;
}

static int
look_at(struct look *k, enum otlp_message m, struct wire w)
{
	struct ambiguous a = {0};
	struct wire_field f;
	int r;

	k->shape->messages[m]++;
	while ((r = wire_next(&w, &f)) > 0) {
		r = look_at_field(k, m, &f);
		if (r)
			return r;
		if (m != OTLP_SAMPLE)
			continue;
		if (f.key == WIRE_KEY(2, WIRE_BYTES))
			a.field2 = f.bytes;
		else if (f.key == WIRE_KEY(5, WIRE_BYTES))
			a.times += (uint32_t)(f.bytes.end - f.bytes.p) / 8;
		else if (f.key >> 3 > 2)
			a.others = true;
	}
	if (!r && m == OTLP_SAMPLE)
		settle_sample(k, &a);
	return r;
}

int
otlp_shape(struct wire file, unsigned layouts, struct otlp_shape *out,
           struct buf *why)
{
	struct look k = {.shape = out, .layouts = layouts, .why = why};
	int r;

	*out = (struct otlp_shape){0};
	for (enum otlp_field i = 1; i < OTLP_FIELDS; i++)
		hint_at(&k, &otlp_rows[i]);
	r = look_at(&k, OTLP_DATA, file);
	if (r == -EBADMSG)
		buf_puts(why, "truncated, or not OTLP profiles");
	if (r)
		return r;
	if (out->messages[OTLP_PROFILE] && !out->messages[OTLP_DICTIONARY]) {
		buf_puts(why, "it is OTLP without a dictionary, of a layout "
		              "before 1.7; " LAYOUTS_TEXT);
		return -EPROTONOSUPPORT;
	}
	settle(&k);
	out->layout = 31 - (enum otlp_layout)__builtin_clz(k.layouts);
	number_fields(out);
	return 0;
}
