/* stoker token: API keys. */
#include "cli.h"

#include "base/clock.h"
#include "key.h"
#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A tenant is a name as the API takes it: "*" would open all of them. */
static int
check_tenants(const char *words)
{
	char word[STORE_TENANT_MAX];

	for (size_t n; *words; words += n + strspn(words + n, " ")) {
		n = strcspn(words, " ");
		if (n >= sizeof(word))
			return usage_error("--tenant: a name is too long");
		memcpy(word, words, n);
		word[n] = '\0';
		if (!id_valid("", word))
			return usage_error("--tenant: '%s' is no name of a "
			                   "tenant",
			                   word);
	}
	return LEAVE_OK;
}

/* "a,b" as the store has it: "a b"; the first is the default. */
static int
split_tenants(const char *given, char **out_all, char **out_first)
{
	CLEANUP_FREE char *all = strdup(given ? given : TENANT_DEFAULT);
	CLEANUP_FREE char *first = NULL;
	bool at_start = true;

	if (!all)
		return failed("out of memory");
	for (char *p = all; *p; p++) {
		if (*p == ' ')
			return usage_error("--tenant: a name with a blank");
		if (*p == ',' && at_start)
			return usage_error("--tenant: an empty name");
		at_start = *p == ',';
		if (at_start)
			*p = ' ';
	}
	if (at_start)
		return usage_error("--tenant: an empty name");
	if (check_tenants(all))
		return LEAVE_USAGE;
	first = strndup(all, strcspn(all, " "));
	if (!first)
		return failed("out of memory");
	*out_all = TAKE(all);
	*out_first = TAKE(first);
	return LEAVE_OK;
}

static int
check_ask(const struct options *o, struct token_ask *ask)
{
	static const char *const roles[] = {"viewer", "operator", "admin"};

	ask->role = o->role ? o->role : roles[0];
	ask->expires_ms = 0;
	if (o->expires && clock_parse(o->expires, &ask->expires_ms))
		return usage_error("--expires takes a time such as "
		                   "2027-01-31T00:00:00Z");
	for (size_t i = 0; i < ARRAY_LEN(roles); i++)
		if (!strcmp(roles[i], ask->role))
			return LEAVE_OK;
	return usage_error("--role takes viewer, operator or admin");
}

static json_t *
list_of(const char *words)
{
	json_t *list = json_array();

	for (size_t n; *words; words += n + strspn(words + n, " ")) {
		n = strcspn(words, " ");
		json_array_append_new(list, json_stringn(words, n));
	}
	return list;
}

/* As POST /api/v1/tokens answers. */
static int
show_json(const struct token_ask *ask, const char *id, const char *key)
{
	CLEANUP_JSON json_t *j = NULL;
	char expires[RFC3339_LEN];

	clock_format(ask->expires_ms, expires);
	j = json_pack("{ss ss ss so ss? ss}", "id", id, "name", ask->name,
	              "role", ask->role, "tenants", list_of(ask->tenants),
	              "expiresAt", ask->expires_ms ? expires : NULL, "key",
	              key);
	return j ? print_json(j) : failed("a name is not UTF-8");
}

static int
show_token(const struct cli *c, const struct token_ask *ask, const char *id,
           const char *key)
{
	if (c->opt.json)
		return show_json(ask, id, key);
	fprintf(stderr,
	        "%s, role %s, tenants: %s; the key is shown this once\n", id,
	        ask->role, ask->tenants);
	if (puts(key) < 0 || fflush(stdout))
		return failed("standard output: %s", strerror(errno));
	return LEAVE_OK;
}

int
cmd_token_create(struct cli *c)
{
	CLEANUP_STORE struct store store = {.profiles_fd = -1};
	CLEANUP_FREE char *tenants = NULL;
	CLEANUP_FREE char *first = NULL;
	struct token_ask want = {.name = c->operands[0]};
	char id[ID_MAX], key[TOKEN_KEY_MAX];
	int rc = check_ask(&c->opt, &want);

	if (!rc)
		rc = split_tenants(c->opt.tenant, &tenants, &first);
	if (!rc)
		rc = key_store(&c->opt, &store);
	if (rc)
		return rc;
	want.tenants = tenants;
	want.default_tenant = first;
	rc = key_make(&store, &want, "stoker token create", id, key);
	if (rc)
		return failed("the store: %s", strerror(-rc));
	return show_token(c, &want, id, key);
}

int
cmd_token_list(struct cli *c)
{
	static const struct column columns[] = {
		{"ID", "id", LEFT, PLAIN},
		{"NAME", "name", LEFT, PLAIN},
		{"ROLE", "role", LEFT, PLAIN},
		{"CREATED", "createdAt", LEFT, PLAIN},
		{"EXPIRES", "expiresAt", LEFT, PLAIN},
		{"REVOKED", "revokedAt", LEFT, PLAIN},
		{"LAST USED", "lastUsedAt", LEFT, PLAIN},
		{"TENANTS", "tenants", LEFT, PLAIN},
	};

	return list_show(c, "/api/v1/tokens", columns, ARRAY_LEN(columns));
}

int
cmd_token_revoke(struct cli *c)
{
	CLEANUP_REPLY struct reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	int rc;

	buf_puts(&path, "/api/v1/tokens/");
	url_escape(&path, c->operands[0]);
	rc = ask(c, "DELETE", buf_str(&path), NULL, &r);
	return rc ? rc : print_done(c, c->operands[0], "revoked");
}
