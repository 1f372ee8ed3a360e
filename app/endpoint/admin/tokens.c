/* /api/v1/tokens: API keys, which are shown once. */
#include "tokens.h"
#include "base/clock.h"
#include "endpoint/call.h"
#include "store/token.h"

#include <errno.h>
#include <string.h>

/* Writes the default tenant first, then the others. */
void
tokens_put_tenants(struct buf *out, const char *first, const char *all)
{
	json_open(out, "tenants", '[');
	json_put_text(out, NULL, first);
	while (*all) {
		size_t n = strcspn(all, " ");

		if (n != strlen(first) || strncmp(all, first, n)) {
			buf_putc(out, ',');
			json_escape(out, all, n);
		}
		all += n + strspn(all + n, " ");
	}
	json_close(out, ']');
}

static void
put_token(struct buf *out, const struct token *t)
{
	json_open(out, NULL, '{');
	json_put_text(out, "id", t->id);
	json_put_text(out, "name", t->name);
	json_put_text(out, "role", t->role);
	json_put_text(out, "host", t->host);
	tokens_put_tenants(out, t->default_tenant, t->tenants);
	json_put_time(out, "createdAt", t->created_ms);
	json_put_time_or_null(out, "expiresAt", t->expires_ms);
	json_put_time_or_null(out, "revokedAt", t->revoked_ms);
	json_put_time_or_null(out, "lastUsedAt", t->last_used_ms);
	json_close(out, '}');
}

int
token_list_get(struct call *c)
{
	CLEANUP(token_list_done) struct token_list list = {0};
	struct page page = PAGE_OF(c, ListTokens);
	struct buf *out;
	int rc = token_list(&c->env->store, c->caller.tenants, page, &list);

	if (rc)
		return page_fail(c, rc, page.cursor);
	out = page_begin(c);
	for (size_t i = 0; i < list.n; i++)
		put_token(out, &list.items[i]);
	return page_end(c, list.next);
}

static int
read_tenants(struct call *c, struct buf *out)
{
	const json_t *list = param_json(c, P_CreateToken_tenants);
	size_t i;
	json_t *v;

	if (!list)
		buf_puts(out, c->caller.tenant);
	json_array_foreach(list, i, v) {
		const char *tenant = json_string_value(v);

		buf_puts(out, i ? " " : "");
		buf_puts(out, tenant);
		if (conf_list_has(c->caller.tenants, tenant))
			continue;
		detail_text(c, "tenant", tenant);
		return fail(c, TenantForbidden, tenant);
	}
	return buf_err(out) ? fail_store(c, buf_err(out)) : 0;
}

static int
create(struct call *c, const struct token_ask *ask, char id[static ID_MAX],
       char key[static TOKEN_KEY_MAX])
{
	CLEANUP_BUF struct buf detail = BUF_INIT(BUF_MAX_SMALL);
	struct store *store = &c->env->store;

	json_open(&detail, NULL, '{');
	json_put_text(&detail, "name", ask->name);
	json_put_text(&detail, "role", ask->role);
	json_put_text(&detail, "tenants", ask->tenants);
	if (*ask->host)
		json_put_text(&detail, "host", ask->host);
	json_close(&detail, '}');
	return store_begin(store)
	               ?: audit_end(c, token_create(store, ask, id, key), id,
	                            buf_str(&detail));
}

static int
answer_key(struct call *c, const struct token_ask *ask, const char *id,
           const char *key)
{
	struct buf *out = answer_json(c);

	json_put_text(out, "id", id);
	json_put_text(out, "name", ask->name);
	json_put_text(out, "role", ask->role);
	json_put_text(out, "host", ask->host);
	tokens_put_tenants(out, ask->default_tenant, ask->tenants);
	json_put_time_or_null(out, "expiresAt", ask->expires_ms);
	json_put_text(out, "key", key);
	reply_header(c->reply, "Cache-Control", "no-store");
	return answer_end(c);
}

/* Sets the end of a key that has none, and refuses one that is later than
 * most_ms from now. */
static int
limit_validity(struct call *c, struct token_ask *ask, int64_t default_ms,
               int64_t most_ms, const char *expected)
{
	const int64_t now_ms = clock_wall_ms();

	if (!ask->expires_ms)
		ask->expires_ms = now_ms + default_ms;
	if (ask->expires_ms > now_ms + most_ms)
		return fail_param(c, "expiresAt", expected, "a later one");
	return 0;
}

/* Limits a join key to a day, and refuses a host for a key of another role. */
static int
check_join(struct call *c, struct token_ask *ask)
{
	if (strcmp(ask->role, TOKEN_JOIN) != 0)
		return *ask->host ? fail_param(c, "host",
		                               "none, unless the role is join",
		                               ask->host)
		                  : 0;
	return limit_validity(c, ask, TOKEN_JOIN_MS, TOKEN_JOIN_MAX_MS,
	                      "a time within a day");
}

#define SSO_KEY_MS (90 * 86400 * MS_PER_S)

/* A key that a user of a single sign-on makes is valid for 90 days at most: it
 * is not revoked when the user leaves. */
static int
check_sso(struct call *c, struct token_ask *ask)
{
	return call_is_sso(c) ? limit_validity(c, ask, SSO_KEY_MS, SSO_KEY_MS,
	                                       "a time within 90 days")
	                      : 0;
}

int
token_post(struct call *c)
{
	CLEANUP_BUF struct buf tenants = BUF_INIT(BUF_MAX_SMALL);
	char id[ID_MAX], key[TOKEN_KEY_MAX], first[STORE_TENANT_MAX];
	struct token_ask ask = {
		.name = param_text(c, P_CreateToken_name),
		.role = param_text(c, P_CreateToken_role),
		.host = param_text(c, P_CreateToken_host),
		.default_tenant = first,
		.expires_ms = param_int(c, P_CreateToken_expiresAt),
	};
	int rc;

	if (param_given(c, P_CreateToken_expiresAt) &&
	    ask.expires_ms <= clock_wall_ms())
		return fail_param(c, "expiresAt", "a future time", "the past");
	if (check_join(c, &ask) || check_sso(c, &ask))
		return -1;
	if (read_tenants(c, &tenants))
		return -1;
	ask.tenants = buf_str(&tenants);
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(ask.tenants, " "),
	         ask.tenants);
	rc = create(c, &ask, id, key);
	return rc ? fail_store(c, rc) : answer_key(c, &ask, id, key);
}

int
token_remove(struct call *c)
{
	CLEANUP_TOKEN struct token t = {0};
	const char *id = param_text(c, P_RevokeToken_tokenId);
	struct store *store = &c->env->store;
	int rc = token_get(store, id, &t);

	if (!rc && !token_is_within(t.tenants, c->caller.tenants))
		rc = -ENOENT;
	if (!rc)
		rc = store_begin(store)
		             ?: audit_end(c, token_revoke(store, id), id, "{}");
	return rc ? fail_id(c, rc, P_RevokeToken_tokenId)
	          : answer_empty(c, c->route->status);
}
