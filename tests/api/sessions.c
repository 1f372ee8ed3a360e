/* The contract of family A: analysis, diff, sessions. */
#include "base/json.h"
#include "lib/api.h"
#include "lib/folded.h"
#include "lib/stacks.h"
#include "store/baseline.h"
#include "store/session.h"

#include <string.h>

#define A "/api/v1/profiling"

static struct client_reply
get(struct test_api *a, const char *path)
{
	return ask(a, (struct ask){.key = KEY_VIEWER, .path = path});
}

static struct client_reply
post(struct test_api *a, const char *path, const char *body)
{
	return ask(a, (struct ask){.key = KEY_OPERATOR,
	                           .method = "POST",
	                           .path = path,
	                           .body = body});
}

static struct client_reply
getf(struct test_api *a, const char *fmt, const char *id, const char *id2)
{
	char path[256];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(path, sizeof(path), fmt, id, id2);
#pragma GCC diagnostic pop
	return get(a, path);
}

static struct client_reply delete (struct test_api *a, const char *path)
{
	return ask(a, (struct ask){.key = KEY_OPERATOR,
	                           .method = "DELETE",
	                           .path = path});
}

/* What is stored next is made after what was stored so far. */
static void
later(struct test_api *a)
{
	static int ms;

	db_skew_clock(a->store.s.db, ms += 10);
}

static void
upload(struct test_api *a, const char *stacks, char id[static ID_MAX])
{
	CLEANUP_PROFILE struct profile *p = stacks_of(stacks);

	test_upload(a, p, "goroutine", id);
}

static void
upload_cpu(struct test_api *a, const char *folded, char id[static ID_MAX])
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);

	p->duration_ns = INT64_C(10000000000);
	test_upload(a, p, "cpu", id);
}

static int64_t
number(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

static const char *
text(const json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "(none)";
}

static const json_t *
item(const struct client_reply *r, const char *list, size_t i)
{
	return json_array_get(json_object_get(r->json, list), i);
}

static size_t
length(const struct client_reply *r, const char *list)
{
	return json_array_size(json_object_get(r->json, list));
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

	upload(&a, WORKERS MAIN, id);
	r = getf(&a, A "/sessions/%s/analysis", id, "");
	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(reply_text(&r, "sessionId"), id);
	ck_assert_int_eq(number(r.json, "goroutineCount"), 42);
	ck_assert_uint_eq(length(&r, "topStacks"), 2);
	ck_assert_uint_eq(length(&r, "blockedGoroutines"), 1);
	stack = item(&r, "blockedGoroutines", 0);
	ck_assert_int_eq(number(stack, "count"), 40);
	ck_assert_str_eq(text(stack, "state"), "waiting");
	ck_assert_str_eq(text(stack, "waitReason"), "channel receive");
	ck_assert_str_eq(text(stack, "waitReasonRaw"), "chan receive");
	ck_assert_str_eq(text(stack, "createdBy"), "main.startWorker");
	ck_assert_str_eq(json_string_value(json_array_get(
				 json_object_get(stack, "frames"), 0)),
	                 "main.work");
	ck_assert_str_eq(json_string_value(json_array_get(
				 json_object_get(stack, "locations"), 1)),
	                 "app.go:3");
}
END

	static double
	rate(struct test_api *a, const char *id, const char *base)
{
	CLEANUP_REPLY struct client_reply r =
		getf(a, A "/sessions/%s/analysis", id, "");

	ck_assert_str_eq(reply_text(&r, "growthBase"), base);
	return json_number_value(
		json_object_get(r.json, "goroutineGrowthRate"));
}

TEST(growth_is_counted_from_the_newest_baseline_else_the_session_before)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	struct baseline_ask of = {TEST_TENANT, NULL, "v1", "", "[]", "", ""};
	char one[ID_MAX], two[ID_MAX], three[ID_MAX], baseline[ID_MAX];

	upload(&a, "40 state=running|main.f\n", one);
	ck_assert_double_eq_tol(rate(&a, one, "none"), 1, 1e-9);
	later(&a);
	upload(&a, "50 state=running|main.f\n", two);
	ck_assert_double_eq_tol(rate(&a, two, one), 1.25, 1e-9);
	later(&a);
	of.session = one;
	ck_assert_int_eq(baseline_add(&a.store.s, &of, baseline), 0);
	later(&a);
	upload(&a, "60 state=running|main.f\n", three);
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

	upload(&a, MAIN WORKERS, one);
	later(&a);
	upload(&a, MAIN WORKERS WORKERS WORKERS WORKERS, two);
	r = getf(&a, A "/sessions/%s/analysis?top=1", two, "");
	ck_assert_uint_eq(length(&r, "topStacks"), 1);
	ck_assert_uint_eq(length(&r, "leakSuspects"), 1);
	ck_assert_str_eq(text(item(&r, "leakSuspects", 0), "rule"), "growing");
	ck_assert_str_eq(text(item(&r, "leakSuspects", 0), "site"),
	                 "main.work");
	ck_assert_int_eq(number(item(&r, "leakSuspects", 0), "baseCount"), 40);
}
END

