/* Services, keys, the audit log and repeated requests. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "lib/api_short.h"

#include <fcntl.h>
#include <string.h>

#define SERVICES "/api/v1/services"
#define LINKS    "/api/v1/browser-session/link"
#define TOKENS   "/api/v1/tokens"

/* --- services ------------------------------------------------------------- */

TEST(a_service_comes_back_as_it_was_given)
{
	static const char body[] =
		"{\"name\":\"web.1\",\"kind\":\"native\",\"host\":\"h\","
		"\"match\":{\"unit\":\"a.service\"},\"labels\":{\"k\":\"v\"},"
		"\"allow\":{\"ptrace\":true},\"description\":\"d\"}";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		api_say(&a, KEY_ADMIN, "POST", SERVICES, body);
	CLEANUP_REPLY struct client_reply got =
		api_say(&a, KEY_VIEWER, "GET", SERVICES "/web.1", NULL);
	CLEANUP_JSON json_t *given = json_loads(body, 0, NULL);
	const char *key;
	json_t *v;

	ck_assert_int_eq(made.status, 201);
	ck_assert_str_eq(client_header(&made, "Location"), SERVICES "/web.1");
	json_object_foreach(given, key, v)
		ck_assert_msg(json_equal(v, json_object_get(got.json, key)),
		              "%s", key);
}
END

TEST(an_opt_in_is_true_or_false_and_an_unknown_one_is_named)
{
	static const struct {
		const char *allow;
		int status;
		const char *warned;
	} rows[] = {
		{"{\"goroutineLeak\":true}", 200, NULL},
		{"{\"goroutineLeak\":false}", 200, NULL},
		{"{\"goroutineLeak\":1}", 400, NULL},
		{"{\"goroutineLeak\":\"true\"}", 400, NULL},
		{"{\"javaPerfMap\":true}", 200, NULL},
		{"{\"goroutineLeek\":true}", 200, "goroutineLeek"},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FREE char *body = NULL;
		CLEANUP_FREE char *warnings = NULL;

		ck_assert_int_gt(
			asprintf(&body, "{\"allow\":%s}", rows[i].allow), 0);
		CLEANUP_REPLY struct client_reply r = api_say(
			&a, KEY_ADMIN, "PUT", SERVICES "/" TEST_SERVICE, body);
		ck_assert_int_eq(r.status, rows[i].status);
		warnings = json_dumps(json_object_get(r.json, "warnings"), 0);
		ck_assert(!rows[i].warned ||
		          (warnings && strstr(warnings, rows[i].warned)));
		ck_assert(rows[i].warned || !warnings);
	}
}
END

TEST(a_name_that_is_taken_is_409)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		api_say(&a, KEY_ADMIN, "POST", SERVICES,
	                "{\"name\":\"" TEST_SERVICE "\"}");

	assert_error(&r, 409, "ServiceExists");
}
END

TEST(the_same_name_in_another_tenant_is_free)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		api_say(&a, KEY_OTHER, "POST", SERVICES,
	                "{\"name\":\"" TEST_SERVICE "\"}");

	ck_assert_int_eq(r.status, 201);
}
END

TEST(put_replaces_every_field)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		api_say(&a, KEY_ADMIN, "PUT", SERVICES "/" TEST_SERVICE,
	                "{\"match\":{\"exe\":\"/opt/app/x\"}}");
	const json_t *match = json_object_get(r.json, "match");

	ck_assert_int_eq(r.status, 200);
	ck_assert_uint_eq(json_object_size(match), 1);
	ck_assert_str_eq(json_string_value(json_object_get(match, "exe")),
	                 "/opt/app/x");
}
END

