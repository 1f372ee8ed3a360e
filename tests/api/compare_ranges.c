/* Comparisons whose sides are ranges of time. */
#include "base/clock.h"
#include "base/json.h"
#include "lib/api.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "lib/random.h"
#include "lib/stacks.h"
#include "lib/windows.h"

#include <string.h>

#define S       INT64_C(1000)
#define H       (3600 * S)
#define T0      (20000 * 24 * H)
#define WINDOWS 24        /* in an hour */
#define STEP    (150 * S) /* from one window to the next */
#define COMPARE API_PROFILES "/compare?"
#define DIFF    API_PROFILES "/diff?"
#define RANGES  "service=" TEST_SERVICE "&profileType="

#define HOUR_0 "baseFrom=2024-10-04T00:00:00Z&baseTo=2024-10-04T01:00:00Z"
#define HOUR_1                                \
	"comparisonFrom=2024-10-04T01:00:00Z" \
	"&comparisonTo=2024-10-04T02:00:00Z"
#define HOUR_9                                \
	"comparisonFrom=2024-10-04T09:00:00Z" \
	"&comparisonTo=2024-10-04T10:00:00Z"

/* Stores windows of an hour, between which the cost of one function varies.
 * Another costs this much, and something else in the last of them. */
static void
put_two_parts(struct test_api *a, int hour, const char *host, int work,
              int last, int then)
{
	uint64_t seed = (uint64_t)hour + 1;

	for (int i = 0; i < WINDOWS; i++) {
		int more = (int)(random_next(&seed) % 100);
		char text[128], id[ID_MAX];
		CLEANUP_PROFILE struct profile *p = NULL;

		snprintf(text, sizeof(text),
		         "main;phase %d\nmain;work %d\nmain;rest %d\n",
		         20 + more, i >= WINDOWS - last ? then : work,
		         120 - more);
		p = profile_of(text);
		test_window(&a->store.s,
		            &(struct test_window){
				    .host = host,
				    .start_ms = T0 + hour * H + i * STEP,
				    .span_ms = 10 * S,
				    .profile = p,
			    },
		            id);
	}
}

/* The last windows cost this much more. */
static void
put_changing_hour(struct test_api *a, int hour, const char *host, int slow,
                  int last)
{
	put_two_parts(a, hour, host, 80, last, 80 + slow);
}

static void
put_hour(struct test_api *a, int hour, const char *host, int slow)
{
	put_changing_hour(a, hour, host, slow, WINDOWS);
}

static struct client_reply
get(struct test_api *a, const char *path)
{
	return ask(a, (struct ask){.key = KEY_VIEWER, .path = path});
}

/* Compares two hours. */
static struct client_reply
compare_hours(struct test_api *a, const char *type, int base, int now)
{
	char path[512];

	snprintf(path, sizeof(path),
	         COMPARE RANGES "%s&baseFrom=%lld&baseTo=%lld"
	                        "&comparisonFrom=%lld&comparisonTo=%lld",
	         type, (long long)(T0 + base * H),
	         (long long)(T0 + (base + 1) * H), (long long)(T0 + now * H),
	         (long long)(T0 + (now + 1) * H));
	return get(a, path);
}

static const json_t *
of_test(const struct client_reply *r, const char *name)
{
	ck_assert_msg(r->status == 200, "%s", buf_str(&r->body));
	return json_object_get(json_object_get(r->json, "test"), name);
}

static const char *
variance(const struct client_reply *r)
{
	return json_string_value(of_test(r, "variance"));
}

static int
blocks(const struct client_reply *r)
{
	return (int)json_integer_value(of_test(r, "blocks"));
}

static size_t
listed(const struct client_reply *r, const char *name)
{
	return json_array_size(json_object_get(r->json, name));
}

static int64_t
time_of(const json_t *j, const char *key)
{
	int64_t ms;

	ck_assert_int_eq(
		clock_parse(json_string_value(json_object_get(j, key)), &ms),
		0);
	return ms;
}

static void
assert_since_hour_2(const struct client_reply *r, const json_t *function)
{
	const char *reason = reply_text(r, "reason");

	ck_assert_int_le(time_of(function, "sinceEarliest"), T0 + 2 * H);
	ck_assert_int_ge(time_of(function, "sinceLatest"), T0 + 2 * H);
	ck_assert_int_ge(time_of(function, "since"),
	                 time_of(function, "sinceEarliest"));
	ck_assert_int_le(time_of(function, "since"),
	                 time_of(function, "sinceLatest"));
	ck_assert_msg(strstr(reason, "work costs ") &&
	                      strstr(reason, " since 2024-10-04 0"),
	              "%s", reason);
}

