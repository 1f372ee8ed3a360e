/* The contract of family A: analysis, diffs, sessions. */
#include "base/json.h"
#include "lib/api.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "lib/stacks.h"
#include "lib/windows.h"
#include "store/baseline.h"
#include "store/db/db_test.h"
#include "store/session.h"

#include <string.h>

#define A "/api/v1/profiling"

/* Moves the clock past the times of all rows. */
static void
later(struct test_api *a)
{
	static int ms;

	db_skew_clock(a->store.s.db, ms += 10);
}

/* --- analysis --- */

#define WORKERS                                                       \
	"40 state=waiting,waitReasonRaw=chan receive,createdBy=main." \
	"startWorker|main.work:7 main.loop:3\n"
#define MAIN "2 state=running|main.main:1\n"

TEST(an_analysis_has_what_the_seed_names)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];
	const json_t *stack;

	api_upload(&a, WORKERS MAIN, id);
	r = api_getf(&a, A "/sessions/%s/analysis", id, "");
	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(reply_text(&r, "sessionId"), id);
	ck_assert_int_eq(number_of(r.json, "goroutineCount"), 42);
	ck_assert_uint_eq(length_of(&r, "topStacks"), 2);
	ck_assert_uint_eq(length_of(&r, "blockedGoroutines"), 1);
	stack = item_of(&r, "blockedGoroutines", 0);
	ck_assert_int_eq(number_of(stack, "count"), 40);
	ck_assert_str_eq(text_of(stack, "state"), "waiting");
	ck_assert_str_eq(text_of(stack, "waitReason"), "channel receive");
	ck_assert_str_eq(text_of(stack, "waitReasonRaw"), "chan receive");
	ck_assert_str_eq(text_of(stack, "createdBy"), "main.startWorker");
	ck_assert_str_eq(json_string_value(json_array_get(
				 json_object_get(stack, "frames"), 0)),
	                 "main.work");
	ck_assert_str_eq(json_string_value(json_array_get(
				 json_object_get(stack, "locations"), 1)),
	                 "app.go:3");
}
END

TEST(an_analysis_tells_how_long_and_for_what_they_wait)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];
	const json_t *lock;

	api_upload(
		&a,
		"3 state=waiting,waitReasonRaw=sync.Mutex.Lock,"
		"waitTarget=0xc000012340,waitSince=90000000000|main.f\n" MAIN,
		id);
	r = api_getf(&a, A "/sessions/%s/analysis", id, "");
	ck_assert_uint_eq(length_of(&r, "waitTargets"), 1);
	lock = item_of(&r, "waitTargets", 0);
	ck_assert_str_eq(text_of(lock, "address"), "0xc000012340");
	ck_assert_str_eq(text_of(lock, "waitReason"), "mutex");
	ck_assert_int_eq(number_of(lock, "count"), 3);
	ck_assert_int_eq(number_of(lock, "stackCount"), 1);
	ck_assert_int_eq(number_of(item_of(&r, "topStacks", 0), "waitSeconds"),
	                 90);
	ck_assert(json_is_null(
		json_object_get(item_of(&r, "topStacks", 1), "waitSeconds")));
}
END

static double
rate(struct test_api *a, const char *id, const char *base)
{
	CLEANUP_REPLY struct client_reply r =
		api_getf(a, A "/sessions/%s/analysis", id, "");

	ck_assert_str_eq(reply_text(&r, "growthBase"), base);
	return json_number_value(
		json_object_get(r.json, "goroutineGrowthRate"));
}

