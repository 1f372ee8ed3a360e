/* /api/v1/browser-session: signing in, and out; /api/v1/browser-sessions: who
 * is signed in. */
#include "base/clock.h"
#include "endpoint/call.h"
#include "store/audit.h"
#include "store/browser_session.h"
#include "store/token.h"
#include "tokens.h"

#include <errno.h>
#include <string.h>

#define LINK_MS      INT64_C(600000) /* validity of a sign-in link */
#define SIGN_IN_MS   INT64_C(3600000)
#define SIGN_INS_MAX 500 /* of one actor within SIGN_IN_MS */

static int64_t
idle_ms(const struct call *c)
{
	return c->env->conf->api_browser_idle * MS_PER_S;
}

static int
answer_caller(struct call *c, int64_t expires_ms)
{
	struct buf *out = answer_json(c);

	json_put_text(out, "actor", c->caller.id);
	json_put_text(out, "tenant", c->caller.tenant);
	tokens_put_tenants(out, c->caller.tenant, c->caller.tenants);
	json_put_text(out, "role", who_name(c->caller.who));
	json_put_time_or_null(out, "expiresAt", expires_ms);
	reply_header(c->reply, "Cache-Control", "no-store");
	return answer_end(c);
}

static void
set_cookie(struct call *c, const char *value, int64_t seconds)
{
	reply_header(c->reply, "Set-Cookie",
	             "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%lld%s",
	             request_cookie_name(c->req), value, (long long)seconds,
	             c->req->secure ? "; Secure" : "");
}

/* True when the caller sent a key, not a JWT. */
static bool
has_key(const struct call *c)
{
	return !strncmp(c->caller.id, TOKEN_PREFIX, strlen(TOKEN_PREFIX));
}

/* Describes a browser session of the caller. */
static struct browser_session_ask
session_of_caller(const struct call *c, int64_t now_ms)
{
	const int64_t end = now_ms +
	                    c->env->conf->api_browser_lifetime * MS_PER_S;
	const int64_t key_ends = c->caller.expires_ms;

	return (struct browser_session_ask){
		.token = has_key(c) ? c->caller.id : "",
		.actor = c->caller.id,
		.role = who_name(c->caller.who),
		.tenants = c->caller.tenants,
		.default_tenant = c->caller.tenant,
		.expires_ms = key_ends && key_ends < end ? key_ends : end,
		.idle_ms = idle_ms(c),
	};
}

/* Limits the lines that sign-ins add to the audit log: surplus sessions are
 * removed, but their lines stay for a year. Returns -EUSERS past the limit. */
static int
check_rate(struct call *c)
{
	int64_t n = 0;
	int rc = audit_lines(c, c->route->name, SIGN_IN_MS, &n);

	return rc ? rc : n >= SIGN_INS_MAX ? -EUSERS : 0;
}

/* Creates a browser session, or follows the caller's sign-in link if ask is
 * NULL. */
static int
begin(struct call *c, const struct browser_session_ask *ask,
      char secret[static BROWSER_SESSION_COOKIE_MAX])
{
	struct store *store = &c->env->store;
	char new_id[ID_MAX];
	int rc = store_begin(store);

	if (rc)
		return rc;
	rc = check_rate(c);
	if (!rc)
		rc = ask ? browser_session_create(store, ask, new_id, secret)
		         : browser_session_follow(store, c->caller.sign_in_link,
		                                  secret);
	return audit_end(c, rc, ask ? new_id : c->caller.browser_session, "{}");
}

static int
fail_begin(struct call *c, int rc)
{
	return rc == -EUSERS ? fail(c, TooManySignIns, SIGN_INS_MAX)
	                     : fail_store(c, rc);
}

/* True for a caller with neither a key, a JWT nor a link. A session created by
 * a cookie or a single sign-on would outlive them. */
static bool
lacks_key(const struct call *c)
{
	return !c->caller.sign_in_link &&
	       (*c->caller.browser_session || call_is_sso(c));
}

