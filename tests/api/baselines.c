/* The contract of family A, second half: baselines and checks; the comparison
 * of family B. */
#include "base/json.h"
#include "lib/api.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "lib/stacks.h"
#include "store/baseline.h"
#include "store/service.h"
#include "store/session.h"

#include <string.h>

#define A    "/api/v1/profiling"
#define MAIN "2 state=running|main.main:1\n"

/* --- baselines --- */

static double
real_of(const json_t *j, const char *key)
{
	return json_number_value(json_object_get(j, key));
}

static struct client_reply
make(struct test_api *a, const char *session, const char *more)
{
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);

	buf_addf(&body,
	         "{\"label\":\"v1.2.0-release\",\"sessionId\":\"%s\","
	         "\"profileType\":\"cpu\"%s}",
	         session, more);
	return api_post(a, A "/baselines", buf_str(&body));
}

/* Given any of these, the baseline has the session's own top functions. */
static const char *const none_given[] = {
	"",
	",\"topFunctions\":null",
	",\"topFunctions\":[]",
	",\"topFunctions\":\"(nested array)\"",
};

TEST(top_functions_that_are_not_given_are_those_of_the_session)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char id[ID_MAX];

	test_profile(&a, id);
	for (size_t i = 0; i < ARRAY_LEN(none_given); i++) {
		CLEANUP_REPLY struct client_reply r =
			make(&a, id, none_given[i]);
		const json_t *f = item_of(&r, "topFunctions", 0);

		ck_assert_int_eq(r.status, 200);
		ck_assert_str_eq(reply_text(&r, "baselineLabel"),
		                 "v1.2.0-release");
		ck_assert_str_eq(reply_text(&r, "description"), "");
		ck_assert_str_eq(text_of(f, "funcName"), "work");
		ck_assert_str_eq(text_of(f, "sampleCount"), "2");
	}
}
END

TEST(top_functions_that_are_given_are_kept_with_every_field)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	test_profile(&a, id);
	r = make(&a, id,
	         ",\"topFunctions\":[{\"funcName\":\"runtime."
	         "gcBgMarkWorker\",\"selfPct\":12.5,\"sampleCount\":4200},"
	         "{\"sampleCount\":\"7\",\"selfPct\":null}]");
	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(text_of(item_of(&r, "topFunctions", 0), "sampleCount"),
	                 "4200");
	ck_assert_str_eq(text_of(item_of(&r, "topFunctions", 0), "package"),
	                 "");
	ck_assert_str_eq(text_of(item_of(&r, "topFunctions", 1), "sampleCount"),
	                 "7");
	ck_assert_str_eq(text_of(item_of(&r, "topFunctions", 1), "funcName"),
	                 "");
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(
			item_of(&r, "topFunctions", 0), "selfPct")),
		12.5, 1e-9);
}
END

static const char *const bad_functions[] = {
	",\"topFunctions\":[7]",
	",\"topFunctions\":\"nested\"",
	",\"topFunctions\":[{\"funcName\":7}]",
	",\"topFunctions\":[{\"selfPct\":\"12\"}]",
	",\"topFunctions\":[{\"sampleCount\":1.5}]",
	",\"tags\":[\"\"]",
	",\"tags\":[\"a\\nb\"]",
};

TEST(ill_formed_top_functions_and_tags_are_400)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char id[ID_MAX];

	test_profile(&a, id);
	for (size_t i = 0; i < ARRAY_LEN(bad_functions); i++) {
		CLEANUP_REPLY struct client_reply r =
			make(&a, id, bad_functions[i]);

		assert_error(&r, 400, "InvalidParameter");
	}
}
END

