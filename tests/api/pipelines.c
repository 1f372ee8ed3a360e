/* The contract of family C: fields that clients of /v0/pipelines rely on. */
#include "base/json.h"
#include "lib/api_short.h"
#include "profile/gzip.h"
#include "store/worker.h"

#include <string.h>

#define PIPELINES "/v0/pipelines"
#define SAMPLY    PIPELINES "/" TEST_SERVICE "/samply_profile"

static struct client_reply
send(struct test_api *a, const char *method, const char *path)
{
	return api_say(a, KEY_OPERATOR, method, path, NULL);
}

static void
assert_message(const struct client_reply *r, const char *message)
{
	ck_assert_str_eq(reply_text(r, "message"), message);
}

/* Ends the waiting run, in success or failure. */
static void
end_run(struct test_api *a, bool well)
{
	CLEANUP_JOB struct job job = {0};
	struct session_result result = test_result();
	struct job_ref ref;

	test_claim(&a->store.s, &job);
	ref = job_ref(&job);
	if (well) {
		test_capture_end(a, &ref);
	} else {
		const struct job_end end = {
			.state = "failed",
			.error_code = "TargetGone",
			.error_message = "the target ended",
			.result = &result,
		};

		ck_assert_int_eq(job_finish(&a->store.s, &ref, &end), 0);
	}
}

TEST(a_start_answers_202_with_the_run)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = send(&a, "POST", SAMPLY);
	CLEANUP_SESSION struct session s = {0};

	ck_assert_int_eq(r.status, 202);
	ck_assert_ptr_nonnull(client_header(&r, "Location"));
	ck_assert_int_eq(
		session_get(&a.store.s, TEST_TENANT, reply_text(&r, "id"), &s),
		0);
	ck_assert_str_eq(s.origin, "samply");
	ck_assert_int_eq(s.asked_seconds, 30);
	ck_assert_int_eq(s.ordinal, 0);
}
END

TEST(the_seeds_example_of_an_unknown_name_is_answered_to_the_letter)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = send(
		&a, "POST", PIPELINES "/non-existent-pipeline/samply_profile");
	CLEANUP_JSON json_t *seed =
		json_pack("{s:s, s:s, s:{s:s}}", "message",
	                  "Unknown pipeline name 'non-existent-pipeline'",
	                  "error_code", "UnknownPipelineName", "details",
	                  "pipeline_name", "non-existent-pipeline");

	ck_assert_int_eq(r.status, 404);
	ck_assert(json_equal(r.json, seed));
}
END

static const char *const bad_names[] = {"%25", "$", "abc@", "-", "_-", "a."};

TEST(an_ill_formed_name_is_an_unknown_one)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(bad_names); i++) {
		char path[96];
		CLEANUP_REPLY struct client_reply r = {0};

		snprintf(path, sizeof(path), PIPELINES "/%s/samply_profile",
		         bad_names[i]);
		r = send(&a, "GET", path);
		ck_assert_msg(!strcmp(reply_text(&r, "error_code"),
		                      "UnknownPipelineName"),
		              "%s: %s", bad_names[i], buf_str(&r.body));
	}
}
END

TEST(one_run_at_a_time)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply first = send(&a, "POST", SAMPLY);
	CLEANUP_REPLY struct client_reply second = send(&a, "POST", SAMPLY);

	ck_assert_int_eq(first.status, 202);
	assert_error(&second, 409, "SamplyProfilingInProgress");
	assert_message(&second,
	               "samply profile collection is already in progress");
	ck_assert_int_ge(atoi(client_header(&second, "Retry-After")), 1);
}
END

TEST(of_two_starts_at_once_one_is_taken)
{
	CLEANUP_API struct test_api a = test_api(4, "");
	const struct ask q = {
		.key = KEY_OPERATOR, .method = "POST", .path = SAMPLY};
	int fds[4], taken = 0;

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = ask_begin(&a, q);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		CLEANUP_REPLY struct client_reply r = ask_end(fds[i]);

		taken += r.status == 202;
		ck_assert(r.status == 202 || r.status == 409);
	}
	ck_assert_int_eq(taken, 1);
}
END

TEST(a_capture_on_demand_is_not_in_the_way)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct job_ref ref = test_capture(&a);
	CLEANUP_REPLY struct client_reply r = send(&a, "POST", SAMPLY);

	ck_assert_int_eq(r.status, 202);
	test_capture_end(&a, &ref);
}
END

TEST(an_ordinal_that_does_not_run_is_404)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	test_looks(&a);
	r = send(&a, "POST", SAMPLY "?ordinal=7");
	assert_error(&r, 404, "UnknownOrdinal");
}
END

static const char *const bad_queries[] = {
	"?ordinal=x",      "?ordinal=-1",         "?duration_secs=0",
	"?duration_secs=", "?duration_secs=3601", "?duration_secs=1.5",
};

TEST(ill_formed_parameters_are_400_in_json)
{
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(bad_queries); i++) {
		char path[96];
		CLEANUP_REPLY struct client_reply r = {0};

		snprintf(path, sizeof(path), SAMPLY "%s", bad_queries[i]);
		r = send(&a, "POST", path);
		assert_error(&r, 400, "InvalidParameter");
	}
}
END