TEST(ranges_are_compared_by_blocks_of_their_windows)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply same = {0}, slower = {0};
	const json_t *first;

	put_hour(&a, 0, NULL, 0);
	put_hour(&a, 1, NULL, 0);
	put_hour(&a, 2, NULL, 80);
	same = compare_hours(&a, "cpu", 0, 1);
	ck_assert_str_eq(variance(&same), "blocks");
	ck_assert_int_ge(blocks(&same), 4);
	ck_assert_int_le(blocks(&same), WINDOWS);
	ck_assert_str_eq(reply_text(&same, "verdict"), "ok");
	ck_assert_uint_eq(listed(&same, "regressions"), 0);
	ck_assert_str_eq(reply_text(&same, "baseProfile"),
	                 "2024-10-04T00:00:00.000Z/"
	                 "2024-10-04T01:00:00.000Z");
	slower = compare_hours(&a, "cpu", 0, 2);
	ck_assert_str_eq(reply_text(&slower, "verdict"), "regressed");
	first = json_array_get(json_object_get(slower.json, "regressions"), 0);
	ck_assert_str_eq(json_string_value(json_object_get(first, "funcName")),
	                 "work");
	assert_since_hour_2(&slower, first);
}
END

/* The mean of the hour differs from the base, but so do its halves from one
 * another. */
TEST(a_change_within_the_comparison_is_told)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const char *reason;

	put_hour(&a, 0, NULL, 0);
	put_changing_hour(&a, 1, NULL, 160, 8);
	r = compare_hours(&a, "cpu", 0, 1);
	reason = reply_text(&r, "reason");
	ck_assert_str_eq(reply_text(&r, "shiftedFunction"), "work");
	ck_assert_int_eq(time_of(r.json, "shiftedAt"),
	                 T0 + H + (WINDOWS - 8) * STEP);
	ck_assert_msg(!strncmp(reason,
	                       "work costs 3.0 times as much since 2024-10-04 "
	                       "01:40:00 UTC, within the comparison: compare "
	                       "the time from then on. No other function ",
	                       100),
	              "%s", reason);
}
END

/* A function that is only in the first part of the hour. */
TEST(a_function_that_went_within_the_comparison_is_told)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply went = {0};

	put_hour(&a, 0, NULL, 0);
	put_changing_hour(&a, 1, NULL, -80, 8);
	went = compare_hours(&a, "cpu", 0, 1);
	ck_assert_msg(!strncmp(reply_text(&went, "reason"),
	                       "work is gone since 2024-10-04 01:40:00 UTC, "
	                       "within the comparison: ",
	                       60),
	              "%s", reply_text(&went, "reason"));
}
END

/* A function that is not in the first part of the hour. */
TEST(a_function_that_came_within_the_comparison_is_told)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply came = {0};

	put_hour(&a, 0, NULL, 0);
	put_two_parts(&a, 1, NULL, 0, WINDOWS - 8, 80);
	came = compare_hours(&a, "cpu", 0, 1);
	ck_assert_msg(!strncmp(reply_text(&came, "reason"),
	                       "work is new since 2024-10-04 01:20:00 UTC, "
	                       "within the comparison: ",
	                       60),
	              "%s", reply_text(&came, "reason"));
}
END

#define CHECK         "/api/v1/profiling/baselines/%s/check"
#define FROM_0        "from=2024-10-04T00:00:00Z"
#define HOUR_0_ITSELF FROM_0 "&to=2024-10-04T01:00:00Z"

TEST(a_baseline_is_held_against_a_range)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = {0}, r = {0};
	CLEANUP_REPLY struct client_reply both = {0}, none = {0};
	char id[ID_MAX], body[256];
	const char *baseline;

	api_upload_cpu(&a, "main;phase 1680\nmain;work 1920\nmain;rest 1680\n",
	               id);
	snprintf(body, sizeof(body),
	         "{\"label\":\"v1\",\"sessionId\":\"%s\","
	         "\"profileType\":\"cpu\"}",
	         id);
	made = api_post(&a, "/api/v1/profiling/baselines", body);
	baseline = reply_text(&made, "baselineId");
	put_hour(&a, 0, NULL, 80);
	r = api_getf(&a, CHECK "?service=" TEST_SERVICE "&" HOUR_0_ITSELF,
	             baseline, NULL);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_int_ge(
		json_integer_value(json_object_get(r.json, "regressions")), 1);
	ck_assert_double_eq_tol(
		json_number_value(of_test(&r, "comparisonSamples")),
		WINDOWS * 300, 1e-6);
	ck_assert_str_eq(reply_text(&r, "sessionId"),
	                 "2024-10-04T00:00:00.000Z/2024-10-04T01:00:00.000Z");
	both = api_getf(&a, CHECK "?" FROM_0 "&sessionId=%s", baseline, id);
	none = api_getf(&a, CHECK, baseline, NULL);
	ck_assert_int_eq(both.status, 400);
	ck_assert_int_eq(none.status, 400);
}
END

