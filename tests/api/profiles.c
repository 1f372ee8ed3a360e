/* The contract of family B: the calls of the seed, and their results. */
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "endpoint/profile/profile_json.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "profile/pprof.h"
#include "store/link.h"
#include "store/service.h"
#include "store/worker.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#define START_BODY(service, type) \
	"{\"service\":\"" service "\",\"profileType\":\"" type "\"}"

static struct client_reply
start(struct test_api *a, const char *body)
{
	return api_post(a, API_PROFILES "/start", body);
}

static struct client_reply
get(struct test_api *a, const char *id, const char *rest)
{
	char path[ID_MAX + 128];

	snprintf(path, sizeof(path), API_PROFILES "/%s%s", id, rest);
	return ask(a, (struct ask){.key = KEY_VIEWER, .path = path});
}

static struct client_reply delete (struct test_api *a, const char *id)
{
	char path[ID_MAX + 64];

	snprintf(path, sizeof(path), API_PROFILES "/%s", id);
	return api_delete(a, path);
}

TEST(the_body_of_the_seed_starts_a_profile)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		start(&a, "{\n\"service\": \"" TEST_SERVICE "\",\n"
	                  "\"profileType\": \"cpu\",\n"
	                  "\"durationSeconds\": 60,\n\"sampleRate\": 100\n}");
	char location[128];

	ck_assert_int_eq(r.status, 202);
	ck_assert_str_eq(reply_text(&r, "status"), "running");
	ck_assert_str_eq(reply_text(&r, "phase"), "queued");
	ck_assert(json_is_null(json_object_get(r.json, "completedAt")));
	ck_assert_uint_eq(
		json_array_size(json_object_get(r.json, "topFunctions")), 0);
	ck_assert_ptr_nonnull(
		strstr(reply_text(&r, "flameGraphUrl"), "http://stoker.test/"));
	snprintf(location, sizeof(location), API_PROFILES "/%s",
	         reply_text(&r, "id"));
	ck_assert_str_eq(client_header(&r, "Location"), location);
}
END

TEST(a_second_capture_of_the_service_and_type_is_409_and_names_the_first)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one =
		start(&a, START_BODY(TEST_SERVICE, "cpu"));
	CLEANUP_REPLY struct client_reply two =
		start(&a, START_BODY(TEST_SERVICE, "cpu"));

	assert_error(&two, 409, "ProfileInProgress");
	ck_assert_str_eq(reply_detail(&two, "profileId"),
	                 reply_text(&one, "id"));
	ck_assert_int_ge(atoi(client_header(&two, "Retry-After")), 1);
}
END

TEST(a_capture_of_no_service_is_404)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		start(&a, START_BODY("nobody", "cpu"));

	assert_error(&r, 404, "UnknownService");
	ck_assert_str_eq(reply_detail(&r, "service"), "nobody");
}
END

TEST(types_without_an_engine_are_501_and_say_what_is_missing)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	static const char *const bodies[] = {
		START_BODY(TEST_SERVICE, "memory"),
	};

	test_kind(&a, "native", "endpoint");
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		CLEANUP_REPLY struct client_reply r = start(&a, bodies[i]);

		assert_error(&r, 501, "ProfileTypeUnsupported");
		ck_assert_str_ne(reply_detail(&r, "missing"), "");
	}
}
END

TEST(goroutines_and_memory_can_be_asked_of_every_kind)
{
	static const char *const kinds[] = {"go", "auto", "native"};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		CLEANUP_API struct test_api a = test_api(1, "");
		CLEANUP_REPLY struct client_reply r = {0}, memory = {0};

		test_kind(&a, kinds[i], "auto");
		r = start(&a, START_BODY(TEST_SERVICE, "goroutine"));
		ck_assert_int_eq(r.status, 202);
		memory = start(&a, START_BODY(TEST_SERVICE, "memory"));
		ck_assert_int_eq(memory.status, 202);
	}
}
END

TEST(without_a_live_worker_start_is_503)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	ck_assert_int_eq(worker_stop(&a.store.s, TEST_HOST), 0);
	r = start(&a, START_BODY(TEST_SERVICE, "cpu"));
	assert_error(&r, 503, "WorkerUnavailable");
	ck_assert_str_eq(reply_detail(&r, "service"), TEST_SERVICE);
	ck_assert_str_eq(client_header(&r, "Retry-After"), "5");
}
END

TEST(processes_outside_of_the_scope_are_403)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const struct process_tree tree = {.host = TEST_HOST,
	                                  .tenant = TEST_TENANT,
	                                  .service = TEST_SERVICE,
	                                  .refused = 3};

	test_sees_nothing(&a);
	ck_assert_int_eq(process_tree_put(&a.store.s, &tree), 0);
	r = start(&a, START_BODY(TEST_SERVICE, "cpu"));
	assert_error(&r, 403, "ScopeForbidden");
	ck_assert_int_eq(json_integer_value(json_object_get(
				 json_object_get(r.json, "details"),
				 "matchesOutOfScope")),
	                 3);
}
END