static const struct {
	const char *match;
	int status;
} matches[] = {
	{"{}", 200},
	{"{\"unit\":\"a.service\"}", 200},
	{"{\"unit\":\"c.service\"}", 403},
	{"{\"unit\":\"a\"}", 400},
	{"{\"unit\":\"a.service b.service\"}", 400},
	{"{\"exe\":\"/bin/x\"}", 200},
	{"{\"exe\":\"*\"}", 200},
	{"{\"exe\":\"/*\"}", 403},
	{"{\"exe\":\"**\"}", 400},
	{"{\"unit\":\"*\"}", 400},
	{"{\"exe\":\"/bin\"}", 200},
	{"{\"exe\":\"/binx\"}", 403},
	{"{\"exe\":\"/opt/app\"}", 200},
	{"{\"exe\":\"/opt/apple\"}", 403},
	{"{\"exe\":\"/bin/../etc/x\"}", 400},
	{"{\"exe\":\"/bin/..\"}", 400},
	{"{\"exe\":\"/bin/.\"}", 400},
	{"{\"exe\":\"/bin/..x\"}", 200},
	{"{\"exe\":\"bin/x\"}", 400},
	{"{\"pidFile\":\"/run/x.pid\"}", 200},
	{"{\"cmdline\":\"^/bin/x( |$)\"}", 200},
	{"{\"cmdline\":\"(\"}", 400},
	{"{\"cmdline\":\"(a{255}){255}\"}", 400},
	{"{\"exe\":\"/bin/x\",\"unit\":\"a.service\"}", 400},
	{"{\"exe\":1}", 400},
	{"{\"exe\":\"\"}", 400},
	{"{\"colour\":\"red\"}", 400},
	{"{\"container\":\"web-*\"}", 200},
	{"{\"container\":{\"name\":\"web\"}}", 400},
	{"{\"container\":\"a\\nb\"}", 400},
	{"{\"image\":\"nginx\"}", 200},
	{"{\"pod\":{\"namespace\":\"shop\",\"name\":\"web-*\"}}", 200},
	{"{\"pod\":{\"colour\":\"red\"}}", 400},
	{"{\"pod\":{}}", 400},
	{"{\"pod\":\"shop/web\"}", 400},
	{"{\"compose\":{\"project\":\"shop\"}}", 200},
	{"{\"label\":{\"tier\":\"front\"}}", 200},
	{"{\"label\":{\"tier\":1}}", 400},
};

TEST(a_match_is_one_rule_within_the_scope_of_its_tenant)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(matches); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char body[256];

		snprintf(body, sizeof(body), "{\"match\":%s}",
		         matches[i].match);
		r = api_say(&a, KEY_ADMIN, "PUT", SERVICES "/" TEST_SERVICE,
		            body);
		ck_assert_msg(r.status == matches[i].status, "%s: %s",
		              matches[i].match, buf_str(&r.body));
		if (r.status == 403)
			assert_error(&r, 403, "ScopeForbidden");
		if (r.status == 400)
			assert_error(&r, 400, "InvalidParameter");
	}
}
END

TEST(a_tenant_without_a_scope_may_match_nothing)
{
	static const char *const any[] = {"{\"cmdline\":\".\"}",
	                                  "{\"exe\":\"*\"}"};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(any); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char body[128];

		snprintf(body, sizeof(body), "{\"name\":\"n\",\"match\":%s}",
		         any[i]);
		r = api_say(&a, KEY_OTHER, "POST", SERVICES, body);
		assert_error(&r, 403, "ScopeForbidden");
	}
}
END

TEST(a_tenant_without_a_scope_may_name_no_endpoint)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = api_say(
		&a, KEY_OTHER, "POST", SERVICES,
		"{\"name\":\"n\",\"pprofUrl\":\"http://localhost:6060\"}");

	assert_error(&r, 403, "EndpointForbidden");
}
END

/* A scope lists either programs or units. */
static const struct {
	const char *tenant, *match;
	int status;
} lists[] = {
	{"t2", "{\"exe\":\"/opt/b\"}", 201},
	{"t2", "{\"unit\":\"b.service\"}", 403},
	{"other", "{\"unit\":\"b.service\"}", 201},
	{"other", "{\"exe\":\"/opt/b\"}", 403},
	/* allowed: the worker profiles only what the scope allows */
	{"other", "{\"exe\":\"*\"}", 201},
};

