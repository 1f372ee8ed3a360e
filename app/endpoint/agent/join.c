/*
 * POST /agent/join: a host trades a key of the role join for the key of its
 * worker. The former is revoked in the same transaction: it works once.
 *
 * The right to create join keys must not give access to another tenant's host:
 * a known name can only be taken by a join key that names it and opens all
 * tenants of the host's present key, which is then revoked. The name of a
 * worker that shares this store, or of a host that served other tenants, stays
 * reserved until an administrator of the server frees it (stoker forget). A
 * join key that is used with such a name is revoked, so that nobody can try
 * until the name is free.
 */
#include "base/clock.h"
#include "endpoint/call.h"
#include "store/token.h"
#include "store/window.h"
#include "store/worker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
unauthorized(struct call *c, const char *why)
{
	detail_text(c, "reason", why);
	return fail(c, Unauthorized, why);
}

static int
find_token(struct call *c, struct token *out)
{
	int rc = token_check(&c->env->store, param_text(c, P_JoinHost_token),
	                     out);

	switch (rc) {
	case 0:
		return strcmp(out->role, TOKEN_JOIN)
		               ? unauthorized(c, "the key is not of the role "
		                                 "join")
		               : 0;
	case -EKEYEXPIRED:
		return unauthorized(c, "the key has expired");
	case -EKEYREVOKED:
		return unauthorized(c, "the key was used, or revoked");
	case -ENOENT:
	case -EINVAL:
		return unauthorized(c, "the key is not known");
	default:
		return fail_store(c, rc);
	}
}

/* Allows letters, digits and characters of host names, since the name is shown
 * everywhere. WINDOW_PUSHED is reserved for series that clients push, and "-"
 * for certificates that name no host. */
static bool
is_host(const char *s)
{
	return id_valid("", s) && strcmp(s, WINDOW_PUSHED) != 0 &&
	       strcmp(s, "-") != 0;
}

/* Returns -EEXIST if the name is or was that of a worker that shares this
 * store, or of a host that served a tenant which the join key does not
 * open. */
static int
check_past(struct store *s, const struct token *join, const char *host)
{
	CLEANUP_FREE char *tenants = NULL;
	int rc = worker_tenants(s, host, &tenants, NULL);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	return strcmp(tenants, "*") != 0 &&
	                       token_is_within(tenants, join->tenants)
	               ? 0
	               : -EEXIST;
}

/* Revokes the host's keys; -EEXIST if this token may not take the name. */
static int
take_name(struct store *s, const struct token *join, const char *host)
{
	CLEANUP_TOKENS struct token_list l = {0};
	int rc = check_past(s, join, host) ?: token_of_host(s, host, &l);

	for (size_t i = 0; i < l.n && !rc; i++) {
		if (!*join->host ||
		    !token_is_within(l.items[i].tenants, join->tenants))
			rc = -EEXIST;
		else
			rc = token_revoke(s, l.items[i].id);
	}
	return rc;
}

static int
trade(struct call *c, const struct token *join, const char *host,
      char id[static ID_MAX], char key[static TOKEN_KEY_MAX])
{
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf detail = BUF_INIT(BUF_MAX_SMALL);
	struct store *s = &c->env->store;
	struct token_ask ask = {
		.role = TOKEN_WORKER,
		.tenants = join->tenants,
		.default_tenant = join->default_tenant,
		.host = host,
	};
	int rc = token_revoke(s, join->id);

	buf_addf(&name, "worker of %.80s", host);
	ask.name = buf_str(&name);
	json_open(&detail, NULL, '{');
	json_put_text(&detail, "host", host);
	json_put_text(&detail, "tenants", join->tenants);
	json_close(&detail, '}');
	return rc ?: take_name(s, join, host) ?: token_create(s, &ask, id, key)
	                                                ?: audit_note(
								c, id,
								buf_str(&detail));
}

static void
put_tenants(struct buf *out, const struct token *t)
{
	const char *at = t->tenants;

	json_open(out, "tenants", '[');
	json_put_text(out, NULL, t->default_tenant);
	while (*at) {
		size_t n = strcspn(at, " ");

		if (n != strlen(t->default_tenant) ||
		    strncmp(at, t->default_tenant, n) != 0) {
			buf_putc(out, ',');
			json_escape(out, at, n);
		}
		at += n + strspn(at + n, " ");
	}
	json_close(out, ']');
}

static int
answer(struct call *c, const struct token *join, const char *host,
       const char *id, const char *key)
{
	struct buf *out = answer_json(c);

	json_put_text(out, "id", id);
	json_put_text(out, "host", host);
	put_tenants(out, join);
	json_put_text(out, "key", key);
	reply_header(c->reply, "Cache-Control", "no-store");
	return answer_end(c);
}

static int
taken(struct call *c, const struct token *join, const char *host)
{
	int rc = token_revoke(&c->env->store, join->id);

	if (rc && rc != -ENOENT)
		return fail_store(c, rc);
	detail_text(c, "host", host);
	return fail(c, HostTaken, host);
}

int
agent_join(struct call *c)
{
	CLEANUP_TOKEN struct token join = {0};
	const char *host = param_text(c, P_JoinHost_host);
	char id[ID_MAX], key[TOKEN_KEY_MAX];
	int rc;

	if (find_token(c, &join))
		return -1;
	if (!is_host(host))
		return fail_param(c, "host",
		                  "a name of letters, digits, '.', '_' and '-'",
		                  host);
	if (*join.host && strcmp(join.host, host) != 0) {
		detail_text(c, "host", join.host);
		return fail(c, JoinNameDiffers, join.host, host);
	}
	if (call_check_certificate(c, host))
		return -1;
	snprintf(c->caller.id, sizeof(c->caller.id), "%s", join.id);
	snprintf(c->caller.tenant, sizeof(c->caller.tenant), "%s",
	         join.default_tenant);
	rc = store_begin(&c->env->store);
	if (!rc)
		rc = store_end(&c->env->store, trade(c, &join, host, id, key));
	if (rc == -EEXIST)
		return taken(c, &join, host);
	if (rc == -ENOENT)
		return unauthorized(c, "the key was used, or revoked");
	return rc ? fail_store(c, rc) : answer(c, &join, host, id, key);
}
