/*
 * stoker.conf: an INI file whose keys are the rows of config.def.
 *
 * Every program reads the same file. An unknown section or key, a value of
 * the wrong type or out of its bounds is an error that names the file, the
 * line and what was expected: a typo must not silently mean the default.
 *
 * [scope.TENANT] sections say which processes a tenant may name in a
 * service's match: units=, exe= (path prefixes) and uids=, lists separated
 * by spaces, "*" for all. Every tenant without a section may name nothing.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define CONF_MAX_BYTES  ((size_t)256 << 10)
#define CONF_MAX_SCOPES 256
#define CONF_HOST_MAX   201

struct conf_scope {
	char *tenant;
	char *units; /* as written: words separated by spaces */
	char *exe;
	char *uids;
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
	struct conf_scope *scopes;
	size_t nscopes;
};

/* One row of config.def, for man pages, doctor and the shipped file. */
struct conf_key {
	const char *section, *key, *type, *def, *doc;
	int64_t min, max;
};
extern const struct conf_key conf_keys[];
extern const size_t conf_nkeys;

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
/* Returns the scope of a tenant, or NULL: the tenant may name nothing. */
const struct conf_scope *conf_scope(const struct conf *c, const char *tenant);
/* True when word is one of the space-separated list, or the list is "*". */
bool conf_list_has(const char *list, const char *word);