TEST(a_baseline_is_found_by_its_tag_and_keeps_its_session)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, listed = {0}, none = {0},
					  held = {0}, gone = {0}, freed = {0};
	char id[ID_MAX], session[128], baseline[128];

	test_profile(&a, id);
	r = make(&a, id, ",\"tags\":[\"prod eu\",\"ci\"]");
	ck_assert(json_is_true(json_object_get(r.json, "isLatest")));
	ck_assert_uint_eq(length_of(&r, "tags"), 2);
	listed = api_get(&a, A "/baselines?tag=prod%20eu&service=" TEST_SERVICE
	                       "&profileType=cpu&label=v1.2.0-release");
	ck_assert_uint_eq(length_of(&listed, "items"), 1);
	none = api_get(&a, A "/baselines?tag=prod");
	ck_assert_uint_eq(length_of(&none, "items"), 0);
	snprintf(session, sizeof(session), A "/sessions/%s", id);
	snprintf(baseline, sizeof(baseline), A "/baselines/%s",
	         reply_text(&r, "baselineId"));
	held = api_delete(&a, session);
	assert_error(&held, 409, "SessionInUse");
	ck_assert_str_eq(reply_detail(&held, "baselineId"),
	                 reply_text(&r, "baselineId"));
	ck_assert_str_eq(reply_detail(&held, "baselineLabel"),
	                 "v1.2.0-release");
	gone = api_delete(&a, baseline);
	ck_assert_int_eq(gone.status, 204);
	freed = api_delete(&a, session);
	ck_assert_int_eq(freed.status, 204);
}
END

TEST(a_label_that_others_have_says_of_how_many)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char id[ID_MAX];

	test_profile(&a, id);
	for (int others = 0; others < 3; others++) {
		CLEANUP_REPLY struct client_reply r = make(&a, id, "");

		ck_assert_int_eq(r.status, 200);
		ck_assert_int_eq(number_of(r.json, "othersOfLabel"), others);
	}
}
END

TEST(a_profile_without_samples_makes_no_baseline)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, listed = {0};
	CLEANUP_PROFILE struct profile *empty = profile_new();
	char id[ID_MAX];

	ck_assert_ptr_nonnull(empty);
	ck_assert_int_eq(profile_type(empty, "cpu", "nanoseconds"), 0);
	test_upload(&a, empty, "cpu", id);
	r = make(&a, id, "");
	assert_error(&r, 409, "ProfileEmpty");
	ck_assert_str_eq(reply_detail(&r, "sessionId"), id);
	listed = api_get(&a, A "/baselines");
	ck_assert_uint_eq(length_of(&listed, "items"), 0);
}
END

TEST(a_baseline_of_another_type_or_of_no_session_is_refused)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply type = {0}, none = {0};
	char id[ID_MAX];

	api_upload(&a, MAIN, id);
	type = make(&a, id, "");
	assert_error(&type, 409, "WrongProfileType");
	none = make(&a, "sess-abc123", "");
	assert_error(&none, 404, "UnknownSession");
}
END

TEST(the_same_key_makes_one_baseline)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one = {0}, two = {0};
	char id[ID_MAX], body[256];
	struct ask q = {.key = KEY_OPERATOR,
	                .method = "POST",
	                .path = A "/baselines",
	                .body = body,
	                .idempotency = "once"};

	test_profile(&a, id);
	snprintf(body, sizeof(body),
	         "{\"label\":\"v1\",\"sessionId\":\"%s\","
	         "\"profileType\":\"cpu\"}",
	         id);
	one = ask(&a, q);
	two = ask(&a, q);
	ck_assert_int_eq(two.status, 200);
	ck_assert_str_eq(reply_text(&one, "baselineId"),
	                 reply_text(&two, "baselineId"));
}
END

/* A reply that is too long cannot be kept for a repetition, so the request does
 * nothing. */
TEST(a_long_reply_is_not_kept_and_nothing_is_created)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_REPLY struct client_reply kept = {0}, made = {0};
	struct ask q = {.key = KEY_OPERATOR,
	                .method = "POST",
	                .path = A "/baselines",
	                .idempotency = "once"};
	char id[ID_MAX], n[32];

	test_profile(&a, id);
	buf_addf(&body,
	         "{\"label\":\"v1\",\"sessionId\":\"%s\","
	         "\"profileType\":\"cpu\",\"topFunctions\":[",
	         id);
	for (int i = 0; i < 1000; i++)
		buf_addf(&body,
		         "%s{\"funcName\":\"a function of the number %d\"}",
		         i ? "," : "", i);
	buf_puts(&body, "]}");
	q.body = buf_str(&body);
	kept = ask(&a, q);
	assert_error(&kept, 422, "ReplyNotKept");
	test_sql(&a.store, "SELECT COUNT(*) FROM baseline", n, sizeof(n));
	ck_assert_str_eq(n, "0");
	q.idempotency = NULL;
	made = ask(&a, q);
	ck_assert_int_eq(made.status, 200);
}
END

