/* Claims about every row of routes.def, so each new route is tested. */
#include "lib/api_rows.h"
#include "lib/api_short.h"

#include <string.h>

TEST(every_route_but_the_open_ones_asks_for_a_token)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_ROUTE(r) {
		CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
		CLEANUP_REPLY struct client_reply reply = {0};

		if (r->who == WHO_ANYONE)
			continue;
		g.ask.key = KEY_NONE;
		reply = ask(&a, g.ask);
		assert_error(&reply, 401, "Unauthorized");
		ck_assert_ptr_nonnull(
			client_header(&reply, "WWW-Authenticate"));
	}
}
END

TEST(every_route_refuses_weaker_roles)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_ROUTE(r) {
		for (enum api_key k = KEY_VIEWER; k <= KEY_ADMIN; k++) {
			CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
			CLEANUP_REPLY struct client_reply reply = {0};
			bool weak = r->who > WHO_VIEWER + k - KEY_VIEWER ||
			            r->who == WHO_WORKER;

			if (!weak)
				continue;
			g.ask.key = k;
			reply = ask(&a, g.ask);
			assert_error(&reply, 403, "Forbidden");
			if (!r->connect) /* Connect's errors have no details */
				ck_assert_str_eq(reply_detail(&reply, "needed"),
				                 who_name(r->who));
		}
	}
}
END

TEST(a_workers_key_opens_no_other_route)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_ROUTE(r) {
		CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
		CLEANUP_REPLY struct client_reply reply = {0};

		if (r->who == WHO_ANYONE || r->who == WHO_WORKER)
			continue;
		g.ask.key = KEY_WORKER;
		reply = ask(&a, g.ask);
		assert_error(&reply, 403, "Forbidden");
	}
}
END

TEST(every_route_refuses_tenants_that_the_token_does_not_hold)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_ROUTE(r) {
		CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
		CLEANUP_REPLY struct client_reply reply = {0};

		if (r->who == WHO_ANYONE)
			continue;
		g.ask.tenant = "strange";
		reply = ask(&a, g.ask);
		assert_error(&reply, 403, "TenantForbidden");
	}
}
END

TEST(every_route_hides_what_belongs_to_another_tenant)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char id[ID_MAX];

	test_profile(&a, id);
	EACH_ROUTE(r) {
		CLEANUP_GOOD struct good g = good_ask(r, id);
		CLEANUP_REPLY struct client_reply reply = {0};

		if (!strchr(r->path, '{') || r->who == WHO_WORKER)
			continue;
		g.ask.key = KEY_OTHER;
		reply = ask(&a, g.ask);
		ck_assert_msg(reply.status == 404, "%s: %d", r->name,
		              reply.status);
	}
}
END

TEST(every_route_with_a_body_bounds_it)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_ROUTE(r) {
		for (int past = 0; past < 2 && r->max_body; past++) {
			CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
			CLEANUP_REPLY struct client_reply reply = {0};

			while (g.body.len < r->max_body + (size_t)past)
				buf_putc(&g.body, ' ');
			g.ask.body = buf_str(&g.body);
			reply = ask(&a, g.ask);
			if (past)
				assert_error(&reply, 413, "PayloadTooLarge");
			else
				ck_assert_int_ne(reply.status, 413);
		}
	}
}
END

TEST(every_path_answers_other_methods_with_405_and_allow)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_ROUTE(r) {
		for (int m = 0; m <= METHOD_OTHER; m++) {
			CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
			CLEANUP_REPLY struct client_reply reply = {0};

			g.ask.method = m == METHOD_OTHER ? "PATCH"
			                                 : method_names[m];
			reply = ask(&a, g.ask);
			if (m == METHOD_OTHER)
				assert_error(&reply, 405, "MethodNotAllowed");
			if (reply.status == 405) {
				const char *allow =
					client_header(&reply, "Allow");

				ck_assert(
					strstr(allow, method_names[r->method]));
			} else {
				ck_assert_ptr_null(
					client_header(&reply, "Allow"));
			}
		}
	}
}
END

