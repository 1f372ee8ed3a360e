/* Hosts of a fleet: what the keys of their workers allow. */
#include "store/agent.h"
#include "base/clock.h"
#include "base/file.h"
#include "lib/api_rows.h"
#include "lib/api_short.h"
#include "profile/listing.h"
#include "profile/pprof.h"
#include "store/blob.h"

#include <fcntl.h>
#include <string.h>

#define POLL "/agent/poll"

/* Starts an API whose worker's key is that of the host of test_capture(). */
static struct test_api
agent_api(void)
{
	struct test_api a = test_api(1, "");

	test_sql(&a.store,
	         "UPDATE token SET host = '" TEST_HOST
	         "' WHERE role = 'worker'",
	         NULL, 0);
	test_sql(&a.store,
	         "UPDATE worker SET tenants = 't t2' WHERE host = '" TEST_HOST
	         "'",
	         NULL, 0);
	return a;
}

static struct client_reply
poll_as(struct test_api *a, enum api_key key, const char *body)
{
	return api_say(a, key, "POST", POLL, body);
}

static struct client_reply
send_result(struct test_api *a, const char *id, const char *body, size_t n)
{
	char path[128];

	snprintf(path, sizeof(path), "/agent/result/%s", id);
	return ask(a, (struct ask){.key = KEY_WORKER,
	                           .method = "POST",
	                           .path = path,
	                           .type = "application/octet-stream",
	                           .body = body,
	                           .body_len = n});
}

/* Writes a gzipped profile of one sample. */
static void
small_profile(struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = profile_new();

	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	ck_assert_int_eq(pprof_encode(p, out), 0);
}

#define TOP                                                           \
	"[{\"funcName\":\"work\",\"package\":\"app\",\"selfPct\":50," \
	"\"cumulativePct\":100,\"sampleCount\":\"2\"}]"

/* Appends the first line of a result that succeeded. */
static void
put_line(struct buf *out, int attempt, const char *top, const char *quality,
         size_t profile, size_t timeline)
{
	buf_addf(out,
	         "{\"host\":\"" TEST_HOST "\",\"attempt\":%d,"
	         "\"state\":\"done\",\"errorCode\":\"\","
	         "\"errorMessage\":\"\",\"beganAgoMs\":5000,"
	         "\"endedAgoMs\":3000,\"durationMs\":2000,"
	         "\"sampleCount\":2,\"rate\":99.5,\"topFunctions\":%s,"
	         "\"labels\":{\"image\":\"shop/web\",\"empty\":\"\"},"
	         "\"quality\":%s,\"profileBytes\":%zu,"
	         "\"timelineBytes\":%zu}\n",
	         attempt, top, quality, profile, timeline);
}

static struct client_reply
send_good(struct test_api *a, const struct job_ref *ref)
{
	CLEANUP_BUF struct buf bytes = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);

	small_profile(&bytes);
	put_line(&body, (int)ref->attempt, TOP, "{\"samplesKept\":2}",
	         bytes.len, 0);
	buf_add(&body, bytes.p, bytes.len);
	return send_result(a, ref->session, body.p, body.len);
}

static void
enqueue(struct test_api *a, const char *host, char id[static ID_MAX])
{
	const struct session_ask q = test_ask();

	ck_assert_int_eq(job_enqueue(&a->store.s, &q, host, id), 0);
}

/* --- polls ---------------------------------------------------------------- */

TEST(a_job_is_given_until_the_host_tells_of_it)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_BUF struct buf told = BUF_INIT(1024);
	char id[ID_MAX];

	enqueue(&a, TEST_HOST, id);
	for (int i = 0; i < 2; i++) {
		CLEANUP_REPLY struct client_reply r =
			poll_as(&a, KEY_WORKER, "{\"room\":4}");
		const json_t *job =
			json_array_get(json_object_get(r.json, "jobs"), 0);

		ck_assert_uint_eq(length_of(&r, "jobs"), 1);
		ck_assert_str_eq(
			json_string_value(json_object_get(job, "sessionId")),
			id);
		ck_assert_int_eq(
			json_integer_value(json_object_get(job, "attempt")), 1);
	}
	buf_addf(&told,
	         "{\"jobs\":[{\"sessionId\":\"%s\",\"attempt\":1,"
	         "\"phase\":\"capturing\",\"percent\":30,\"samples\":7}]}",
	         id);
	{
		CLEANUP_REPLY struct client_reply r =
			poll_as(&a, KEY_WORKER, buf_str(&told));
		CLEANUP_SESSION struct session s = {0};

		ck_assert_uint_eq(length_of(&r, "jobs"), 0);
		ck_assert_uint_eq(length_of(&r, "stale"), 0);
		ck_assert_int_eq(session_get(&a.store.s, TEST_TENANT, id, &s),
		                 0);
		ck_assert_int_eq(s.sample_count, 7);
		ck_assert_double_eq_tol(s.progress, 0.3, 1e-9);
	}
}
END

TEST(no_job_is_given_without_room)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	enqueue(&a, TEST_HOST, id);
	r = poll_as(&a, KEY_WORKER, "{}");
	ck_assert_uint_eq(length_of(&r, "jobs"), 0);
}
END