TEST(a_list_that_a_scope_lacks_allows_nothing)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[scope.t2]\nexe = /opt/b\n"
	                    "[scope.other]\nunits = b.service");

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char body[256];

		snprintf(body, sizeof(body), "{\"name\":\"n%zu\",\"match\":%s}",
		         i, lists[i].match);
		r = ask(&a, (struct ask){.key = strcmp(lists[i].tenant, "t2")
		                                        ? KEY_OTHER
		                                        : KEY_ADMIN,
		                         .tenant = lists[i].tenant,
		                         .method = "POST",
		                         .path = SERVICES,
		                         .body = body});
		ck_assert_msg(r.status == lists[i].status, "row %zu: %s", i,
		              buf_str(&r.body));
	}
}
END

TEST(command_lines_are_hidden_from_viewers)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const char *path = SERVICES "/" TEST_SERVICE "/processes";
	CLEANUP_REPLY struct client_reply viewer =
		api_say(&a, KEY_VIEWER, "GET", path, NULL);
	CLEANUP_REPLY struct client_reply strong =
		api_say(&a, KEY_OPERATOR, "GET", path, NULL);

	ck_assert_ptr_nonnull(strstr(buf_str(&viewer.body), "\"/bin/true\""));
	ck_assert_ptr_null(strstr(buf_str(&viewer.body), "password"));
	ck_assert_ptr_null(strstr(buf_str(&viewer.body), "bootId"));
	ck_assert_ptr_nonnull(strstr(buf_str(&strong.body), "password"));
	ck_assert_ptr_nonnull(strstr(buf_str(&strong.body), "bootId"));
}
END

TEST(what_goes_with_a_service_is_counted)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char id[ID_MAX];

	test_profile(&a, id);
	{
		CLEANUP_REPLY struct client_reply r = ask(
			&a,
			(struct ask){.key = KEY_VIEWER,
		                     .path = "/api/v1/services/" TEST_SERVICE
		                             "/contents"});

		ck_assert_int_eq(r.status, 200);
		ck_assert_int_eq(
			json_integer_value(json_object_get(r.json, "sessions")),
			1);
		ck_assert_int_eq(
			json_integer_value(json_object_get(r.json, "windows")),
			0);
		ck_assert_int_gt(
			json_integer_value(json_object_get(r.json, "bytes")),
			0);
	}
	{
		CLEANUP_REPLY struct client_reply r =
			ask(&a, (struct ask){.key = KEY_VIEWER,
		                             .path = "/api/v1/services/none"
		                                     "/contents"});

		assert_error(&r, 404, "UnknownService");
	}
}
END

TEST(pages_of_services_lead_to_each_other)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		api_say(&a, KEY_ADMIN, "POST", SERVICES, "{\"name\":\"zz\"}");
	CLEANUP_REPLY struct client_reply one =
		api_say(&a, KEY_VIEWER, "GET", SERVICES "?limit=1", NULL);
	CLEANUP_REPLY struct client_reply two = {0}, bad = {0};
	char path[512];

	snprintf(path, sizeof(path), SERVICES "?limit=1&cursor=%s",
	         reply_text(&one, "nextCursor"));
	two = api_say(&a, KEY_VIEWER, "GET", path, NULL);
	ck_assert_ptr_nonnull(strstr(buf_str(&two.body), "\"zz\""));
	ck_assert(json_is_null(json_object_get(two.json, "nextCursor")));
	bad = api_say(&a, KEY_ADMIN, "GET", TOKENS "?cursor=..", NULL);
	assert_error(&bad, 400, "InvalidParameter");
}
END

/* --- keys ----------------------------------------------------------------- */

TEST(a_new_key_works_until_it_is_revoked)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		api_say(&a, KEY_ADMIN, "POST", TOKENS,
	                "{\"name\":\"ci\",\"role\":\"viewer\"}");
	CLEANUP_REPLY struct client_reply used = {0}, gone = {0}, after = {0};
	struct ask q = {.path = SERVICES};
	char key[64], path[128];

	ck_assert_int_eq(made.status, 201);
	snprintf(key, sizeof(key), "%s", reply_text(&made, "key"));
	q.bearer = key;
	used = ask(&a, q);
	ck_assert_int_eq(used.status, 200);
	snprintf(path, sizeof(path), TOKENS "/%s", reply_text(&made, "id"));
	gone = api_say(&a, KEY_ADMIN, "DELETE", path, NULL);
	ck_assert_int_eq(gone.status, 204);
	after = ask(&a, q);
	assert_error(&after, 401, "Unauthorized");
}
END

