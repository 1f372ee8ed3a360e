/* Browsers sign in with a key or a JWT, and have a cookie from then on. */
#include "lib/api_short.h"

#include <string.h>

#define SIGN      "/api/v1/browser-session"
#define LINK      SIGN "/link"
#define BROWSERS  "/api/v1/browser-sessions"
#define TOKENS    "/api/v1/tokens"
#define SERVICES  "/api/v1/services"
#define COOKIE    256
#define NEW_ADMIN "{\"name\":\"b\",\"role\":\"admin\"}"

/* Copies NAME=VALUE of the cookie that the reply sets. */
static void
cookie_of(const struct client_reply *r, char out[static COOKIE])
{
	const char *set = client_header(r, "Set-Cookie");

	ck_assert_ptr_nonnull(set);
	snprintf(out, COOKIE, "%.*s", (int)strcspn(set, ";"), set);
}

static void
sign_in(struct test_api *a, enum api_key key, char out[static COOKIE])
{
	CLEANUP_REPLY struct client_reply r = ask(
		a, (struct ask){.key = key, .method = "POST", .path = SIGN});

	ck_assert_int_eq(r.status, 201);
	cookie_of(&r, out);
}

static struct client_reply
with_cookie(struct test_api *a, const char *cookie, const char *path)
{
	return ask(a, (struct ask){.cookie = cookie, .path = path});
}

/* Sends a change as a page of the same site does. */
static struct client_reply
change(struct test_api *a, const char *cookie, const char *method,
       const char *path, const char *body)
{
	return ask(a, (struct ask){.cookie = cookie,
	                           .origin = "http://stoker.test",
	                           .method = method,
	                           .path = path,
	                           .body = body});
}

/* Writes the path of the only browser that is signed in. */
static void
only_browser(struct test_api *a, char path[static 256])
{
	CLEANUP_REPLY struct client_reply r =
		ask(a, (struct ask){.key = KEY_ADMIN, .path = BROWSERS});

	ck_assert_uint_eq(length_of(&r, "items"), 1);
	snprintf(path, 256, BROWSERS "/%s",
	         text_of(item_of(&r, "items", 0), "id"));
}

TEST(a_cookie_has_the_role_and_tenant_of_its_key)
{
	static const struct {
		enum api_key key;
		const char *role, *tenant;
		int listed; /* status of the list, which needs an admin */
	} rows[] = {
		{KEY_VIEWER, "viewer", TEST_TENANT, 403},
		{KEY_OPERATOR, "operator", TEST_TENANT, 403},
		{KEY_ADMIN, "admin", TEST_TENANT, 200},
		{KEY_OTHER, "admin", "other", 200},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply who = {0}, list = {0};
		char cookie[COOKIE];

		sign_in(&a, rows[i].key, cookie);
		who = with_cookie(&a, cookie, SIGN);
		ck_assert_int_eq(who.status, 200);
		ck_assert_str_eq(reply_text(&who, "role"), rows[i].role);
		ck_assert_str_eq(reply_text(&who, "tenant"), rows[i].tenant);
		list = with_cookie(&a, cookie, BROWSERS);
		ck_assert_int_eq(list.status, rows[i].listed);
	}
}
END

TEST(a_browser_switches_to_a_tenant_that_its_key_covers)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply to = {0}, who = {0}, no = {0};
	CLEANUP_REPLY struct client_reply without = {0};
	char cookie[COOKIE];

	sign_in(&a, KEY_ADMIN, cookie);
	to = ask(&a, (struct ask){.cookie = cookie,
	                          .origin = "http://stoker.test",
	                          .method = "PUT",
	                          .tenant = "t2",
	                          .path = SIGN});
	ck_assert_int_eq(to.status, 200);
	who = with_cookie(&a, cookie, SIGN);
	ck_assert_str_eq(reply_text(&who, "tenant"), "t2");
	ck_assert_uint_eq(length_of(&who, "tenants"), 2);
	no = ask(&a, (struct ask){.cookie = cookie,
	                          .origin = "http://stoker.test",
	                          .method = "PUT",
	                          .tenant = "other",
	                          .path = SIGN});
	ck_assert_int_eq(no.status, 403);
	without = ask(&a, (struct ask){.key = KEY_ADMIN,
	                               .method = "PUT",
	                               .tenant = "t2",
	                               .path = SIGN});
	ck_assert_int_eq(without.status, 404);
}
END