int
browser_session_post(struct call *c)
{
	const int64_t now = clock_wall_ms();
	const struct browser_session_ask ask = session_of_caller(c, now);
	const bool follows = c->caller.sign_in_link;
	char cookie[BROWSER_SESSION_COOKIE_MAX];
	int rc;

	if (lacks_key(c))
		return fail(c, KeyRequired);
	if (!c->req->secure && !c->req->loopback)
		return fail(c, SecureRequired);
	rc = begin(c, follows ? NULL : &ask, cookie);
	if (rc == -ENOENT)
		return fail(c, Unauthorized, "the link was used just now");
	if (rc)
		return fail_begin(c, rc);
	set_cookie(c, cookie, (ask.expires_ms - now) / MS_PER_S);
	return answer_caller(c, ask.expires_ms);
}

int
browser_session_link_post(struct call *c)
{
	const int64_t now = clock_wall_ms();
	struct browser_session_ask ask = session_of_caller(c, now);
	char secret[BROWSER_SESSION_COOKIE_MAX];
	CLEANUP_BUF struct buf url = BUF_INIT(BUF_MAX_SMALL);
	struct buf *out;
	int rc;

	if (lacks_key(c))
		return fail(c, KeyRequired);
	ask.link_until_ms = now + LINK_MS < ask.expires_ms ? now + LINK_MS
	                                                   : ask.expires_ms;
	rc = begin(c, &ask, secret);
	if (rc)
		return fail_begin(c, rc);
	buf_addf(&url, "%s/ui/#sign-in=" SIGN_IN_LINK_PREFIX "%s",
	         c->env->conf->api_public_url, secret);
	out = answer_json(c);
	json_put_text(out, "url", buf_str(&url));
	json_put_time(out, "expiresAt", ask.link_until_ms);
	reply_header(c->reply, "Cache-Control", "no-store");
	return answer_end(c);
}

int
browser_session_get(struct call *c)
{
	if (*c->caller.id)
		return answer_caller(c, c->caller.expires_ms);
	reply_header(c->reply, "Cache-Control", "no-store");
	return answer_empty(c, 204);
}

int
browser_session_put(struct call *c)
{
	struct store *store = &c->env->store;
	const char *id = c->caller.browser_session;
	int rc = store_begin(store);

	if (!rc)
		rc = audit_end(c,
		               browser_session_switch(store, id, c->caller.home,
		                                      c->caller.tenant),
		               id, "{}");
	if (rc == -ENOENT)
		return fail(c, UnknownBrowserSession, id);
	return rc ? fail_store(c, rc) : answer_caller(c, c->caller.expires_ms);
}

static int
end(struct call *c, const char *id, const char *tenant)
{
	struct store *store = &c->env->store;
	int rc = store_begin(store)
	                 ?: audit_end(c, browser_session_end(store, id, tenant),
	                              id, "{}");

	if (rc == -ENOENT) {
		detail_text(c, "browserSessionId", id);
		return fail(c, UnknownBrowserSession, id);
	}
	return rc ? fail_store(c, rc) : answer_empty(c, c->route->status);
}

int
browser_session_delete(struct call *c)
{
	int rc = end(c, c->caller.browser_session, c->caller.home);

	if (!rc)
		set_cookie(c, "", 0);
	return rc;
}

int
browser_session_remove(struct call *c)
{
	return end(c, param_text(c, P_RevokeBrowserSession_browserSessionId),
	           c->caller.tenant);
}

static void
put_one(struct buf *out, const struct browser_session *b)
{
	json_open(out, NULL, '{');
	json_put_text(out, "id", b->id);
	json_put_text(out, "actor", b->actor);
	json_put_text(out, "role", b->role);
	json_put_text(out, "tenant", b->default_tenant);
	json_put_time(out, "createdAt", b->created_ms);
	json_put_time(out, "lastUsedAt", b->used_ms);
	json_put_time(out, "expiresAt", b->expires_ms);
	json_close(out, '}');
}

int
browser_session_list_get(struct call *c)
{
	CLEANUP_BROWSER_SESSIONS struct browser_session_list list = {0};
	struct page page = PAGE_OF(c, ListBrowserSessions);
	struct buf *out;
	int rc = browser_session_list(&c->env->store, c->caller.tenant,
	                              idle_ms(c), page, &list);

	if (rc)
		return page_fail(c, rc, page.cursor);
	out = page_begin(c);
	for (size_t i = 0; i < list.n; i++)
		put_one(out, &list.items[i]);
	return page_end(c, list.next);
}