/* --- compare and check --- */

static const struct {
	const char *now, *verdict, *function;
} checks[] = {
	{"main;f 10000\nmain;g 10000\n", "ok", NULL},
	{"main;f 20000\nmain;g 10000\n", "regressed", "f"},
	{"main;f 2000\nmain;g 10000\n", "improved", "f"},
	{"main;f 13500\nmain;g 13500\n", "costs-more", NULL},
	{"main;f 20\nmain;g 20\n", "insufficient-data", NULL},
};

TEST(a_check_gives_its_verdict_and_who_decided_it)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = {0};
	char base[ID_MAX], now[ID_MAX];

	api_upload_cpu(&a, "main;f 10000\nmain;g 10000\n", base);
	made = make(&a, base, "");
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		CLEANUP_REPLY struct client_reply r = {0};

		api_upload_cpu(&a, checks[i].now, now);
		r = api_getf(&a, A "/baselines/%s/check?sessionId=%s",
		             reply_text(&made, "baselineId"), now);
		ck_assert_int_eq(r.status, 200);
		ck_assert_str_eq(reply_text(&r, "verdict"), checks[i].verdict);
		ck_assert_str_ne(reply_text(&r, "reason"), "");
		ck_assert_uint_eq(length_of(&r, "functions"),
		                  checks[i].function != NULL);
		if (checks[i].function)
			ck_assert_str_eq(text_of(item_of(&r, "functions", 0),
			                         "funcName"),
			                 checks[i].function);
	}
}
END

/* "many" calls fifty functions, each of which costs slightly more. */
TEST(a_function_that_costs_more_with_what_it_calls_is_listed_as_such)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = {0}, check = {0}, r = {0};
	char id[2][ID_MAX];
	const json_t *many;

	for (int i = 0; i < 2; i++) {
		CLEANUP_BUF struct buf stacks = BUF_INIT(BUF_MAX_SMALL);

		buf_puts(&stacks, "main;f 3000\n");
		for (int k = 0; k < 50; k++)
			buf_addf(&stacks, "main;many;f%d %d\n", k,
			         (i + 1) * 20);
		api_upload_cpu(&a, buf_str(&stacks), id[i]);
	}
	made = make(&a, id[0], "");
	check = api_getf(&a, A "/baselines/%s/check?sessionId=%s",
	                 reply_text(&made, "baselineId"), id[1]);
	ck_assert_str_eq(reply_text(&check, "verdict"), "regressed");
	ck_assert_uint_eq(length_of(&check, "functions"), 0);
	ck_assert_uint_eq(length_of(&check, "cumulativeRegressions"), 1);
	r = api_getf(&a,
	             "/api/v1/observability/profiling/compare?baseProfileId=%s&"
	             "comparisonProfileId=%s",
	             id[0], id[1]);
	ck_assert_int_eq(r.status, 200);
	ck_assert_uint_eq(length_of(&r, "cumulativeRegressions"), 1);
	many = item_of(&r, "cumulativeRegressions", 0);
	ck_assert_str_eq(text_of(many, "funcName"), "many");
	ck_assert_double_eq_tol(real_of(many, "cumulativeDeltaPct"), 15, 1e-6);
	ck_assert_double_lt(real_of(many, "cumulativePValue"), 0.01);
	ck_assert_ptr_nonnull(
		strstr(reply_text(&r, "reason"),
	               "many, with what it calls, costs 2.0 times as much"));
}
END

/* Returns the only warning of a reply; "" if there is none. */
static const char *
warned(const struct client_reply *r)
{
	const json_t *all = json_object_get(r->json, "warnings");

	ck_assert_uint_le(json_array_size(all), 1);
	return json_array_size(all) ? json_string_value(json_array_get(all, 0))
	                            : "";
}

