/* Settings and windows of continuous profiling. */
#include "store/continuous.h"
#include "base/json.h"
#include "lib/api_short.h"
#include "store/worker.h"

#include <string.h>

#define CONTINUOUS API_PROFILES "/continuous"
#define ONE        CONTINUOUS "/" TEST_SERVICE

static struct client_reply
set(struct test_api *a, enum api_key key, const char *body)
{
	return api_say(a, key, "POST", CONTINUOUS, body);
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

TEST(a_type_that_no_engine_takes_is_refused_with_what_sets_it)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, off = {0};

	test_kind(&a, "native", "endpoint");
	r = set(&a, KEY_ADMIN,
	        "{\"service\":\"" TEST_SERVICE
	        "\",\"profileTypes\":[\"goroutine\",\"cpu\"]}");
	assert_error(&r, 501, "ProfileTypeUnsupported");
	ck_assert_str_eq(reply_detail(&r, "fix"),
	                 "stoker service set " TEST_SERVICE " --pprof-url URL");
	off = set(&a, KEY_ADMIN,
	          "{\"service\":\"" TEST_SERVICE
	          "\",\"profileTypes\":[\"cpu\"],\"enabled\":false}");
	ck_assert_int_eq(off.status, 200);
}
END

TEST(a_type_that_no_engine_takes_any_more_is_listed_as_unsupported)
{
	static const char fix[] = "stoker service set " TEST_SERVICE
				  " --pprof-url URL";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply before = {0}, r = {0};
	CLEANUP_JSON json_t *expected = json_pack(
		"[{s:s, s:s, s:s}, {s:s, s:s, s:s}]", "profileType", "cpu",
		"missing", "a pprofUrl", "fix", fix, "profileType", "memory",
		"missing", "a pprofUrl", "fix", fix);

	before = set(&a, KEY_ADMIN,
	             "{\"service\":\"" TEST_SERVICE
	             "\",\"profileTypes\":[\"cpu\",\"memory\"]}");
	test_kind(&a, "native", "endpoint");
	r = at(&a, "GET", ONE);
	ck_assert(json_equal(expected, json_object_get(r.json, "unsupported")));
}
END

static void
put_problem(struct test_api *a, const char *tenant, const char *code)
{
	struct continuous_problem p = {
		.tenant = (char *)tenant,
		.service = (char *)TEST_SERVICE,
		.type = (char *)"memory",
		.host = (char *)TEST_HOST,
		.code = (char *)code,
		.message = (char *)"why",
	};

	ck_assert_int_eq(continuous_problem_put(&a->store.s, &p), 0);
}

TEST(failures_of_a_type_that_is_no_longer_taken_are_not_listed)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	put_problem(&a, TEST_TENANT, "EndpointTimeout");
	r = set(&a, KEY_ADMIN, "{\"service\":\"" TEST_SERVICE "\"}");
	ck_assert_uint_eq(json_array_size(json_object_get(r.json, "failing")),
	                  0);
}
END

TEST(what_a_worker_fails_to_take_is_told_until_it_does_not)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		set(&a, KEY_ADMIN,
	            "{\"service\":\"" TEST_SERVICE
	            "\",\"profileTypes\":[\"memory\"]}");
	CLEANUP_REPLY struct client_reply bad = {0}, good = {0};
	const json_t *failing;

	put_problem(&a, TEST_TENANT, "EndpointTimeout");
	bad = at(&a, "GET", ONE);
	put_problem(&a, TEST_TENANT, "");
	good = at(&a, "GET", ONE);

	failing = json_object_get(bad.json, "failing");
	ck_assert_uint_eq(json_array_size(failing), 1);
	ck_assert_str_eq(json_string_value(json_object_get(
				 json_array_get(failing, 0), "error_code")),
	                 "EndpointTimeout");
	ck_assert_uint_eq(
		json_array_size(json_object_get(made.json, "failing")) +
			json_array_size(json_object_get(good.json, "failing")),
		0);
}
END

TEST(the_state_of_each_host_is_told_and_measured)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, metrics = {0}, old = {0};
	const json_t *hosts;

	test_worker(&a, TEST_HOST,
	            "{\"continuous\":{\"state\":\"refused\",\"stored\":7}}");
	r = set(&a, KEY_ADMIN,
	        "{\"service\":\"" TEST_SERVICE
	        "\",\"profileTypes\":[\"memory\"]}");
	metrics = at(&a, "GET", "/metrics");
	test_worker(&a, TEST_HOST, "{}"); /* as an earlier release would */
	old = at(&a, "GET", ONE);

	hosts = json_object_get(r.json, "hosts");
	ck_assert_uint_eq(json_array_size(hosts), 1);
	ck_assert_str_eq(json_string_value(json_object_get(
				 json_array_get(hosts, 0), "state")),
	                 "refused");
	ck_assert_ptr_nonnull(strstr(
		buf_str(&metrics.body),
		"stoker_continuous_windows_stored_total{host=\"" TEST_HOST
		"\"} 7\n"));
	ck_assert_ptr_nonnull(
		strstr(buf_str(&metrics.body), "state=\"refused\"} 1\n"));
	ck_assert_uint_eq(json_array_size(json_object_get(old.json, "hosts")),
	                  0);
}
END

static size_t
hosts_of(struct test_api *a, const char *host)
{
	CLEANUP_SERVICE struct service v = {0};
	CLEANUP_REPLY struct client_reply r = {0};

	ck_assert_int_eq(
		service_get(&a->store.s, TEST_TENANT, TEST_SERVICE, &v), 0);
	free(v.host);
	v.host = strdup(host);
	ck_assert_int_eq(service_replace(&a->store.s, &v), 0);
	r = at(a, "GET", ONE);
	return json_array_size(json_object_get(r.json, "hosts"));
}

TEST(hosts_are_those_that_may_run_the_service)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		set(&a, KEY_ADMIN,
	            "{\"service\":\"" TEST_SERVICE
	            "\",\"profileTypes\":[\"memory\"]}");

	test_worker(&a, TEST_HOST, "{\"continuous\":{\"state\":\"refused\"}}");
	ck_assert_int_eq(r.status, 200);
	ck_assert_uint_eq(hosts_of(&a, ""), 1);
	ck_assert_uint_eq(hosts_of(&a, TEST_HOST), 1);
	ck_assert_uint_eq(hosts_of(&a, "host2"), 0);
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
		set(&a, KEY_ADMIN,
	            "{\"service\":\"" TEST_SERVICE
	            "\",\"profileTypes\":[\"memory\"]}");
	CLEANUP_REPLY struct client_reply gone = at(&a, "DELETE", ONE);
	CLEANUP_REPLY struct client_reply again = at(&a, "DELETE", ONE);

	ck_assert_int_eq(made.status, 200);
	ck_assert_int_eq(gone.status, 204);
	assert_error(&again, 404, "UnknownService");
}
END

SUITE("continuous");