TEST(without_a_process_start_is_503)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	test_sees_nothing(&a);
	r = start(&a, START_BODY(TEST_SERVICE, "cpu"));
	assert_error(&r, 503, "ServiceNotRunning");
	ck_assert_str_eq(reply_detail(&r, "match"), "exe=/bin/true");
	ck_assert_uint_eq(strlen(reply_detail(&r, "lookedAt")), 24);
	ck_assert_uint_eq(sessions_stored(&a), 0);
}
END

static const struct worker_process seen = {
	.host = TEST_HOST,
	.tenant = TEST_TENANT,
	.service = TEST_SERVICE,
	.boot_id = "boot",
	.argv0 = "",
	.cmdline = "",
	.pid = 78,
};

/* Plays the worker: when asked, looks for processes and reports one. */
static pid_t
begin_looking(struct test_api *a)
{
	int64_t wanted = 0, looked = 0;
	pid_t pid = fork();
	struct store s;

	if (pid)
		return pid;
	s = test_store_again(&a->store, true);
	while (wanted <= looked)
		ck_assert_int_eq(worker_look(&s, TEST_HOST, &wanted, &looked),
		                 0);
	ck_assert_int_eq(process_put(&s, &seen), 0);
	ck_assert_int_eq(worker_looked(&s, TEST_HOST, wanted), 0);
	_exit(0);
}

static void
expect_start_after_look(struct ask q)
{
	CLEANUP_API struct test_api a = test_api(4, "");
	CLEANUP_REPLY struct client_reply r = {0};
	pid_t looker;

	ck_assert_int_eq(process_remove(&a.store.s, &seen), 0);
	looker = begin_looking(&a);
	r = ask(&a, q);
	ck_assert_int_eq(r.status, 202);
	ck_assert_int_eq(waitpid(looker, NULL, 0), looker);
	ck_assert_uint_eq(sessions_stored(&a), 1);
}

TEST(a_process_that_the_worker_has_yet_to_see_is_waited_for)
{
	struct ask q = {.key = KEY_OPERATOR,
	                .method = "POST",
	                .path = API_PROFILES "/start",
	                .body = START_BODY(TEST_SERVICE, "cpu")};

	expect_start_after_look(q);
	q.idempotency = "once"; /* makes the call hold the store's lock */
	expect_start_after_look(q);
}
END

#define PROCESSES "/api/v1/services/" TEST_SERVICE "/processes"

TEST(a_list_of_no_processes_is_of_a_look_after_the_question)
{
	CLEANUP_API struct test_api a = test_api(4, "");
	CLEANUP_REPLY struct client_reply r = {0}, none = {0};
	pid_t looker;

	ck_assert_int_eq(process_remove(&a.store.s, &seen), 0);
	looker = begin_looking(&a);
	r = api_get(&a, PROCESSES);
	ck_assert_int_eq(waitpid(looker, NULL, 0), looker);
	ck_assert_uint_eq(length_of(&r, "items"), 1);
	ck_assert_uint_eq(strlen(reply_text(&r, "lookedAt")), 24);
	test_sees_nothing(&a);
	none = api_get(&a, PROCESSES);
	ck_assert_uint_eq(length_of(&none, "items"), 0);
	ck_assert_uint_eq(strlen(reply_text(&none, "lookedAt")), 24);
}
END

TEST(a_list_of_processes_that_nobody_looked_for_says_so)
{
	CLEANUP_API struct test_api a = test_api(1, ""); /* none may wait */
	CLEANUP_REPLY struct client_reply r = {0};

	ck_assert_int_eq(process_remove(&a.store.s, &seen), 0);
	r = api_get(&a, PROCESSES);
	ck_assert_int_eq(r.status, 200);
	ck_assert_uint_eq(length_of(&r, "items"), 0);
	ck_assert(json_is_null(json_object_get(r.json, "lookedAt")));
}
END

TEST(a_list_of_processes_without_a_worker_says_that_nobody_looked)
{
	CLEANUP_API struct test_api a = test_api(4, "");
	CLEANUP_REPLY struct client_reply r = {0};

	ck_assert_int_eq(process_remove(&a.store.s, &seen), 0);
	ck_assert_int_eq(worker_stop(&a.store.s, TEST_HOST), 0);
	r = api_get(&a, PROCESSES);
	ck_assert_int_eq(r.status, 200);
	ck_assert(json_is_null(json_object_get(r.json, "lookedAt")));
}
END

TEST(where_nobody_can_wait_the_worker_decides)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	ck_assert_int_eq(process_remove(&a.store.s, &seen), 0);
	r = start(&a, START_BODY(TEST_SERVICE, "cpu"));
	ck_assert_int_eq(r.status, 202);
}
END

TEST(an_ordinal_that_is_not_there_is_404)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	test_looks(&a);
	r = start(&a, "{\"service\":\"" TEST_SERVICE
	              "\",\"profileType\":\"cpu\",\"ordinal\":3}");
	assert_error(&r, 404, "UnknownOrdinal");
}
END

