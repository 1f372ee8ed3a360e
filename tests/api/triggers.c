/* Triggers, which start captures of a service automatically. */
#include "base/json.h"
#include "lib/api.h"
#include "lib/api_short.h"
#include "store/trigger.h"

#include <stdio.h>
#include <string.h>

#define TRIGGERS "/api/v1/services/" TEST_SERVICE "/triggers"
#define RSS      "\"when\":{\"rss\":{\"bytes\":1000}}"

static struct client_reply
make(struct test_api *a, const char *name, const char *members)
{
	char body[512];

	snprintf(body, sizeof(body), "{\"trigger\":\"%s\",%s}", name, members);
	return api_say(a, KEY_ADMIN, "POST", TRIGGERS, body);
}

static void
path_of(const struct client_reply *made, char out[static 128])
{
	snprintf(out, 128, TRIGGERS "/%s", reply_text(made, "id"));
}

static const struct {
	const char *when, *expected; /* NULL: same as `when` */
} good[] = {
	{"{\"cpuShare\":{\"function\":\"main.f\",\"percent\":12.5}}", NULL},
	{"{\"goroutineGrowth\":{\"ratio\":1.5,\"min\":100}}", NULL},
	{"{\"goroutineGrowth\":{\"ratio\":1.5}}",
         "{\"goroutineGrowth\":{\"ratio\":1.5,\"min\":0}}"},
	{"{\"rss\":{\"bytes\":1500000000.5}}", NULL},
	{"{\"cpu\":{\"percent\":250.5}}", NULL},
};

TEST(every_kind_comes_back_as_it_was_given)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		CLEANUP_REPLY struct client_reply made = {0}, got = {0};
		CLEANUP_JSON json_t *expected = json_loads(
			good[i].expected ? good[i].expected : good[i].when, 0,
			NULL);
		char name[16], members[256], path[128];

		snprintf(name, sizeof(name), "t%zu", i);
		snprintf(members, sizeof(members), "\"when\":%s", good[i].when);
		made = make(&a, name, members);
		path_of(&made, path);
		got = api_get(&a, path);
		ck_assert_int_eq(made.status, 201);
		ck_assert_int_eq(got.status, 200);
		ck_assert_msg(
			json_equal(json_object_get(got.json, "when"), expected),
			"%s", buf_str(&got.body));
	}
}
END

static const char *const bad[] = {
	"\"when\":{}",
	"\"when\":{\"rss\":{\"bytes\":1},\"cpu\":{\"percent\":1}}",
	"\"when\":{\"load\":{\"percent\":1}}",
	"\"when\":{\"rss\":{}}",
	"\"when\":{\"rss\":{\"bytes\":\"1\"}}",
	"\"when\":{\"rss\":{\"bytes\":0.5}}",
	"\"when\":{\"rss\":7}",
	"\"when\":{\"cpuShare\":{\"percent\":5}}",
	"\"when\":{\"cpuShare\":{\"function\":\"\",\"percent\":5}}",
	"\"when\":{\"cpuShare\":{\"function\":\"f\",\"percent\":100.1}"
	"}",
	"\"when\":{\"goroutineGrowth\":{\"ratio\":0.9}}",
	"\"when\":{\"goroutineGrowth\":{\"ratio\":2,\"min\":-1}}",
	RSS ",\"capture\":{\"profileType\":\"wall\"}",
	RSS ",\"capture\":{\"durationSeconds\":0}",
	RSS ",\"capture\":{\"durationSeconds\":3601}",
	RSS ",\"capture\":{\"sampleRate\":\"x\"}",
	RSS ",\"webhook\":\"ftp://host/\"",
	RSS ",\"webhook\":\"http://user@host/\"",
	RSS ",\"cooldownSeconds\":0",
};

TEST(what_makes_no_sense_is_refused)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_REPLY struct client_reply r = make(&a, "t", bad[i]);

		ck_assert_msg(r.status == 400, "%s: %s", bad[i],
		              buf_str(&r.body));
	}
}
END

TEST(what_was_given_is_shown)
{
	static const struct {
		const char *members, *got;
	} rows[] = {
		{"\"when\":{\"cpu\":{\"ratio\":2}}", "{\"ratio\":2}"},
		{"\"when\":{\"load\":{\"percent\":1}}",
	         "{\"load\":{\"percent\":1}}"},
		{RSS ",\"capture\":{\"sampleRate\":0}", "{\"sampleRate\":0}"},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			make(&a, "t", rows[i].members);
		const json_t *details = json_object_get(r.json, "details");

		ck_assert_int_eq(r.status, 400);
		ck_assert_str_eq(
			json_string_value(json_object_get(details, "got")),
			rows[i].got);
	}
}
END