TEST(a_job_of_another_host_is_not_given)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	enqueue(&a, "host2", id);
	r = poll_as(&a, KEY_WORKER, "{\"room\":4}");
	ck_assert_uint_eq(length_of(&r, "jobs"), 0);
}
END

TEST(a_job_of_a_tenant_that_the_key_does_not_open_fails)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_SESSION struct session s = {0};
	char id[ID_MAX];

	enqueue(&a, TEST_HOST, id);
	test_sql(&a.store,
	         "UPDATE token SET tenants = 't2' WHERE role = 'worker'", NULL,
	         0);
	r = poll_as(&a, KEY_WORKER, "{\"room\":4}");
	ck_assert_uint_eq(length_of(&r, "jobs"), 0);
	ck_assert_int_eq(session_get(&a.store.s, TEST_TENANT, id, &s), 0);
	ck_assert_str_eq(s.error_code, "HostForbidden");
}
END

TEST(what_the_centre_does_not_know_is_stale)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_BUF struct buf told = BUF_INIT(1024);
	CLEANUP_REPLY struct client_reply r = {0};
	char other[ID_MAX];

	enqueue(&a, "host2", other);
	buf_addf(&told,
	         "{\"jobs\":[{\"sessionId\":\"sess-none\",\"attempt\":1,"
	         "\"phase\":\"done\"},{\"sessionId\":\"%s\",\"attempt\":1,"
	         "\"phase\":\"capturing\"}]}",
	         other);
	r = poll_as(&a, KEY_WORKER, buf_str(&told));
	ck_assert_uint_eq(length_of(&r, "stale"), 2);
}
END

TEST(a_job_that_was_queued_again_goes_on_where_it_is)
{
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref ref = test_capture(&a);
	CLEANUP_BUF struct buf told = BUF_INIT(1024);
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_AGENT_JOB struct agent_job j = {0};

	ck_assert_int_eq(job_requeue(&a.store.s, &ref), 0);
	buf_addf(&told,
	         "{\"room\":1,\"jobs\":[{\"sessionId\":\"%s\",\"attempt\":%d,"
	         "\"phase\":\"capturing\"}]}",
	         ref.session, (int)ref.attempt);
	r = poll_as(&a, KEY_WORKER, buf_str(&told));
	ck_assert_uint_eq(length_of(&r, "jobs"), 0);
	ck_assert_uint_eq(length_of(&r, "stale"), 0);
	ck_assert_int_eq(agent_find(&a.store.s, TEST_HOST, ref.session, &j), 0);
	ck_assert_str_eq(j.state, "running");
	ck_assert_int_eq(j.attempt, ref.attempt);
}
END

/* Reports a first attempt in a poll while the centre has a second one. */
static struct client_reply
poll_of_first(struct test_api *a, const struct job_ref *first)
{
	CLEANUP_BUF struct buf told = BUF_INIT(1024);

	buf_addf(&told,
	         "{\"room\":1,\"jobs\":[{\"sessionId\":\"%s\",\"attempt\":%d,"
	         "\"phase\":\"capturing\"}]}",
	         first->session, (int)first->attempt);
	return poll_as(a, KEY_WORKER, buf_str(&told));
}

TEST(a_host_that_works_on_an_earlier_attempt_is_given_the_job_again)
{
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref first = test_capture(&a);
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_JOB struct job second = {0};
	const json_t *job;

	ck_assert_int_eq(job_requeue(&a.store.s, &first), 0);
	test_claim(&a.store.s, &second);
	r = poll_of_first(&a, &first);
	ck_assert_uint_eq(length_of(&r, "jobs"), 1);
	job = json_array_get(json_object_get(r.json, "jobs"), 0);
	ck_assert_int_eq(json_integer_value(json_object_get(job, "attempt")),
	                 second.attempt);
	ck_assert_uint_eq(length_of(&r, "stale"), 0);
}
END

TEST(a_capture_is_completed_where_it_runs)
{
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref ref = test_capture(&a);
	CLEANUP_REPLY struct client_reply r = {0};
	const json_t *list;

	ck_assert_int_eq(job_complete(&a.store.s, TEST_TENANT, ref.session), 0);
	r = poll_of_first(&a, &ref);
	list = json_object_get(r.json, "complete");
	ck_assert_uint_eq(json_array_size(list), 1);
	ck_assert_str_eq(json_string_value(json_array_get(list, 0)),
	                 ref.session);
	ck_assert_uint_eq(length_of(&r, "cancel"), 0);
}
END

TEST(an_earlier_attempt_of_a_job_that_failed_is_stale)
{
	static const struct job_end died = {
		"failed", "WorkerDied", "silent", NULL, NULL, NULL, NULL};
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref first = test_capture(&a), ref;
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_JOB struct job second = {0};

	ck_assert_int_eq(job_requeue(&a.store.s, &first), 0);
	test_claim(&a.store.s, &second);
	ref = job_ref(&second);
	ck_assert_int_eq(job_finish(&a.store.s, &ref, &died), 0);
	r = poll_of_first(&a, &first);
	ck_assert_uint_eq(length_of(&r, "stale"), 1);
}
END