TEST(sides_that_were_hardly_meant_are_compared_with_a_warning)
{
	static const char stacks[] = "main;f 1000\nmain;g 1000\n";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply up = {0}, made = {0};
	const struct service pages = test_no_match(TEST_TENANT, "pages");
	char base[ID_MAX], now[ID_MAX];

	ck_assert_int_eq(service_add(&a.store.s, &pages), 0);
	up = api_send(&a,
	              "/api/v1/profiling/sessions?service=pages&type=cpu"
	              "&sampleRate=100&durationSeconds=20",
	              "text/plain", stacks, strlen(stacks));
	ck_assert_int_eq(up.status, 201);
	api_upload_cpu(&a, stacks, base);
	api_upload_cpu(&a, stacks, now);
	made = make(&a, base, "");
	for (int i = 0; i < 3; i++) {
		const char *const sides[] = {now, base, reply_text(&up, "id")};
		static const char *const want[] = {
			"",
			"a profile is compared with itself",
			"the base is of service '" TEST_SERVICE
			"', not 'pages'",
		};
		CLEANUP_REPLY struct client_reply compared = {0};
		CLEANUP_REPLY struct client_reply checked = {0};
		CLEANUP_REPLY struct client_reply stacked = {0};
		CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);

		compared = api_getf(&a,
		                    API_PROFILES "/compare?baseProfileId=%s"
		                                 "&comparisonProfileId=%s",
		                    base, sides[i]);
		checked = api_getf(&a, A "/baselines/%s/check?sessionId=%s",
		                   reply_text(&made, "baselineId"), sides[i]);
		buf_addf(&body,
		         "{\"baseId\":\"%s\",\"compareId\":\"%s\","
		         "\"type\":\"cpu\"}",
		         base, sides[i]);
		stacked = api_post(&a, A "/diff", buf_str(&body));
		ck_assert_str_eq(warned(&compared), want[i]);
		ck_assert_str_eq(warned(&checked), want[i]);
		ck_assert_str_eq(warned(&stacked), want[i]);
	}
}
END

static void
captured_on(struct test_api *a, const char *host, const char *type,
            char id[static ID_MAX])
{
	struct session_ask q = test_ask();
	CLEANUP_JOB struct job job = {0};
	struct job_ref ref;

	q.type = type;
	ck_assert_int_eq(job_enqueue(&a->store.s, &q, host, id), 0);
	ck_assert_int_eq(job_claim(&a->store.s, host, TEST_LEASE_MS, 8, &job),
	                 0);
	ref = job_ref(&job);
	test_capture_end(a, &ref);
}

TEST(captures_of_two_hosts_are_compared_with_a_warning)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char ids[4][ID_MAX];
	static const char *const want[] = {
		"",
		"the base was captured on host '" TEST_HOST "', not 'host2'",
		""};

	captured_on(&a, TEST_HOST, "cpu", ids[0]);
	captured_on(&a, TEST_HOST, "cpu", ids[1]);
	captured_on(&a, "host2", "cpu", ids[2]);
	api_upload_cpu(&a, "main;f 1000\n", ids[3]); /* from no host */
	for (int i = 1; i < 4; i++) {
		CLEANUP_REPLY struct client_reply r = {0}, back = {0};

		r = api_getf(&a,
		             API_PROFILES "/compare?baseProfileId=%s"
		                          "&comparisonProfileId=%s",
		             ids[0], ids[i]);
		ck_assert_int_eq(r.status, 200);
		ck_assert_str_eq(warned(&r), want[i - 1]);
		back = api_getf(&a,
		                API_PROFILES "/compare?baseProfileId=%s"
		                             "&comparisonProfileId=%s",
		                ids[i], ids[0]);
		ck_assert_int_eq(*warned(&back) != 0, *want[i - 1] != 0);
	}
}
END

TEST(a_comparison_lists_what_changed_and_counts_the_rest)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, other = {0};
	char base[ID_MAX], now[ID_MAX], threads[ID_MAX];
	const json_t *f;

	api_upload_cpu(&a, "main;f 1000\nmain;g 3000\nmain;h 1000\n", base);
	api_upload_cpu(&a, "main;f 2000\nmain;g 2000\nmain;h 1000\n", now);
	api_upload(&a, MAIN, threads);
	r = api_getf(&a,
	             API_PROFILES
	             "/compare?baseProfileId=%s&comparisonProfileId=%s",
	             base, now);
	ck_assert_str_eq(reply_text(&r, "baseProfile"), base);
	ck_assert_str_eq(reply_text(&r, "comparisonProfile"), now);
	ck_assert_uint_eq(length_of(&r, "regressions"), 1);
	ck_assert_uint_eq(length_of(&r, "improvements"), 1);
	ck_assert_int_eq(number_of(r.json, "unchanged"), 2); /* h and main */
	f = item_of(&r, "regressions", 0);
	ck_assert_str_eq(text_of(f, "funcName"), "f");
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(f, "basePct")), 20, 1e-6);
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(f, "deltaPct")), 20, 1e-6);
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(f, "comparisonPerSecond")),
		2e9, 1);
	other = api_getf(&a,
	                 API_PROFILES
	                 "/compare?baseProfileId=%s&comparisonProfileId=%s",
	                 base, threads);
	assert_error(&other, 409, "WrongProfileType");
}
END