TEST(unknown_fields_and_parameters_are_ignored_and_named)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = ask(
		&a, (struct ask){
			    .key = KEY_OPERATOR,
			    .method = "POST",
			    .path = API_PROFILES "/start?colour=red",
			    .body = "{\"service\":\"" TEST_SERVICE
				    "\",\"profileType\":\"cpu\",\"speed\":1}"});
	const json_t *w = json_object_get(r.json, "warnings");

	ck_assert_int_eq(r.status, 202);
	ck_assert_uint_eq(json_array_size(w), 2);
	ck_assert(strstr(json_string_value(json_array_get(w, 0)), "colour"));
	ck_assert(strstr(json_string_value(json_array_get(w, 1)), "speed"));
}
END

TEST(one_parameter_twice_is_refused)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		get(&a, "sess-x", "?wait=1&wait=2");

	assert_error(&r, 400, "InvalidParameter");
	ck_assert_str_eq(reply_detail(&r, "parameter"), "wait");
}
END

TEST(a_running_profile_says_when_to_ask_again)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct job_ref ref = test_capture(&a);
	CLEANUP_REPLY struct client_reply r = get(&a, ref.session, "");

	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(reply_text(&r, "phase"), "capturing");
	ck_assert_int_ge(atoi(client_header(&r, "Retry-After")), 1);
	ck_assert_int_le(atoi(client_header(&r, "Retry-After")), 6);
	ck_assert_ptr_null(client_header(&r, "ETag"));
}
END

TEST(a_running_profile_is_asked_for_when_it_ends)
{
	static const struct {
		int64_t began_ms, seconds; /* how long ago; duration */
		int least, most;
	} rows[] =
		{
			{0, 10, 8, 11},       {3000, 10, 5, 8},
			{9500, 10, 1, 1},     {60000, 10, 1, 1},
			{-60000, 10, 11, 11}, /* its clock is ahead */
		};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct session s = {.started_ms = clock_wall_ms() -
		                                        rows[i].began_ms,
		                          .asked_seconds = rows[i].seconds};
		int after = profile_retry_s(&s);

		ck_assert_msg(after >= rows[i].least && after <= rows[i].most,
		              "row %zu: %d", i, after);
	}
}
END

TEST(a_completed_profile_has_its_result)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const json_t *top;
	char id[ID_MAX];

	test_profile(&a, id);
	r = get(&a, id, "");
	top = json_array_get(json_object_get(r.json, "topFunctions"), 0);
	ck_assert_str_eq(reply_text(&r, "status"), "completed");
	ck_assert_str_eq(reply_text(&r, "phase"), "done");
	ck_assert_str_eq(reply_text(&r, "durationSeconds"), "5");
	ck_assert_str_eq(reply_text(&r, "sampleCount"), "500");
	ck_assert(json_is_string(json_object_get(top, "sampleCount")));
	ck_assert_ptr_null(client_header(&r, "Retry-After"));
}
END

TEST(an_etag_sent_back_is_304_also_when_weakened)
{
	static const char *const forms[] = {"%s", "W/%s", "\"x\", %s", "*"};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX], path[128], etag[128];

	test_profile(&a, id);
	r = get(&a, id, "");
	snprintf(etag, sizeof(etag), "%s", client_header(&r, "ETag"));
	snprintf(path, sizeof(path), API_PROFILES "/%s", id);
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		CLEANUP_REPLY struct client_reply again = {0};
		CLEANUP_BUF struct buf list = BUF_INIT(BUF_MAX_SMALL);

		buf_addf(&list, "%.*s%s", (int)strcspn(forms[i], "%"), forms[i],
		         strchr(forms[i], '%') ? etag : "");
		again = ask(&a, (struct ask){.key = KEY_VIEWER,
		                             .path = path,
		                             .if_none_match = buf_str(&list)});
		ck_assert_int_eq(again.status, 304);
		ck_assert_uint_eq(again.body.len, 0);
	}
}
END

TEST(a_wait_ends_when_the_profile_does)
{
	CLEANUP_API struct test_api a = test_api(2, "");
	const struct job_ref ref = test_capture(&a);
	CLEANUP_REPLY struct client_reply r = {0};
	char path[128];
	int fd;

	snprintf(path, sizeof(path), API_PROFILES "/%s?wait=20", ref.session);
	fd = ask_begin(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	test_capture_end(&a, &ref);
	r = ask_end(fd);
	ck_assert_str_eq(reply_text(&r, "status"), "completed");
}
END

TEST(a_cancelled_profile_answers_202_and_a_deleted_one_204)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		start(&a, START_BODY(TEST_SERVICE, "cpu"));
	CLEANUP_REPLY struct client_reply one = {0}, two = {0}, now = {0};
	char id[ID_MAX];

	snprintf(id, sizeof(id), "%s", reply_text(&made, "id"));
	one = delete (&a, id);
	ck_assert_int_eq(one.status, 202);
	now = get(&a, id, "");
	ck_assert_str_eq(reply_text(&now, "status"), "failed");
	ck_assert_str_eq(reply_text(&now, "phase"), "cancelled");
	two = delete (&a, id);
	ck_assert_int_eq(two.status, 204);
}
END