TEST(growth_is_counted_from_the_newest_baseline_else_the_session_before)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	struct baseline_ask of = {TEST_TENANT, NULL, "v1", "", "[]", "", ""};
	char one[ID_MAX], two[ID_MAX], three[ID_MAX], baseline[ID_MAX];

	api_upload(&a, "40 state=running|main.f\n", one);
	ck_assert_double_eq_tol(rate(&a, one, "none"), 1, 1e-9);
	later(&a);
	api_upload(&a, "50 state=running|main.f\n", two);
	ck_assert_double_eq_tol(rate(&a, two, one), 1.25, 1e-9);
	later(&a);
	of.session = one;
	ck_assert_int_eq(baseline_add(&a.store.s, &of, baseline), 0);
	later(&a);
	api_upload(&a, "60 state=running|main.f\n", three);
	ck_assert_double_eq_tol(rate(&a, three, baseline), 1.5, 1e-9);
	/* made after it */
	ck_assert_double_eq_tol(rate(&a, two, one), 1.25, 1e-9);
}
END

TEST(goroutines_that_grew_since_the_session_before_are_suspects)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char one[ID_MAX], two[ID_MAX];

	api_upload(&a, MAIN WORKERS, one);
	later(&a);
	api_upload(&a, MAIN WORKERS WORKERS WORKERS WORKERS, two);
	r = api_getf(&a, A "/sessions/%s/analysis?top=1", two, "");
	ck_assert_uint_eq(length_of(&r, "topStacks"), 1);
	ck_assert_uint_eq(length_of(&r, "leakSuspects"), 1);
	ck_assert_str_eq(text_of(item_of(&r, "leakSuspects", 0), "rule"),
	                 "growing");
	ck_assert_str_eq(text_of(item_of(&r, "leakSuspects", 0), "site"),
	                 "main.work");
	ck_assert_int_eq(number_of(item_of(&r, "leakSuspects", 0), "baseCount"),
	                 40);
}
END

static void
put_goroutines(struct test_api *a, const char *stacks, int64_t start_ms,
               char id[static ID_MAX])
{
	CLEANUP_PROFILE struct profile *p = stacks_of(stacks);

	test_window(&a->store.s,
	            &(struct test_window){.type = "goroutine",
	                                  .start_ms = start_ms,
	                                  .span_ms = 60000,
	                                  .profile = p},
	            id);
}

TEST(windows_are_analysed_and_grow_from_the_first_within_an_hour)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply last = {0}, first = {0};
	const int64_t minute = 60000, begin = 20000 * 1440 * minute;
	char old[ID_MAX], one[ID_MAX], two[ID_MAX], three[ID_MAX];

	put_goroutines(&a, MAIN, begin - 90 * minute, old);
	put_goroutines(&a, WORKERS MAIN, begin, one);
	put_goroutines(&a, MAIN, begin + minute, two);
	put_goroutines(&a, WORKERS WORKERS MAIN, begin + 2 * minute, three);
	first = api_getf(&a, A "/sessions/%s/analysis", one, "");
	ck_assert_str_eq(reply_text(&first, "growthBase"), "none");
	last = api_getf(&a, A "/sessions/%s/analysis", three, "");
	ck_assert_str_eq(reply_text(&last, "sessionId"), three);
	ck_assert_int_eq(number_of(last.json, "goroutineCount"), 82);
	ck_assert_str_eq(reply_text(&last, "growthBase"), one);
	ck_assert_double_eq_tol(json_number_value(json_object_get(
					last.json, "goroutineGrowthRate")),
	                        82. / 42, 1e-4);
}
END

TEST(thresholds_and_the_allow_list_are_configured)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[analysis]\nleak_crowd = 40\n"
	                    "leak_allow = main.idle pool.*\n");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	api_upload(&a,
	           WORKERS "40 state=waiting,waitReasonRaw=select|main.idle\n"
	                   "40 state=waiting,waitReasonRaw=select|pool.get\n"
	                   "39 state=waiting,waitReasonRaw=select|main.few\n",
	           id);
	r = api_getf(&a, A "/sessions/%s/analysis", id, "");
	ck_assert_uint_eq(length_of(&r, "leakSuspects"), 1);
	ck_assert_str_eq(text_of(item_of(&r, "leakSuspects", 0), "site"),
	                 "main.work");
}
END

