#include "base/conf.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

enum value_type { TEXT, INT, BYTES, SECONDS };

const struct conf_key conf_keys[] = {
#define KEY(section, key, type, def, min, max, doc) \
	{#section, #key, #type, def, doc, min, max},
#include "config.def"
#undef KEY
};
const size_t conf_nkeys = ARRAY_LEN(conf_keys);

static const struct {
	enum value_type type;
	size_t offset;
} places[] = {
#define KEY(section, key, type, def, min, max, doc) \
	{type, offsetof(struct conf, section##_##key)},
#include "config.def"
#undef KEY
};

static const struct {
	enum value_type type;
	char suffix;
	int64_t factor;
} suffixes[] = {
	{BYTES, 'K', INT64_C(1) << 10},
	{BYTES, 'M', INT64_C(1) << 20},
	{BYTES, 'G', INT64_C(1) << 30},
	{BYTES, 'T', INT64_C(1) << 40},
	{SECONDS, 's', 1},
	{SECONDS, 'm', 60},
	{SECONDS, 'h', 3600},
	{SECONDS, 'd', 86400},
};

static int
parse_number(enum value_type type, const char *text, int64_t *out)
{
	char *end;
	int64_t v, factor = 1;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (end == text || errno || v < 0)
		return -EINVAL;
	for (size_t i = 0; *end && i < ARRAY_LEN(suffixes); i++) {
		if (suffixes[i].type != type || suffixes[i].suffix != *end)
			continue;
		factor = suffixes[i].factor;
		end++;
		break;
	}
	if (*end || __builtin_mul_overflow(v, factor, out))
		return -EINVAL;
	return 0;
}

static int
set_value(struct conf *c, size_t row, const char *text)
{
	const struct conf_key *k = &conf_keys[row];
	void *at = (char *)c + places[row].offset;
	int64_t v;

	if (places[row].type == TEXT) {
		size_t n = strlen(text);
		char *copy;

		if (n < (size_t)k->min || n > (size_t)k->max)
			return -EINVAL;
		copy = strdup(text);
		if (!copy)
			return -ENOMEM;
		free(*(char **)at);
		*(char **)at = copy;
		return 0;
	}
	if (parse_number(places[row].type, text, &v) || v < k->min ||
	    v > k->max)
		return -EINVAL;
	*(int64_t *)at = v;
	return 0;
}

static int
set_default(struct conf *c)
{
	for (size_t i = 0; i < conf_nkeys; i++) {
		int rc = set_value(c, i, conf_keys[i].def);

		if (rc)
			return rc;
	}
	return 0;
}

/* State of the line handler, and the first error; inih itself has the line's
 * number. */
struct reading {
	struct conf *conf;
	struct buf what;
	int err;
};

static int
refuse(struct reading *r, int err, const char *fmt, ...)
{
	va_list ap;

	r->err = err;
	va_start(ap, fmt);
	buf_vaddf(&r->what, fmt, ap);
	va_end(ap);
	return 0;
}

static struct conf_scope *
scope_named(struct conf *c, const char *tenant)
{
	struct conf_scope *grown, *s;

	for (size_t i = 0; i < c->nscopes; i++)
		if (!strcmp(c->scopes[i].tenant, tenant))
			return &c->scopes[i];
	if (c->nscopes == CONF_MAX_SCOPES)
		return NULL;
	grown = realloc(c->scopes, (c->nscopes + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	c->scopes = grown;
	s = &grown[c->nscopes];
	*s = (struct conf_scope){.tenant = strdup(tenant)};
	if (!s->tenant)
		return NULL;
	c->nscopes++;
	return s;
}

static int
set_scope(struct reading *r, const char *tenant, const char *key,
          const char *value)
{
	struct conf_scope *s = scope_named(r->conf, tenant);
	char **at = NULL, *copy;

	if (!s)
		return refuse(r, -E2BIG, "more than %d scopes",
		              CONF_MAX_SCOPES);
	if (!strcmp(key, "units"))
		at = &s->units;
	else if (!strcmp(key, "exe"))
		at = &s->exe;
	else if (!strcmp(key, "uids"))
		at = &s->uids;
	if (!at)
		return refuse(r, -EINVAL,
		              "'%s' in [scope.%s]: expected units, exe or uids",
		              key, tenant);
	copy = strdup(value);
	if (!copy)
		return refuse(r, -ENOMEM, "out of memory");
	free(*at);
	*at = copy;
	return 1;
}

static int
on_value(void *user, const char *section, const char *key, const char *value)
{
	struct reading *r = user;

	if (r->err)
		return 0;
	if (!strncmp(section, "scope.", 6) && section[6])
		return set_scope(r, section + 6, key, value);
	for (size_t i = 0; i < conf_nkeys; i++) {
		const struct conf_key *k = &conf_keys[i];

		if (strcmp(k->section, section) || strcmp(k->key, key))
			continue;
		if (!set_value(r->conf, i, value))
			return 1;
		return refuse(r, -EINVAL,
		              "[%s] %s = %s: expected %s from %lld to %lld",
		              section, key, value, k->type, (long long)k->min,
		              (long long)k->max);
	}
	return refuse(r, -EINVAL, "unknown key '%s' in [%s]", key, section);
}

int
conf_parse(const char *name, const char *text, struct conf *out,
           struct buf *why)
{
	struct conf c = {0};
	struct reading r = {.conf = &c, .what = BUF_INIT(BUF_MAX_SMALL)};
	int line = 0;

	r.err = set_default(&c);
	if (!r.err)
		line = ini_parse_string(text, on_value, &r);
	if (line && !r.err)
		refuse(&r, -EINVAL,
		       "expected [section], key = value or a comment");
	if (r.err) {
		buf_addf(why, "%s:%d: %s", name, line, buf_str(&r.what));
		conf_done(&c);
	} else {
		*out = c;
	}
	buf_done(&r.what);
	return r.err;
}

int
conf_load(const char *path, struct conf *out, struct buf *why)
{
	CLEANUP_BUF struct buf text = BUF_INIT(CONF_MAX_BYTES);
	int rc = 0;

	if (path)
		rc = file_read(AT_FDCWD, path, &text);
	if (rc && rc != -ENOENT) {
		buf_addf(why, "%s: %s", path, strerror(-rc));
		return rc;
	}
	return conf_parse(path ? path : "defaults", buf_str(&text), out, why);
}

void
conf_done(struct conf *c)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (places[i].type == TEXT)
			free(*(char **)((char *)c + places[i].offset));
	for (size_t i = 0; i < c->nscopes; i++) {
		free(c->scopes[i].tenant);
		free(c->scopes[i].units);
		free(c->scopes[i].exe);
		free(c->scopes[i].uids);
	}
	free(c->scopes);
	*c = (struct conf){0};
}

int
conf_host(const struct conf *c, char out[static CONF_HOST_MAX])
{
	struct utsname u;

	if (uname(&u))
		return -errno;
	snprintf(out, CONF_HOST_MAX, "%s",
	         *c->worker_host ? c->worker_host : u.nodename);
	return 0;
}

const struct conf_scope *
conf_scope(const struct conf *c, const char *tenant)
{
	for (size_t i = 0; i < c->nscopes; i++)
		if (!strcmp(c->scopes[i].tenant, tenant))
			return &c->scopes[i];
	return NULL;
}

bool
conf_list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	while (list && *list) {
		size_t len = strcspn(list, " ");

		if ((len == 1 && *list == '*') ||
		    (len == n && !strncmp(list, word, n)))
			return true;
		list += len + strspn(list + len, " ");
	}
	return false;
}