static struct client_reply
complete(struct test_api *a, const char *id)
{
	char path[128];

	snprintf(path, sizeof(path), API_PROFILES "/%s/complete", id);
	return api_post(a, path, NULL);
}

TEST(a_capture_that_runs_is_completed_early)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	struct job_ref ref = test_capture(&a);
	CLEANUP_REPLY struct client_reply asked = complete(&a, ref.session);
	CLEANUP_REPLY struct client_reply again = {0};
	const struct job_state half = {0.5, "capturing", 1};
	int64_t ending = 0;

	ck_assert_int_eq(asked.status, 200);
	ck_assert_str_eq(reply_text(&asked, "status"), "running");
	ck_assert_int_eq(job_progress(&a.store.s, &ref, 1000, &half, &ending),
	                 0);
	ck_assert_int_eq(ending, JOB_COMPLETE);
	test_capture_end(&a, &ref);
	again = complete(&a, ref.session);
	ck_assert_int_eq(again.status, 200);
	ck_assert_str_eq(reply_text(&again, "status"), "completed");
}
END

TEST(a_capture_that_has_not_begun_is_cancelled_instead)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made =
		start(&a, START_BODY(TEST_SERVICE, "cpu"));
	CLEANUP_REPLY struct client_reply r =
		complete(&a, reply_text(&made, "id"));

	ck_assert_str_eq(reply_text(&r, "phase"), "cancelled");
}
END

/* --- flame graphs --------------------------------------------------------- */

TEST(a_flame_graph_comes_in_every_format)
{
	static const struct {
		const char *rest, *accept, *type;
	} cases[] = {
		{"?format=html", NULL, "text/html; charset=utf-8"},
		{"?format=svg", NULL, "image/svg+xml"},
		{"?format=json", NULL, "application/json"},
		{"?format=folded", NULL, "text/plain; charset=utf-8"},
		{"?format=pprof", NULL, "application/octet-stream"},
		{"", NULL, "text/html; charset=utf-8"},
		{"", "*/*", "text/html; charset=utf-8"},
		{"", "image/svg+xml", "image/svg+xml"},
		{"", "text/html;q=0.1, application/json", "application/json"},
		{"", "image/*, text/html;q=0.2", "image/svg+xml"},
		{"", "video/mp4", "text/html; charset=utf-8"},
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	char id[ID_MAX], path[128];

	test_profile(&a, id);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CLEANUP_REPLY struct client_reply r = {0};

		snprintf(path, sizeof(path), API_PROFILES "/%s/flamegraph%s",
		         id, cases[i].rest);
		r = ask(&a, (struct ask){.key = KEY_VIEWER,
		                         .path = path,
		                         .accept = cases[i].accept});
		ck_assert_int_eq(r.status, 200);
		ck_assert_str_eq(client_header(&r, "Content-Type"),
		                 cases[i].type);
		ck_assert_uint_gt(r.body.len, 10);
	}
}
END

TEST(a_folded_graph_holds_the_stacks)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	test_profile(&a, id);
	r = get(&a, id, "/flamegraph?format=folded");
	ck_assert_ptr_nonnull(strstr(buf_str(&r.body), "main;work "));
}
END

TEST(a_flame_graph_shows_the_values_that_are_named)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 3\n");
	CLEANUP_REPLY struct client_reply own = {0}, named = {0}, none = {0};
	char id[ID_MAX], path[160];

	test_upload(&a, p, "cpu", id);
	snprintf(path, sizeof(path), API_PROFILES "/%s/flamegraph?format=json",
	         id);
	own = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	strcat(path, "&sampleType=samples");
	named = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	ck_assert_str_eq(reply_text(&own, "unit"), "nanoseconds");
	ck_assert_str_eq(reply_text(&named, "unit"), "count");
	ck_assert_int_eq(
		json_integer_value(json_object_get(named.json, "total")), 3);
	strcat(path, "x");
	none = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	assert_error(&none, 400, "InvalidParameter");
	ck_assert_ptr_nonnull(strstr(buf_str(&none.body), "samples, cpu"));
}
END

TEST(a_flame_graph_of_a_running_capture_is_409)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct job_ref ref = test_capture(&a);
	CLEANUP_REPLY struct client_reply r =
		get(&a, ref.session, "/flamegraph");

	assert_error(&r, 409, "SessionNotCompleted");
	ck_assert_ptr_nonnull(client_header(&r, "Retry-After"));
}
END

TEST(a_flame_graph_of_a_failed_capture_is_409_and_says_why)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct job_ref ref = test_capture(&a);
	const struct job_end end = {.state = "failed",
	                            .error_code = "TargetGone",
	                            .error_message = "it left"};
	CLEANUP_REPLY struct client_reply r = {0};

	ck_assert_int_eq(job_finish(&a.store.s, &ref, &end), 0);
	r = get(&a, ref.session, "/flamegraph");
	assert_error(&r, 409, "SessionFailed");
	ck_assert_str_eq(reply_detail(&r, "error_code"), "TargetGone");
}
END