TEST(a_pipeline_that_does_not_run_is_503)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	test_sees_nothing(&a);
	r = send(&a, "POST", SAMPLY);
	assert_error(&r, 503, "PipelineUnavailable");
	ck_assert_str_eq(client_header(&r, "Retry-After"), "5");
}
END

TEST(without_a_profile_the_reply_says_how_to_get_one)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply idle = send(&a, "GET", SAMPLY);
	CLEANUP_REPLY struct client_reply made = send(&a, "POST", SAMPLY);
	CLEANUP_REPLY struct client_reply running = send(&a, "GET", SAMPLY);

	ck_assert_int_eq(made.status, 202);
	assert_error(&idle, 400, "NoSamplyProfile");
	assert_message(&idle,
	               "no samply profile found; trigger a samply profile by "
	               "making a POST request to `/samply_profile`");
	assert_error(&running, 400, "NoSamplyProfile");
}
END

TEST(latest_of_a_run_in_progress_is_204_with_retry_after)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = send(&a, "POST", SAMPLY);
	CLEANUP_REPLY struct client_reply r =
		send(&a, "GET", SAMPLY "?latest=true");

	ck_assert_int_eq(made.status, 202);
	ck_assert_int_eq(r.status, 204);
	ck_assert_uint_eq(r.body.len, 0);
	ck_assert_int_ge(atoi(client_header(&r, "Retry-After")), 1);
}
END

static void
assert_profile(const struct client_reply *r)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_JSON json_t *j = NULL;

	ck_assert_int_eq(r->status, 200);
	ck_assert_str_eq(client_header(r, "Content-Type"), "application/gzip");
	ck_assert_ptr_nonnull(strstr(client_header(r, "Content-Disposition"),
	                             "-samply_profile.json.gz\""));
	ck_assert_ptr_nonnull(client_header(r, "ETag"));
	ck_assert_int_eq(gzip_inflate(r->body.p, r->body.len, &raw), 0);
	j = json_loadb(raw.p, raw.len, 0, NULL);
	ck_assert_ptr_nonnull(json_object_get(j, "threads"));
	ck_assert_ptr_nonnull(json_object_get(j, "meta"));
}

TEST(a_good_run_is_answered_as_a_gzipped_profile)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = send(&a, "POST", SAMPLY);
	CLEANUP_REPLY struct client_reply got = {0}, again = {0};

	end_run(&a, true);
	got = send(&a, "GET", SAMPLY "?latest=true");
	assert_profile(&got);
	again = ask(&a,
	            (struct ask){.key = KEY_VIEWER,
	                         .path = SAMPLY,
	                         .if_none_match = client_header(&got, "ETag")});
	ck_assert_int_eq(again.status, 304);
}
END

TEST(a_failed_run_alone_is_500)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply made = send(&a, "POST", SAMPLY);
	CLEANUP_REPLY struct client_reply got = {0};

	end_run(&a, false);
	got = send(&a, "GET", SAMPLY);
	assert_error(&got, 500, "SamplyProfilingFailure");
	assert_message(&got, "failed to profile the pipeline using samply");
	ck_assert_str_eq(reply_detail(&got, "reason"), "the target ended");
}
END

TEST(a_later_failure_does_not_take_the_last_good_profile_away)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply first = send(&a, "POST", SAMPLY);
	CLEANUP_REPLY struct client_reply second = {0}, running = {0},
					  failed = {0};

	end_run(&a, true);
	second = send(&a, "POST", SAMPLY);
	ck_assert_int_eq(second.status, 202);
	running = send(&a, "GET", SAMPLY);
	assert_profile(&running);
	end_run(&a, false);
	failed = send(&a, "GET", SAMPLY);
	assert_profile(&failed);
	ck_assert_str_eq(client_header(&failed, "X-Profile-Id"),
	                 reply_text(&first, "id"));
}
END

TEST(a_run_is_cancelled_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply none = send(&a, "DELETE", SAMPLY);
	CLEANUP_REPLY struct client_reply made = send(&a, "POST", SAMPLY);
	CLEANUP_REPLY struct client_reply gone = send(&a, "DELETE", SAMPLY);
	CLEANUP_REPLY struct client_reply again = send(&a, "DELETE", SAMPLY);
	CLEANUP_REPLY struct client_reply free_again = send(&a, "POST", SAMPLY);

	assert_error(&none, 404, "NoSamplyRun");
	ck_assert_int_eq(made.status, 202);
	ck_assert_int_eq(gone.status, 202);
	assert_error(&again, 404, "NoSamplyRun");
	ck_assert_int_eq(free_again.status, 202);
}
END

TEST(pipelines_are_listed_with_their_ordinals)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = send(&a, "GET", PIPELINES);
	const json_t *one = json_array_get(json_object_get(r.json, "items"), 0);
	const json_t *ordinals = json_object_get(one, "ordinals");

	ck_assert_str_eq(json_string_value(json_object_get(one, "name")),
	                 TEST_SERVICE);
	ck_assert_str_eq(json_string_value(json_object_get(one, "status")),
	                 "running");
	ck_assert_uint_eq(json_array_size(ordinals), 1);
}
END

SUITE("pipelines");