/* A range is read from its rollup, which is a single part. */
TEST(what_a_rollup_was_made_of_makes_its_blocks)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, list = {0}, by_id = {0};
	const json_t *items;
	char path[512];

	put_hour(&a, 0, NULL, 0);
	put_hour(&a, 1, NULL, 0);
	test_rollup(&a.store.s, WINDOW_MINUTE);
	test_rollup(&a.store.s, WINDOW_HOUR);
	r = compare_hours(&a, "cpu", 0, 1);
	ck_assert_str_eq(variance(&r), "blocks");
	ck_assert_int_ge(blocks(&r), 4);
	list = get(&a,
	           API_PROFILES "/history?service=" TEST_SERVICE
	                        "&resolution=hour&from=2024-10-04T00:00:00Z");
	items = json_object_get(list.json, "items");
	ck_assert_uint_eq(json_array_size(items), 2);
	snprintf(path, sizeof(path),
	         COMPARE "baseProfileId=%s&comparisonProfileId=%s",
	         json_string_value(
			 json_object_get(json_array_get(items, 0), "id")),
	         json_string_value(
			 json_object_get(json_array_get(items, 1), "id")));
	by_id = get(&a, path);
	ck_assert_str_eq(variance(&by_id), "blocks");
	ck_assert_int_eq(blocks(&by_id), blocks(&r));
}
END

TEST(where_finer_windows_are_gone_functions_tell)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	for (int hour = 0; hour < 2; hour++) {
		CLEANUP_PROFILE struct profile *p =
			profile_of("main;f 500\nmain;g 500\n");
		char id[ID_MAX];

		test_window(&a.store.s,
		            &(struct test_window){.level = WINDOW_HOUR,
		                                  .start_ms = T0 + hour * H,
		                                  .span_ms = H,
		                                  .windows = 360,
		                                  .profile = p},
		            id);
	}
	r = compare_hours(&a, "cpu", 0, 1);
	ck_assert_str_eq(variance(&r), "functions");
	ck_assert_int_eq(blocks(&r), 0);
}
END

TEST(single_windows_have_no_blocks)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char path[256], id[2][ID_MAX];

	for (int i = 0; i < 2; i++) {
		CLEANUP_PROFILE struct profile *p =
			profile_of("main;f 100\nmain;g 90\n");

		test_window(&a.store.s,
		            &(struct test_window){.start_ms = T0 + i * 10 * S,
		                                  .span_ms = 10 * S,
		                                  .profile = p},
		            id[i]);
	}
	snprintf(path, sizeof(path),
	         COMPARE "baseProfileId=%s&comparisonProfileId=%s", id[0],
	         id[1]);
	r = get(&a, path);
	ck_assert_str_eq(variance(&r), "functions");
}
END

/* Hosts that were profiled at the same time are one part of it. */
TEST(hosts_do_not_add_to_the_blocks)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	for (int hour = 0; hour < 2; hour++) {
		put_hour(&a, hour, "one", 0);
		put_hour(&a, hour, "two", 0);
	}
	r = compare_hours(&a, "cpu", 0, 1);
	ck_assert_str_eq(variance(&r), "blocks");
	ck_assert_int_le(blocks(&r), WINDOWS);
}
END

TEST(gauges_of_ranges_are_compared_by_their_means)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	for (int i = 0; i < 2 * WINDOWS; i++) {
		CLEANUP_PROFILE struct profile *p = NULL;
		char text[160], id[ID_MAX];

		snprintf(text, sizeof(text),
		         "%d state=waiting|main.f main.main\n"
		         "%d state=waiting|main.g main.main\n",
		         300 + i % 3, i < WINDOWS ? 300 : 900);
		p = stacks_of(text);
		test_window(&a.store.s,
		            &(struct test_window){.type = "goroutine",
		                                  .start_ms = T0 + i * STEP,
		                                  .span_ms = 10 * S,
		                                  .profile = p},
		            id);
	}
	r = compare_hours(&a, "goroutine", 0, 1);
	ck_assert_str_eq(variance(&r), "blocks");
	ck_assert_str_eq(reply_text(&r, "verdict"), "regressed");
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(r.json, "overallDelta")), 100,
		1);
}
END