TEST(keys_are_made_only_for_tenants_that_the_maker_holds)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply own =
		api_say(&a, KEY_ADMIN, "POST", TOKENS,
	                "{\"name\":\"n\",\"role\":\"admin\",\"tenants\":"
	                "[\"t2\",\"t\"]}");
	CLEANUP_REPLY struct client_reply strange =
		api_say(&a, KEY_ADMIN, "POST", TOKENS,
	                "{\"name\":\"n\",\"role\":\"admin\",\"tenants\":"
	                "[\"t\",\"other\"]}");

	ck_assert_int_eq(own.status, 201);
	ck_assert_str_eq(json_string_value(json_array_get(
				 json_object_get(own.json, "tenants"), 0)),
	                 "t2");
	assert_error(&strange, 403, "TenantForbidden");
}
END

TEST(keys_of_other_tenants_are_not_listed)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		api_say(&a, KEY_OTHER, "GET", TOKENS, NULL);
	const json_t *items = json_object_get(r.json, "items");

	ck_assert_uint_eq(json_array_size(items), 1);
}
END

TEST(a_key_of_another_tenant_is_not_revoked)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		api_say(&a, KEY_ADMIN, "POST", TOKENS,
	                "{\"name\":\"ci\",\"role\":\"viewer\"}");
	CLEANUP_REPLY struct client_reply refused = {0}, used = {0};
	char path[128];

	snprintf(path, sizeof(path), TOKENS "/%s", reply_text(&made, "id"));
	refused = api_say(&a, KEY_OTHER, "DELETE", path, NULL);
	assert_error(&refused, 404, "UnknownToken");
	used = ask(&a, (struct ask){.path = SERVICES,
	                            .bearer = reply_text(&made, "key")});
	ck_assert_int_eq(used.status, 200);
}
END

TEST(a_key_that_ends_in_the_past_is_refused)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		api_say(&a, KEY_ADMIN, "POST", TOKENS,
	                "{\"name\":\"n\",\"role\":\"viewer\",\"expiresAt\":"
	                "\"2020-01-01T00:00:00Z\"}");

	assert_error(&r, 400, "InvalidParameter");
}
END

TEST(bearers_that_are_no_key_are_401)
{
	static const char *const bad[] = {
		"", "x", "stk_", "stk_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"eyJhbGciOiJub25lIn0.e30."};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_REPLY struct client_reply r = ask(
			&a, (struct ask){.bearer = bad[i], .path = SERVICES});

		assert_error(&r, 401, "Unauthorized");
	}
}
END

TEST(a_second_tenant_of_a_key_is_picked_by_header)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		ask(&a, (struct ask){.key = KEY_ADMIN,
	                             .path = SERVICES,
	                             .tenant = "t2"});

	ck_assert_int_eq(r.status, 200);
	ck_assert_uint_eq(json_array_size(json_object_get(r.json, "items")), 0);
}
END

static const struct {
	const char *held, *named;
	int status;
} picks[] = {
	{"t2", "t2", 200},  {"t2", "t", 200}, /* the key's own tenant */
	{"t2", "t3", 403},  {"*", "t3", 200},
	{"*", "t3 t", 403}, {"*", "t3 ", 403},
};

TEST(a_tenant_is_picked_that_the_key_holds_and_that_is_a_name)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char longest[STORE_TENANT_MAX + 1], id[ID_MAX], key[TOKEN_KEY_MAX];
	struct token_ask all = {"n", "viewer", NULL, TEST_TENANT, 0, NULL};
	struct ask q = {.bearer = key, .path = SERVICES};

	for (size_t i = 0; i < ARRAY_LEN(picks); i++) {
		CLEANUP_REPLY struct client_reply r = {0};

		all.tenants = picks[i].held;
		ck_assert_int_eq(token_create(&a.store.s, &all, id, key), 0);
		q.tenant = picks[i].named;
		r = ask(&a, q);
		ck_assert_msg(r.status == picks[i].status, "row %zu: %s", i,
		              buf_str(&r.body));
	}
	memset(longest, 'x', sizeof(longest));
	for (size_t n = STORE_TENANT_MAX - 1; n <= STORE_TENANT_MAX; n++) {
		CLEANUP_REPLY struct client_reply r = {0};

		longest[n] = '\0';
		q.tenant = longest;
		r = ask(&a, q);
		ck_assert_int_eq(r.status, n < STORE_TENANT_MAX ? 200 : 403);
		longest[n] = 'x';
	}
}
END

