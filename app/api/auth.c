#include "auth.h"

#include "base/clock.h"
#include "store/browser_session.h"
#include "store/token.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define SSO_GROUP_MAX 256 /* with its NUL */

void
caller_clear(struct caller *c)
{
	free(c->tenants);
	*c = (struct caller){0};
}

static int
unauthorized(struct call *c, const char *why)
{
	detail_text(c, "reason", why);
	return fail(c, Unauthorized, why);
}

static int
check_key(struct call *c, const char *key)
{
	CLEANUP_TOKEN struct token t = {0};
	int rc = token_check(&c->env->store, key, &t);

	switch (rc) {
	case 0:
		break;
	case -ENOENT:
	case -EINVAL:
		return unauthorized(c, "the key is not known");
	case -EKEYEXPIRED:
		return unauthorized(c, "the key has expired");
	case -EKEYREVOKED:
		return unauthorized(c, "the key was revoked");
	default:
		return fail_store(c, rc);
	}
	c->caller.who = strcmp(t.role, TOKEN_WORKER) ? who_parse(t.role)
	                                             : WHO_WORKER;
	snprintf(c->caller.host, sizeof(c->caller.host), "%s", t.host);
	snprintf(c->caller.id, sizeof(c->caller.id), "%s", t.id);
	snprintf(c->caller.tenant, sizeof(c->caller.tenant), "%s",
	         t.default_tenant);
	c->caller.tenants = TAKE(t.tenants);
	c->caller.expires_ms = t.expires_ms;
	return 0;
}

/* Fails for a request that has no caller, unless it asks whether it has one. */
static int
nobody(struct call *c, const char *why)
{
	const char *optional = request_query(c->req, "optional");

	if (c->route->op == OP_GetCaller && optional &&
	    !strcmp(optional, "true"))
		return 0;
	return unauthorized(c, why);
}

/* A page of another site can make a browser send the cookie, but not make it
 * claim that the request comes from this host. One GET starts a capture. */
static int
check_origin(struct call *c)
{
	const bool changes = c->route->method != METHOD_GET ||
	                     c->route->op == OP_GetHeapProfile;

	if (!changes || request_same_origin(c->req))
		return 0;
	detail_text(c, "origin", c->req->origin);
	return fail(c, CrossOrigin);
}

static void
call_as(struct call *c, struct browser_session *b)
{
	c->caller.who = who_parse(b->role);
	snprintf(c->caller.id, sizeof(c->caller.id), "%s", b->actor);
	snprintf(c->caller.browser_session, sizeof(c->caller.browser_session),
	         "%s", b->id);
	snprintf(c->caller.tenant, sizeof(c->caller.tenant), "%s",
	         b->default_tenant);
	c->caller.tenants = TAKE(b->tenants);
	c->caller.expires_ms = b->expires_ms;
}

static int
check_cookie(struct call *c, const char *cookie)
{
	CLEANUP_BROWSER_SESSION struct browser_session b = {0};
	const int64_t idle_ms = c->env->conf->api_browser_idle * MS_PER_S;
	int rc = browser_session_check(&c->env->store, cookie, idle_ms, &b);

	if (rc == -ENOENT)
		return nobody(c, "the browser is no longer signed in");
	if (rc)
		return fail_store(c, rc);
	call_as(c, &b);
	return check_origin(c);
}

/* Authenticates a sign-in link. It stands for the key that made it, but only
 * for signing in and for asking whom it signs in. */
static int
check_sign_in_link(struct call *c, const char *secret)
{
	CLEANUP_BROWSER_SESSION struct browser_session b = {0};
	int rc = browser_session_by_link(&c->env->store, secret, &b);

	if (rc == -ENOENT)
		return unauthorized(c, "the link was used, or has expired");
	if (rc)
		return fail_store(c, rc);
	c->caller.sign_in_link = secret;
	call_as(c, &b);
	return 0;
}

/* True when list is "*" or has one of the groups, which are separated by
 * commas or spaces. */
static bool
is_member(const char *list, const char *groups)
{
	char group[SSO_GROUP_MAX];

	if (!strcmp(list, "*"))
		return true;
	while (*(groups += strspn(groups, ", "))) {
		size_t n = strcspn(groups, ", ");

		if (n < sizeof(group)) {
			snprintf(group, sizeof(group), "%.*s", (int)n, groups);
			if (conf_list_has(list, group))
				return true;
		}
		groups += n;
	}
	return false;
}