TEST(a_cookie_is_one_that_no_script_and_no_other_site_gets)
{
	static const struct {
		bool https;
		const char *begins, *has, *lacks;
	} rows[] = {
		{true, "__Host-stoker=", "; Secure", "Domain"},
		{false, "stoker=", "; HttpOnly", "; Secure"},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			ask(&a, (struct ask){.key = KEY_VIEWER,
		                             .https = rows[i].https,
		                             .method = "POST",
		                             .path = SIGN});
		const char *set = client_header(&r, "Set-Cookie");

		ck_assert_int_eq(r.status, 201);
		ck_assert(
			!strncmp(set, rows[i].begins, strlen(rows[i].begins)));
		ck_assert_ptr_nonnull(strstr(set, rows[i].has));
		ck_assert_ptr_null(strstr(set, rows[i].lacks));
		ck_assert_ptr_nonnull(strstr(set, "; HttpOnly"));
		ck_assert_ptr_nonnull(strstr(set, "; SameSite=Strict"));
		ck_assert_ptr_nonnull(strstr(set, "; Path=/;"));
		ck_assert_str_eq(client_header(&r, "Cache-Control"),
		                 "no-store");
	}
}
END

/* Makes a sign-in link, and writes the Authorization header that follows
 * it. */
static void
make_link(struct test_api *a, enum api_key key, char out[static COOKIE])
{
	CLEANUP_REPLY struct client_reply r = ask(
		a, (struct ask){.key = key, .method = "POST", .path = LINK});
	const char *url = reply_text(&r, "url");
	const char *secret = strstr(url, "/ui/#sign-in=lnk_");

	ck_assert_int_eq(r.status, 201);
	ck_assert_ptr_nonnull(secret);
	snprintf(out, COOKIE, "Bearer %s", strchr(secret, '=') + 1);
}

static struct client_reply
follow(struct test_api *a, const char *link)
{
	return ask(a, (struct ask){.authorization = link,
	                           .method = "POST",
	                           .path = SIGN});
}

/* Each sign-in adds a line to the audit log, which a viewer could fill. */
TEST(one_key_signs_in_500_browsers_an_hour)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply last = {0}, refused = {0};
	const struct ask q = {
		.key = KEY_VIEWER, .method = "POST", .path = SIGN};
	char cookie[COOKIE];

	sign_in(&a, KEY_VIEWER, cookie);
	test_sql(&a.store,
	         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
	         "FROM n WHERE i < 498) INSERT INTO audit SELECT id || i, "
	         "at_ms, tenant, actor, action, target, request_id, detail "
	         "FROM audit, n WHERE action = 'SignIn'",
	         NULL, 0);
	last = ask(&a, q);
	ck_assert_int_eq(last.status, 201);
	refused = ask(&a, q);
	assert_error(&refused, 429, "TooManySignIns");
	sign_in(&a, KEY_OPERATOR, cookie);
}
END

TEST(a_link_signs_a_browser_in_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply first = {0}, again = {0}, who = {0};
	char link[COOKIE], cookie[COOKIE];

	make_link(&a, KEY_OPERATOR, link);
	first = follow(&a, link);
	ck_assert_int_eq(first.status, 201);
	cookie_of(&first, cookie);
	who = with_cookie(&a, cookie, SIGN);
	ck_assert_str_eq(reply_text(&who, "role"), "operator");
	again = follow(&a, link);
	assert_error(&again, 401, "Unauthorized");
}
END

TEST(whom_a_link_signs_in_is_told_without_using_it)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply who = {0}, first = {0}, again = {0};
	char link[COOKIE];

	make_link(&a, KEY_OPERATOR, link);
	who = ask(&a, (struct ask){.authorization = link, .path = SIGN});
	ck_assert_int_eq(who.status, 200);
	ck_assert_str_eq(reply_text(&who, "role"), "operator");
	first = follow(&a, link);
	ck_assert_int_eq(first.status, 201);
	again = ask(&a, (struct ask){.authorization = link, .path = SIGN});
	assert_error(&again, 401, "Unauthorized");
}
END