static bool
is_null(const json_t *j, const char *key)
{
	return json_is_null(json_object_get(j, key));
}

/* Folded stacks have a duration only if the upload gives one. */
TEST(cost_is_unknown_where_a_side_has_no_duration)
{
	static const char stacks[] = "main;f 1000\nmain;g 3000\n";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply up = {0}, r = {0};
	char now[ID_MAX];
	const json_t *f;

	up = api_send(&a,
	              "/api/v1/profiling/sessions?service=" TEST_SERVICE
	              "&type=cpu&sampleRate=100",
	              "text/plain", stacks, strlen(stacks));
	api_upload_cpu(&a, "main;f 2000\nmain;g 2000\n", now);
	r = api_getf(&a,
	             API_PROFILES
	             "/compare?baseProfileId=%s&comparisonProfileId=%s",
	             reply_text(&up, "id"), now);
	ck_assert(is_null(r.json, "overallDelta"));
	ck_assert(is_null(r.json, "overallDeltaLow"));
	ck_assert(is_null(r.json, "overallDeltaHigh"));
	f = item_of(&r, "regressions", 0);
	ck_assert(is_null(f, "costDeltaPct"));
	ck_assert(is_null(f, "basePerSecond"));
	ck_assert_double_eq_tol(real_of(f, "comparisonPerSecond"), 2e9, 1);
}
END

/* f got slower by half and takes all remaining CPU time, so g does less. */
TEST(by_work_a_comparison_lists_what_changed_alone)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = {0}, check = {0};
	CLEANUP_REPLY struct client_reply shares = {0}, work = {0};
	char base[ID_MAX], now[ID_MAX];
	const json_t *test;

	api_upload_cpu(&a, "main;f 5000\nmain;g 5000\n", base);
	api_upload_cpu(&a, "main;f 6000\nmain;g 4000\n", now);
	shares = api_getf(&a,
	                  API_PROFILES
	                  "/compare?baseProfileId=%s&comparisonProfileId=%s",
	                  base, now);
	work = api_getf(&a,
	                API_PROFILES
	                "/compare?baseProfileId=%s&comparisonProfileId=%s"
	                "&baseWork=50000&comparisonWork=40000",
	                base, now);
	ck_assert_uint_eq(length_of(&shares, "improvements"), 1);
	ck_assert_uint_eq(length_of(&work, "improvements"), 0);
	ck_assert_uint_eq(length_of(&work, "regressions"), 1);
	ck_assert_double_eq_tol(
		real_of(item_of(&work, "regressions", 0), "costDeltaPct"), 25,
		1e-6);
	ck_assert_double_eq_tol(real_of(work.json, "overallDelta"), 25, 1e-6);
	test = json_object_get(work.json, "test");
	ck_assert_str_eq(text_of(test, "normalize"), "work");
	ck_assert_str_eq(text_of(test, "variance"), "functions");
	made = make(&a, base, "");
	check = api_getf(&a,
	                 A "/baselines/%s/check?sessionId=%s&baseWork=50000"
	                   "&comparisonWork=40000",
	                 reply_text(&made, "baselineId"), now);
	ck_assert_str_eq(reply_text(&check, "verdict"), "regressed");
	ck_assert_double_eq_tol(real_of(check.json, "overallDelta"), 25, 1e-6);
}
END

