#include "context_rows.h"

#include "base/buf.h"
#include "capture/process/modules.h"

#include <string.h>

/* Most bytes of a set: names and values, each followed by a NUL. */
#define MAX_SET ((size_t)THREAD_MAX_ATTRIBUTES * (THREAD_KEY + 256))

void
context_rows_done(struct context_rows *r)
{
	strings_free(r->spans);
	strings_free(r->sets);
	*r = (struct context_rows){0};
}

/* Finds or adds a text, at most `most` of them; 0 if there is no room. */
static uint32_t
intern(struct strings **in, const char *text, size_t n, uint32_t most)
{
	uint32_t id = 0;
	int rc;

	if (!n)
		return 0;
	if (!*in)
		*in = strings_new();
	if (!*in)
		return 0;
	rc = strings_count(*in) <= most ? strings_add(*in, text, n, &id)
	                                : strings_find(*in, text, n, &id);
	return rc ? 0 : id;
}

static uint32_t
intern_set(struct context_rows *r, const struct thread_context *c)
{
	CLEANUP_BUF struct buf text = BUF_INIT(MAX_SET);

	for (uint32_t i = 0; i < c->n; i++) {
		const struct thread_attribute *a = &c->attributes[i];

		buf_add(&text, a->name, strlen(a->name) + 1);
		buf_add(&text, a->value, a->len);
		buf_putc(&text, '\0');
	}
	return buf_err(&text)
	               ? 0
	               : intern(&r->sets, text.p, text.len, CONTEXT_MAX_SETS);
}

bool
context_rows_place(struct context_rows *r, const struct thread_context *c,
                   struct place *out)
{
	const uint64_t span =
		intern(&r->spans, c->span, strlen(c->span), CONTEXT_MAX_SPANS);

	*out = (struct place){MODULE_CONTEXT, span << 32 | intern_set(r, c)};
	return out->vaddr != 0;
}

uint32_t
context_rows_spans(const struct context_rows *r)
{
	return r->spans ? strings_count(r->spans) - 1 : 0;
}

static int
put_label(struct profile *p, const char *key, const char *value, size_t len,
          struct label out[static CONTEXT_LABELS], uint32_t *n)
{
	struct label l = {0};
	int rc = profile_cstring(p, key, &l.key)
	                 ?: profile_string(p, value, len, &l.str);

	if (!rc)
		out[(*n)++] = l;
	return rc;
}

int
context_rows_labels(const struct context_rows *r, uint64_t vaddr,
                    bool with_span, struct profile *p,
                    struct label out[static CONTEXT_LABELS], uint32_t *n)
{
	const uint32_t set = (uint32_t)vaddr, span = context_span_of(vaddr);
	size_t left = 0;
	const char *at = set ? strings_get(r->sets, set, &left) : NULL;
	int rc = 0;

	*n = 0;
	while (left && !rc) {
		const char *value = at + strlen(at) + 1;
		const size_t len = strlen(value);

		rc = put_label(p, at, value, len, out, n);
		left -= (size_t)(value + len + 1 - at);
		at = value + len + 1;
	}
	if (rc || !span || !with_span)
		return rc;
	at = strings_get(r->spans, span, NULL);
	return put_label(p, PROFILE_LABEL_SPAN, at + THREAD_TRACE,
	                 THREAD_SPAN - THREAD_TRACE, out, n)
	               ?: put_label(p, PROFILE_LABEL_TRACE, at, THREAD_TRACE,
	                            out, n);
}