TEST(every_route_with_a_body_wants_json)
{
	static const char *const types[] = {
		"", "text/plain", "application/jsonp",
		"application/x-www-form-urlencoded"};
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_ROUTE(r) {
		for (size_t i = 0; r->max_body && i < ARRAY_LEN(types); i++) {
			CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
			CLEANUP_REPLY struct client_reply reply = {0};

			g.ask.type = types[i];
			reply = ask(&a, g.ask);
			assert_error(&reply, 415, "UnsupportedMediaType");
		}
	}
}
END

TEST(every_route_with_a_body_tells_where_it_is_not_json)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_ROUTE(r) {
		CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
		CLEANUP_REPLY struct client_reply reply = {0};

		if (!r->max_body)
			continue;
		g.ask.body = "{\n\"a\": nope}";
		reply = ask(&a, g.ask);
		assert_error(&reply, 400, "InvalidJson");
		ck_assert_str_eq(reply_detail(&reply, "line"), "2");
		ck_assert_str_ne(reply_detail(&reply, "column"), "");
	}
}
END

TEST(json_nested_too_deep_is_refused_with_the_limit)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply reply = {0};
	char body[4096];

	memset(body, '[', sizeof(body) - 1);
	body[sizeof(body) - 1] = '\0';
	reply = api_say(&a, KEY_ADMIN, "POST", "/api/v1/services", body);
	assert_error(&reply, 400, "InvalidJson");
	ck_assert_ptr_nonnull(strstr(buf_str(&reply.body),
	                             "deeper than the limit of 2048 levels"));
}
END

TEST(every_route_ignores_one_trailing_slash)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	EACH_ROUTE(r) {
		CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
		CLEANUP_REPLY struct client_reply reply = {0};

		if (r->who == WHO_ANYONE)
			continue;
		g.path.len = strcspn(buf_str(&g.path), "?");
		g.path.p[g.path.len] = '\0';
		buf_putc(&g.path, '/');
		query_of(r, "sess-x", NULL, NULL, &g.path);
		g.ask.path = buf_str(&g.path);
		g.ask.key = KEY_NONE;
		reply = ask(&a, g.ask);
		assert_error(&reply, 401, "Unauthorized");
	}
}
END

/* Sets the end of ranges, which otherwise end now and differ between
 * requests. */
static void
fix_range(const struct route *r, struct good *g)
{
	EACH_PARAM(p)
		if (p->op == r->op && p->type == PT_TIME && *p->def)
			buf_addf(&g->path, "&%s=%s", p->name,
			         strcmp(p->name, "from") ? "4102444800" : "0");
	g->ask.path = buf_str(&g->path);
}

TEST(head_tells_what_get_would_without_its_body)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char id[ID_MAX];

	test_profile(&a, id);
	EACH_ROUTE(r) {
		CLEANUP_GOOD struct good g = good_ask(r, id);
		CLEANUP_REPLY struct client_reply get = {0}, head = {0};

		if (r->method != METHOD_GET || r->op == OP_GetMetrics)
			continue;
		fix_range(r, &g);
		get = ask(&a, g.ask);
		g.ask.method = "HEAD";
		head = ask(&a, g.ask);
		if (strcmp(head.head.p, get.head.p) != 0) {
			/* Retry-After may go down by a second between
			 * requests. */
			client_reply_done(&head);
			head = ask(&a, g.ask);
			g.ask.method = "GET";
			client_reply_done(&get);
			get = ask(&a, g.ask);
		}
		ck_assert_int_eq(head.status, get.status);
		ck_assert_str_eq(head.head.p, get.head.p);
		ck_assert_uint_eq(head.body.len, 0);
	}
}
END

SUITE("rows", .seconds = 60);