/* The range is of the profile's service and type. */
TEST(a_profile_is_held_against_a_range_of_its_service)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char path[256], id[ID_MAX];
	CLEANUP_PROFILE struct profile *p =
		profile_of("main;phase 700\nmain;work 800\nmain;rest 700\n");

	put_hour(&a, 0, NULL, 0);
	test_upload(&a, p, "cpu", id);
	snprintf(path, sizeof(path),
	         COMPARE "comparisonProfileId=%s&baseFrom=%lld&baseTo=%lld", id,
	         (long long)T0, (long long)(T0 + H));
	r = get(&a, path);
	/* an upload has no timeline */
	ck_assert_str_eq(variance(&r), "functions");
	ck_assert_str_eq(reply_text(&r, "comparisonProfile"), id);
	ck_assert_double_eq(json_number_value(of_test(&r, "baseSamples")),
	                    220 * WINDOWS);
}
END

/* --- links ---------------------------------------------------------------- */

/* Returns the link without its host. */
static const char *
path_of(const struct client_reply *r)
{
	const char *url = json_string_value(
		json_object_get(json_object_get(r->json, "links"), "diff"));

	ck_assert_ptr_nonnull(url);
	url = strstr(url, API_PROFILES);
	ck_assert_ptr_nonnull(url);
	return url;
}

static int
open_link(struct test_api *a, const char *path)
{
	CLEANUP_REPLY struct client_reply r =
		ask(a, (struct ask){.path = path});

	return r.status;
}

TEST(the_diff_of_ranges_opens_as_it_was_signed)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char path[2048], *at;

	put_hour(&a, 0, NULL, 0);
	put_hour(&a, 1, NULL, 0);
	put_hour(&a, 2, NULL, 0);
	r = compare_hours(&a, "cpu", 0, 1);
	snprintf(path, sizeof(path), "%s", path_of(&r));
	ck_assert_int_eq(open_link(&a, path), 200);
	ck_assert_uint_lt(strlen(path) + 16, sizeof(path));
	strcat(path, "&format=svg");
	ck_assert_int_eq(open_link(&a, path), 200);
	at = strstr(path, "comparisonTo=");
	ck_assert_ptr_nonnull(at);
	at[strlen("comparisonTo=") + 5]++; /* some hours later */
	ck_assert_int_eq(open_link(&a, path), 401);
}
END

/* A signature for two ids is not valid for ranges. */
TEST(a_link_to_two_profiles_opens_no_range)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 500\n");
	char path[2048], id[ID_MAX], *at;

	put_hour(&a, 0, NULL, 0);
	test_upload(&a, p, "cpu", id);
	snprintf(path, sizeof(path),
	         COMPARE "baseProfileId=%s&comparisonProfileId=%s", id, id);
	r = get(&a, path);
	snprintf(path, sizeof(path), "%s", path_of(&r));
	ck_assert_int_eq(open_link(&a, path), 200);
	strcat(path, "&baseFrom=1728000000&baseTo=1728003600");
	ck_assert_int_eq(open_link(&a, path), 400);
	at = strstr(path, "baseProfileId=");
	ck_assert_ptr_nonnull(at);
	memcpy(at, "baseProfileIx", strlen("baseProfileIx"));
	ck_assert_int_eq(open_link(&a, path), 401);
}
END

/* A window that arrives late changes the range. */
TEST(a_diff_of_ranges_is_asked_for_again)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, same = {0}, more = {0};
	CLEANUP_PROFILE struct profile *p = profile_of("main;late 100\n");
	struct ask q = {.key = KEY_VIEWER};
	char etag[128], id[ID_MAX];

	put_hour(&a, 0, NULL, 0);
	put_hour(&a, 1, NULL, 0);
	q.path = DIFF HOUR_0 "&" HOUR_1 "&" RANGES "cpu&format=svg";
	r = ask(&a, q);
	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(client_header(&r, "Cache-Control"),
	                 "private, no-cache");
	snprintf(etag, sizeof(etag), "%s", client_header(&r, "ETag"));
	q.if_none_match = etag;
	same = ask(&a, q);
	ck_assert_int_eq(same.status, 304);
	test_window(&a.store.s,
	            &(struct test_window){.start_ms = T0 + H + STEP / 2,
	                                  .span_ms = 10 * S,
	                                  .profile = p},
	            id);
	more = ask(&a, q);
	ck_assert_int_eq(more.status, 200);
}
END

/* Stores windows of an hour in which two handlers call one function; which of
 * them calls it varies. */