TEST(a_link_is_neither_a_key_nor_a_cookie)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply as_key = {0}, as_cookie = {0};
	CLEANUP_REPLY struct client_reply listed = {0};
	char link[COOKIE], cookie[COOKIE];

	make_link(&a, KEY_ADMIN, link);
	as_key = ask(&a, (struct ask){.authorization = link, .path = BROWSERS});
	assert_error(&as_key, 401, "Unauthorized");
	snprintf(cookie, sizeof(cookie), "stoker=%s",
	         link + strlen("Bearer lnk_"));
	as_cookie = with_cookie(&a, cookie, SIGN);
	assert_error(&as_cookie, 401, "Unauthorized");
	/* no browser is signed in yet */
	listed = ask(&a, (struct ask){.key = KEY_ADMIN, .path = BROWSERS});
	ck_assert_uint_eq(length_of(&listed, "items"), 0);
}
END

TEST(a_link_works_until_its_time_and_no_longer_than_its_key)
{
	static const char *const ends[] = {
		"UPDATE browser_session SET link_until_ms = 1",
		"UPDATE browser_session SET expires_ms = 1",
		"UPDATE token SET revoked_ms = 1",
	};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		CLEANUP_API struct test_api a = test_api(1, "");
		CLEANUP_REPLY struct client_reply r = {0};
		char link[COOKIE];

		make_link(&a, KEY_VIEWER, link);
		test_sql(&a.store, ends[i], NULL, 0);
		r = follow(&a, link);
		assert_error(&r, 401, "Unauthorized");
	}
}
END

TEST(a_browser_signs_in_without_https_on_the_machine_itself_only)
{
	static const struct {
		const char *remote;
		bool https;
		int status;
	} rows[] = {
		{"127.0.0.1", false, 201}, {"127.9.9.9", false, 201},
		{"::1", false, 201},       {"192.0.2.1", false, 403},
		{"::2", false, 403},       {"1270.0.0.1", false, 403},
		{"192.0.2.1", true, 201},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			ask(&a, (struct ask){.key = KEY_VIEWER,
		                             .https = rows[i].https,
		                             .remote = rows[i].remote,
		                             .method = "POST",
		                             .path = SIGN});

		ck_assert_int_eq(r.status, rows[i].status);
		if (r.status == 403)
			assert_error(&r, 403, "SecureRequired");
	}
}
END

TEST(a_change_with_a_cookie_must_come_from_a_page_of_the_host)
{
	static const struct {
		const char *origin, *site;
		bool https;
		int status;
		const char *host; /* NULL: stoker.test */
	} rows[] = {
		{NULL, NULL, false, 403, NULL},
		{"http://stoker.test", NULL, false, 201, NULL},
		{"http://STOKER.test", NULL, false, 201, NULL},
		{NULL, "same-origin", false, 201, NULL},
		{NULL, "same-site", false, 403, NULL},
		{NULL, "cross-site", false, 403, NULL},
		{NULL, "none", false, 403, NULL},
		{"null", NULL, false, 403, NULL},
		{"null", "same-origin", false, 403, NULL},
		{"http://evil.test", NULL, false, 403, NULL},
		{"http://evil.test", "same-origin", false, 403, NULL},
		{"http://stoker.test.evil.test", NULL, false, 403, NULL},
		{"http://stoker.test:81", NULL, false, 403, NULL},
		{"https://stoker.test", NULL, false, 403, NULL},
		{"https://stoker.test", NULL, true, 201, NULL},
		{"http://stoker.test", NULL, true, 403, NULL},
		{"http://", NULL, false, 403, ""},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply in =
			ask(&a, (struct ask){.key = KEY_ADMIN,
		                             .https = rows[i].https,
		                             .method = "POST",
		                             .path = SIGN});
		CLEANUP_REPLY struct client_reply r = {0};
		char cookie[COOKIE];

		cookie_of(&in, cookie);
		r = ask(&a, (struct ask){.cookie = cookie,
		                         .origin = rows[i].origin,
		                         .fetch_site = rows[i].site,
		                         .host = rows[i].host,
		                         .https = rows[i].https,
		                         .method = "POST",
		                         .path = TOKENS,
		                         .body = NEW_ADMIN});
		ck_assert_msg(r.status == rows[i].status, "row %zu: %d", i,
		              r.status);
		if (r.status == 403)
			assert_error(&r, 403, "CrossOrigin");
	}
}
END

