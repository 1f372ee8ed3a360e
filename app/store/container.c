#include "store/container.h"

#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LABEL "label"

const char *const container_fact_names[CONTAINER_FACTS] = {
#define FACT(name, text) text,
#include "container.def"
#undef FACT
};

static const struct {
	const char *kind, *member;
	enum container_fact fact;
} rows[] = {
#define CONTAINER_MATCH(kind, member, fact) {#kind, member, CONTAINER_##fact},
#include "container.def"
#undef CONTAINER_MATCH
};

void
container_facts_done(struct container_facts *f)
{
	for (size_t i = 0; i < CONTAINER_FACTS; i++)
		free(f->facts[i]);
	for (size_t i = 0; i < f->nlabels; i++) {
		free(f->labels[i].key);
		free(f->labels[i].value);
	}
	*f = (struct container_facts){0};
}

const char *
container_fact(const struct container_facts *f, enum container_fact fact)
{
	return f && f->facts[fact] ? f->facts[fact] : "";
}

bool
container_text_ok(const char *s, size_t n)
{
	return n < CONTAINER_TEXT && utf8_printable(s, n);
}

/* --- patterns ------------------------------------------------------------- */

/*
 * Compares a text of m bytes with a pattern of n bytes. After a mismatch, the
 * last * takes one more byte, so the time is bounded by the product of the
 * lengths.
 */
static bool
is_like(const char *p, size_t n, const char *text, size_t m)
{
	const char *end = p + n, *last = text + m, *star = NULL, *from = NULL;

	while (text < last) {
		if (p < end && *p == '*') {
			star = ++p;
			from = text;
		} else if (p < end && (*p == '?' || *p == *text)) {
			p++;
			text++;
		} else if (star) {
			p = star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

bool
container_list_has(const char *patterns, const char *text)
{
	size_t n;

	if (!patterns)
		return false;
	for (; *(patterns += strspn(patterns, " ")); patterns += n) {
		n = strcspn(patterns, " ");
		if (is_like(patterns, n, text, strlen(text)))
			return true;
	}
	return false;
}

/* Compares an image, with or without its tag, and with or without the registry
 * that runtimes add: "nginx" is docker.io/library/nginx:1.25. */
static bool
is_image(const char *pattern, const char *image)
{
	static const char *const added[] = {"docker.io/library/", "docker.io/",
	                                    "localhost/", ""};
	size_t n = strlen(pattern);

	for (size_t i = 0; i < ARRAY_LEN(added); i++) {
		size_t k = strlen(added[i]);
		const char *name = image + k, *last;

		if (strncmp(image, added[i], k) != 0)
			continue;
		last = strrchr(name, '/') ?: name;
		if (is_like(pattern, n, name, strlen(name)) ||
		    is_like(pattern, n, name,
		            (size_t)(last - name) + strcspn(last, ":@")))
			return true;
	}
	return false;
}

/* --- matches -------------------------------------------------------------- */

bool
container_match_is(const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].kind, kind))
			return true;
	return !strcmp(kind, LABEL);
}

bool
container_match_is_text(const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].kind, kind))
			return !*rows[i].member;
	return false;
}

void
container_match_done(struct container_match *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->wants[i].label);
		free(m->wants[i].pattern);
	}
	*m = (struct container_match){0};
}
#define CLEANUP_CONTAINER_MATCH CLEANUP(container_match_done)

static int
add(struct container_match *m, enum container_fact fact, const char *label,
    const char *pattern)
{
	size_t i = m->n;

	if (i == CONTAINER_WANTS || !pattern ||
	    !container_text_ok(pattern, strlen(pattern)))
		return -EINVAL;
	m->wants[i].fact = fact;
	m->wants[i].label = label ? strdup(label) : NULL;
	m->wants[i].pattern = strdup(pattern);
	m->n++;
	return (!label || m->wants[i].label) && m->wants[i].pattern ? 0
	                                                            : -ENOMEM;
}

static int
add_member(struct container_match *m, const char *kind, const char *member,
           const char *pattern)
{
	if (!strcmp(kind, LABEL))
		return container_text_ok(member, strlen(member))
		               ? add(m, 0, member, pattern)
		               : -EINVAL;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].kind, kind) &&
		    !strcmp(rows[i].member, member))
			return add(m, rows[i].fact, NULL, pattern);
	return -EINVAL;
}

static int
add_members(struct container_match *m, const char *kind, const char *value)
{
	CLEANUP_JSON json_t *j =
		json_loads(value, JSON_REJECT_DUPLICATES, NULL);
	json_t *pattern;
	const char *member;
	int rc = json_object_size(j) ? 0 : -EINVAL;

	json_object_foreach(j, member, pattern)
		rc = rc
		             ?: add_member(m, kind, member,
		                           json_string_value(pattern));
	return rc;
}

int
container_match_init(const char *kind, const char *value,
                     struct container_match *out)
{
	CLEANUP_CONTAINER_MATCH struct container_match m = {0};
	int rc;

	if (!container_match_is(kind))
		return -EINVAL;
	rc = container_match_is_text(kind) ? add_member(&m, kind, "", value)
	                                   : add_members(&m, kind, value);
	if (rc)
		return rc;
	*out = m;
	m.n = 0;
	return 0;
}

static const char *
label_of(const struct container_facts *f, const char *key)
{
	for (size_t i = 0; i < f->nlabels; i++)
		if (!strcmp(f->labels[i].key, key))
			return f->labels[i].value;
	return NULL;
}

static const struct {
	enum container_fact fact;
	enum { EACH, START } of;
} labels[] = {
#define CONTAINER_LABEL(fact, of) {CONTAINER_##fact, of},
#include "container.def"
#undef CONTAINER_LABEL
};
_Static_assert(ARRAY_LEN(labels) + 1 == CONTAINER_PROFILE_LABELS,
               "every label has a number");

bool
container_label_of_start(size_t i)
{
	return i < ARRAY_LEN(labels) && labels[i].of == START;
}

const char *
container_profile_label(const struct container_facts *f, size_t i,
                        const char **key)
{
	const char *text;

	if (!f)
		return NULL;
	if (i < ARRAY_LEN(labels)) {
		*key = container_fact_names[labels[i].fact];
		text = f->facts[labels[i].fact];
	} else {
		*key = "version";
		text = label_of(f, "org.opencontainers.image.version");
	}
	return text && strlen(text) < CONTAINER_PROFILE_LABEL_TEXT ? text
	                                                           : NULL;
}

static bool
holds(const struct container_match *m, size_t i,
      const struct container_facts *f)
{
	const char *pattern = m->wants[i].pattern,
		   *text = m->wants[i].label ? label_of(f, m->wants[i].label)
	                                     : f->facts[m->wants[i].fact];

	if (!text)
		return false;
	return !m->wants[i].label && m->wants[i].fact == CONTAINER_IMAGE
	               ? is_image(pattern, text)
	               : is_like(pattern, strlen(pattern), text, strlen(text));
}

bool
container_matches(const struct container_match *m,
                  const struct container_facts *f)
{
	for (size_t i = 0; i < m->n; i++)
		if (!holds(m, i, f))
			return false;
	return m->n > 0;
}
