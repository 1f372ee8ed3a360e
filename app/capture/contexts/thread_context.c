#include "thread_context.h"

#include "base/utf8.h"
#include "profile/profile.h"
#include "profile/stored/wire.h"

#define HEAD       28 /* bytes before the attributes */
#define VALID_AT   24
#define IDS        24
#define SCHEMA     "threadlocal.schema_version"
#define KEY_MAP    "threadlocal.attribute_key_map"
#define IN_STORAGE "tls" /* prefix of schemas with a thread-local variable */

/* --- names ---------------------------------------------------------------- */

/* Fields of ProcessContext, KeyValue, AnyValue and ArrayValue. */
enum {
	ATTRIBUTE = WIRE_KEY(2, WIRE_BYTES),
	KEY = WIRE_KEY(1, WIRE_BYTES),
	VALUE = WIRE_KEY(2, WIRE_BYTES),
	TEXT = WIRE_KEY(1, WIRE_BYTES),
	ARRAY = WIRE_KEY(5, WIRE_BYTES),
	ITEM = WIRE_KEY(1, WIRE_BYTES)
};

static size_t
size_of(struct wire w)
{
	return (size_t)(w.end - w.p);
}

static int
add_name(void *arg, struct wire item)
{
	struct thread_keys *out = arg;
	struct wire text = {item.p, item.p};
	char *to = out->names[out->n];
	int rc = wire_last(item, TEXT, &text);
	size_t n = size_of(text);

	if (rc || out->n == THREAD_MAX_KEYS)
		return rc;
	out->n++;
	*to = '\0';
	if (n >= THREAD_KEY || !utf8_printable((const char *)text.p, n))
		return 0;
	memcpy(to, text.p, n);
	to[n] = '\0';
	if (profile_label_is_id(to)) /* labels with these names are made from
	                                the ids */
		*to = '\0';
	return 0;
}

static int
add_names(struct wire value, struct thread_keys *out)
{
	struct wire array = {value.p, value.p};
	int rc = wire_last(value, ARRAY, &array);

	out->n = 0;
	return rc ? rc : wire_each(array, ITEM, add_name, out);
}

static int
take_attribute(void *arg, struct wire w)
{
	struct thread_keys *out = arg;
	struct wire key = {w.p, w.p}, value = key, text = key;
	int rc = wire_last(w, KEY, &key) ?: wire_last(w, VALUE, &value);

	if (rc)
		return rc;
	if (wire_is(key, KEY_MAP))
		return add_names(value, out);
	if (!wire_is(key, SCHEMA))
		return 0;
	rc = wire_last(value, TEXT, &text);
	out->used = size_of(text) >= strlen(IN_STORAGE) &&
	            !memcmp(text.p, IN_STORAGE, strlen(IN_STORAGE));
	return rc;
}

int
thread_keys_parse(const void *p, size_t n, struct thread_keys *out)
{
	struct wire w = {p, (const uint8_t *)p + n};

	out->used = false;
	out->n = 0;
	return wire_each(w, ATTRIBUTE, take_attribute, out);
}

/* --- contexts ------------------------------------------------------------- */

static void
put_span(const uint8_t *ids, struct thread_context *out)
{
	static const char digits[] = "0123456789abcdef";
	bool any = false;

	for (size_t i = 0; i < IDS; i++) {
		out->span[2 * i] = digits[ids[i] >> 4];
		out->span[2 * i + 1] = digits[ids[i] & 15];
		any |= ids[i];
	}
	out->span[any ? THREAD_SPAN : 0] = '\0';
}

/*
 * Inserts an attribute by name; a later value replaces an earlier one of the
 * same name.
 */
static void
put_attribute(const struct thread_attribute *a, struct thread_context *out)
{
	uint32_t i = 0;

	while (i < out->n && strcmp(out->attributes[i].name, a->name) < 0)
		i++;
	if (i == out->n || strcmp(out->attributes[i].name, a->name) != 0) {
		if (out->n == THREAD_MAX_ATTRIBUTES)
			return;
		memmove(&out->attributes[i + 1], &out->attributes[i],
		        (out->n++ - i) * sizeof(*a));
	}
	out->attributes[i] = *a;
}

static void
take_value(uint8_t key, const char *value, size_t n,
           const struct thread_keys *keys, struct thread_context *out)
{
	struct thread_attribute a = {.value = value, .len = n};

	if (key >= keys->n) {
		out->unknown = true;
		return;
	}
	a.name = keys->names[key];
	if (*a.name && utf8_printable(value, n))
		put_attribute(&a, out);
}

int
thread_context_parse(const uint8_t *p, size_t n, const struct thread_keys *keys,
                     struct thread_context *out)
{
	uint16_t size;

	if (n < HEAD || p[VALID_AT] != 1)
		return -ENOENT;
	out->n = 0;
	out->unknown = false;
	put_span(p, out);
	memcpy(&size, p + HEAD - sizeof(size), sizeof(size));
	p += HEAD;
	n -= HEAD;
	if (n > size)
		n = size;
	while (n >= 2 && n - 2 >= p[1]) {
		const size_t whole = (size_t)2 + p[1];

		take_value(p[0], (const char *)p + 2, p[1], keys, out);
		p += whole;
		n -= whole;
	}
	return *out->span || out->n ? 0 : -ENOENT;
}
