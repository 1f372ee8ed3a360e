/* Quotas of tenants, in a real pool. */
#include "base/conf.h"
#include "lib/api.h"
#include "lib/api_short.h"
#include "store/symbolize.h"

#include <stdio.h>
#include <string.h>

#define QUOTA    "/api/v1/quota"
#define SERVICES "/api/v1/services"
#define TRIGGERS SERVICES "/" TEST_SERVICE "/triggers"
#define UPLOAD   "/api/v1/profiling/sessions?service=" TEST_SERVICE "&type=cpu"

static struct client_reply
upload(struct test_api *a, enum api_key key)
{
	return ask(a, (struct ask){.key = key,
	                           .method = "POST",
	                           .path = UPLOAD,
	                           .type = "text/plain",
	                           .body = "main;work 3\n"});
}

static struct client_reply
push(struct test_api *a, enum api_key key, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/ingest?name=%s", name);
	return ask(a, (struct ask){.key = key,
	                           .method = "POST",
	                           .path = path,
	                           .type = "text/plain",
	                           .body = "main;work 3\n"});
}

static struct client_reply
pin(struct test_api *a, enum api_key key)
{
	CLEANUP_REPLY struct client_reply made = upload(a, key);
	char path[256];

	snprintf(path, sizeof(path), API_PROFILES "/%s/pin",
	         reply_text(&made, "id"));
	return api_say(a, key, "POST", path, NULL);
}

/* Starts and cancels a capture, so that the next one may start. */
static struct client_reply
capture(struct test_api *a, enum api_key key)
{
	struct client_reply r = api_say(a, key, "POST", API_PROFILES "/start",
	                                "{\"service\":\"" TEST_SERVICE "\","
	                                "\"profileType\":\"cpu\"}");
	char path[256];

	if (r.status == 202) {
		CLEANUP_REPLY struct client_reply gone = {0};

		snprintf(path, sizeof(path), API_PROFILES "/%s",
		         reply_text(&r, "id"));
		gone = api_say(a, key, "DELETE", path, NULL);
		ck_assert_int_eq(gone.status, 202);
	}
	return r;
}

static struct client_reply
make_baseline(struct test_api *a, enum api_key key)
{
	CLEANUP_REPLY struct client_reply made = upload(a, key);
	char text[256];

	snprintf(text, sizeof(text),
	         "{\"sessionId\":\"%s\",\"profileType\":\"cpu\","
	         "\"label\":\"v1\"}",
	         reply_text(&made, "id"));
	return api_say(a, key, "POST", "/api/v1/profiling/baselines", text);
}

/* Pushes with a new Idempotency-Key. */
static struct client_reply
push_under_key(struct test_api *a, enum api_key key, int i)
{
	char once[32];

	snprintf(once, sizeof(once), "key%d", i);
	return ask(a, (struct ask){.key = key,
	                           .method = "POST",
	                           .path = "/ingest?name=" TEST_SERVICE,
	                           .type = "text/plain",
	                           .body = "main;work 3\n",
	                           .idempotency = once});
}

/* Uses one more unit of a quota, the i-th. */
static struct client_reply
take(struct test_api *a, enum api_key key, enum quota q, int i)
{
	char text[256];

	switch (q) {
	case QUOTA_services:
		snprintf(text, sizeof(text), "{\"name\":\"more%d\"}", i);
		return api_say(a, key, "POST", SERVICES, text);
	case QUOTA_series:
		snprintf(text, sizeof(text), TEST_SERVICE "%%7Bv%%3D%d%%7D", i);
		return push(a, key, text);
	case QUOTA_tokens:
		return api_say(a, key, "POST", "/api/v1/tokens",
		               "{\"name\":\"k\",\"role\":\"viewer\"}");
	case QUOTA_triggers:
		snprintf(text, sizeof(text),
		         "{\"trigger\":\"rule%d\","
		         "\"when\":{\"rss\":{\"bytes\":1000}}}",
		         i);
		return api_say(a, key, "POST", TRIGGERS, text);
	case QUOTA_pins:
		return pin(a, key);
	case QUOTA_captures_per_hour:
		return capture(a, key);
	case QUOTA_baselines:
		return make_baseline(a, key);
	case QUOTA_kept_replies:
		return push_under_key(a, key, i);
	default:
		return upload(a, key);
	}
}