TEST(a_value_that_the_browser_brought_along_is_never_made_valid)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply in =
		ask(&a, (struct ask){.key = KEY_ADMIN,
	                             .cookie = "stoker=planted",
	                             .method = "POST",
	                             .path = SIGN});
	CLEANUP_REPLY struct client_reply r = {0};
	char cookie[COOKIE];

	ck_assert_int_eq(in.status, 201);
	cookie_of(&in, cookie);
	ck_assert_str_ne(cookie, "stoker=planted");
	r = with_cookie(&a, "stoker=planted", SIGN);
	assert_error(&r, 401, "Unauthorized");
}
END

TEST(a_cookie_makes_neither_another_cookie_nor_a_link)
{
	static const char *const paths[] = {SIGN, LINK};
	CLEANUP_API struct test_api a = test_api(1, "");
	char cookie[COOKIE];

	sign_in(&a, KEY_ADMIN, cookie);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		CLEANUP_REPLY struct client_reply r =
			change(&a, cookie, "POST", paths[i], NULL);

		assert_error(&r, 403, "KeyRequired");
		ck_assert_ptr_null(client_header(&r, "Set-Cookie"));
	}
}
END

TEST(a_cookie_that_has_signed_out_is_401)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply out = {0}, r = {0};
	char cookie[COOKIE], cleared[COOKIE];

	sign_in(&a, KEY_VIEWER, cookie);
	out = change(&a, cookie, "DELETE", SIGN, NULL);
	ck_assert_int_eq(out.status, 204);
	cookie_of(&out, cleared);
	ck_assert_str_eq(cleared, "stoker=");
	r = with_cookie(&a, cookie, SIGN);
	assert_error(&r, 401, "Unauthorized");
}
END

TEST(a_page_asks_without_an_error_who_is_signed_in)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply none = {0}, old = {0}, wrong = {0};
	CLEANUP_REPLY struct client_reply me = {0};
	char cookie[COOKIE];

	sign_in(&a, KEY_VIEWER, cookie);
	none = ask(&a, (struct ask){.path = SIGN "?optional=true"});
	old = with_cookie(&a, "stoker=none", SIGN "?optional=true");
	wrong = ask(&a, (struct ask){.bearer = "stk_none",
	                             .path = SIGN "?optional=true"});
	me = with_cookie(&a, cookie, SIGN "?optional=true");
	ck_assert_int_eq(none.status, 204);
	ck_assert_int_eq(old.status, 204);
	assert_error(&wrong, 401, "Unauthorized");
	ck_assert_int_eq(me.status, 200);
}
END

TEST(a_cookie_ends_when_its_key_is_revoked)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply key =
		api_say(&a, KEY_ADMIN, "POST", TOKENS, NEW_ADMIN);
	CLEANUP_REPLY struct client_reply in =
		ask(&a, (struct ask){.bearer = reply_text(&key, "key"),
	                             .method = "POST",
	                             .path = SIGN});
	CLEANUP_REPLY struct client_reply before = {0}, gone = {0}, r = {0},
					  list = {0};
	char cookie[COOKIE], path[256];

	cookie_of(&in, cookie);
	before = with_cookie(&a, cookie, SERVICES);
	ck_assert_int_eq(before.status, 200);
	snprintf(path, sizeof(path), TOKENS "/%s", reply_text(&key, "id"));
	gone = api_say(&a, KEY_ADMIN, "DELETE", path, NULL);
	ck_assert_int_eq(gone.status, 204);
	r = with_cookie(&a, cookie, SERVICES);
	assert_error(&r, 401, "Unauthorized");
	list = ask(&a, (struct ask){.key = KEY_ADMIN, .path = BROWSERS});
	ck_assert_uint_eq(length_of(&list, "items"), 0);
}
END

TEST(a_cookie_lasts_no_longer_than_its_key)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply key =
		ask(&a, (struct ask){.key = KEY_ADMIN,
	                             .method = "POST",
	                             .path = TOKENS,
	                             .body = "{\"name\":\"b\",\"role\":"
	                                     "\"viewer\",\"expiresAt\":"
	                                     "\"now+1h\"}"});
	CLEANUP_REPLY struct client_reply in =
		ask(&a, (struct ask){.bearer = reply_text(&key, "key"),
	                             .method = "POST",
	                             .path = SIGN});

	ck_assert_int_eq(in.status, 201);
	ck_assert_str_eq(reply_text(&in, "expiresAt"),
	                 reply_text(&key, "expiresAt"));
}
END

