/* Single sign-on: users that nginx vouches for, and their roles. */
#include "lib/api_short.h"

#include <string.h>

#define SIGN     "/api/v1/browser-session"
#define SERVICES "/api/v1/services"
#define GROUPS                                                             \
	"sso_viewers = all staff\nsso_operators = dev\nsso_admins = ops\n" \
	"sso_tenants = " TEST_TENANT " other\n"

static struct client_reply
as(struct test_api *a, const char *groups, struct ask q)
{
	q.sso_user = "ann@example.org";
	q.sso_groups = groups;
	return ask(a, q);
}

TEST(groups_give_roles_and_the_highest_counts)
{
	static const struct {
		const char *groups;
		int status;
		const char *role;
	} rows[] = {
		{"staff", 200, "viewer"},
		{"x,all", 200, "viewer"},
		{"dev", 200, "operator"},
		{"all, dev", 200, "operator"},
		{"all dev,ops", 200, "admin"},
		{"opsx", 403, NULL},
		{"op", 403, NULL},
		{"sales", 403, NULL},
		{"", 403, NULL},
		{" ,, ", 403, NULL},
	};
	CLEANUP_API struct test_api a = test_api(1, GROUPS);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			as(&a, rows[i].groups, (struct ask){.path = SIGN});

		ck_assert_msg(r.status == rows[i].status, "%zu: %d", i,
		              r.status);
		if (r.status != 200)
			continue;
		ck_assert_str_eq(text_of(r.json, "role"), rows[i].role);
		ck_assert_str_eq(text_of(r.json, "actor"),
		                 "sso:ann@example.org");
		ck_assert_str_eq(text_of(r.json, "tenant"), TEST_TENANT);
	}
}
END

TEST(everybody_may_be_given_a_role)
{
	CLEANUP_API struct test_api a = test_api(1, "sso_viewers = *\n");
	CLEANUP_REPLY struct client_reply r =
		as(&a, NULL, (struct ask){.path = SIGN});

	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(text_of(r.json, "role"), "viewer");
}
END

TEST(nobody_is_let_in_unless_groups_are_configured)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		as(&a, "ops", (struct ask){.path = SERVICES});

	ck_assert_int_eq(r.status, 401);
}
END

TEST(without_a_user_groups_are_nothing)
{
	CLEANUP_API struct test_api a = test_api(1, "sso_admins = *\n");
	CLEANUP_REPLY struct client_reply r =
		ask(&a, (struct ask){.path = SERVICES, .sso_groups = "ops"});

	ck_assert_int_eq(r.status, 401);
}
END

TEST(a_page_of_another_site_changes_nothing)
{
	static const char body[] =
		"{\"name\":\"web\",\"match\":{\"unit\":\"a.service\"}}";
	CLEANUP_API struct test_api a = test_api(1, GROUPS);
	struct ask q = {.method = "POST", .path = SERVICES, .body = body};
	CLEANUP_REPLY struct client_reply none = as(&a, "ops", q);
	CLEANUP_REPLY struct client_reply other = {0}, own = {0};

	q.origin = "http://evil.test";
	other = as(&a, "ops", q);
	q.origin = "http://stoker.test";
	own = as(&a, "ops", q);
	ck_assert_int_eq(none.status, 403);
	ck_assert_int_eq(other.status, 403);
	ck_assert_str_eq(text_of(other.json, "error_code"), "CrossOrigin");
	ck_assert_int_eq(own.status, 201);
}
END

TEST(a_page_of_another_site_starts_no_capture_by_get)
{
	static const char path[] = "/v0/pipelines/" TEST_SERVICE
				   "/heap_profile";
	CLEANUP_API struct test_api a = test_api(1, GROUPS);
	struct ask q = {.path = path, .origin = "http://evil.test"};
	CLEANUP_REPLY struct client_reply other = as(&a, "ops", q);
	CLEANUP_REPLY struct client_reply own = {0};

	ck_assert_int_eq(other.status, 403);
	ck_assert_str_eq(text_of(other.json, "error_code"), "CrossOrigin");
	q.origin = "http://stoker.test";
	own = as(&a, "ops", q);
	ck_assert_int_ne(own.status, 403);
}
END

TEST(a_key_made_by_a_user_ends_within_90_days)
{
	static const char forever[] = "{\"name\":\"k\",\"role\":\"viewer\"}",
			  late[] = "{\"name\":\"k\",\"role\":\"viewer\","
				   "\"expiresAt\":\"2199-01-01T00:00:00Z\"}";
	CLEANUP_API struct test_api a = test_api(1, GROUPS);
	struct ask q = {.method = "POST",
	                .path = "/api/v1/tokens",
	                .body = forever,
	                .origin = "http://stoker.test"};
	CLEANUP_REPLY struct client_reply made = as(&a, "ops", q);
	CLEANUP_REPLY struct client_reply refused = {0};

	ck_assert_int_eq(made.status, 201);
	ck_assert(json_is_string(json_object_get(made.json, "expiresAt")));
	q.body = late;
	refused = as(&a, "ops", q);
	ck_assert_int_eq(refused.status, 400);
}
END

TEST(a_key_is_worth_what_it_is_worth_beside_a_user)
{
	CLEANUP_API struct test_api a = test_api(1, GROUPS);
	CLEANUP_REPLY struct client_reply viewer =
		as(&a, "ops", (struct ask){.key = KEY_VIEWER, .path = SIGN});
	CLEANUP_REPLY struct client_reply bad =
		as(&a, "ops", (struct ask){.bearer = "stk_no", .path = SIGN});

	ck_assert_str_eq(text_of(viewer.json, "role"), "viewer");
	ck_assert_int_eq(bad.status, 401);
}
END

TEST(tenants_are_those_of_the_configuration)
{
	CLEANUP_API struct test_api a = test_api(1, GROUPS);
	CLEANUP_REPLY struct client_reply other = as(
		&a, "all", (struct ask){.path = SERVICES, .tenant = "other"});
	CLEANUP_REPLY struct client_reply third = as(
		&a, "ops", (struct ask){.path = SERVICES, .tenant = "third"});

	ck_assert_int_eq(other.status, 200);
	ck_assert_int_eq(third.status, 403);
	ck_assert_str_eq(text_of(third.json, "error_code"), "TenantForbidden");
}
END

TEST(no_cookie_outlives_the_sign_on)
{
	CLEANUP_API struct test_api a = test_api(1, GROUPS);
	CLEANUP_REPLY struct client_reply r =
		as(&a, "ops",
	           (struct ask){.method = "POST",
	                        .path = SIGN,
	                        .origin = "http://stoker.test"});

	ck_assert_int_eq(r.status, 403);
	ck_assert_str_eq(text_of(r.json, "error_code"), "KeyRequired");
}
END

SUITE("sso");