TEST(a_page_may_run_its_script_and_nothing_else)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const char *csp;
	char id[ID_MAX];

	test_profile(&a, id);
	r = get(&a, id, "/flamegraph");
	csp = client_header(&r, "Content-Security-Policy");
	ck_assert_ptr_nonnull(strstr(csp, "sandbox allow-scripts"));
	ck_assert_ptr_nonnull(strstr(csp, "default-src 'none'"));
	ck_assert_ptr_nonnull(strstr(csp, "frame-ancestors 'none'"));
	ck_assert_ptr_null(strstr(csp, "allow-same-origin"));
	ck_assert_str_eq(client_header(&r, "Access-Control-Allow-Origin"), "*");
}
END

TEST(a_profile_past_accel_bytes_is_left_to_nginx)
{
	CLEANUP_API struct test_api a = test_api(1, "accel_bytes = 10");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	test_profile(&a, id);
	r = get(&a, id, "/flamegraph?format=pprof");
	ck_assert_int_eq(r.status, 200);
	ck_assert_int_eq(strncmp(client_header(&r, "X-Accel-Redirect"),
	                         "/_profiles/", 11),
	                 0);
	ck_assert_uint_eq(r.body.len, 0);
}
END

TEST(a_profile_past_accel_bytes_is_sent_where_nginx_cannot_have_it)
{
	CLEANUP_API struct test_api a = test_api(1, "accel_bytes = 10");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	a.store.s.bytes = BYTES_DB;
	test_profile(&a, id);
	r = get(&a, id, "/flamegraph?format=pprof");
	ck_assert_int_eq(r.status, 200);
	ck_assert_ptr_null(client_header(&r, "X-Accel-Redirect"));
	ck_assert_uint_gt(r.body.len, 10);
}
END

/* --- links ---------------------------------------------------------------- */

/* Copies the link of a completed profile, without its host. */
static void
link_of(struct test_api *a, char out[static 1024])
{
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	test_profile(a, id);
	r = get(a, id, "");
	snprintf(out, 1024, "%s",
	         reply_text(&r, "flameGraphUrl") +
	                 strlen("http://stoker.test"));
}

TEST(a_picture_is_of_the_view_that_is_asked_for)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 3\nmain;g 1\n");
	CLEANUP_REPLY struct client_reply part = {0}, none = {0};
	char id[ID_MAX], path[ID_MAX + 128];

	test_upload(&a, p, "cpu", id);
	snprintf(path, sizeof(path),
	         API_PROFILES "/%s/flamegraph?format=svg&root=main%%3Bf", id);
	part = ask(&a, (struct ask){.path = path, .key = KEY_VIEWER});
	ck_assert_int_eq(part.status, 200);
	ck_assert_ptr_nonnull(strstr(buf_str(&part.body), "(75.00 %)"));
	ck_assert_ptr_null(strstr(buf_str(&part.body), "<title>g"));
	snprintf(path, sizeof(path),
	         API_PROFILES "/%s/flamegraph?format=svg&root=h", id);
	none = ask(&a, (struct ask){.path = path, .key = KEY_VIEWER});
	assert_error(&none, 400, "InvalidParameter");
}
END

TEST(a_view_says_how_much_it_leaves_out)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p =
		profile_of("main;f 3\nmain;f;log 4\nmain;g 1\n");
	CLEANUP_REPLY struct client_reply all = {0}, part = {0}, file = {0},
					  none = {0}, labelled = {0};
	CLEANUP_PROFILE struct profile *left = NULL;
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	char id[ID_MAX], path[ID_MAX + 128], etag[256];

	test_upload(&a, p, "cpu", id);
	snprintf(path, sizeof(path), API_PROFILES "/%s/flamegraph?format=json",
	         id);
	all = ask(&a, (struct ask){.path = path, .key = KEY_VIEWER});
	snprintf(path, sizeof(path),
	         API_PROFILES "/%s/flamegraph?format=json&focus=f&fold=log",
	         id);
	part = ask(&a, (struct ask){.path = path, .key = KEY_VIEWER});
	ck_assert_int_eq(part.status, 200);
	snprintf(etag, sizeof(etag), "%s", client_header(&all, "ETag"));
	ck_assert_str_ne(client_header(&part, "ETag"), etag);
	ck_assert_ptr_nonnull(
		strstr(reply_text(&part, "title"),
	               " (12.5 % left out), only f, folded: log"));
	snprintf(path, sizeof(path),
	         API_PROFILES "/%s/flamegraph?format=pprof&hide=f", id);
	file = ask(&a, (struct ask){.path = path, .key = KEY_VIEWER});
	ck_assert_int_eq(file.status, 200);
	ck_assert_int_eq(
		pprof_decode(file.body.p, file.body.len, 1 << 20, &left, &why),
		0);
	ck_assert_int_eq(profile_total(left, 0), 1);
	snprintf(path, sizeof(path),
	         API_PROFILES
	         "/%s/flamegraph?format=json&sample.http.route=/cart",
	         id);
	labelled = ask(&a, (struct ask){.path = path, .key = KEY_VIEWER});
	ck_assert_int_eq(labelled.status, 200);
	ck_assert_ptr_nonnull(
		strstr(reply_text(&labelled, "title"),
	               " (100.0 % left out), only http.route=/cart"));
	snprintf(path, sizeof(path),
	         API_PROFILES "/%s/flamegraph?format=svg&hide=;", id);
	none = ask(&a, (struct ask){.path = path, .key = KEY_VIEWER});
	assert_error(&none, 400, "InvalidParameter");
}
END