/* Copies the hash of the first browser session in the store. */
static void
hash_of(struct test_api *a, char *out, size_t size)
{
	test_sql(&a->store, "SELECT hash FROM browser_session", out, size);
}

static void
age(struct test_api *a, const char *column, int64_t by_ms)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "UPDATE browser_session SET %s = %s - %lld",
	         column, column, (long long)by_ms);
	test_sql(&a->store, sql, NULL, 0);
}

TEST(a_cookie_ends_at_its_time_and_when_it_is_idle)
{
	static const struct {
		const char *column;
		int64_t by_ms;
		int status;
	} rows[] = {
		{"used_ms", 3540000, 200},
		{"used_ms", 3600000, 401},
		{"expires_ms", 7140000, 200},
		{"expires_ms", 7200000, 401},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_API struct test_api a =
			test_api(1, "browser_idle = 1h\n"
		                    "browser_lifetime = 2h");
		CLEANUP_REPLY struct client_reply r = {0};
		char cookie[COOKIE];

		sign_in(&a, KEY_VIEWER, cookie);
		age(&a, rows[i].column, rows[i].by_ms);
		r = with_cookie(&a, cookie, SERVICES);
		ck_assert_msg(r.status == rows[i].status, "row %zu: %d", i,
		              r.status);
	}
}
END

TEST(an_admin_lists_and_ends_the_browsers_of_its_tenant_only)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply theirs = {0}, refused = {0},
					  still = {0}, ended = {0}, r = {0};
	char cookie[COOKIE], path[256];

	sign_in(&a, KEY_VIEWER, cookie);
	only_browser(&a, path);
	theirs = ask(&a, (struct ask){.key = KEY_OTHER, .path = BROWSERS});
	ck_assert_uint_eq(length_of(&theirs, "items"), 0);
	refused = api_say(&a, KEY_OTHER, "DELETE", path, NULL);
	assert_error(&refused, 404, "UnknownBrowserSession");
	still = with_cookie(&a, cookie, SERVICES);
	ck_assert_int_eq(still.status, 200);
	ended = api_say(&a, KEY_ADMIN, "DELETE", path, NULL);
	ck_assert_int_eq(ended.status, 204);
	r = with_cookie(&a, cookie, SERVICES);
	assert_error(&r, 401, "Unauthorized");
}
END

TEST(the_store_holds_no_cookie)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char cookie[COOKIE], hash[128], stolen[COOKIE];

	sign_in(&a, KEY_ADMIN, cookie);
	hash_of(&a, hash, sizeof(hash));
	ck_assert_ptr_null(strstr(cookie, hash));
	snprintf(stolen, sizeof(stolen), "stoker=%s", hash);
	r = with_cookie(&a, stolen, SIGN);
	assert_error(&r, 401, "Unauthorized");
}
END

static void
assert_status(struct test_api *a, const char *cookie, int status)
{
	CLEANUP_REPLY struct client_reply r = with_cookie(a, cookie, SERVICES);

	ck_assert_int_eq(r.status, status);
}

/* A browser with another key is neither counted nor signed out. */
TEST(a_key_has_no_more_browsers_than_the_limit)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply list = {0};
	char first[COOKIE], other[COOKIE], cookie[COOKIE];

	sign_in(&a, KEY_VIEWER, first);
	age(&a, "created_ms", 1000);
	sign_in(&a, KEY_OPERATOR, other);
	for (int i = 0; i < 49; i++)
		sign_in(&a, KEY_VIEWER, cookie);
	assert_status(&a, first, 200);
	sign_in(&a, KEY_VIEWER, cookie);
	assert_status(&a, first, 401);
	assert_status(&a, other, 200);
	list = ask(&a, (struct ask){.key = KEY_ADMIN,
	                            .path = BROWSERS "?limit=500"});
	ck_assert_uint_eq(length_of(&list, "items"), 51);
}
END

SUITE("browser sessions", .seconds = 60);
