#include "context.h"

#include "profile/stored/wire.h"
#include "store/container.h"

#include <stdlib.h>

/* Fields of ProcessContext, Resource, KeyValue and AnyValue. */
enum {
	RESOURCE = WIRE_KEY(1, WIRE_BYTES),
	ATTRIBUTE = WIRE_KEY(1, WIRE_BYTES),
	MORE_ATTRIBUTE = WIRE_KEY(2, WIRE_BYTES),
	KEY = WIRE_KEY(1, WIRE_BYTES),
	VALUE = WIRE_KEY(2, WIRE_BYTES),
	TEXT = WIRE_KEY(1, WIRE_BYTES)
};

const char *const context_keys[CONTEXT_ATTRIBUTES] = {
#define CONTEXT(name, key) key,
#include "context.def"
#undef CONTEXT
};

void
context_done(struct context *c)
{
	for (size_t i = 0; i < CONTEXT_ATTRIBUTES; i++)
		free(c->texts[i]);
	*c = (struct context){0};
}

/* Keeps the text if it is the first of a known attribute: keys should be
 * unique. */
static int
keep(struct wire key, struct wire text, struct context *out)
{
	const char *s = (const char *)text.p;
	size_t n = (size_t)(text.end - text.p);

	for (size_t i = 0; i < CONTEXT_ATTRIBUTES; i++) {
		if (out->texts[i] || !wire_is(key, context_keys[i]) ||
		    n >= CONTAINER_PROFILE_LABEL_TEXT ||
		    !container_text_ok(s, n))
			continue;
		out->texts[i] = strndup(s, n);
		return out->texts[i] ? 0 : -ENOMEM;
	}
	return 0;
}

static int
take_attribute(void *out, struct wire w)
{
	struct wire key = {w.p, w.p}, value = key, text = key;
	int rc = wire_last(w, KEY, &key) ?: wire_last(w, VALUE, &value);

	if (!rc)
		rc = wire_last(value, TEXT, &text);
	return rc ? rc : keep(key, text, out);
}

static int
take_resource(void *out, struct wire w)
{
	return wire_each(w, ATTRIBUTE, take_attribute, out);
}

int
context_parse(const void *p, size_t n, struct context *out)
{
	struct wire w = {p, (const uint8_t *)p + n};

	return wire_each(w, RESOURCE, take_resource, out)
	               ?: wire_each(w, MORE_ATTRIBUTE, take_attribute, out);
}

int
context_read(const struct memory *m, struct context *c)
{
	CLEANUP_BUF struct buf text = BUF_INIT(PUBLISHED_MAX_BYTES);
	struct published at = c->at;
	int rc = published_read(m, &at, &text);

	if (!rc)
		return 0;
	context_done(c);
	if (rc > 0)
		rc = context_parse(text.p, text.len, c);
	if (rc)
		context_done(c);
	else
		c->at = at;
	return rc;
}