/* Adds a service like svc that runs on this host. */
static void
make_service(struct test_api *a, const char *name, const char *host)
{
	CLEANUP_SERVICE struct service v = {0};

	ck_assert_int_eq(
		service_get(&a->store.s, TEST_TENANT, TEST_SERVICE, &v), 0);
	free(v.name);
	free(v.host);
	v.name = strdup(name);
	v.host = strdup(host);
	ck_assert_int_eq(service_add(&a->store.s, &v), 0);
}

TEST(a_host_is_told_of_its_own_services_and_those_of_any_host)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply r = {0};

	make_service(&a, "elsewhere", "host2");
	make_service(&a, "own", TEST_HOST);
	r = poll_as(&a, KEY_WORKER, "{}");
	ck_assert_uint_eq(length_of(&r, "services"), 2); /* own, and svc */
	ck_assert_ptr_nonnull(strstr(buf_str(&r.body), "\"own\""));
	ck_assert_ptr_null(strstr(buf_str(&r.body), "\"elsewhere\""));
}
END

TEST(services_are_listed_once_for_each_change)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_BUF struct buf body = BUF_INIT(1024);
	CLEANUP_REPLY struct client_reply first = {0}, second = {0},
					  third = {0};

	test_sql(&a.store, "UPDATE service SET updated_ms = 1000", NULL, 0);
	first = poll_as(&a, KEY_WORKER, "{}");
	ck_assert(json_is_true(json_object_get(first.json, "changed")));
	ck_assert_uint_eq(length_of(&first, "services"), 1);
	buf_addf(&body, "{\"generation\":\"%s\"}",
	         reply_text(&first, "generation"));
	second = poll_as(&a, KEY_WORKER, buf_str(&body));
	ck_assert(json_is_false(json_object_get(second.json, "changed")));
	ck_assert_uint_eq(length_of(&second, "services"), 0);
	test_sql(&a.store, "UPDATE service SET updated_ms = 1001", NULL, 0);
	third = poll_as(&a, KEY_WORKER, buf_str(&body));
	ck_assert_uint_eq(length_of(&third, "services"), 1);
}
END

TEST(processes_are_those_of_the_keys_host_and_of_services_there)
{
	static const char body[] =
		"{\"processes\":[{\"tenant\":\"t\",\"service\":\"svc\","
		"\"ordinal\":3,\"pid\":9,\"startTime\":5,\"argv0\":\"/bin/x\","
		"\"cmdline\":\"/bin/x -y\"},{\"tenant\":\"t\",\"service\":"
		"\"none\",\"ordinal\":0,\"pid\":9},{\"tenant\":\"other\","
		"\"service\":\"svc\",\"ordinal\":0,\"pid\":9}],\"trees\":[]}";
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply r = poll_as(&a, KEY_WORKER, body);
	CLEANUP_PROCESSES struct process_list l = {0};

	ck_assert_int_eq(r.status, 200);
	ck_assert_int_eq(process_list_host(&a.store.s, TEST_HOST, &l), 0);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.items[0].ordinal, 3);
	ck_assert_str_eq(l.items[0].cmdline, "/bin/x -y");
}
END

/* Who asks for a look takes the first one since then for the answer. */
TEST(a_host_is_asked_for_a_look_until_it_tells_of_one_and_tells_of_no_later_one)
{
	static const struct {
		int64_t later_ms; /* than the question */
		int64_t noted_ms; /* the same, of what is stored then */
		bool asked;       /* for a look */
	} rows[] = {
		{1, INT64_MIN, true}, {-1, -1, true}, {-2, -1, true},
		{1, -1, true},        {0, 0, false},  {-1, 0, false},
	};
	CLEANUP_API struct test_api a = agent_api();
	int64_t asked_ms, wanted_ms, looked_ms;

	ck_assert_int_eq(worker_look_ask(&a.store.s, TEST_HOST, &asked_ms), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		int64_t noted_ms = rows[i].noted_ms == INT64_MIN
		                           ? 0
		                           : asked_ms + rows[i].noted_ms;
		char body[64];

		snprintf(body, sizeof(body), "{\"looked\":%lld}",
		         (long long)(asked_ms + rows[i].later_ms));
		r = poll_as(&a, KEY_WORKER, body);
		ck_assert_int_eq(r.status, 200);
		ck_assert_int_eq(worker_look(&a.store.s, TEST_HOST, &wanted_ms,
		                             &looked_ms),
		                 0);
		ck_assert_msg(looked_ms == noted_ms, "row %zu", i);
		ck_assert_msg(
			json_integer_value(json_object_get(r.json, "look")) ==
				(rows[i].asked ? asked_ms : 0),
			"row %zu", i);
	}
}
END

TEST(a_host_polls_for_nobody_but_the_host_of_its_key)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply own =
		poll_as(&a, KEY_WORKER, "{\"host\":\"" TEST_HOST "\"}");
	CLEANUP_REPLY struct client_reply other =
		poll_as(&a, KEY_WORKER, "{\"host\":\"" TEST_HOST "2\"}");

	ck_assert_int_eq(own.status, 200);
	assert_error(&other, 400, "InvalidParameter");
}
END

/* --- hostile bodies ------------------------------------------------------- */

