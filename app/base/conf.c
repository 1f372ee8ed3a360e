#include "base/conf.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* inih truncates section names at 49 characters (its INI_MAX_SECTION). */
#define CONF_TENANT_MAX 43

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

static const char *const type_names[] = {"TEXT", "INT", "BYTES", "SECONDS"};

static const struct suffix {
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

/* Returns the largest suffix of a type that leaves a number whole, or NULL. */
static const struct suffix *
suffix_of(const char *type, int64_t v)
{
	const struct suffix *best = NULL;

	for (size_t i = 0; i < ARRAY_LEN(suffixes) && v; i++)
		if (!strcmp(type_names[suffixes[i].type], type) &&
		    v % suffixes[i].factor == 0)
			best = &suffixes[i];
	return best;
}

void
conf_show(const char *type, int64_t v, struct buf *out)
{
	const struct suffix *s = suffix_of(type, v);

	buf_int(out, s ? v / s->factor : v);
	if (s)
		buf_putc(out, s->suffix);
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

const struct conf_quota conf_quotas[QUOTAS] = {
#define QUOTA(name, sql, type, def, counts, frees) {#name, counts, frees, def},
#include "quotas.def"
#undef QUOTA
};
static const enum value_type quota_types[QUOTAS] = {
#define QUOTA(name, sql, type, def, counts, frees) type,
#include "quotas.def"
#undef QUOTA
};

static int
set_default(struct conf *c)
{
	for (size_t i = 0; i < conf_nkeys; i++) {
		int rc = set_value(c, i, conf_keys[i].def);

		if (rc)
			return rc;
	}
	for (size_t q = 0; q < QUOTAS; q++)
		c->quotas[q] = conf_quotas[q].def;
	return 0;
}

/* State of the line handler, with the first error; inih reports the number of
 * its line. */
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

static const struct {
	const char *key;
	size_t offset;
} scope_keys[] = {
#define SCOPE(key, doc) {#key, offsetof(struct conf_tenant, key)},
#include "scope.def"
#undef SCOPE
};
#define SCOPE(key, doc) #key ", "
static const char scope_key_list[] =
#include "scope.def"
	"";
#undef SCOPE

static struct conf_tenant *
tenant_named(struct conf *c, const char *tenant)
{
	struct conf_tenant *grown, *s;

	for (size_t i = 0; i < c->ntenants; i++)
		if (!strcmp(c->tenants[i].tenant, tenant))
			return &c->tenants[i];
	if (c->ntenants == CONF_MAX_TENANTS)
		return NULL;
	grown = realloc(c->tenants, (c->ntenants + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	c->tenants = grown;
	s = &grown[c->ntenants];
	*s = (struct conf_tenant){.tenant = strdup(tenant)};
	if (!s->tenant)
		return NULL;
	for (size_t q = 0; q < QUOTAS; q++)
		s->quotas[q] = -1;
	c->ntenants++;
	return s;
}

/* Finds the tenant that a section is named after. */
static struct conf_tenant *
section_tenant(struct reading *r, const char *tenant)
{
	struct conf_tenant *s = NULL;

	if (strlen(tenant) >= CONF_TENANT_MAX) /* inih may have truncated it */
		refuse(r, -E2BIG, "'%s' is too long for the name of a tenant",
		       tenant);
	else if (!(s = tenant_named(r->conf, tenant)))
		refuse(r, -E2BIG, "sections of more than %d tenants",
		       CONF_MAX_TENANTS);
	return s;
}

static int
set_scope(struct reading *r, const char *tenant, const char *key,
          const char *value)
{
	struct conf_tenant *s = section_tenant(r, tenant);
	char **at = NULL, *copy;

	if (!s)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(scope_keys) && !at; i++)
		if (!strcmp(key, scope_keys[i].key))
			at = (char **)((char *)s + scope_keys[i].offset);
	if (!at)
		return refuse(r, -EINVAL,
		              "'%s' in [scope.%s]: expected one of %.*s", key,
		              tenant, (int)strlen(scope_key_list) - 2,
		              scope_key_list);
	copy = strdup(value);
	if (!copy)
		return refuse(r, -ENOMEM, "out of memory");
	free(*at);
	*at = copy;
	return 1;
}

static int
set_limit(struct reading *r, int64_t *limits, const char *section,
          const char *key, const char *value)
{
	for (size_t q = 0; q < QUOTAS; q++) {
		if (strcmp(key, conf_quotas[q].name) != 0)
			continue;
		if (!parse_number(quota_types[q], value, &limits[q]))
			return 1;
		return refuse(r, -EINVAL, "[%s] %s = %s: expected %s", section,
		              key, value,
		              quota_types[q] == BYTES ? "BYTES" : "INT");
	}
	return refuse(r, -EINVAL, "unknown key '%s' in [%s]", key, section);
}

static int
set_quota(struct reading *r, const char *section, const char *key,
          const char *value)
{
	struct conf_tenant *s = section_tenant(r, section + strlen("quota."));

	return s ? set_limit(r, s->quotas, section, key, value) : 0;
}

/* True for the address of a site; the web application works at "/" only. */
static bool
is_site(const char *text)
{
	struct url u;

	return !url_parse(text, &u) && (!*u.path || !strcmp(u.path, "/"));
}

static int
on_value(void *user, const char *section, const char *key, const char *value)
{
	struct reading *r = user;

	if (r->err)
		return 0;
	if (!strncmp(section, "scope.", 6) && section[6])
		return set_scope(r, section + 6, key, value);
	if (!strcmp(section, "quota"))
		return set_limit(r, r->conf->quotas, section, key, value);
	if (!strncmp(section, "quota.", 6) && section[6])
		return set_quota(r, section, key, value);
	for (size_t i = 0; i < conf_nkeys; i++) {
		const struct conf_key *k = &conf_keys[i];

		if (strcmp(k->section, section) || strcmp(k->key, key))
			continue;
		if (!strcmp(key, "public_url") && !is_site(value))
			return refuse(r, -EINVAL,
			              "[api] public_url = %s: expected http:// "
			              "or https://, and a host without a path: "
			              "Stoker needs a host name, or a port, to "
			              "itself",
			              value);
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
	for (size_t i = 0; i < c->ntenants; i++) {
		free(c->tenants[i].tenant);
#define SCOPE(key, doc) free(c->tenants[i].key);
#include "scope.def"
#undef SCOPE
	}
	free(c->tenants);
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

const struct conf_tenant *
conf_tenant(const struct conf *c, const char *tenant)
{
	for (size_t i = 0; i < c->ntenants; i++)
		if (!strcmp(c->tenants[i].tenant, tenant))
			return &c->tenants[i];
	return NULL;
}

int64_t
conf_quota(const struct conf *c, const char *tenant, enum quota q)
{
	const struct conf_tenant *t = conf_tenant(c, tenant);

	return t && t->quotas[q] >= 0 ? t->quotas[q] : c->quotas[q];
}

bool
conf_allows_endpoint(const struct conf *c, const char *tenant,
                     const struct url *u, const char *own)
{
	const struct conf_tenant *s = conf_tenant(c, tenant);

	return s && s->endpoints && url_allowed(c->fetch_allow, u, own) &&
	       url_allowed(s->endpoints, u, own);
}

bool
conf_allows_webhook(const struct conf *c, const char *tenant,
                    const struct url *u, const char *own)
{
	const struct conf_tenant *s = conf_tenant(c, tenant);

	return s && s->webhooks && url_allowed(c->webhook_allow, u, own) &&
	       url_allowed(s->webhooks, u, own);
}

bool
conf_allows_collector(const struct conf *c, const char *tenant,
                      const struct url *u, const char *own)
{
	const struct conf_tenant *s = conf_tenant(c, tenant);

	return s && s->collectors && url_allowed(c->collector_allow, u, own) &&
	       url_allowed(s->collectors, u, own);
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