static void
put_handlers(struct test_api *a, int hour, int most, int slow)
{
	uint64_t seed = (uint64_t)hour + 1;

	for (int i = 0; i < WINDOWS; i++) {
		int get = (int)(random_next(&seed) % (uint64_t)most);
		char text[128], id[ID_MAX];
		CLEANUP_PROFILE struct profile *p = NULL;

		snprintf(text, sizeof(text),
		         "main;get;work %d\nmain;put;work %d\n"
		         "main;job;work %d\nmain;idle 200\n",
		         10 + get, 110 - get, 100 + slow);
		p = profile_of(text);
		test_window(&a->store.s,
		            &(struct test_window){
				    .start_ms = T0 + hour * H + i * STEP,
				    .span_ms = 10 * S,
				    .profile = p,
			    },
		            id);
	}
}

/* Appends the names of the nodes that a diff of hours marks as sure. */
static void
sure_of(const struct client_reply *r, struct buf *out)
{
	const json_t *names = json_object_get(r->json, "names"), *i;
	const json_t *name = json_object_get(r->json, "name");
	size_t k;

	ck_assert_int_eq(r->status, 200);
	json_array_foreach(json_object_get(r->json, "sure"), k, i) {
		size_t node = (size_t)json_integer_value(i);
		size_t at =
			(size_t)json_integer_value(json_array_get(name, node));

		buf_addf(out, "%s ",
		         json_string_value(json_array_get(names, at)));
	}
}

TEST(nodes_of_a_diff_of_ranges_are_tested_by_blocks_of_their_windows)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply slower = {0}, same = {0};
	CLEANUP_BUF struct buf of_slower = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf of_same = BUF_INIT(BUF_MAX_SMALL);

	put_handlers(&a, 0, 100, 0);
	put_handlers(&a, 1, 70, 40);
	put_handlers(&a, 9, 100, 0);
	slower = get(&a, DIFF HOUR_0 "&" HOUR_1 "&" RANGES "cpu&format=json");
	sure_of(&slower, &of_slower);
	ck_assert_str_eq(buf_str(&of_slower), "idle job work ");
	same = get(&a, DIFF HOUR_0 "&" HOUR_9 "&" RANGES "cpu&format=json");
	sure_of(&same, &of_same);
	ck_assert_str_eq(buf_str(&of_same), "");
}
END

/* --- errors --------------------------------------------------------------- */

static const struct {
	const char *query;
	int status;
	const char *code, *parameter;
} bad[] = {
	{"", 400, "InvalidParameter", "baseProfileId"},
	{HOUR_0, 400, "InvalidParameter", "comparisonProfileId"},
	{HOUR_0 "&" HOUR_1, 400, "InvalidParameter", "service"},
	{HOUR_0 "&" HOUR_1 "&service=" TEST_SERVICE, 400, "InvalidParameter",
         "profileType"},
	{HOUR_0 "&" HOUR_1 "&baseProfileId=sess-a", 400, "InvalidParameter",
         "baseProfileId"},
	{HOUR_1 "&baseTo=now&" RANGES "cpu", 400, "InvalidParameter",
         "baseProfileId"},
	{HOUR_0 "&comparisonFrom=2024-10-04T02:00:00Z"
                "&comparisonTo=2024-10-04T01:00:00Z&" RANGES "cpu",
         400, "InvalidParameter", "comparisonFrom"},
	{HOUR_0 "&" HOUR_9 "&" RANGES "cpu", 404, "EmptyRange", NULL},
	{HOUR_0 "&" HOUR_1 "&service=none&profileType=cpu", 404,
         "UnknownService", NULL},
	{HOUR_0 "&comparisonProfileId=sess-none", 404, "UnknownProfile", NULL},
};

TEST(sides_are_an_id_or_a_range)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	put_hour(&a, 0, NULL, 0);
	put_hour(&a, 1, NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char path[512];

		snprintf(path, sizeof(path), COMPARE "%s", bad[i].query);
		r = get(&a, path);
		assert_error(&r, bad[i].status, bad[i].code);
		if (bad[i].parameter)
			ck_assert_str_eq(reply_detail(&r, "parameter"),
			                 bad[i].parameter);
	}
}
END

TEST(a_profile_of_another_type_than_ranges_is_refused)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 500\n");
	char path[512], id[ID_MAX];

	put_hour(&a, 0, NULL, 0);
	test_upload(&a, p, "cpu", id);
	snprintf(path, sizeof(path),
	         DIFF HOUR_0 "&comparisonProfileId=%s&profileType=memory", id);
	r = get(&a, path);
	assert_error(&r, 409, "WrongProfileType");
}
END

SUITE("compare_ranges", .seconds = 60);