TEST(a_poll_refuses_what_is_out_of_bounds)
{
	static const char *const bodies[] = {
		"{\"host\":\"host2\"}",
		"{\"jobs\":[{\"sessionId\":\"x\",\"attempt\":1,\"phase\":"
		"\"done\"}]}",
		"{\"jobs\":[{\"sessionId\":\"sess-x\",\"attempt\":0,"
		"\"phase\":\"done\"}]}",
		"{\"jobs\":[{\"sessionId\":\"sess-x\",\"attempt\":1,"
		"\"phase\":\"flying\"}]}",
		"{\"jobs\":[{\"sessionId\":\"sess-x\",\"attempt\":1,"
		"\"phase\":\"done\",\"percent\":101}]}",
		"{\"jobs\":[{\"sessionId\":\"sess-x\",\"attempt\":1,"
		"\"phase\":\"done\",\"samples\":-1}]}",
		"{\"jobs\":[{\"attempt\":1,\"phase\":\"done\"}]}",
		"{\"processes\":[{\"service\":\"svc\"}]}",
		"{\"processes\":[{\"tenant\":\"t\",\"service\":\"../svc\"}]}",
		"{\"processes\":[{\"tenant\":\"t t2\",\"service\":\"svc\"}]}",
		"{\"processes\":[{\"tenant\":\"t\",\"service\":\"svc\","
		"\"ordinal\":65536}]}",
		"{\"processes\":[{\"tenant\":\"t\",\"service\":\"svc\","
		"\"cmdline\":\"a\\u0007\"}]}",
		"{\"processes\":[],\"trees\":[{\"tenant\":\"t\","
		"\"service\":\"svc\",\"refused\":-1}]}",
	};
	CLEANUP_API struct test_api a = agent_api();

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		CLEANUP_REPLY struct client_reply r =
			poll_as(&a, KEY_WORKER, bodies[i]);

		ck_assert_msg(r.status == 400, "%s: %s", bodies[i],
		              buf_str(&r.body));
		assert_error(&r, 400, "InvalidParameter");
	}
	{
		CLEANUP_REPLY struct client_reply r = poll_as(
			&a, KEY_WORKER, "{\"generation\":\"\xff\xfe\"}");

		assert_error(&r, 400, "InvalidJson");
	}
}
END

TEST(a_result_refuses_a_line_that_is_out_of_bounds)
{
	static const struct {
		const char *why, *body;
	} rows[] = {
		{"nothing", ""},           {"no line", "{}"},
		{"no JSON", "nope\n"},     {"no object", "[]\n"},
		{"nothing in it", "{}\n"}, {"a host", "{\"host\":\"host2\"}\n"},
	};
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref ref = test_capture(&a);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r = send_result(
			&a, ref.session, rows[i].body, strlen(rows[i].body));

		ck_assert_msg(r.status == 400, "%s: %d %s", rows[i].why,
		              r.status, buf_str(&r.body));
	}
}
END

TEST(a_result_refuses_members_that_are_forged)
{
	static const struct {
		const char *top, *quality;
		size_t profile, timeline;
	} rows[] = {
		{"{}", "{}", 0, 0},
		{"[7]", "{}", 0, 0},
		{"[{\"funcName\":1}]", "{}", 0, 0},
		{"[{\"funcName\":\"f\",\"package\":\"p\",\"selfPct\":\"1\","
	         "\"cumulativePct\":1,\"sampleCount\":\"1\"}]",
	         "{}", 0, 0},
		{"[]", "[]", 0, 0},
		{"[]", "7", 0, 0},
		{"[]", "{}", 1, 0},
		{"[]", "{}", 0, 1},
		{"[]", "{}", (size_t)1 << 40, 0},
	};
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref ref = test_capture(&a);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_REPLY struct client_reply r = {0};

		put_line(&body, (int)ref.attempt, rows[i].top, rows[i].quality,
		         rows[i].profile, rows[i].timeline);
		r = send_result(&a, ref.session, body.p, body.len);
		ck_assert_msg(r.status == 400, "row %zu: %d %s", i, r.status,
		              buf_str(&r.body));
	}
}
END

TEST(a_result_whose_profile_is_none_is_refused)
{
	static const char *const bytes[] = {"not gzipped at all",
	                                    "\x1f\x8b\x08 broken off"};
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref ref = test_capture(&a);

	for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
		CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_REPLY struct client_reply r = {0};
		CLEANUP_SESSION struct session s = {0};

		put_line(&body, (int)ref.attempt, TOP, "{}", strlen(bytes[i]),
		         0);
		buf_puts(&body, bytes[i]);
		r = send_result(&a, ref.session, body.p, body.len);
		assert_error(&r, 400, "InvalidProfile");
		ck_assert_int_eq(
			session_get(&a.store.s, TEST_TENANT, ref.session, &s),
			0);
		ck_assert_str_eq(s.status, SESSION_RUNNING);
	}
}
END

/* --- results -------------------------------------------------------------- */

#define LISTING       "no listing"
#define LISTING_BYTES (sizeof(LISTING) - 1)

