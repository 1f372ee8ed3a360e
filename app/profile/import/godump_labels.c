#include "godump_private.h"

#include <stdio.h>

static int
add_label(struct dump *d, struct label labels[], uint32_t *n,
          enum goroutine_label key, struct text value)
{
	struct label l = {.key = d->keys[key]};
	int rc = profile_string(d->p, value.p, value.n, &l.str);

	if (!rc && l.str)
		labels[(*n)++] = l;
	return rc;
}

static void
add_number(const struct dump *d, struct label labels[], uint32_t *n,
           enum goroutine_label key, uint64_t value)
{
	if (value)
		labels[(*n)++] = (struct label){.key = d->keys[key],
		                                .num = (int64_t)value};
}

static struct text
reason_of(const struct dump *d)
{
	struct text raw = d->head.raw;
	const char *known = goroutine_reason(raw.p, raw.n);

	if (raw.n == 10 && !memcmp(raw.p, "semacquire", 10))
		known = goroutine_stack_lock(d->p, d->stack, d->nstack)
		                ?: known;
	return known ? (struct text){known, strlen(known)} : raw;
}

static int
add_state(struct dump *d, struct label labels[], uint32_t *n)
{
	struct text raw = d->head.raw;
	const char *state = goroutine_state(raw.p, raw.n);
	struct text word = {state, strlen(state)};
	int rc = add_label(d, labels, n, GOROUTINE_STATE, word);

	if (!rc && !strcmp(state, "waiting"))
		rc = add_label(d, labels, n, GOROUTINE_REASON, reason_of(d));
	return rc ? rc : add_label(d, labels, n, GOROUTINE_RAW, raw);
}

static int
add_ours(struct dump *d, struct label labels[], uint32_t *n)
{
	const struct godump_head *h = &d->head;
	const struct {
		enum goroutine_label key;
		struct text value;
	} texts[] = {
		{GOROUTINE_CREATOR, d->creator},
		{GOROUTINE_CREATED, d->created_at},
		{GOROUTINE_LOCKED, h->locked ? TEXT("yes") : TEXT("")},
		{GOROUTINE_LEAKED, h->leaked ? TEXT("yes") : TEXT("")},
		{GOROUTINE_BUBBLE, h->bubble},
	};
	int rc = add_state(d, labels, n);

	for (size_t i = 0; i < ARRAY_LEN(texts) && !rc; i++)
		rc = add_label(d, labels, n, texts[i].key, texts[i].value);
	add_number(d, labels, n, GOROUTINE_GOID, h->goid);
	add_number(d, labels, n, GOROUTINE_PARENT, d->parent);
	add_number(d, labels, n, GOROUTINE_MINUTES, h->minutes);
	return rc;
}

static int
add_own(struct dump *d, struct label labels[], uint32_t *n)
{
	struct text rest = d->head.labels;
	int rc = 0;

	while (*n < PROFILE_MAX_LABELS && !rc &&
	       godump_label(&rest, &d->a, &d->b)) {
		struct label l = {0};
		char key[64];

		if (goroutine_has_key(buf_str(&d->a))) {
			snprintf(key, sizeof(key), "label:%s", buf_str(&d->a));
			rc = profile_cstring(d->p, key, &l.key);
		} else {
			rc = profile_string(d->p, d->a.p, d->a.len, &l.key);
		}
		if (!rc)
			rc = profile_string(d->p, buf_str(&d->b), d->b.len,
			                    &l.str);
		if (!rc && l.str)
			labels[(*n)++] = l;
	}
	return rc;
}

int
godump_labels(struct dump *d, struct label out[static PROFILE_MAX_LABELS],
              uint32_t *n)
{
	int rc;

	*n = 0;
	rc = add_ours(d, out, n);
	return rc ? rc : add_own(d, out, n);
}
