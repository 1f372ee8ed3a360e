/* stoker token: API keys. */
#include "cli.h"

#include "base/clock.h"
#include "key.h"
#include "named.h"
#include "table.h"
#include "text.h"
#include "when.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Checks the names of tenants by the API's rule: "*" would mean all tenants. */
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
			return usage_error("--tenant: '%s' is not a name "
			                   "of a tenant",
			                   word);
	}
	return LEAVE_OK;
}

/* Converts "a,b" to the store's form, "a b"; the first tenant is the
 * default. */
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
read_expiry(const char *text, int64_t *out_ms)
{
	CLEANUP_BUF struct buf time = BUF_INIT(BUF_MAX_SMALL);
	int64_t now_ms = clock_wall_ms(), ms;
	int rc = when_read(text, WHEN_FUTURE, now_ms, &time);

	if (!rc)
		rc = clock_read(buf_str(&time), now_ms, &ms);
	if (rc || ms <= now_ms)
		return -EINVAL;
	*out_ms = ms;
	return 0;
}

/* Checks and completes a key of the role join, as POST /api/v1/tokens does. */
static int
check_join(struct token_ask *ask)
{
	int64_t now_ms = clock_wall_ms();

	if (ask->host && !id_valid("", ask->host))
		return usage_error("--host: '%s' is not a name of a host",
		                   ask->host);
	if (!ask->expires_ms)
		ask->expires_ms = now_ms + TOKEN_JOIN_MS;
	if (ask->expires_ms > now_ms + TOKEN_JOIN_MAX_MS)
		return usage_error("--expires: a key of the role join is "
		                   "valid for a day at most");
	return LEAVE_OK;
}

static int
check_ask(const struct options *o, struct token_ask *ask)
{
	static const char *const roles[] = {"viewer", "operator", "admin",
	                                    TOKEN_JOIN};
	bool join;

	ask->role = o->role ? o->role : roles[0];
	ask->expires_ms = 0;
	if (o->expires && read_expiry(o->expires, &ask->expires_ms))
		return usage_error("--expires takes a future time, such as "
		                   "90d or 2027-01-31, not '%s'",
		                   o->expires);
	join = !strcmp(ask->role, TOKEN_JOIN);
	if (o->host && !join)
		return usage_error("--host goes with --role join");
	ask->host = o->host;
	if (join && check_join(ask))
		return LEAVE_USAGE;
	for (size_t i = 0; i < ARRAY_LEN(roles); i++)
		if (!strcmp(roles[i], ask->role))
			return LEAVE_OK;
	return usage_error("--role takes viewer, operator, admin or join");
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

/* Prints the reply of POST /api/v1/tokens. */
static int
show_json(const struct token_ask *ask, const char *id, const char *key)
{
	CLEANUP_JSON json_t *j = NULL;
	char expires[RFC3339_LEN];

	clock_format(ask->expires_ms, expires);
	j = json_pack("{ss ss ss ss so ss? ss}", "id", id, "name", ask->name,
	              "role", ask->role, "host", ask->host ? ask->host : "",
	              "tenants", list_of(ask->tenants), "expiresAt",
	              ask->expires_ms ? expires : NULL, "key", key);
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
		{"ID", "id", LEFT, ID},
		{"NAME", "name", LEFT, MIDDLE},
		{"ROLE", "role", LEFT, PLAIN},
		{"HOST", "host", LEFT, PLAIN},
		{"CREATED", "createdAt", LEFT, TIME},
		{"EXPIRES", "expiresAt", LEFT, TIME},
		{"REVOKED", "revokedAt", LEFT, TIME},
		{"LAST USED", "lastUsedAt", LEFT, TIME},
		{"TENANTS", "tenants", LEFT, PLAIN},
	};

	return list_show(c, "/api/v1/tokens", columns, ARRAY_LEN(columns));
}

/* Removes revoked keys from the list. */
static void
drop_revoked(json_t *tokens)
{
	for (size_t i = json_array_size(tokens); i--;)
		if (*json_member(json_array_get(tokens, i), "revokedAt"))
			json_array_remove(tokens, i);
}

/* True for the key that this program uses. */
static bool
is_own(struct cli *c, const char *id)
{
	CLEANUP_JSON json_t *caller = ask_quietly(c, "/api/v1/browser-session");

	return caller && !strcmp(json_member(caller, "actor"), id);
}

static int
confirm_revoke(struct cli *c, const json_t *token)
{
	const char *name = json_member(token, "name");
	const char *id = json_member(token, "id");

	if (!is_own(c, id))
		return confirm(c, "Revoke the key '%s' (%s)?", name, id);
	if (!c->opt.yes && !is_attended())
		return failed("%s is the key that stoker itself uses\n"
		              "  with --yes it is revoked",
		              name);
	return confirm(c, "Revoke the key '%s' (%s), which stoker itself uses?",
	               name, id);
}

int
cmd_token_revoke(struct cli *c)
{
	static const struct kind_named kind = {
		.what = "API key",
		.prefix = TOKEN_PREFIX,
		.id = "id",
		.name = "name",
	};
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *items = NULL;
	const json_t *token;
	int rc = list_ask(c, "/api/v1/tokens", &items);

	if (rc)
		return rc;
	drop_revoked(items);
	rc = item_named(items, &kind, c->operands[0], &token);
	if (!rc)
		rc = confirm_revoke(c, token);
	if (rc)
		return rc;
	buf_puts(&path, "/api/v1/tokens/");
	url_escape(&path, json_member(token, "id"));
	rc = ask(c, "DELETE", buf_str(&path), NULL, &r);
	return rc ? rc : print_done(c, c->operands[0], "revoked");
}