/* The centre stores a listing as it came: readers decode it. */
TEST(a_listing_follows_the_profile_and_may_be_damaged)
{
	static const struct {
		size_t bytes;
		int status;
	} rows[] = {{LISTING_MAX_FILE + 1, 400},
	            {LISTING_BYTES - 1, 400},
	            {LISTING_BYTES + 1, 400},
	            {LISTING_BYTES, 200}};
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply view = {0};
	CLEANUP_BUF struct buf profile = BUF_INIT(BUF_MAX_SMALL);
	struct job_ref ref = test_capture(&a);
	struct blob blob;
	char path[128];

	small_profile(&profile);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_REPLY struct client_reply r = {0};

		put_line(&body, (int)ref.attempt, TOP, "{}", profile.len, 0);
		body.len -= strlen("}\n");
		buf_addf(&body, ",\"listingBytes\":%zu}\n", rows[i].bytes);
		buf_add(&body, profile.p, profile.len);
		buf_puts(&body, LISTING);
		r = send_result(&a, ref.session, body.p, body.len);
		ck_assert_msg(r.status == rows[i].status, "row %zu: %s", i,
		              buf_str(&r.body));
	}
	ck_assert_int_eq(
		blob_of_session(&a.store.s, ref.session, BLOB_LISTING, &blob),
		0);
	ck_assert_int_eq(blob.length, LISTING_BYTES);
	snprintf(path, sizeof(path),
	         "/api/v1/observability/profiling/%s/flamegraph?format=listing",
	         ref.session);
	view = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	ck_assert_int_eq(view.status, 200);
	ck_assert_uint_eq(length_of(&view, "functions"), 0);
}
END

TEST(a_result_is_stored_once_and_may_be_repeated)
{
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref ref = test_capture(&a);
	CLEANUP_SESSION struct session s = {0};

	for (int again = 0; again < 2; again++) {
		CLEANUP_REPLY struct client_reply r = send_good(&a, &ref);

		ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
		ck_assert_int_eq(json_is_true(json_object_get(r.json, "again")),
		                 again);
	}
	ck_assert_int_eq(session_get(&a.store.s, TEST_TENANT, ref.session, &s),
	                 0);
	ck_assert_str_eq(s.status, SESSION_COMPLETED);
	ck_assert_int_eq(s.sample_count, 2);
	ck_assert_int_eq(s.duration_ms, 2000);
	ck_assert_str_eq(s.top_functions, TOP);
	ck_assert_str_eq(s.labels, "{\"image\":\"shop/web\"}");
	ck_assert_int_eq(s.has_profile, 1);
}
END

TEST(a_result_of_an_attempt_that_was_given_up_is_409)
{
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref old = test_capture(&a);
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_JOB struct job job = {0};

	ck_assert_int_eq(job_requeue(&a.store.s, &old), 0);
	test_claim(&a.store.s, &job);
	r = send_good(&a, &old);
	assert_error(&r, 409, "StaleAttempt");
}
END

TEST(a_job_that_no_host_has_taken_has_no_result)
{
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref ref = {.attempt = 0};
	CLEANUP_REPLY struct client_reply r = {0};

	enqueue(&a, TEST_HOST, ref.session);
	r = send_good(&a, &ref);
	assert_error(&r, 409, "StaleAttempt");
}
END

TEST(a_result_comes_late_but_not_in_vain)
{
	static const struct job_end died = {
		"failed", "WorkerDied", "silent", NULL, NULL, NULL, NULL};
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref ref = test_capture(&a);
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_SESSION struct session s = {0};

	ck_assert_int_eq(job_finish(&a.store.s, &ref, &died), 0);
	r = send_good(&a, &ref);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_int_eq(session_get(&a.store.s, TEST_TENANT, ref.session, &s),
	                 0);
	ck_assert_str_eq(s.status, SESSION_COMPLETED);
	ck_assert_str_eq(s.error_code, "");
}
END

TEST(a_result_of_a_cancelled_job_is_409)
{
	static const struct job_end end = {"cancelled", "Cancelled", "",  NULL,
	                                   NULL,        NULL,        NULL};
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref ref = test_capture(&a);
	CLEANUP_REPLY struct client_reply r = {0};

	ck_assert_int_eq(job_finish(&a.store.s, &ref, &end), 0);
	r = send_good(&a, &ref);
	assert_error(&r, 409, "StaleAttempt");
}
END

TEST(a_session_of_another_host_or_tenant_is_404)
{
	CLEANUP_API struct test_api a = agent_api();
	struct job_ref ref = test_capture(&a);
	static const char *const sql[] = {
		"UPDATE token SET host = 'host2' WHERE role = 'worker'",
		"UPDATE token SET host = 'host1', tenants = 't2' "
		"WHERE role = 'worker'",
	};

	for (size_t i = 0; i < ARRAY_LEN(sql); i++) {
		CLEANUP_REPLY struct client_reply r = {0};

		test_sql(&a.store, sql[i], NULL, 0);
		r = send_good(&a, &ref);
		assert_error(&r, 404, "UnknownSession");
	}
}
END

/* --- joining -------------------------------------------------------------- */

static struct client_reply
join(struct test_api *a, const char *token, const char *host)
{
	char body[512];

	snprintf(body, sizeof(body), "{\"token\":\"%s\",\"host\":\"%s\"}",
	         token, host);
	return ask(a, (struct ask){.method = "POST",
	                           .path = "/agent/join",
	                           .body = body});
}