static const struct {
	const char *what, *path, *code;
	int status;
} wrong[] = {
	{"unknown", A "/sessions/sess-none/analysis", "UnknownSession", 404},
	{"ill-formed", A "/sessions/none/analysis", "UnknownSession", 404},
	{"unknown", A "/sessions/sess-none", "UnknownSession", 404},
	{"unknown", A "/baselines/bl-none", "UnknownBaseline", 404},
	{"unknown", A "/baselines/bl-none/check?sessionId=sess-none",
         "UnknownBaseline", 404},
	{"unknown",
         API_PROFILES "/compare?baseProfileId=sess-a&"
                      "comparisonProfileId=sess-b",
         "UnknownProfile", 404},
	{"bad cursor", A "/baselines?cursor=x", "InvalidParameter", 400},
	{"bad cursor", A "/sessions?cursor=x", "InvalidParameter", 400},
};

TEST(what_is_not_there_says_so_by_its_family)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		CLEANUP_REPLY struct client_reply r =
			api_get(&a, wrong[i].path);

		assert_error(&r, wrong[i].status, wrong[i].code);
	}
}
END

TEST(unfinished_failed_and_other_sessions_are_409)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply other = {0}, running = {0},
					  failed = {0};
	const struct job_end end = {.state = "failed",
	                            .error_code = "TargetGone",
	                            .error_message = "it ended"};
	struct job_ref ref;
	char id[ID_MAX];

	test_profile(&a, id);
	other = api_getf(&a, A "/sessions/%s/analysis", id, "");
	assert_error(&other, 409, "WrongProfileType");
	ref = test_capture(&a);
	running = api_getf(&a, A "/sessions/%s/analysis", ref.session, "");
	assert_error(&running, 409, "SessionNotCompleted");
	ck_assert_ptr_nonnull(client_header(&running, "Retry-After"));
	ck_assert_int_eq(job_finish(&a.store.s, &ref, &end), 0);
	failed = api_getf(&a, A "/sessions/%s/analysis", ref.session, "");
	assert_error(&failed, 409, "SessionFailed");
	ck_assert_str_eq(reply_detail(&failed, "error_code"), "TargetGone");
}
END

/* --- diff --- */

TEST(a_diff_tells_new_grown_shrunk_and_gone_stacks)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char base[ID_MAX], now[ID_MAX], body[256];

	api_upload(&a,
	           "5 state=running|main.grown\n7 state=running|main.shrunk\n"
	           "3 state=running|main.gone\n9 state=running|main.same\n",
	           base);
	api_upload(&a,
	           "8 state=running|main.grown\n1 state=running|main.shrunk\n"
	           "4 state=running|main.new\n"
	           "9 state=waiting,waitReasonRaw=sleep|main.same\n",
	           now);
	snprintf(body, sizeof(body),
	         "{\"baseId\":\"%s\",\"compareId\":\"%s\","
	         "\"type\":\"goroutine\"}",
	         base, now);
	r = api_say(&a, KEY_VIEWER, "POST", A "/diff", body);
	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(reply_text(&r, "baseSessionId"), base);
	ck_assert_str_eq(reply_text(&r, "compareSessionId"), now);
	ck_assert_int_eq(number_of(r.json, "growthCount"), 3 + 4);
	ck_assert_uint_eq(length_of(&r, "newStacks"), 1);
	ck_assert_int_eq(number_of(item_of(&r, "newStacks", 0), "count"), 4);
	ck_assert_uint_eq(length_of(&r, "grownStacks"), 1);
	ck_assert_int_eq(number_of(item_of(&r, "grownStacks", 0), "baseCount"),
	                 5);
	ck_assert_uint_eq(length_of(&r, "shrunkStacks"), 1);
	ck_assert_int_eq(number_of(item_of(&r, "shrunkStacks", 0), "count"), 1);
	ck_assert_uint_eq(length_of(&r, "goneStacks"), 1);
	ck_assert_int_eq(number_of(item_of(&r, "goneStacks", 0), "count"), 3);
}
END