/* --- the audit log, and repeated requests --------------------------------- */

TEST(changes_are_in_the_audit_log_with_who_and_request)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		api_say(&a, KEY_ADMIN, "POST", SERVICES, "{\"name\":\"new\"}");
	CLEANUP_REPLY struct client_reply log =
		api_say(&a, KEY_VIEWER, "GET", "/api/v1/audit", NULL);
	const json_t *line =
		json_array_get(json_object_get(log.json, "items"), 0);

	ck_assert_str_eq(json_string_value(json_object_get(line, "action")),
	                 "CreateService");
	ck_assert_str_eq(json_string_value(json_object_get(line, "target")),
	                 "new");
	ck_assert_str_eq(json_string_value(json_object_get(line, "requestId")),
	                 "test-request-id");
	ck_assert_int_eq(
		strncmp(json_string_value(json_object_get(line, "actor")),
	                "tok-", 4),
		0);
}
END

/* Lines stay for a year, and an operator may pin and unpin for ever. */
TEST(a_key_makes_ten_thousand_changes_an_hour)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one = {0}, last = {0}, refused = {0},
					  other = {0}, is = {0};
	char id[ID_MAX], pin[128], profile[128];

	test_profile(&a, id);
	snprintf(profile, sizeof(profile), API_PROFILES "/%s", id);
	snprintf(pin, sizeof(pin), API_PROFILES "/%s/pin", id);
	one = api_say(&a, KEY_OPERATOR, "POST", pin, NULL);
	ck_assert_int_eq(one.status, 200);
	test_sql(&a.store,
	         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
	         "FROM n WHERE i < 9998) INSERT INTO audit SELECT id || i, "
	         "at_ms, tenant, actor, action, target, request_id, detail "
	         "FROM audit, n WHERE action = 'PinProfile'",
	         NULL, 0);
	last = api_say(&a, KEY_OPERATOR, "DELETE", pin, NULL);
	ck_assert_int_eq(last.status, 200);
	refused = api_say(&a, KEY_OPERATOR, "POST", pin, NULL);
	assert_error(&refused, 429, "TooManyChanges");
	is = api_say(&a, KEY_VIEWER, "GET", profile, NULL);
	ck_assert(!json_is_true(json_object_get(is.json, "pinned")));
	other = api_say(&a, KEY_ADMIN, "POST", pin, NULL);
	ck_assert_int_eq(other.status, 200);
}
END

TEST(the_audit_log_tells_whose_key_was_made_and_revoked)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		api_say(&a, KEY_ADMIN, "POST", TOKENS,
	                "{\"name\":\"ci\",\"role\":\"viewer\"}");
	CLEANUP_REPLY struct client_reply gone = {0}, log = {0};
	static const char *const actions[] = {"RevokeToken", "CreateToken"};
	int64_t made_ms = clock_wall_ms();
	char path[128];

	snprintf(path, sizeof(path), TOKENS "/%s", reply_text(&made, "id"));
	while (clock_wall_ms() == made_ms)
		; /* lines of one millisecond come in any order */
	gone = api_say(&a, KEY_ADMIN, "DELETE", path, NULL);
	ck_assert_int_eq(gone.status, 204);
	log = api_say(&a, KEY_ADMIN, "GET", "/api/v1/audit", NULL);
	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		const json_t *line =
			json_array_get(json_object_get(log.json, "items"), i);

		ck_assert_str_eq(
			json_string_value(json_object_get(line, "action")),
			actions[i]);
		ck_assert_str_eq(
			json_string_value(json_object_get(line, "target")),
			reply_text(&made, "id"));
	}
}
END