TEST(bounds_are_told_in_plain_digits)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply rss =
		make(&a, "t", "\"when\":{\"rss\":{\"bytes\":0}}");
	CLEANUP_REPLY struct client_reply cpu =
		make(&a, "t", "\"when\":{\"cpu\":{\"percent\":0}}");

	ck_assert_ptr_nonnull(strstr(reply_text(&rss, "message"),
	                             "a number from 1 to 1000000000000000}"));
	ck_assert_ptr_nonnull(strstr(reply_text(&cpu, "message"),
	                             "a number from 1 to 1000000}"));
}
END

TEST(a_type_that_no_engine_takes_is_501)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	test_kind(&a, "native", "endpoint");
	r = make(&a, "t", RSS ",\"capture\":{\"profileType\":\"memory\"}");
	assert_error(&r, 501, "ProfileTypeUnsupported");
}
END

TEST(a_trigger_alone_captures_cpu_and_rests_ten_minutes)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = make(&a, "t", RSS);
	CLEANUP_JSON json_t *capture =
		json_pack("{s:s, s:i, s:i}", "profileType", "cpu",
	                  "durationSeconds", 30, "sampleRate", 100);

	ck_assert(json_equal(json_object_get(r.json, "capture"), capture));
	ck_assert_int_eq(
		json_integer_value(json_object_get(r.json, "cooldownSeconds")),
		600);
	ck_assert(json_is_true(json_object_get(r.json, "enabled")));
	ck_assert(json_is_null(json_object_get(r.json, "lastFiredAt")));
}
END

TEST(a_name_is_taken_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply first = make(&a, "t", RSS);
	CLEANUP_REPLY struct client_reply again = make(&a, "t", RSS);

	ck_assert_int_eq(first.status, 201);
	assert_error(&again, 409, "TriggerExists");
}
END

TEST(a_service_has_so_many_and_no_more)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply past = {0};
	char name[16];

	for (int i = 0; i < TRIGGER_MAX; i++) {
		CLEANUP_REPLY struct client_reply r = {0};

		snprintf(name, sizeof(name), "t%d", i);
		r = make(&a, name, RSS);
		ck_assert_int_eq(r.status, 201);
	}
	past = make(&a, "past", RSS);
	assert_error(&past, 409, "TooManyTriggers");
}
END

TEST(put_replaces_and_delete_removes)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = make(&a, "t", RSS);
	CLEANUP_REPLY struct client_reply put = {0}, gone = {0}, get = {0};
	char path[128];

	path_of(&made, path);
	put = api_say(&a, KEY_ADMIN, "PUT", path,
	              "{\"trigger\":\"u\",\"when\":{\"cpu\":{\"percent\":5}},"
	              "\"enabled\":false}");
	gone = api_say(&a, KEY_ADMIN, "DELETE", path, NULL);
	get = api_say(&a, KEY_ADMIN, "GET", path, NULL);

	ck_assert_int_eq(put.status, 200);
	ck_assert_str_eq(reply_text(&put, "trigger"), "u");
	ck_assert_str_eq(reply_text(&put, "id"), reply_text(&made, "id"));
	ck_assert(json_is_false(json_object_get(put.json, "enabled")));
	ck_assert_int_eq(gone.status, 204);
	assert_error(&get, 404, "UnknownTrigger");
}
END

TEST(a_webhook_that_may_not_be_called_is_refused_at_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		make(&a, "t", RSS ",\"webhook\":\"https://host/\"");

	assert_error(&r, 403, "WebhookForbidden");
	ck_assert_str_eq(reply_detail(&r, "host"), "host");
}
END

TEST(a_tenant_without_a_scope_may_name_no_webhook)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[webhook]\nallow = host\n");
	CLEANUP_REPLY struct client_reply service = api_say(
		&a, KEY_OTHER, "POST", "/api/v1/services", "{\"name\":\"n\"}");
	CLEANUP_REPLY struct client_reply r = api_say(
		&a, KEY_OTHER, "POST", "/api/v1/services/n/triggers",
		"{\"trigger\":\"t\"," RSS ",\"webhook\":\"https://host/\"}");

	ck_assert_int_eq(service.status, 201);
	assert_error(&r, 403, "WebhookForbidden");
}
END

TEST(viewers_do_not_see_where_a_webhook_goes)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[webhook]\nallow = host\n");
	CLEANUP_REPLY struct client_reply made =
		make(&a, "t", RSS ",\"webhook\":\"https://host/secret\"");
	CLEANUP_REPLY struct client_reply seen = {0}, hidden = {0};

	seen = api_say(&a, KEY_OPERATOR, "GET", TRIGGERS, NULL);
	hidden = api_get(&a, TRIGGERS);
	ck_assert_str_eq(reply_text(&made, "webhook"), "https://host/secret");
	ck_assert_ptr_nonnull(strstr(buf_str(&seen.body), "secret"));
	ck_assert_ptr_null(strstr(buf_str(&hidden.body), "secret"));
}
END

SUITE("triggers");