TEST(a_diff_of_another_type_is_409)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, cpu = {0};
	char one[ID_MAX], two[ID_MAX], body[256];

	api_upload_cpu(&a, "main;f 10\n", one);
	api_upload_cpu(&a, "main;f 10\nmain;g 5\n", two);
	snprintf(body, sizeof(body),
	         "{\"baseId\":\"%s\",\"compareId\":\"%s\",\"type\":\"memory\"}",
	         one, two);
	r = api_post(&a, A "/diff", body);
	assert_error(&r, 409, "WrongProfileType");
	snprintf(body, sizeof(body),
	         "{\"baseId\":\"%s\",\"compareId\":\"%s\",\"type\":\"cpu\"}",
	         one, two);
	cpu = api_post(&a, A "/diff", body);
	ck_assert_int_eq(number_of(cpu.json, "growthCount"), 5); /* samples */
}
END

/* --- sessions --- */

TEST(sessions_are_profile_results_newest_first_by_filter)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply all = {0}, cpu = {0}, page = {0},
					  top = {0}, none = {0}, uploads = {0},
					  captures = {0}, unknown = {0};
	char one[ID_MAX], two[ID_MAX];

	test_profile(&a, one);
	later(&a);
	api_upload(&a, MAIN, two);
	all = api_get(&a, A "/sessions");
	ck_assert_uint_eq(length_of(&all, "items"), 2);
	ck_assert_str_eq(text_of(item_of(&all, "items", 0), "sessionId"), two);
	ck_assert_str_eq(text_of(item_of(&all, "items", 0), "id"), two);
	ck_assert_uint_eq(json_array_size(json_object_get(
				  item_of(&all, "items", 1), "topFunctions")),
	                  0);
	top = api_get(&a, A "/sessions?top=3&profileType=cpu");
	ck_assert_uint_eq(json_array_size(json_object_get(
				  item_of(&top, "items", 0), "topFunctions")),
	                  1);
	cpu = api_get(&a, A "/sessions?profileType=cpu&status=completed&"
	                    "service=" TEST_SERVICE);
	ck_assert_uint_eq(length_of(&cpu, "items"), 1);
	uploads = api_get(&a, A "/sessions?origin=upload");
	ck_assert_uint_eq(length_of(&uploads, "items"), 1);
	ck_assert_str_eq(text_of(item_of(&uploads, "items", 0), "id"), two);
	captures =
		api_get(&a, A "/sessions?origin=capture&service=" TEST_SERVICE);
	ck_assert_uint_eq(length_of(&captures, "items"), 1);
	ck_assert_str_eq(text_of(item_of(&captures, "items", 0), "id"), one);
	unknown = api_get(&a, A "/sessions?origin=window");
	assert_error(&unknown, 400, "InvalidParameter");
	page = api_get(&a, A "/sessions?limit=1");
	ck_assert_uint_eq(length_of(&page, "items"), 1);
	ck_assert_str_ne(reply_text(&page, "nextCursor"), "");
	none = api_get(&a, A "/sessions?from=2100-01-01T00:00:00Z");
	ck_assert_uint_eq(length_of(&none, "items"), 0);
}
END

TEST(a_session_is_started_waited_for_and_cancelled)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply started = {0}, got = {0}, ended = {0};
	char path[128];

	started = api_post(&a, A "/sessions",
	                   "{\"service\":\"" TEST_SERVICE
	                   "\",\"profileType\":\"cpu\"}");
	ck_assert_int_eq(started.status, 202);
	ck_assert_str_eq(reply_text(&started, "sessionId"),
	                 reply_text(&started, "id"));
	snprintf(path, sizeof(path), A "/sessions/%s",
	         reply_text(&started, "sessionId"));
	got = api_get(&a, path);
	ck_assert_str_eq(reply_text(&got, "status"), "running");
	ended = api_delete(&a, path);
	ck_assert_int_eq(ended.status, 202);
}
END

SUITE("sessions", .seconds = 60);