TEST(a_page_of_the_audit_log_that_is_full_may_be_the_last)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one =
		api_say(&a, KEY_ADMIN, "POST", SERVICES, "{\"name\":\"1\"}");
	CLEANUP_REPLY struct client_reply two =
		api_say(&a, KEY_ADMIN, "POST", SERVICES, "{\"name\":\"2\"}");
	CLEANUP_REPLY struct client_reply part =
		api_say(&a, KEY_VIEWER, "GET", "/api/v1/audit?limit=1", NULL);
	CLEANUP_REPLY struct client_reply all =
		api_say(&a, KEY_VIEWER, "GET", "/api/v1/audit?limit=2", NULL);

	ck_assert_uint_eq(json_array_size(json_object_get(part.json, "items")),
	                  1);
	ck_assert(json_is_string(json_object_get(part.json, "nextCursor")));
	ck_assert_uint_eq(json_array_size(json_object_get(all.json, "items")),
	                  2);
	ck_assert(json_is_null(json_object_get(all.json, "nextCursor")));
}
END

static struct client_reply
repeat(struct test_api *a, const char *path, const char *body, enum api_key key)
{
	return ask(a, (struct ask){.key = key,
	                           .method = "POST",
	                           .path = path,
	                           .body = body,
	                           .idempotency = "key-1"});
}

TEST(a_repeated_post_gets_the_first_reply)
{
	static const char start[] = "{\"service\":\"" TEST_SERVICE
				    "\",\"profileType\":\"cpu\"}";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one =
		repeat(&a, API_PROFILES "/start", start, KEY_OPERATOR);
	CLEANUP_REPLY struct client_reply two =
		repeat(&a, API_PROFILES "/start", start, KEY_OPERATOR);

	ck_assert_int_eq(one.status, 202);
	ck_assert_int_eq(two.status, 202);
	ck_assert_str_eq(buf_str(&two.body), buf_str(&one.body));
	ck_assert_ptr_nonnull(client_header(&two, "Location"));
	ck_assert_str_eq(client_header(&two, "Idempotency-Replayed"), "true");
}
END

TEST(another_request_under_a_used_key_is_422)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one =
		repeat(&a, SERVICES, "{\"name\":\"n1\"}", KEY_ADMIN);
	CLEANUP_REPLY struct client_reply two =
		repeat(&a, SERVICES, "{\"name\":\"n2\"}", KEY_ADMIN);

	ck_assert_int_eq(one.status, 201);
	assert_error(&two, 422, "IdempotencyKeyReused");
}
END

TEST(a_request_that_failed_may_be_tried_again_under_its_key)
{
	static const char body[] = "{\"service\":\"late\","
				   "\"profileType\":\"cpu\"}";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one =
		repeat(&a, API_PROFILES "/start", body, KEY_OPERATOR);
	CLEANUP_REPLY struct client_reply made =
		api_say(&a, KEY_ADMIN, "POST", SERVICES, "{\"name\":\"late\"}");
	CLEANUP_REPLY struct client_reply two =
		repeat(&a, API_PROFILES "/start", body, KEY_OPERATOR);

	assert_error(&one, 404, "UnknownService");
	ck_assert_int_eq(two.status, 202);
}
END

TEST(another_query_under_a_used_key_is_422)
{
	static const char path[] = "/v0/pipelines/" TEST_SERVICE
				   "/samply_profile?ordinal=";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one = {0}, same = {0}, two = {0};
	char first[128], second[128];

	snprintf(first, sizeof(first), "%s0", path);
	snprintf(second, sizeof(second), "%s1", path);
	one = repeat(&a, first, NULL, KEY_OPERATOR);
	same = repeat(&a, first, NULL, KEY_OPERATOR);
	two = repeat(&a, second, NULL, KEY_OPERATOR);
	ck_assert_int_eq(one.status, 202);
	ck_assert_int_eq(same.status, 202);
	assert_error(&two, 422, "IdempotencyKeyReused");
}
END

/*
 * Two callers send the same Idempotency-Key; the second caller has another
 * tenant, or is a colleague.
 */