/* A limit, and how much of it is free at first. Quotas for what hosts send are
 * tested with the store. */
static const struct {
	const char *limit;
	int free;
} rows[QUOTAS] = {
	[QUOTA_services] = {"3", 2},  [QUOTA_series] = {"2", 2},
	[QUOTA_tokens] = {"6", 2}, /* the test uses four keys */
	[QUOTA_triggers] = {"2", 2},  [QUOTA_profiles] = {"2", 2},
	[QUOTA_bytes] = {"9", 0}, /* no profile is that small */
	[QUOTA_pins] = {"2", 2},      [QUOTA_captures_per_hour] = {"2", 2},
	[QUOTA_baselines] = {"2", 2}, [QUOTA_kept_replies] = {"2", 2},
};

static struct test_api
limited(enum quota q)
{
	char text[128];

	snprintf(text, sizeof(text), "[quota." TEST_TENANT "]\n%s = %s\n",
	         conf_quotas[q].name, rows[q].limit ?: "0");
	return test_api(1, text);
}

static void
assert_taken(struct test_api *a, enum api_key key, enum quota q, int i)
{
	CLEANUP_REPLY struct client_reply r = take(a, key, q, i);

	ck_assert_msg(r.status / 100 == 2, "%s: %d %s", conf_quotas[q].name,
	              r.status, buf_str(&r.body));
}

/* Returns the item of a quota, as GET lists it. */
static json_t *
item(const struct client_reply *r, enum quota q)
{
	json_t *items = json_object_get(r->json, "items");

	ck_assert_uint_eq(json_array_size(items), QUOTAS);
	return json_array_get(items, q);
}

static void
exceed(enum quota q)
{
	CLEANUP_API struct test_api a = limited(q);
	CLEANUP_REPLY struct client_reply r = {0}, list = {0};
	const char *full = rows[q].free ? rows[q].limit : "0";

	for (int i = 0; i < rows[q].free; i++)
		assert_taken(&a, KEY_ADMIN, q, i);
	r = take(&a, KEY_ADMIN, q, 10);
	assert_error(&r, 403, "QuotaExceeded");
	ck_assert_str_eq(reply_detail(&r, "quota"), conf_quotas[q].name);
	ck_assert_str_eq(reply_detail(&r, "limit"), rows[q].limit);
	ck_assert_str_eq(reply_detail(&r, "held"), full);
	ck_assert_str_eq(reply_detail(&r, "freedBy"), conf_quotas[q].frees);
	list = api_get(&a, QUOTA);
	ck_assert_int_eq(list.status, 200);
	ck_assert_int_eq(
		json_integer_value(json_object_get(item(&list, q), "held")),
		atoi(full));
}

TEST(a_request_that_exceeds_a_quota_is_refused_and_told_what_helps)
{
	for (enum quota q = 0; q < QUOTAS; q++) {
		if (rows[q].limit)
			exceed(q);
	}
}
END

TEST(a_quota_of_one_tenant_binds_no_other)
{
	for (enum quota q = 0; q < QUOTAS; q++) {
		CLEANUP_API struct test_api a = limited(q);
		CLEANUP_REPLY struct client_reply made =
			api_say(&a, KEY_OTHER, "POST", SERVICES,
		                "{\"name\":\"" TEST_SERVICE "\"}");

		ck_assert_int_eq(made.status, 201);
		if (!rows[q].limit || q == QUOTA_captures_per_hour)
			continue; /* no capture can run there */
		for (int i = 0; i < 4; i++)
			assert_taken(&a, KEY_OTHER, q, i);
	}
}
END

