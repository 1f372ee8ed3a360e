/*
 * stoker.conf: an INI file whose keys are the rows of config.def.
 *
 * Every program reads the same file. An unknown section or key, a value of
 * the wrong type or out of its bounds is an error that names the file, the
 * line and what was expected: a typo must not silently mean the default.
 *
 * [scope.TENANT] sections, whose keys are the rows of scope.def, say what a
 * tenant may name: processes, endpoints and webhooks. Every tenant without a
 * section may name nothing. [quota] limits what each tenant may hold, by the
 * rows of quotas.def, and [quota.TENANT] what one may.
 */
#pragma once

#include "base/buf.h"
#include "base/url.h"

#include <stdbool.h>

#define CONF_MAX_BYTES   ((size_t)256 << 10)
#define CONF_MAX_TENANTS 256
#define CONF_HOST_MAX    201

enum quota {
#define QUOTA(name, sql, type, counts, frees) QUOTA_##name,
#include "quotas.def"
#undef QUOTA
	QUOTAS
};

/* Sections of one tenant. */
struct conf_tenant {
	char *tenant;
	/* scope, as written: words separated by spaces; NULL: nothing */
#define SCOPE(key, doc) char *key;
#include "scope.def"
#undef SCOPE
	int64_t quotas[QUOTAS]; /* 0: no limit; -1: as [quota] says */
};

struct conf {
#define CONF_FIELD_TEXT    char *
#define CONF_FIELD_INT     int64_t
#define CONF_FIELD_BYTES   int64_t
#define CONF_FIELD_SECONDS int64_t
#define KEY(section, key, type, def, min, max, doc) \
	CONF_FIELD_##type section##_##key;
#include "config.def"
#undef KEY
	int64_t quotas[QUOTAS]; /* of [quota]; 0: no limit */
	struct conf_tenant *tenants;
	size_t ntenants;
};

/* One row of config.def, for man pages, doctor and the shipped file. */
struct conf_key {
	const char *section, *key, *type, *def, *doc;
	int64_t min, max;
};
extern const struct conf_key conf_keys[];
extern const size_t conf_nkeys;

/* One row of quotas.def. */
struct conf_quota {
	const char *name, *counts, *frees;
};
extern const struct conf_quota conf_quotas[QUOTAS];

/*
 * Reads path over the defaults. Without a file (NULL, or none at path) the
 * defaults hold.
 *   Owns     *out is the caller's; conf_done() it
 *   Errors   -errno, -EINVAL, with a one-line explanation in *why; *out
 *            untouched
 */
MUST_CHECK int conf_load(const char *path, struct conf *out, struct buf *why);
/* Reads a configuration from memory like conf_load(); name stands for the file
 * in errors. */
MUST_CHECK int conf_parse(const char *name, const char *text, struct conf *out,
                          struct buf *why);
void conf_done(struct conf *c);
/* Copies the name of this host: [worker] host, or else the system's name.
 * Returns -errno. */
MUST_CHECK int conf_host(const struct conf *c, char out[static CONF_HOST_MAX]);
/* Returns what the sections of a tenant say; NULL when there are none: the
 * tenant may name nothing, and [quota] holds. */
const struct conf_tenant *conf_tenant(const struct conf *c, const char *tenant);
/* Returns how much a tenant may hold; 0: there is no limit. */
int64_t conf_quota(const struct conf *c, const char *tenant, enum quota q);
/*
 * True when the worker may fetch a profile from an endpoint of the tenant:
 * allow of [fetch] and endpoints of the tenant's scope both list its host. own
 * is what "self" means, or NULL.
 */
bool conf_allows_endpoint(const struct conf *c, const char *tenant,
                          const struct url *u, const char *own);
/* True when the worker may call a webhook of the tenant: the same for allow of
 * [webhook] and webhooks of the scope. */
bool conf_allows_webhook(const struct conf *c, const char *tenant,
                         const struct url *u, const char *own);
/* True when word is one of the space-separated list, or the list is "*". */
bool conf_list_has(const char *list, const char *word);