static enum who
sso_role(const struct conf *conf, const char *groups)
{
	return is_member(conf->api_sso_admins, groups)      ? WHO_ADMIN
	       : is_member(conf->api_sso_operators, groups) ? WHO_OPERATOR
	       : is_member(conf->api_sso_viewers, groups)   ? WHO_VIEWER
	                                                    : WHO_ANYONE;
}

/* True when nginx has authenticated a user, and the configuration maps such
 * users to roles. */
static bool
has_sso(const struct call *c)
{
	const struct conf *conf = c->env->conf;

	return *c->req->sso_user &&
	       (*conf->api_sso_admins || *conf->api_sso_operators ||
	        *conf->api_sso_viewers);
}

static int
check_sso(struct call *c)
{
	const struct conf *conf = c->env->conf;
	const char *tenants = conf->api_sso_tenants;
	struct caller *to = &c->caller;

	subject_name("sso", c->req->sso_user, to->id);
	to->who = sso_role(conf, c->req->sso_groups);
	snprintf(to->tenant, sizeof(to->tenant), "%.*s",
	         (int)strcspn(tenants, " "), tenants);
	to->tenants = strdup(tenants);
	return to->tenants ? check_origin(c) : fail(c, InternalError);
}

/* Checks the password of "Basic ...", for clients that support nothing else.
 * The user name is ignored. */
static int
check_basic(struct call *c, const char *text)
{
	unsigned char plain[2 * TOKEN_KEY_MAX + 256];
	const char *colon;
	size_t n = strlen(text);
	int len;

	if (n / 4 * 3 >= sizeof(plain))
		return unauthorized(c, "the password is not a key");
	len = EVP_DecodeBlock(plain, (const unsigned char *)text, (int)n);
	if (len < 0)
		return unauthorized(c, "the password is not a key");
	/* the padding was decoded to NULs */
	plain[len] = '\0';
	colon = strchr((char *)plain, ':');
	if (!colon ||
	    strncmp(colon + 1, TOKEN_KEY_PREFIX, strlen(TOKEN_KEY_PREFIX)))
		return unauthorized(c, "the password is not a key");
	return check_key(c, colon + 1);
}

static int
check_bearer(struct call *c, struct jwt_keys *keys)
{
	const char *token = c->req->authorization, *why = "";
	char cookie[BROWSER_SESSION_COOKIE_MAX];

	if (!*token && has_sso(c))
		return check_sso(c);
	if (!*token && !request_cookie(c->req, cookie, sizeof(cookie)))
		return check_cookie(c, cookie);
	if (!*token)
		return nobody(
			c,
			c->route->who == WHO_LINK
				? "neither a token nor a signed link was sent"
				: "none was sent");
	if ((c->route->op == OP_IngestProfile || c->route->connect) &&
	    !strncasecmp(token, "Basic ", 6))
		return check_basic(c, token + 6);
	if (strncasecmp(token, "Bearer ", 7))
		return unauthorized(c, "the scheme must be Bearer");
	token += 7 + strspn(token + 7, " ");
	if (!strncmp(token, TOKEN_KEY_PREFIX, strlen(TOKEN_KEY_PREFIX)))
		return check_key(c, token);
	if ((c->route->op == OP_SignIn || c->route->op == OP_GetCaller) &&
	    !strncmp(token, SIGN_IN_LINK_PREFIX, strlen(SIGN_IN_LINK_PREFIX)))
		return check_sign_in_link(c,
		                          token + strlen(SIGN_IN_LINK_PREFIX));
	if (!keys)
		return unauthorized(c, "the key is not known");
	if (jwt_check(keys, c->env->conf, token, clock_wall_ms() / MS_PER_S,
	              &c->caller, &why))
		return unauthorized(c, why);
	return 0;
}

/* Switches to the tenant that the request names, if the token covers it. */
static int
pick_tenant(struct call *c)
{
	const char *tenant = c->req->tenant;

	snprintf(c->caller.home, sizeof(c->caller.home), "%s",
	         c->caller.tenant);
	if (!*tenant || !strcmp(tenant, c->caller.tenant))
		return 0;
	if (strlen(tenant) >= STORE_TENANT_MAX || strchr(tenant, ' ') ||
	    !conf_list_has(c->caller.tenants, tenant)) {
		detail_text(c, "tenant", tenant);
		return fail(c, TenantForbidden, tenant);
	}
	snprintf(c->caller.tenant, sizeof(c->caller.tenant), "%s", tenant);
	return 0;
}

