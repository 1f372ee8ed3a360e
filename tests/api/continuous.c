/* What is profiled all the time. */
#include "base/json.h"
#include "lib/api.h"

#include <string.h>

#define CONTINUOUS API_PROFILES "/continuous"
#define ONE        CONTINUOUS "/" TEST_SERVICE

static struct client_reply
set(struct test_api *a, enum api_key key, const char *body)
{
	return ask(a, (struct ask){.key = key,
	                           .method = "POST",
	                           .path = CONTINUOUS,
	                           .body = body});
}

static struct client_reply
at(struct test_api *a, const char *method, const char *path)
{
	return ask(
		a,
		(struct ask){.key = KEY_ADMIN, .method = method, .path = path});
}

TEST(what_is_given_comes_back)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		set(&a, KEY_ADMIN,
	            "{\"service\":\"" TEST_SERVICE "\",\"profileTypes\":"
	            "[\"goroutine\",\"cpu\",\"goroutine\"],\"sampleRate\":11,"
	            "\"retentionDays\":3,\"enabled\":false}");
	CLEANUP_REPLY struct client_reply got = at(&a, "GET", ONE);
	CLEANUP_JSON json_t *types = json_pack("[s, s]", "goroutine", "cpu");

	ck_assert_int_eq(made.status, 200);
	ck_assert(json_equal(made.json, got.json));
	ck_assert(json_equal(types, json_object_get(got.json, "profileTypes")));
	ck_assert_int_eq(
		json_integer_value(json_object_get(got.json, "sampleRate")),
		11);
	ck_assert_int_eq(
		json_integer_value(json_object_get(got.json, "retentionDays")),
		3);
	ck_assert(json_is_false(json_object_get(got.json, "enabled")));
}
END

TEST(a_service_alone_is_cpu_at_19_hertz_and_enabled)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		set(&a, KEY_ADMIN, "{\"service\":\"" TEST_SERVICE "\"}");
	CLEANUP_JSON json_t *types = json_pack("[s]", "cpu");

	ck_assert(json_equal(types, json_object_get(r.json, "profileTypes")));
	ck_assert_int_eq(
		json_integer_value(json_object_get(r.json, "sampleRate")), 19);
	ck_assert(json_is_true(json_object_get(r.json, "enabled")));
}
END

TEST(post_replaces)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply first =
		set(&a, KEY_ADMIN,
	            "{\"service\":\"" TEST_SERVICE "\",\"sampleRate\":11}");
	CLEANUP_REPLY struct client_reply second =
		set(&a, KEY_ADMIN,
	            "{\"service\":\"" TEST_SERVICE "\",\"sampleRate\":7}");
	CLEANUP_REPLY struct client_reply list = at(&a, "GET", CONTINUOUS);
	const json_t *items = json_object_get(list.json, "items");

	ck_assert_uint_eq(json_array_size(items), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(
				 json_array_get(items, 0), "sampleRate")),
	                 7);
}
END

TEST(a_type_that_there_is_not_is_named)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		set(&a, KEY_ADMIN,
	            "{\"service\":\"" TEST_SERVICE
	            "\",\"profileTypes\":[\"cpu\",\"wall\"]}");

	assert_error(&r, 400, "InvalidParameter");
	ck_assert_ptr_nonnull(strstr(buf_str(&r.body), "\"wall\""));
}
END

TEST(an_unknown_service_is_404)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply post =
		set(&a, KEY_ADMIN, "{\"service\":\"nobody\"}");
	CLEANUP_REPLY struct client_reply get = at(&a, "GET", ONE);

	assert_error(&post, 404, "UnknownService");
	assert_error(&get, 404, "UnknownService");
}
END

TEST(only_admins_set_it)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		set(&a, KEY_OPERATOR, "{\"service\":\"" TEST_SERVICE "\"}");

	assert_error(&r, 403, "Forbidden");
}
END

TEST(what_is_deleted_is_gone)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		set(&a, KEY_ADMIN, "{\"service\":\"" TEST_SERVICE "\"}");
	CLEANUP_REPLY struct client_reply gone = at(&a, "DELETE", ONE);
	CLEANUP_REPLY struct client_reply again = at(&a, "DELETE", ONE);

	ck_assert_int_eq(made.status, 200);
	ck_assert_int_eq(gone.status, 204);
	assert_error(&again, 404, "UnknownService");
}
END

	SUITE("continuous", what_is_given_comes_back,
              a_service_alone_is_cpu_at_19_hertz_and_enabled, post_replaces,
              a_type_that_there_is_not_is_named, an_unknown_service_is_404,
              only_admins_set_it, what_is_deleted_is_gone)