/* These are hours of one version, so none is a regression of another. */
TEST(baselines_of_one_label_tell_what_captures_differ_by)
{
	static const char *const hours[] = {
		"main;f 1300\nmain;g 1700\nmain;h 900\n",
		"main;f 800\nmain;g 2100\nmain;h 1100\n",
		"main;f 1000\nmain;g 1900\nmain;h 1000\n",
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply first = {0}, alone = {0};
	CLEANUP_REPLY struct client_reply among = {0};
	char base[ID_MAX], now[ID_MAX], id[ID_MAX];

	api_upload_cpu(&a, "main;f 1200\nmain;g 1750\nmain;h 950\n", now);
	for (size_t i = 0; i < ARRAY_LEN(hours); i++) {
		CLEANUP_REPLY struct client_reply made = {0}, again = {0};

		api_upload_cpu(&a, hours[i], base);
		made = make(&a, base, "");
		again = make(&a, base, "");
		snprintf(id, sizeof(id), "%s", reply_text(&made, "baselineId"));
		if (!i)
			first = api_getf(&a,
			                 A "/baselines/%s/check?sessionId=%s",
			                 id, now);
	}
	among = api_getf(&a, A "/baselines/%s/check?sessionId=%s", id, now);
	ck_assert_int_eq(
		number_of(json_object_get(first.json, "test"), "captures"), 1);
	ck_assert_int_eq(
		number_of(json_object_get(among.json, "test"), "captures"), 3);
	alone = api_getf(&a,
	                 API_PROFILES
	                 "/compare?baseProfileId=%s&comparisonProfileId=%s",
	                 base, now);
	ck_assert_uint_ge(length_of(&alone, "regressions"), 1);
	ck_assert_int_eq(number_of(among.json, "regressions"), 0);
	ck_assert_str_eq(reply_text(&among, "verdict"), "insufficient-data");
}
END

TEST(work_is_counted_on_both_sides_or_not_at_all)
{
	static const char *const bad[] = {
		"&normalize=work",
		"&normalize=work&baseWork=5",
		"&normalize=work&comparisonWork=5",
		"&baseWork=0&comparisonWork=5",
		"&normalize=most",
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	char base[ID_MAX];

	api_upload_cpu(&a, "main;f 5000\n", base);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char path[256];

		snprintf(path, sizeof(path),
		         API_PROFILES "/compare?baseProfileId=%s"
		                      "&comparisonProfileId=%s%s",
		         base, base, bad[i]);
		r = api_get(&a, path);
		assert_error(&r, 400, "InvalidParameter");
	}
}
END

/* Copies the link to the differential flame graph of two profiles, without its
 * host. */
static void
diff_link(struct test_api *a, char out[static 1024])
{
	CLEANUP_REPLY struct client_reply r = {0};
	char base[ID_MAX], now[ID_MAX];

	api_upload_cpu(a, "main;f 1000\nmain;g 3000\n", base);
	api_upload_cpu(a, "main;f 2000\nmain;h 3000\n", now);
	r = api_getf(a,
	             API_PROFILES
	             "/compare?baseProfileId=%s&comparisonProfileId=%s",
	             base, now);
	snprintf(out, 1024, "%s",
	         text_of(json_object_get(r.json, "links"), "diff") +
	                 strlen("http://stoker.test"));
}

TEST(a_comparison_links_to_its_flame_graph_which_opens_without_a_token)
{
	static const struct {
		const char *rest, *type, *has;
	} cases[] = {
		{"", "text/html; charset=utf-8", "\"baseTotals\""},
		{"&format=svg&shape=both", "image/svg+xml", "both added up"},
		{"&format=json", "application/json", "\"normalize\":\"share\""},
		{"&format=folded", "text/plain; charset=utf-8",
	         "main;f 1000 2000\nmain;g 3000 0\nmain;h 0 3000\n"},
		{"&format=pprof", "application/octet-stream", ""},
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	char link[1024], path[1200];

	diff_link(&a, link);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP_REPLY struct client_reply r = {0}, again = {0};

		snprintf(path, sizeof(path), "%s%s", link, cases[i].rest);
		r = ask(&a, (struct ask){.path = path});
		ck_assert_int_eq(r.status, 200);
		ck_assert_str_eq(client_header(&r, "Content-Type"),
		                 cases[i].type);
		ck_assert_ptr_nonnull(strstr(buf_str(&r.body), cases[i].has));
		again = ask(&a, (struct ask){.path = path,
		                             .if_none_match = client_header(
						     &r, "ETag")});
		ck_assert_int_eq(again.status, 304);
	}
}
END

/* Sends a GET about two profiles. */
static struct client_reply
get_pair(struct test_api *a, const char *what, const char *base,
         const char *now, const char *rest)
{
	char path[512];

	snprintf(path, sizeof(path),
	         API_PROFILES "/%s?baseProfileId=%s&comparisonProfileId=%s%s",
	         what, base, now, rest);
	return api_get(a, path);
}

/* Gets the differential flame graph that a reply links to. */
static struct client_reply
linked_diff(struct test_api *a, const struct client_reply *r)
{
	char path[1200];

	snprintf(path, sizeof(path), "%s&format=json",
	         text_of(json_object_get(r->json, "links"), "diff") +
	                 strlen("http://stoker.test"));
	return ask(a, (struct ask){.path = path});
}

TEST(a_diff_is_tested_as_the_comparison_that_links_to_it)
{
	static const char *const by[] = {
		"",
		"&normalize=share",
		"&normalize=rate",
		"&normalize=none",
		"&baseWork=50000&comparisonWork=40000",
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	char base[ID_MAX], now[ID_MAX];

	api_upload_cpu(&a, "main;f 5000\nmain;g 5000\n", base);
	api_upload_cpu(&a, "main;f 6000\nmain;g 4000\n", now);
	for (size_t i = 0; i < ARRAY_LEN(by); i++) {
		CLEANUP_REPLY struct client_reply r = {0}, diff = {0};

		r = get_pair(&a, "compare", base, now, by[i]);
		diff = linked_diff(&a, &r);
		ck_assert_int_eq(diff.status, 200);
		ck_assert_str_eq(
			reply_text(&diff, "normalize"),
			text_of(json_object_get(r.json, "test"), "normalize"));
		ck_assert_str_eq(reply_text(&diff, "verdict"),
		                 reply_text(&r, "verdict"));
		ck_assert_uint_eq(length_of(&diff, "changes"),
		                  length_of(&r, "regressions") +
		                          length_of(&r, "improvements"));
	}
}
END

/* Hours of one version differ as much as these two sessions do. */
TEST(a_diff_behind_a_check_knows_the_other_baselines)
{
	static const char *const hours[] = {
		"main;f 1300\nmain;g 1700\nmain;h 900\n",
		"main;f 800\nmain;g 2100\nmain;h 1100\n",
		"main;f 1000\nmain;g 1900\nmain;h 1000\n",
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = {0}, check = {0};
	CLEANUP_REPLY struct client_reply diff = {0}, alone = {0}, bad = {0};
	char base[ID_MAX], now[ID_MAX], rest[64];

	api_upload_cpu(&a, "main;f 1200\nmain;g 1750\nmain;h 950\n", now);
	for (size_t i = 0; i < ARRAY_LEN(hours); i++) {
		client_reply_done(&made);
		api_upload_cpu(&a, hours[i], base);
		made = make(&a, base, "");
	}
	check = api_getf(&a, A "/baselines/%s/check?sessionId=%s",
	                 reply_text(&made, "baselineId"), now);
	ck_assert_str_eq(reply_text(&check, "verdict"), "insufficient-data");
	diff = linked_diff(&a, &check);
	ck_assert_str_eq(reply_text(&diff, "verdict"), "insufficient-data");
	ck_assert_uint_eq(length_of(&diff, "sure"), 0);
	alone = get_pair(&a, "diff", base, now, "&format=json");
	ck_assert_uint_ge(length_of(&alone, "sure"), 1);
	snprintf(rest, sizeof(rest), "&baselineId=%s",
	         reply_text(&made, "baselineId"));
	bad = get_pair(&a, "diff", now, base, rest);
	assert_error(&bad, 400, "InvalidParameter");
}
END

TEST(a_link_to_a_diff_is_of_those_two_profiles_alone)
{
	static const char *const parts[] = {"baseProfileId=sess-",
	                                    "comparisonProfileId=sess-",
	                                    "tenant=", "signature="};
	CLEANUP_API struct test_api a = test_api(1, "");
	char link[1024];

	diff_link(&a, link);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char bad[1024], *at;

		memcpy(bad, link, sizeof(bad));
		at = strstr(bad, parts[i]) + strlen(parts[i]);
		*at = *at == '2' ? '3' : '2';
		r = ask(&a, (struct ask){.path = bad});
		assert_error(&r, 401, "Unauthorized");
	}
}
END

SUITE("baselines", .seconds = 60);