static const struct {
	const char *parameter, *has, *lacks;
} views[] = {
	{"", "main;f;log 4\n", "main;h"},
	{"&focus=g", "main;g 1\n", "main;f"},
	{"&focus=f", "main;f;log 4\n", "main;g"},
	{"&hide=f", "main;g 1\n", "main;f"},
	{"&fold=log", "main;f 7\n", "log"},
	{"&foldPackage=libc.so", "main 2\n", "serve"},
	{"&foldKind=recursion", "main;r 5\n", "r;r"},
	{"&focusText=LOG", "main;f;log 4\n", "main;g"},
	{"&hideText=LOG", "main;f 3\n", "log"},
	{"&foldText=LOG", "main;f 7\n", "log"},
};

TEST(each_part_of_a_profile_has_its_parameter_and_its_etag)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p =
		profile_of("main;f 3\nmain;f;log 4\nmain;g 1\nmain;r;r 5\n"
	                   "main;serve@libc.so 2\n");
	char id[ID_MAX], path[ID_MAX + 128], etags[ARRAY_LEN(views)][256];

	test_upload(&a, p, "cpu", id);
	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		CLEANUP_REPLY struct client_reply r = {0};

		snprintf(path, sizeof(path),
		         API_PROFILES "/%s/flamegraph?format=folded%s", id,
		         views[i].parameter);
		r = ask(&a, (struct ask){.path = path, .key = KEY_VIEWER});
		ck_assert_msg(r.status == 200 &&
		                      strstr(buf_str(&r.body), views[i].has) &&
		                      !strstr(buf_str(&r.body), views[i].lacks),
		              "%s: %s", views[i].parameter, buf_str(&r.body));
		snprintf(etags[i], sizeof(etags[i]), "%s",
		         client_header(&r, "ETag"));
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(etags[k], etags[i]);
	}
}
END

TEST(captures_and_uploads_are_symbolized_again)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 3\n");
	CLEANUP_REPLY struct client_reply upload = {0}, accepted = {0};
	char id[ID_MAX], path[ID_MAX + 128];

	test_upload(&a, p, "cpu", id);
	snprintf(path, sizeof(path), API_PROFILES "/%s/symbolize", id);
	upload = api_post(&a, path, NULL);
	ck_assert_int_eq(upload.status, 202);
	test_profile(&a, id);
	snprintf(path, sizeof(path), API_PROFILES "/%s/symbolize", id);
	accepted = api_post(&a, path, NULL);
	ck_assert_int_eq(accepted.status, 202);
}
END

static void
assert_not_symbolized(struct test_api *a, const char *id, const char *code)
{
	CLEANUP_REPLY struct client_reply r = {0};
	char path[ID_MAX + 128];

	snprintf(path, sizeof(path), API_PROFILES "/%s/symbolize", id);
	r = ask(a, (struct ask){.key = KEY_OPERATOR,
	                        .method = "POST",
	                        .path = path});
	assert_error(&r, 409, code);
}

TEST(a_profile_that_no_worker_can_symbolize_is_refused_with_the_reason)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 3\n");
	char captured[ID_MAX], uploaded[ID_MAX];
	struct job_ref running;

	test_profile(&a, captured);
	test_upload(&a, p, "cpu", uploaded);
	running = test_capture(&a);
	assert_not_symbolized(&a, running.session, "SessionNotCompleted");
	/* the only worker is that of a host of a fleet */
	test_sql(&a.store, "UPDATE worker SET tenants = 't'", NULL, 0);
	assert_not_symbolized(&a, captured, "HostApart");
	assert_not_symbolized(&a, uploaded, "NotCaptured");
	test_sql(&a.store, "DELETE FROM blob", NULL, 0);
	assert_not_symbolized(&a, captured, "ProfileNotKept");
}
END

TEST(a_link_opens_without_a_token)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char link[1024];

	link_of(&a, link);
	r = ask(&a, (struct ask){.path = link});
	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(client_header(&r, "Content-Type"),
	                 "text/html; charset=utf-8");
}
END

TEST(a_link_shows_no_source_text)
{
	static const struct {
		const char *format;
		int status;
	} rows[] = {{"listing", 403}, {"lines", 200}};
	CLEANUP_API struct test_api a = test_api(1, "");
	char link[1024], at[1100];

	link_of(&a, link);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r = {0};

		snprintf(at, sizeof(at), "%s&format=%s", link, rows[i].format);
		r = ask(&a, (struct ask){.path = at});
		ck_assert_int_eq(r.status, rows[i].status);
	}
}
END

