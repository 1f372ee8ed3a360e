/*
 * stoker.conf: an INI file whose keys are the rows of config.def.
 *
 * Every program reads the same file. An unknown section or key, or a value of
 * the wrong type or out of bounds, is an error that names the file, the line
 * and the expected value: a typo must not silently mean the default.
 *
 * A [scope.TENANT] section, whose keys are the rows of scope.def, lists the
 * processes, endpoints and webhooks that a tenant may name; a tenant without
 * one may name none. [quota], whose keys are the rows of quotas.def, limits
 * what each tenant may hold, and [quota.TENANT] sets other limits for one
 * tenant.
 */
#pragma once

#include "base/buf.h"
#include "base/url.h"

#include <stdbool.h>

#define CONF_MAX_BYTES   ((size_t)256 << 10)
#define CONF_MAX_TENANTS 256
#define CONF_HOST_MAX    201

enum quota {
#define QUOTA(name, sql, type, def, counts, frees) QUOTA_##name,
#include "quotas.def"
#undef QUOTA
	QUOTAS
};

/* The sections of one tenant. */
struct conf_tenant {
	char *tenant;
	/* [scope.TENANT] as written: words separated by spaces; NULL if not
	 * set */
#define SCOPE(key, doc) char *key;
#include "scope.def"
#undef SCOPE
	int64_t quotas[QUOTAS]; /* 0: no limit; -1: [quota] applies */
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
	int64_t quotas[QUOTAS]; /* [quota]; 0: no limit */
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
	int64_t def;
};
extern const struct conf_quota conf_quotas[QUOTAS];

/*
 * Reads path over the defaults. If path is NULL or does not exist, the defaults
 * hold.
 *   Owns     *out is the caller's; conf_done() it
 *   Errors   -errno, -EINVAL, with a one-line explanation in *why; *out
 *            untouched
 */
MUST_CHECK int conf_load(const char *path, struct conf *out, struct buf *why);
/* As conf_load(), from memory; name is the file name that errors show. */
MUST_CHECK int conf_parse(const char *name, const char *text, struct conf *out,
                          struct buf *why);
void conf_done(struct conf *c);
/*
 * Appends a number as stoker.conf writes it, by its type in conf_keys: 30d,
 * 10G.
 */
void conf_show(const char *type, int64_t v, struct buf *out);
/* Copies the name of this host: host of [worker], or else the system's host
 * name. Returns 0 or -errno. */
MUST_CHECK int conf_host(const struct conf *c, char out[static CONF_HOST_MAX]);
/* Returns the sections of a tenant. NULL if it has none: the tenant may then
 * name nothing, and [quota] applies. */
const struct conf_tenant *conf_tenant(const struct conf *c, const char *tenant);
/* Returns the limit of a tenant; 0 means no limit. */
int64_t conf_quota(const struct conf *c, const char *tenant, enum quota q);
/*
 * True when the worker may fetch a profile from an endpoint for the tenant:
 * both allow of [fetch] and endpoints of the tenant's scope list its host. own
 * is the host that "self" stands for, or NULL.
 */
bool conf_allows_endpoint(const struct conf *c, const char *tenant,
                          const struct url *u, const char *own);
/* True when the worker may call a webhook for the tenant: both allow of
 * [webhook] and webhooks of the tenant's scope list its host. */
bool conf_allows_webhook(const struct conf *c, const char *tenant,
                         const struct url *u, const char *own);
/* True when the worker may send profiles to a collector for the tenant: both
 * allow of [collector] and collectors of the tenant's scope list its host. */
bool conf_allows_collector(const struct conf *c, const char *tenant,
                           const struct url *u, const char *own);
/* True when the space-separated list has the word, or is "*". */
bool conf_list_has(const char *list, const char *word);