/* Makes a key for joining, as an admin does. */
static void
join_key(struct test_api *a, enum api_key key, const char *more,
         char out[static TOKEN_KEY_MAX])
{
	CLEANUP_REPLY struct client_reply r = {0};
	char body[256];

	snprintf(body, sizeof(body), "{\"name\":\"j\",\"role\":\"join\"%s}",
	         more);
	r = api_say(a, key, "POST", "/api/v1/tokens", body);
	ck_assert_msg(r.status == 201, "%s", buf_str(&r.body));
	snprintf(out, TOKEN_KEY_MAX, "%s", reply_text(&r, "key"));
}

TEST(a_key_for_joining_is_traded_once)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply good = {0}, again = {0}, poll = {0};
	char key[TOKEN_KEY_MAX];

	join_key(&a, KEY_ADMIN, "", key);
	good = join(&a, key, "fresh");
	ck_assert_msg(good.status == 201, "%s", buf_str(&good.body));
	ck_assert_str_eq(reply_text(&good, "host"), "fresh");
	ck_assert_str_eq(client_header(&good, "Cache-Control"), "no-store");
	again = join(&a, key, "fresh");
	assert_error(&again, 401, "Unauthorized");
	poll = ask(&a, (struct ask){.bearer = reply_text(&good, "key"),
	                            .method = "POST",
	                            .path = POLL,
	                            .body = "{\"host\":\"fresh\"}"});
	ck_assert_int_eq(poll.status, 200);
}
END

TEST(no_host_is_called_as_series_of_pushes_are)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply r = {0};
	char key[TOKEN_KEY_MAX];

	join_key(&a, KEY_ADMIN, "", key);
	r = join(&a, key, "ingest");
	assert_error(&r, 400, "InvalidParameter");
}
END

/*
 * Sends a block of the fuzzers' corpus, which belongs to tenant t, with a
 * worker's key.
 */
static struct client_reply
send_block(struct test_api *a, const char *file)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	char path[96];

	snprintf(path, sizeof(path), "tests/data/fuzz/block/%s", file);
	ck_assert_int_eq(file_read(AT_FDCWD, path, &b), 0);
	return ask(a, (struct ask){.key = KEY_WORKER,
	                           .method = "POST",
	                           .path = "/agent/block",
	                           .body = buf_str(&b),
	                           .body_len = b.len,
	                           .type = "application/octet-stream"});
}

TEST(a_block_is_stored_once_and_its_repeat_is_a_success)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply first = {0}, again = {0}, hour = {0},
					  late = {0}, other = {0};

	first = send_block(&a, "fresh");
	ck_assert_msg(first.status == 200, "%s", buf_str(&first.body));
	ck_assert(json_is_false(json_object_get(first.json, "again")));
	again = send_block(&a, "fresh");
	ck_assert_int_eq(again.status, 200);
	ck_assert(json_is_true(json_object_get(again.json, "again")));
	hour = send_block(&a, "minutes");
	ck_assert_msg(hour.status == 200, "%s", buf_str(&hour.body));
	late = send_block(&a, "fresh");
	ck_assert(json_is_true(json_object_get(late.json, "again")));
	other = send_block(&a, "day");
	assert_error(&other, 403, "TenantForbidden");
}
END

TEST(a_block_whose_time_is_here_in_part_is_refused_with_that_time)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply r = {0};

	test_sql(&a.store,
	         "INSERT INTO block_cursor (tenant, host, tier, end_ms) "
	         "SELECT 't', host, 0, 1728000030000 FROM token "
	         "WHERE role = 'worker'",
	         NULL, 0);
	r = send_block(&a, "fresh");
	assert_error(&r, 409, "BlockOverlaps");
	ck_assert_str_eq(reply_detail(&r, "cursorMs"), "1728000030000");
}
END

TEST(a_key_for_joining_opens_nothing_by_itself)
{
	CLEANUP_API struct test_api a = agent_api();
	char key[TOKEN_KEY_MAX];

	join_key(&a, KEY_ADMIN, "", key);
	EACH_ROUTE(r) {
		CLEANUP_GOOD struct good g = good_ask(r, "sess-x");
		CLEANUP_REPLY struct client_reply reply = {0};

		if (r->who == WHO_ANYONE)
			continue;
		g.ask.bearer = key;
		reply = ask(&a, g.ask);
		assert_error(&reply, 403, "Forbidden");
	}
}
END

TEST(no_other_key_joins)
{
	CLEANUP_API struct test_api a = agent_api();

	for (enum api_key k = KEY_VIEWER; k <= KEY_WORKER; k++) {
		CLEANUP_REPLY struct client_reply r =
			join(&a, a.keys[k], "fresh");

		assert_error(&r, 401, "Unauthorized");
	}
}
END