TEST(a_link_changed_in_any_part_is_401)
{
	static const char *const parts[] = {"sess-",
	                                    "tenant=", "signature=", "."};
	CLEANUP_API struct test_api a = test_api(1, "");
	char link[1024];

	link_of(&a, link);
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

TEST(a_link_that_lacks_a_part_is_401)
{
	static const char *const parts[] = {"tenant=", "tenant=t"};
	CLEANUP_API struct test_api a = test_api(1, "");
	char link[1024], longest[STORE_TENANT_MAX + 8] = "tenant=";

	link_of(&a, link);
	memset(longest + 7, 'x', STORE_TENANT_MAX);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		CLEANUP_BUF struct buf bad = BUF_INIT(BUF_MAX_SMALL);
		const char *at = strstr(link, parts[i]);

		/* another name, or an invalid tenant; a key and an expiry are
		 * covered by the signature */
		buf_add(&bad, link, (size_t)(at - link));
		buf_puts(&bad, i ? longest : "other=");
		buf_puts(&bad, at + strlen(parts[i]));
		r = ask(&a, (struct ask){.path = buf_str(&bad)});
		assert_error(&r, 401, "Unauthorized");
		ck_assert_msg(strstr(reply_text(&r, "message"), "incomplete"),
		              "row %zu: %s", i, buf_str(&r.body));
	}
}
END

TEST(a_link_that_has_expired_is_401)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	struct link_keys keys = {0};
	char id[ID_MAX];

	test_profile(&a, id);
	for (int expired = 0; expired < 2; expired++) {
		CLEANUP_REPLY struct client_reply r = {0};
		CLEANUP_BUF struct buf link = BUF_INIT(LINK_URL_MAX);
		int64_t made = clock_wall_ms() - (expired ? 3 : 0) * 3600000;

		ck_assert_int_eq(link_key_make(&a.store.s), 0);
		ck_assert_int_eq(link_flamegraph(&a.store.s, &keys, "",
		                                 TEST_TENANT, id, made, 3600,
		                                 &link),
		                 0);
		r = ask(&a, (struct ask){.path = buf_str(&link)});
		if (!expired) {
			ck_assert_int_eq(r.status, 200);
			continue;
		}
		assert_error(&r, 401, "Unauthorized");
		ck_assert_ptr_nonnull(
			strstr(reply_text(&r, "message"), "expired"));
	}
}
END

TEST(a_link_opens_nothing_but_its_graph)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char link[1024], *at, path[1024];

	link_of(&a, link);
	at = strstr(link, "/flamegraph?");
	snprintf(path, sizeof(path), "%.*s%s", (int)(at - link), link,
	         at + strlen("/flamegraph"));
	r = ask(&a, (struct ask){.path = path});
	assert_error(&r, 401, "Unauthorized");
}
END

#define BROWSER \
	"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

static const struct {
	const char *accept;
	bool html;
} asked_by[] = {
	{BROWSER, true},
	{"*/*", false},
	{"", false},
	{"application/json", false},
	{"application/json, text/html;q=0.5", false},
};

TEST(a_link_that_does_not_work_answers_a_browser_with_a_page)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char link[1024];

	link_of(&a, link);
	*strchr(link, '?') = '\0';
	for (size_t i = 0; i < ARRAY_LEN(asked_by); i++) {
		CLEANUP_REPLY struct client_reply r =
			ask(&a, (struct ask){.path = link,
		                             .accept = asked_by[i].accept});

		if (!asked_by[i].html) {
			assert_error(&r, 401, "Unauthorized");
			ck_assert_str_eq(reply_detail(&r, "reason"),
			                 "neither a token nor a signed link "
			                 "was sent");
			continue;
		}
		ck_assert_int_eq(r.status, 401);
		ck_assert_str_eq(client_header(&r, "Content-Type"),
		                 "text/html; charset=utf-8");
		ck_assert_str_eq(client_header(&r, "Vary"), "Accept");
		ck_assert_ptr_nonnull(
			strstr(buf_str(&r.body), "This link does not work"));
		ck_assert_ptr_nonnull(
			strstr(buf_str(&r.body),
		               "Neither a token nor a signed link was sent."));
		ck_assert_ptr_nonnull(
			strstr(buf_str(&r.body), "<code>stoker top sess-"));
		ck_assert_ptr_null(strstr(buf_str(&r.body), "<!--"));
	}
}
END

TEST(a_browser_is_told_why_a_profile_is_not_there)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply running = {0}, gone = {0};
	CLEANUP_REPLY struct client_reply page = {0}, other = {0};
	const struct job_ref ref = test_capture(&a);
	char link[1024];

	running = get(&a, ref.session, "");
	snprintf(link, sizeof(link), "%s",
	         reply_text(&running, "flameGraphUrl") +
	                 strlen("http://stoker.test"));
	page = ask(&a, (struct ask){.path = link, .accept = BROWSER});
	ck_assert_int_eq(page.status, 409);
	ck_assert_ptr_nonnull(
		strstr(buf_str(&page.body), "The capture is still running"));
	ck_assert_ptr_nonnull(client_header(&page, "Refresh"));
	gone = ask(&a, (struct ask){.key = KEY_VIEWER,
	                            .path = API_PROFILES
	                            "/sess-aaaaaaaaaaaaaaaaaaaa/flamegraph",
	                            .accept = BROWSER});
	ck_assert_int_eq(gone.status, 404);
	ck_assert_ptr_nonnull(
		strstr(buf_str(&gone.body), "This profile is no longer here"));
	/* other operations accept no link */
	other = ask(&a, (struct ask){.path = API_PROFILES
	                             "/sess-aaaaaaaaaaaaaaaaaaaa",
	                             .accept = BROWSER});
	assert_error(&other, 401, "Unauthorized");
}
END