TEST(what_is_deleted_makes_room)
{
	CLEANUP_API struct test_api a = limited(QUOTA_services);
	CLEANUP_REPLY struct client_reply gone = {0};

	assert_taken(&a, KEY_ADMIN, QUOTA_services, 0);
	assert_taken(&a, KEY_ADMIN, QUOTA_services, 1);
	gone = api_say(&a, KEY_ADMIN, "DELETE", SERVICES "/more0", NULL);
	ck_assert_int_eq(gone.status, 204);
	assert_taken(&a, KEY_ADMIN, QUOTA_services, 2);
}
END

TEST(a_push_makes_no_service_past_the_quota)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[quota." TEST_TENANT "]\nservices = 1\n");
	CLEANUP_REPLY struct client_reply fresh = push(&a, KEY_OPERATOR, "new");
	CLEANUP_REPLY struct client_reply known =
		push(&a, KEY_OPERATOR, TEST_SERVICE);
	CLEANUP_REPLY struct client_reply list = api_get(&a, SERVICES);

	assert_error(&fresh, 403, "QuotaExceeded");
	ck_assert_str_eq(reply_detail(&fresh, "quota"), "services");
	ck_assert_int_eq(known.status, 200);
	ck_assert_uint_eq(json_array_size(json_object_get(list.json, "items")),
	                  1);
}
END

TEST(a_refused_capture_says_when_to_ask_again)
{
	CLEANUP_API struct test_api a = limited(QUOTA_captures_per_hour);
	CLEANUP_REPLY struct client_reply r = {0};
	int seconds;

	for (int i = 0; i < 2; i++)
		assert_taken(&a, KEY_OPERATOR, QUOTA_captures_per_hour, i);
	r = take(&a, KEY_OPERATOR, QUOTA_captures_per_hour, 2);
	assert_error(&r, 403, "QuotaExceeded");
	seconds = atoi(client_header(&r, "Retry-After"));
	ck_assert_int_gt(seconds, 3000);
	ck_assert_int_le(seconds, 3601);
}
END

/* A worker may compute for a minute for such a request. */
TEST(requests_to_symbolize_a_profile_again_count_as_captures)
{
	CLEANUP_API struct test_api a = limited(QUOTA_captures_per_hour);
	CLEANUP_REPLY struct client_reply one = {0}, same = {0}, more = {0};
	CLEANUP_SYMBOLIZE struct symbolize y = {0};
	char id[ID_MAX], path[ID_MAX + 128];

	test_profile(&a, id); /* the first of two captures */
	snprintf(path, sizeof(path), API_PROFILES "/%s/symbolize", id);
	one = api_post(&a, path, NULL);
	ck_assert_int_eq(one.status, 202);
	same = api_post(&a, path, NULL);
	ck_assert_int_eq(same.status, 202); /* it waits already */
	ck_assert_int_eq(symbolize_claim(&a.store.s, TEST_HOST, &y), 0);
	ck_assert_int_eq(symbolize_fail(&a.store.s, &y, "no"), 0);
	more = api_post(&a, path, NULL);
	assert_error(&more, 403, "QuotaExceeded");
	ck_assert_str_eq(reply_detail(&more, "quota"), "captures_per_hour");
}
END

TEST(a_key_of_a_refused_request_may_be_used_again)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[quota." TEST_TENANT "]\nservices = 2\n");
	const struct ask q = {.key = KEY_ADMIN,
	                      .method = "POST",
	                      .path = SERVICES,
	                      .body = "{\"name\":\"late\"}",
	                      .idempotency = "once"};
	CLEANUP_REPLY struct client_reply refused = {0}, gone = {0}, made = {0};

	assert_taken(&a, KEY_ADMIN, QUOTA_services, 0);
	refused = ask(&a, q);
	assert_error(&refused, 403, "QuotaExceeded");
	gone = api_say(&a, KEY_ADMIN, "DELETE", SERVICES "/more0", NULL);
	made = ask(&a, q);
	ck_assert_int_eq(made.status, 201);
}
END