TEST(a_host_takes_no_name_that_is_another_s)
{
	CLEANUP_API struct test_api a = agent_api();
	char self[TOKEN_KEY_MAX], named[TOKEN_KEY_MAX], other[TOKEN_KEY_MAX],
		narrow[TOKEN_KEY_MAX], wide[TOKEN_KEY_MAX];
	CLEANUP_REPLY struct client_reply r1 = {0}, r2 = {0}, r3 = {0},
					  r4 = {0}, r5 = {0};
	const json_t *tenants;

	join_key(&a, KEY_ADMIN, "", self);
	join_key(&a, KEY_OTHER, ",\"host\":\"host1\"", other);
	join_key(&a, KEY_ADMIN, ",\"host\":\"host1\"", narrow);
	join_key(&a, KEY_ADMIN,
	         ",\"host\":\"host1\",\"tenants\":[\"t\",\"t2\"]", named);
	join_key(&a, KEY_ADMIN, ",\"tenants\":[\"t\",\"t2\"]", wide);
	r5 = join(&a, wide, TEST_HOST);
	assert_error(&r5, 409, "HostTaken");
	r1 = join(&a, self, TEST_HOST);
	assert_error(&r1, 409, "HostTaken");
	r2 = join(&a, other, TEST_HOST);
	assert_error(&r2, 409, "HostTaken");
	r3 = join(&a, narrow, TEST_HOST);
	assert_error(&r3, 409, "HostTaken");
	r4 = join(&a, named, TEST_HOST);
	ck_assert_msg(r4.status == 201, "%s", buf_str(&r4.body));
	tenants = json_object_get(r4.json, "tenants");
	ck_assert_uint_eq(json_array_size(tenants), 2);
	ck_assert_str_eq(json_string_value(json_array_get(tenants, 0)), "t");
	ck_assert_str_eq(json_string_value(json_array_get(tenants, 1)), "t2");
	/* the host's old key was revoked */
	{
		CLEANUP_REPLY struct client_reply old =
			poll_as(&a, KEY_WORKER, "{}");

		assert_error(&old, 401, "Unauthorized");
	}
	/* a key is used up even if the join was refused */
	{
		CLEANUP_REPLY struct client_reply r = join(&a, self, "free");

		assert_error(&r, 401, "Unauthorized");
	}
}
END

/* A stopped worker is not alive until it has started again. */
TEST(a_host_takes_no_name_that_a_stopped_worker_of_the_store_has)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r1 = {0}, r2 = {0}, polled = {0};
	char first[TOKEN_KEY_MAX], second[TOKEN_KEY_MAX];

	test_heartbeat(&a.store.s, "centre", 1);
	ck_assert_int_eq(worker_stop(&a.store.s, "centre"), 0);
	join_key(&a, KEY_OTHER, "", first);
	join_key(&a, KEY_OTHER, ",\"host\":\"centre\"", second);
	r1 = join(&a, first, "centre");
	assert_error(&r1, 409, "HostTaken");
	r2 = join(&a, second, "centre");
	assert_error(&r2, 409, "HostTaken");
	/* makes the key older than the worker's name */
	test_sql(&a.store,
	         "UPDATE token SET host = 'centre' WHERE role = 'worker'", NULL,
	         0);
	polled = poll_as(&a, KEY_WORKER, "{\"processes\":[]}");
	assert_error(&polled, 409, "HostTaken");
}
END

TEST(a_host_takes_no_name_of_one_that_served_other_tenants)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply theirs = {0}, own = {0};
	char other[TOKEN_KEY_MAX], wide[TOKEN_KEY_MAX];

	test_sql(&a.store,
	         "UPDATE token SET revoked_ms = 1 "
	         "WHERE role = 'worker'",
	         NULL, 0);
	join_key(&a, KEY_OTHER, ",\"host\":\"host1\"", other);
	theirs = join(&a, other, TEST_HOST);
	assert_error(&theirs, 409, "HostTaken");
	join_key(&a, KEY_ADMIN, ",\"tenants\":[\"t\",\"t2\"]", wide);
	own = join(&a, wide, TEST_HOST);
	ck_assert_int_eq(own.status, 201);
}
END