TEST(thresholds_and_the_allow_list_are_configured)
{
	CLEANUP_API struct test_api a =
		test_api(1, "[analysis]\nleak_crowd = 40\n"
	                    "leak_allow = main.idle pool.*\n");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	upload(&a,
	       WORKERS "40 state=waiting,waitReasonRaw=select|main.idle\n"
	               "40 state=waiting,waitReasonRaw=select|pool.get\n"
	               "39 state=waiting,waitReasonRaw=select|main.few\n",
	       id);
	r = getf(&a, A "/sessions/%s/analysis", id, "");
	ck_assert_uint_eq(length(&r, "leakSuspects"), 1);
	ck_assert_str_eq(text(item(&r, "leakSuspects", 0), "site"),
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
		CLEANUP_REPLY struct client_reply r = get(&a, wrong[i].path);

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
	other = getf(&a, A "/sessions/%s/analysis", id, "");
	assert_error(&other, 409, "WrongProfileType");
	ref = test_capture(&a);
	running = getf(&a, A "/sessions/%s/analysis", ref.session, "");
	assert_error(&running, 409, "SessionNotCompleted");
	ck_assert_ptr_nonnull(client_header(&running, "Retry-After"));
	ck_assert_int_eq(job_finish(&a.store.s, &ref, &end), 0);
	failed = getf(&a, A "/sessions/%s/analysis", ref.session, "");
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

	upload(&a,
	       "5 state=running|main.grown\n7 state=running|main.shrunk\n"
	       "3 state=running|main.gone\n9 state=running|main.same\n",
	       base);
	upload(&a,
	       "8 state=running|main.grown\n1 state=running|main.shrunk\n"
	       "4 state=running|main.new\n"
	       "9 state=waiting,waitReasonRaw=sleep|main.same\n",
	       now);
	snprintf(body, sizeof(body),
	         "{\"baseId\":\"%s\",\"compareId\":\"%s\","
	         "\"type\":\"goroutine\"}",
	         base, now);
	r = ask(&a, (struct ask){.key = KEY_VIEWER,
	                         .method = "POST",
	                         .path = A "/diff",
	                         .body = body});
	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(reply_text(&r, "baseSessionId"), base);
	ck_assert_str_eq(reply_text(&r, "compareSessionId"), now);
	ck_assert_int_eq(number(r.json, "growthCount"), 3 + 4);
	ck_assert_uint_eq(length(&r, "newStacks"), 1);
	ck_assert_int_eq(number(item(&r, "newStacks", 0), "count"), 4);
	ck_assert_uint_eq(length(&r, "grownStacks"), 1);
	ck_assert_int_eq(number(item(&r, "grownStacks", 0), "baseCount"), 5);
	ck_assert_uint_eq(length(&r, "shrunkStacks"), 1);
	ck_assert_int_eq(number(item(&r, "shrunkStacks", 0), "count"), 1);
	ck_assert_uint_eq(length(&r, "goneStacks"), 1);
	ck_assert_int_eq(number(item(&r, "goneStacks", 0), "count"), 3);
}
END

TEST(a_diff_of_another_type_is_409)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, cpu = {0};
	char one[ID_MAX], two[ID_MAX], body[256];

	upload_cpu(&a, "main;f 10\n", one);
	upload_cpu(&a, "main;f 10\nmain;g 5\n", two);
	snprintf(body, sizeof(body),
	         "{\"baseId\":\"%s\",\"compareId\":\"%s\",\"type\":\"memory\"}",
	         one, two);
	r = post(&a, A "/diff", body);
	assert_error(&r, 409, "WrongProfileType");
	snprintf(body, sizeof(body),
	         "{\"baseId\":\"%s\",\"compareId\":\"%s\",\"type\":\"cpu\"}",
	         one, two);
	cpu = post(&a, A "/diff", body);
	ck_assert_int_eq(number(cpu.json, "growthCount"), 5); /* samples */
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
	upload(&a, MAIN, two);
	all = get(&a, A "/sessions");
	ck_assert_uint_eq(length(&all, "items"), 2);
	ck_assert_str_eq(text(item(&all, "items", 0), "sessionId"), two);
	ck_assert_str_eq(text(item(&all, "items", 0), "id"), two);
	ck_assert_uint_eq(json_array_size(json_object_get(
				  item(&all, "items", 1), "topFunctions")),
	                  0);
	top = get(&a, A "/sessions?top=3&profileType=cpu");
	ck_assert_uint_eq(json_array_size(json_object_get(
				  item(&top, "items", 0), "topFunctions")),
	                  1);
	cpu = get(&a, A "/sessions?profileType=cpu&status=completed&"
	                "service=" TEST_SERVICE);
	ck_assert_uint_eq(length(&cpu, "items"), 1);
	uploads = get(&a, A "/sessions?origin=upload");
	ck_assert_uint_eq(length(&uploads, "items"), 1);
	ck_assert_str_eq(text(item(&uploads, "items", 0), "id"), two);
	captures = get(&a, A "/sessions?origin=capture&service=" TEST_SERVICE);
	ck_assert_uint_eq(length(&captures, "items"), 1);
	ck_assert_str_eq(text(item(&captures, "items", 0), "id"), one);
	unknown = get(&a, A "/sessions?origin=window");
	assert_error(&unknown, 400, "InvalidParameter");
	page = get(&a, A "/sessions?limit=1");
	ck_assert_uint_eq(length(&page, "items"), 1);
	ck_assert_str_ne(reply_text(&page, "nextCursor"), "");
	none = get(&a, A "/sessions?from=2100-01-01T00:00:00Z");
	ck_assert_uint_eq(length(&none, "items"), 0);
}
END