TEST(a_tenant_is_shown_what_it_holds_and_may_hold)
{
	CLEANUP_API struct test_api a = test_api(1, "[quota]\npins = 7\n"
	                                            "[quota." TEST_TENANT
	                                            "]\nbytes = 1M\n");
	CLEANUP_REPLY struct client_reply own = {0}, theirs = {0};

	assert_taken(&a, KEY_OPERATOR, QUOTA_pins, 0);
	own = api_get(&a, QUOTA);
	theirs = api_say(&a, KEY_OTHER, "GET", QUOTA, NULL);
	for (enum quota q = 0; q < QUOTAS; q++) {
		const json_t *one = item(&own, q);
		const json_t *most = json_object_get(one, "limit");
		int64_t limit = q == QUOTA_bytes  ? 1 << 20
		                : q == QUOTA_pins ? 7
		                                  : conf_quotas[q].def;

		ck_assert_str_eq(
			json_string_value(json_object_get(one, "quota")),
			conf_quotas[q].name);
		ck_assert(limit ? json_integer_value(most) == limit
		                : json_is_null(most));
	}
	ck_assert_int_eq(json_integer_value(json_object_get(
				 item(&own, QUOTA_pins), "held")),
	                 1);
	ck_assert_int_gt(json_integer_value(json_object_get(
				 item(&own, QUOTA_bytes), "held")),
	                 0);
	ck_assert_int_eq(json_integer_value(json_object_get(
				 item(&theirs, QUOTA_pins), "held")),
	                 0);
	ck_assert(json_is_null(
		json_object_get(item(&theirs, QUOTA_bytes), "limit")));
}
END

TEST(metrics_tell_limits_what_is_held_and_what_was_refused)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[quota." TEST_TENANT "]\nservices = 1\n");
	CLEANUP_REPLY struct client_reply r = take(&a, KEY_ADMIN, 0, 0);
	CLEANUP_REPLY struct client_reply m =
		ask(&a, (struct ask){.path = "/metrics", .scraper = true});
	static const char *const lines[] = {
		"\nstoker_quota_limit{tenant=\"" TEST_TENANT
		"\",quota=\"services\"} 1\n",
		"\nstoker_quota_held{tenant=\"" TEST_TENANT
		"\",quota=\"services\"} 1\n",
		"\nstoker_quota_refusals_total{quota=\"services\"} 1\n",
		"\nstoker_quota_refusals_total{quota=\"pins\"} 0\n",
	};

	assert_error(&r, 403, "QuotaExceeded");
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		ck_assert_msg(strstr(buf_str(&m.body), lines[i]) != NULL, "%s",
		              lines[i]);
}
END

TEST(metrics_by_a_key_tell_of_its_own_tenant)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[quota." TEST_TENANT "]\nservices = 5\n"
	                    "[quota.other]\nservices = 6\n");
	CLEANUP_REPLY struct client_reply all = {0}, own = {0}, made = {0};

	made = api_say(&a, KEY_OTHER, "POST", SERVICES,
	               "{\"name\":\"" TEST_SERVICE "\"}");
	ck_assert_int_eq(made.status, 201);
	all = ask(&a, (struct ask){.path = "/metrics", .scraper = true});
	own = ask(&a, (struct ask){.key = KEY_VIEWER, .path = "/metrics"});
	ck_assert_ptr_nonnull(strstr(buf_str(&all.body), "services\"} 5"));
	ck_assert_ptr_nonnull(strstr(buf_str(&all.body), "services\"} 6"));
	ck_assert_ptr_nonnull(strstr(buf_str(&own.body), "services\"} 5"));
	ck_assert_ptr_null(strstr(buf_str(&own.body), "services\"} 6"));
}
END

SUITE("quota", .seconds = 60);