TEST(a_host_that_joins_is_told_each_of_its_tenants_once)
{
	static const char *const want[] = {"tea", "te", "cup"};
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply r = {0};
	char key[TOKEN_KEY_MAX];
	const json_t *tenants;

	join_key(&a, KEY_ADMIN, "", key);
	test_sql(&a.store,
	         "UPDATE token SET default_tenant = 'tea', "
	         "tenants = 'te tea cup' WHERE role = 'join'",
	         NULL, 0);
	r = join(&a, key, "fresh");
	ck_assert_msg(r.status == 201, "%s", buf_str(&r.body));
	tenants = json_object_get(r.json, "tenants");
	ck_assert_uint_eq(json_array_size(tenants), ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		ck_assert_str_eq(json_string_value(json_array_get(tenants, i)),
		                 want[i]);
}
END

TEST(a_key_for_joining_names_its_host_and_lives_a_day_at_most)
{
	CLEANUP_API struct test_api a = agent_api();
	char key[TOKEN_KEY_MAX];
	CLEANUP_REPLY struct client_reply r = {0}, late = {0}, role = {0};

	join_key(&a, KEY_ADMIN, ",\"host\":\"one\"", key);
	r = join(&a, key, "two");
	assert_error(&r, 409, "JoinNameDiffers");
	late = ask(&a,
	           (struct ask){
			   .key = KEY_ADMIN,
			   .method = "POST",
			   .path = "/api/v1/tokens",
			   .body = "{\"name\":\"j\",\"role\":\"join\","
				   "\"expiresAt\":\"2100-01-01T00:00:00Z\"}"});
	assert_error(&late, 400, "InvalidParameter");
	role = ask(&a, (struct ask){.key = KEY_ADMIN,
	                            .method = "POST",
	                            .path = "/api/v1/tokens",
	                            .body = "{\"name\":\"j\","
	                                    "\"role\":\"worker\"}"});
	assert_error(&role, 400, "InvalidParameter");
}
END

static struct client_reply
make_key(struct test_api *a, const char *body)
{
	return api_say(a, KEY_ADMIN, "POST", "/api/v1/tokens", body);
}

TEST(only_keys_for_joining_name_a_host_and_end_by_themselves)
{
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply host = {0}, viewer = {0}, late = {0};

	host = make_key(&a, "{\"name\":\"v\",\"role\":\"viewer\","
	                    "\"host\":\"one\"}");
	assert_error(&host, 400, "InvalidParameter");
	viewer = make_key(&a, "{\"name\":\"v\",\"role\":\"viewer\"}");
	ck_assert_int_eq(viewer.status, 201);
	ck_assert(json_is_null(json_object_get(viewer.json, "expiresAt")));
	late = make_key(&a, "{\"name\":\"v\",\"role\":\"viewer\","
	                    "\"expiresAt\":\"2100-01-01T00:00:00Z\"}");
	ck_assert_int_eq(late.status, 201);
}
END

TEST(the_audit_log_tells_for_which_host_a_key_is)
{
	CLEANUP_API struct test_api a = agent_api();
	static const char *const more[] = {",\"host\":\"one\"", ""};
	char key[TOKEN_KEY_MAX];

	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		CLEANUP_REPLY struct client_reply log = {0};
		int64_t before_ms = clock_wall_ms();
		const json_t *line, *detail;

		while (clock_wall_ms() == before_ms)
			; /* lines of one millisecond come in any order */
		join_key(&a, KEY_ADMIN, more[i], key);
		log = ask(&a, (struct ask){.key = KEY_ADMIN,
		                           .path = "/api/v1/audit?limit=1"});
		line = json_array_get(json_object_get(log.json, "items"), 0);
		detail = json_object_get(line, "detail");
		ck_assert_msg(json_is_object(detail), "%s", buf_str(&log.body));
		ck_assert_int_eq(!json_object_get(detail, "host"), i);
	}
}
END

TEST(a_copy_of_a_host_waits_until_the_host_is_silent)
{
	static const char original[] =
		"{\"version\":\"1\",\"bootId\":\"boot\",\"capabilities\":{}}";
	static const char copy[] =
		"{\"version\":\"1\",\"bootId\":\"c\",\"capabilities\":{}}";
	static const struct {
		const char *poll;
		unsigned status;
	} rows[] = {{original, 200}, {copy, 409}, {original, 200}, {"{}", 200}};
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply later = {0};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			poll_as(&a, KEY_WORKER, rows[i].poll);

		ck_assert_uint_eq(r.status, rows[i].status);
		if (r.status == 409)
			assert_error(&r, 409, "HostCopied");
	}
	test_sql(&a.store, "UPDATE worker SET alive_until_ms = 0", NULL, 0);
	later = poll_as(&a, KEY_WORKER, copy);
	ck_assert_int_eq(later.status, 200);
}
END

TEST(a_start_passes_over_hosts_that_do_not_serve_the_tenant)
{
	static const char beat[] =
		"{\"version\":\"1\",\"bootId\":\"boot\",\"capabilities\":{}}";
	CLEANUP_API struct test_api a = agent_api();
	CLEANUP_REPLY struct client_reply poll = {0};
	CLEANUP_SERVING struct serving_list l = {0};

	test_sql(&a.store,
	         "UPDATE token SET tenants = 't2 tt' WHERE role = 'worker'",
	         NULL, 0);
	poll = poll_as(&a, KEY_WORKER, beat);
	ck_assert_int_eq(poll.status, 200);
	ck_assert_int_eq(worker_serving(&a.store.s, TEST_TENANT, TEST_SERVICE,
	                                -1, "", 10, &l),
	                 0);
	ck_assert_uint_eq(l.n, 0);
	ck_assert_int_eq(
		worker_serving(&a.store.s, "t2", TEST_SERVICE, -1, "", 10, &l),
		0);
	ck_assert_uint_eq(l.n, 1);
}
END

/* Adds n hosts that are alive beside the test's own worker, and one that is
 * not. */
static void
add_workers(struct test_api *a, int n)
{
	for (int i = 0; i <= n; i++) {
		char host[32];
		struct worker w = {.host = host,
		                   .boot_id = "b",
		                   .version = "1",
		                   .capabilities = "{}",
		                   .tenants = TEST_TENANT};

		snprintf(host, sizeof(host), "many%d", i);
		ck_assert_int_eq(
			worker_heartbeat(&a->store.s, &w, i < n ? 600000 : -1),
			0);
	}
}

TEST(hosts_of_a_large_fleet_poll_less_often)
{
	static const struct {
		int hosts; /* in all */
		int64_t poll_ms;
	} rows[] = {{1, 1000},   {100, 1000}, {101, 1010},
	            {199, 1990}, {200, 2000}, {250, 2000}};
	CLEANUP_API struct test_api a = agent_api();

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r = {0};

		add_workers(&a, rows[i].hosts - 1);
		r = poll_as(&a, KEY_WORKER, "{}");
		ck_assert_int_eq(r.status, 200);
		ck_assert_int_eq(
			json_integer_value(json_object_get(r.json, "pollMs")),
			rows[i].poll_ms);
	}
}
END

SUITE("agent", .seconds = 60);