TEST(a_session_is_started_waited_for_and_cancelled)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply started = {0}, got = {0}, ended = {0};
	char path[128];

	started = post(&a, A "/sessions",
	               "{\"service\":\"" TEST_SERVICE
	               "\",\"profileType\":\"cpu\"}");
	ck_assert_int_eq(started.status, 202);
	ck_assert_str_eq(reply_text(&started, "sessionId"),
	                 reply_text(&started, "id"));
	snprintf(path, sizeof(path), A "/sessions/%s",
	         reply_text(&started, "sessionId"));
	got = get(&a, path);
	ck_assert_str_eq(reply_text(&got, "status"), "running");
	ended = delete (&a, path);
	ck_assert_int_eq(ended.status, 202);
}
END

	SUITE_TIMEOUT(
		"sessions", 60, an_analysis_has_what_the_seed_names,
		growth_is_counted_from_the_newest_baseline_else_the_session_before,
		goroutines_that_grew_since_the_session_before_are_suspects,
		thresholds_and_the_allow_list_are_configured,
		what_is_not_there_says_so_by_its_family,
		unfinished_failed_and_other_sessions_are_409,
		a_diff_tells_new_grown_shrunk_and_gone_stacks,
		a_diff_of_another_type_is_409,
		sessions_are_profile_results_newest_first_by_filter,
		a_session_is_started_waited_for_and_cancelled)