static const struct {
	enum api_key one, another;
	int status; /* reply to the second caller */
} callers[] = {
	{KEY_ADMIN, KEY_OTHER, 404}, /* its tenant has no such service */
	{KEY_ADMIN, KEY_OPERATOR, 202},
};

TEST(keys_of_one_caller_say_nothing_to_another)
{
	for (size_t i = 0; i < ARRAY_LEN(callers); i++) {
		CLEANUP_API struct test_api a = test_api(1, "");
		CLEANUP_REPLY struct client_reply one =
			repeat(&a, API_PROFILES "/start",
		               "{\"service\":\"" TEST_SERVICE
		               "\",\"profileType\":\"cpu\"}",
		               callers[i].one);
		CLEANUP_REPLY struct client_reply two =
			repeat(&a, API_PROFILES "/start",
		               "{\"service\":\"" TEST_SERVICE
		               "\",\"profileType\":\"goroutine\"}",
		               callers[i].another);

		ck_assert_int_eq(one.status, 202);
		ck_assert_int_eq(two.status, callers[i].status);
	}
}
END

TEST(a_new_api_key_is_made_without_idempotency_key_and_is_not_in_the_store)
{
	static const char body[] = "{\"name\":\"n\",\"role\":\"viewer\"}";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply refused =
		repeat(&a, TOKENS, body, KEY_ADMIN);
	CLEANUP_REPLY struct client_reply link_refused =
		repeat(&a, LINKS, "", KEY_ADMIN);
	CLEANUP_REPLY struct client_reply made =
		api_say(&a, KEY_ADMIN, "POST", TOKENS, body);
	static const char *const files[] = {"stoker.db", "stoker.db-wal"};

	if (test_on_server())
		return; /* the tables are SQLite's */

	assert_error(&refused, 400, "InvalidParameter");
	assert_error(&link_refused, 400, "InvalidParameter");
	ck_assert_int_eq(made.status, 201);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_REPLY);
		char path[96];

		snprintf(path, sizeof(path), "%s/%s", a.store.dir, files[i]);
		ck_assert_int_eq(file_read(AT_FDCWD, path, &bytes), 0);
		ck_assert_ptr_null(memmem(bytes.p, bytes.len,
		                          reply_text(&made, "key"), 44));
	}
}
END

static const struct {
	const char *key;
	int status;
} idempotency_keys[] = {
	{"\xff\xfe", 400},
	{"a\tb", 400},
	{"k\xc3\xa9", 400},
	{" !~", 201},
};

TEST(an_idempotency_key_is_printable_ascii)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(idempotency_keys); i++) {
		CLEANUP_REPLY struct client_reply r = ask(
			&a,
			(struct ask){.key = KEY_ADMIN,
		                     .method = "POST",
		                     .path = SERVICES,
		                     .body = "{\"name\":\"n1\"}",
		                     .idempotency = idempotency_keys[i].key});

		ck_assert_int_eq(r.status, idempotency_keys[i].status);
	}
}
END

TEST(an_idempotency_key_of_255_is_kept_and_one_more_refused)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char key[257] = "";

	for (int extra = 1; extra >= 0; extra--) {
		CLEANUP_REPLY struct client_reply r = {0};

		memset(key, 'k', sizeof(key) - 1);
		key[255 + extra] = '\0';
		r = ask(&a, (struct ask){.key = KEY_ADMIN,
		                         .method = "POST",
		                         .path = SERVICES,
		                         .body = "{\"name\":\"n1\"}",
		                         .idempotency = key});
		ck_assert_int_eq(r.status, extra ? 400 : 201);
	}
}
END

TEST(a_tenant_may_be_named_as_clients_of_pyroscope_do)
{
	static const struct {
		const char *tenant, *org;
		int status;
	} rows[] = {
		{NULL, "t2", 200},
		{NULL, "nope", 403},
		{"t", "nope", 200}, /* ours goes first */
		{"nope", "t2", 403},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			ask(&a, (struct ask){.key = KEY_ADMIN,
		                             .path = SERVICES,
		                             .tenant = rows[i].tenant,
		                             .org = rows[i].org});

		ck_assert_msg(r.status == rows[i].status, "row %zu: %d", i,
		              r.status);
	}
}
END

SUITE("admin", .seconds = 60);