static int64_t
query_int(const struct request *r, const char *name)
{
	const char *v = request_query(r, name);

	return v && strlen(v) < 16 ? strtoll(v, NULL, 10) : 0;
}

/*
 * The parameters that a link to each route is signed for: those that select the
 * data. If one of them is missing, other parameters select the data, and the
 * link is signed for the whole query.
 */
static const struct {
	enum op op;
	const char *kind;
	enum param params[2];
	size_t n;
} signed_for[] = {
	{OP_GetFlameGraph, "flamegraph", {P_GetFlameGraph_profileId}, 1},
	{OP_MergeProfiles, "merge", {0}, 0}, /* the whole query */
	{OP_GetDiffFlameGraph,
         "diff",
         {P_GetDiffFlameGraph_baseProfileId,
          P_GetDiffFlameGraph_comparisonProfileId},
         2},
};

static const char *
parameter(const struct call *c, enum param p)
{
	const char *v = params[p].in == IN_PATH
	                        ? path_param(c, params[p].name)
	                        : request_query(c->req, params[p].name);

	return v ? v : "";
}

static bool
names_all(const struct call *c, const enum param *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!*parameter(c, p[i]))
			return false;
	return n > 0;
}

/* Sets the kind and the subject of a claim; text holds the subject. */
static void
claim_of(const struct call *c, struct buf *text, struct link_claim *out)
{
	const struct link_query query = {c->req->query, c->req->nquery};

	for (size_t i = 0; i < ARRAY_LEN(signed_for); i++) {
		if (signed_for[i].op != c->route->op)
			continue;
		out->kind = signed_for[i].kind;
		if (!names_all(c, signed_for[i].params, signed_for[i].n)) {
			link_subject(&query, text);
			continue;
		}
		for (size_t k = 0; k < signed_for[i].n; k++)
			buf_addf(text, "%s%s", k ? "\n" : "",
			         parameter(c, signed_for[i].params[k]));
	}
	out->subject = buf_str(text);
}

static int
check_link(struct call *c, const char *signature)
{
	CLEANUP_BUF struct buf subject = BUF_INIT(LINK_SUBJECT_MAX);
	struct link_claim claim = {
		.tenant = request_query(c->req, "tenant"),
		.key = request_query(c->req, "key"),
		.expires_s = query_int(c->req, "expires"),
	};
	int rc;

	claim_of(c, &subject, &claim);
	if (!claim.kind || buf_err(&subject) || !claim.tenant ||
	    strlen(claim.tenant) >= STORE_TENANT_MAX)
		return unauthorized(c, "the link is incomplete");
	rc = link_check(&c->env->store, &c->env->links, &claim, signature,
	                clock_wall_ms());
	if (rc == -EKEYEXPIRED)
		return unauthorized(c, "the link has expired");
	if (rc == -EACCES)
		return unauthorized(c, "the link's signature is wrong");
	if (rc)
		return fail_store(c, rc);
	c->caller.who = WHO_VIEWER;
	snprintf(c->caller.id, sizeof(c->caller.id), CALLER_LINK);
	snprintf(c->caller.tenant, sizeof(c->caller.tenant), "%s",
	         claim.tenant);
	return 0;
}

int
auth_check(struct call *c, struct jwt_keys *keys)
{
	const char *signature = request_query(c->req, "signature");
	enum who need = c->route->who;

	if (need == WHO_ANYONE ||
	    (need == WHO_SCRAPER && c->req->metrics_allowed))
		return 0;
	if (need == WHO_LINK && signature && !*c->req->authorization)
		return check_link(c, signature);
	if (check_bearer(c, keys))
		return -1;
	if (c->route->op == OP_GetCaller && !*c->caller.id)
		return 0; /* see nobody() */
	if (need < WHO_WORKER)
		need = WHO_VIEWER;
	if (c->caller.who < need ||
	    (need == WHO_WORKER && c->caller.who != WHO_WORKER)) {
		detail_text(c, "role", who_name(c->caller.who));
		detail_text(c, "needed", who_name(need));
		return fail(c, Forbidden, who_name(need));
	}
	if (need == WHO_WORKER && call_check_certificate(c, c->caller.host))
		return -1;
	return pick_tenant(c);
}