/* Returns the number of seconds until a link expires. */
static double
link_lasts(const struct client_reply *r)
{
	const char *hours =
		strstr(reply_text(r, "flameGraphUrl"), "&signature=");

	ck_assert_ptr_nonnull(hours);
	return (double)(atoll(hours + strlen("&signature=")) * 3600 -
	                clock_wall_ms() / 1000);
}

TEST(a_link_works_for_a_week_and_that_of_a_pinned_profile_for_a_year)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply first = {0}, pin = {0}, then = {0};
	const double day = 86400;
	char id[ID_MAX], path[128];

	test_profile(&a, id);
	first = get(&a, id, "");
	ck_assert_double_ge(link_lasts(&first), 7 * day - 5);
	ck_assert_double_le(link_lasts(&first), 7 * day + 3600);
	snprintf(path, sizeof(path), API_PROFILES "/%s/pin", id);
	pin = api_post(&a, path, NULL);
	ck_assert_int_le(pin.status, 299);
	then = get(&a, id, "");
	ck_assert_double_ge(link_lasts(&then), 365 * day - 5);
	ck_assert_double_le(link_lasts(&then), 365 * day + 3600);
}
END

static struct client_reply
find(struct test_api *a, enum api_key key, const char *id, size_t n)
{
	char path[ID_MAX + 64];

	snprintf(path, sizeof(path), API_PROFILES "/find?id=%.*s", (int)n, id);
	return ask(a, (struct ask){.key = key, .path = path});
}

static size_t
count_found(const struct client_reply *r)
{
	ck_assert_int_eq(r->status, 200);
	return json_array_size(json_object_get(r->json, "items"));
}

TEST(the_beginning_of_an_id_finds_its_profiles)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	char one[ID_MAX], two[ID_MAX];
	size_t same = 0;

	test_profile(&a, one);
	test_profile(&a, two);
	while (one[same] == two[same])
		same++;
	{
		CLEANUP_REPLY struct client_reply r =
			find(&a, KEY_VIEWER, one, same + 1);
		const json_t *item =
			json_array_get(json_object_get(r.json, "items"), 0);

		ck_assert_uint_eq(count_found(&r), 1);
		ck_assert_str_eq(json_string_value(json_object_get(item, "id")),
		                 one);
	}
	{
		CLEANUP_REPLY struct client_reply r =
			find(&a, KEY_VIEWER, one, same);

		ck_assert_uint_eq(count_found(&r), 2);
	}
	{
		CLEANUP_REPLY struct client_reply r =
			find(&a, KEY_OTHER, one, same);

		ck_assert_uint_eq(count_found(&r), 0);
	}
}
END

TEST(each_request_is_one_line_of_json_in_the_log)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = get(&a, "sess-x", "");
	CLEANUP_BUF struct buf log = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *line = NULL;
	char path[96];

	snprintf(path, sizeof(path), "%s/api.log", a.store.dir);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &log), 0);
	line = json_loads(buf_str(&log), 0, NULL);
	ck_assert_str_eq(json_string_value(json_object_get(line, "requestId")),
	                 "test-request-id");
	ck_assert_str_eq(json_string_value(json_object_get(line, "route")),
	                 API_PROFILES "/{profileId}");
	ck_assert_str_eq(json_string_value(json_object_get(line, "tenant")),
	                 TEST_TENANT);
	ck_assert_str_eq(json_string_value(json_object_get(line, "error")),
	                 "UnknownProfile");
	ck_assert_int_eq(json_integer_value(json_object_get(line, "status")),
	                 404);
	ck_assert(json_is_integer(json_object_get(line, "us")));
	ck_assert_int_eq(log.p[log.len - 1], '\n');
	ck_assert_int_eq(r.status, 404);
}
END

TEST(no_signature_or_key_is_logged)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_BUF struct buf log = BUF_INIT(BUF_MAX_SMALL);
	char link[1024], path[96];

	link_of(&a, link);
	r = ask(&a, (struct ask){.path = link});
	snprintf(path, sizeof(path), "%s/api.log", a.store.dir);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &log), 0);
	ck_assert_ptr_nonnull(strstr(buf_str(&log), "/flamegraph"));
	ck_assert_ptr_null(strstr(buf_str(&log), "signature"));
	ck_assert_ptr_null(strstr(buf_str(&log), "stk_"));
}
END

SUITE("profiles", .seconds = 60);
