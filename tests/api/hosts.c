/* The host on which a capture runs if several workers are alive. */
#include "base/clock.h"
#include "base/json.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "lib/windows.h"
#include "store/service.h"
#include "store/worker.h"

#include <string.h>

#define START(rest) \
	"{\"service\":\"" TEST_SERVICE "\",\"profileType\":\"cpu\"" rest "}"
#define HOST(name) ",\"host\":\"" name "\""

static struct client_reply
start(struct test_api *a, const char *body)
{
	return api_post(a, API_PROFILES "/start", body);
}

/* Adds a live worker of this host, which has just looked for processes. */
static void
add_worker(struct test_api *a, const char *host)
{
	test_worker(a, host, "{}");
	ck_assert_int_eq(worker_looked(&a->store.s, host,
	                               clock_wall_ms() + 3600 * MS_PER_S),
	                 0);
}

/* Adds a process of the service on this host. */
static void
add_process(struct test_api *a, const char *host, int64_t ordinal)
{
	const struct worker_process p = {
		(char *)host, TEST_TENANT, TEST_SERVICE, "boot", "x",
		"x",          ordinal,     78,           1,      0};

	ck_assert_int_eq(process_put(&a->store.s, &p), 0);
}

static void
name_host(struct test_api *a, const char *host)
{
	CLEANUP_SERVICE struct service v = {0};

	ck_assert_int_eq(
		service_get(&a->store.s, TEST_TENANT, TEST_SERVICE, &v), 0);
	free(v.host);
	v.host = strdup(host);
	ck_assert_int_eq(service_replace(&a->store.s, &v), 0);
}

/* Returns a member of started[i]; "" if there is none. */
static const char *
started(const struct client_reply *r, size_t i, const char *name)
{
	const json_t *of =
		json_array_get(json_object_get(r->json, "started"), i);

	return json_string_value(json_object_get(of, name)) ?: "";
}

static size_t
how_many(const struct client_reply *r)
{
	return json_array_size(json_object_get(r->json, "started"));
}

TEST(a_start_goes_to_the_host_where_the_service_runs)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	add_worker(&a, "another");
	add_worker(&a, "zulu");
	r = start(&a, START(""));
	ck_assert_int_eq(r.status, 202);
	ck_assert_str_eq(reply_text(&r, "host"), TEST_HOST);
	ck_assert_uint_eq(how_many(&r), 1);
	ck_assert_str_eq(started(&r, 0, "host"), TEST_HOST);
	ck_assert_str_eq(started(&r, 0, "id"), reply_text(&r, "id"));
}
END

TEST(an_ordinal_that_one_host_has_is_profiled_there)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	add_worker(&a, "another");
	add_process(&a, "another", 0);
	add_process(&a, "another", 1);
	r = start(&a, START(",\"ordinal\":1"));
	ck_assert_int_eq(r.status, 202);
	ck_assert_str_eq(reply_text(&r, "host"), "another");
}
END

TEST(a_service_on_several_hosts_needs_the_name_of_one)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, named = {0};

	add_worker(&a, "another");
	add_process(&a, "another", 0);
	r = start(&a, START(""));
	assert_error(&r, 409, "SeveralHosts");
	ck_assert_str_eq(reply_detail(&r, "hosts"), "another, " TEST_HOST);
	ck_assert_ptr_nonnull(strstr(reply_text(&r, "message"), "--host"));
	named = start(&a, START(HOST("another")));
	ck_assert_int_eq(named.status, 202);
	ck_assert_str_eq(reply_text(&named, "host"), "another");
}
END

TEST(everywhere_is_a_profile_on_each_host_where_it_runs)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	add_worker(&a, "another");
	add_worker(&a, "idle");
	add_process(&a, "another", 0);
	r = start(&a, START(HOST("*")));
	ck_assert_int_eq(r.status, 202);
	ck_assert_uint_eq(how_many(&r), 2);
	ck_assert_str_eq(started(&r, 0, "host"), "another");
	ck_assert_str_eq(started(&r, 1, "host"), TEST_HOST);
	ck_assert_str_eq(started(&r, 0, "id"), reply_text(&r, "id"));
	ck_assert_str_ne(started(&r, 1, "id"), reply_text(&r, "id"));
}
END

TEST(everywhere_is_all_or_nothing)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one = {0}, all = {0}, other = {0};

	add_worker(&a, "another");
	add_process(&a, "another", 0);
	one = start(&a, START(HOST(TEST_HOST)));
	ck_assert_int_eq(one.status, 202);
	all = start(&a, START(HOST("*")));
	assert_error(&all, 409, "ProfileInProgress");
	ck_assert_str_eq(reply_detail(&all, "profileId"),
	                 reply_text(&one, "id"));
	ck_assert_str_eq(reply_detail(&all, "host"), TEST_HOST);
	other = start(&a, START(HOST("another")));
	ck_assert_int_eq(other.status, 202); /* no process runs there */
}
END

TEST(fifty_hosts_are_profiled_at_once_and_one_more_is_too_many)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply fits = {0}, more = {0}, none = {0};
	char host[16];

	for (int i = 1; i < 50; i++) { /* TEST_HOST is the first */
		snprintf(host, sizeof(host), "h%02d", i);
		add_worker(&a, host);
		add_process(&a, host, 0);
	}
	fits = start(&a, START(HOST("*")));
	ck_assert_int_eq(fits.status, 202);
	ck_assert_uint_eq(how_many(&fits), 50);
	add_worker(&a, "h50");
	add_process(&a, "h50", 0);
	more = start(&a, START(HOST("*")));
	assert_error(&more, 409, "TooManyHosts");
	ck_assert_ptr_nonnull(strstr(reply_text(&more, "message"), "50"));
	none = start(&a, START(""));
	assert_error(&none, 409, "SeveralHosts");
}
END

TEST(a_host_without_a_live_worker_is_503)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	r = start(&a, START(HOST("nowhere")));
	assert_error(&r, 503, "WorkerUnavailable");
	ck_assert_str_eq(reply_detail(&r, "host"), "nowhere");
}
END

TEST(a_named_host_where_it_does_not_run_is_503)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	add_worker(&a, "another");
	r = start(&a, START(HOST("another")));
	assert_error(&r, 503, "ServiceNotRunning");
}
END

TEST(a_host_other_than_the_services_own_is_refused)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, own = {0};

	add_worker(&a, "another");
	add_process(&a, "another", 0);
	name_host(&a, TEST_HOST);
	r = start(&a, START(HOST("another")));
	assert_error(&r, 400, "InvalidParameter");
	ck_assert_str_eq(reply_detail(&r, "parameter"), "host");
	own = start(&a, START("")); /* on the service's own host */
	ck_assert_int_eq(own.status, 202);
	ck_assert_str_eq(reply_text(&own, "host"), TEST_HOST);
}
END

TEST(an_endpoint_that_no_worker_sees_is_asked_by_one)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	CLEANUP_SERVICE struct service v = {0};

	ck_assert_int_eq(service_get(&a.store.s, TEST_TENANT, TEST_SERVICE, &v),
	                 0);
	free(v.pprof_url);
	free(v.source);
	v.pprof_url = strdup("http://localhost:6060");
	v.source = strdup("endpoint");
	ck_assert_int_eq(service_replace(&a.store.s, &v), 0);
	add_worker(&a, "another");
	test_sees_nothing(&a);
	r = start(&a, START(""));
	ck_assert_int_eq(r.status, 202);
	ck_assert_str_eq(reply_text(&r, "host"), "another");
}
END

TEST(a_samply_profile_names_its_host_and_never_all)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	static const char path[] = "/v0/pipelines/" TEST_SERVICE
				   "/samply_profile";
	CLEANUP_REPLY struct client_reply none = {0}, all = {0}, one = {0};
	char there[128];

	add_worker(&a, "another");
	add_process(&a, "another", 0);
	none = api_post(&a, path, NULL);
	assert_error(&none, 409, "SeveralHosts");
	snprintf(there, sizeof(there), "%s?host=*", path);
	all = api_post(&a, there, NULL);
	assert_error(&all, 400, "InvalidParameter");
	snprintf(there, sizeof(there), "%s?host=another", path);
	one = api_post(&a, there, NULL);
	ck_assert_int_eq(one.status, 202);
	ck_assert_str_eq(reply_text(&one, "host"), "another");
}
END

/* Returns a member of the item with this service's name. */
static const json_t *
overview_of(const struct client_reply *r, const char *service, const char *key)
{
	ck_assert_msg(r->status == 200, "%s", buf_str(&r->body));
	for (size_t i = 0; i < length_of(r, "items"); i++)
		if (!strcmp(text_of(item_of(r, "items", i), "name"), service))
			return json_object_get(item_of(r, "items", i), key);
	ck_abort_msg("no %s in %s", service, buf_str(&r->body));
}

TEST(an_overview_has_what_runs_and_what_it_costs)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, page = {0};
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 30\nmain 10\n");
	char id[ID_MAX], window[ID_MAX];

	ck_assert_int_eq(test_service(&a.store.s, TEST_TENANT, "other"), 0);
	add_worker(&a, "first");
	add_worker(&a, "second");
	add_process(&a, "first", 0);
	add_process(&a, "second", 0);
	add_process(&a, "second", 1);
	api_upload_cpu(&a, "main 5\n", id);
	test_window(&a.store.s,
	            &(struct test_window){.start_ms = clock_wall_ms() -
	                                              300 * MS_PER_S,
	                                  .span_ms = 10 * MS_PER_S,
	                                  .profile = p},
	            window);
	r = ask(&a,
	        (struct ask){.key = KEY_VIEWER, .path = "/api/v1/overview"});
	ck_assert_int_eq(
		json_integer_value(overview_of(&r, TEST_SERVICE, "processes")),
		4); /* one process is in the store when tests begin */
	ck_assert_int_eq(
		json_integer_value(overview_of(&r, TEST_SERVICE, "hosts")), 3);
	ck_assert_str_eq(
		json_string_value(overview_of(&r, TEST_SERVICE, "host")),
		"first");
	ck_assert_str_eq(json_string_value(overview_of(&r, TEST_SERVICE,
	                                               "lastProfileId")),
	                 id);
	/* 40 samples of 10 ms in 10 s */
	ck_assert_double_eq_tol(json_number_value(overview_of(&r, TEST_SERVICE,
	                                                      "cpuPerSecond")),
	                        4e7, 1);
	ck_assert(json_is_null(overview_of(&r, "other", "cpuPerSecond")));
	ck_assert_uint_eq(json_array_size(overview_of(&r, "other", "cpu")), 0);
	ck_assert_str_eq(
		json_string_value(overview_of(&r, "other", "lastProfileId")),
		"");
	page = ask(&a, (struct ask){.key = KEY_VIEWER,
	                            .path = "/api/v1/overview?limit=1"});
	ck_assert_uint_eq(length_of(&page, "items"), 1);
	ck_assert_str_eq(text_of(page.json, "nextCursor"), "other");
}
END

TEST(an_overview_tells_a_capture_that_was_cancelled_from_one_that_failed)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	test_enqueue(&a.store.s, 0, id);
	ck_assert_int_eq(job_cancel(&a.store.s, TEST_TENANT, id), 0);
	r = ask(&a,
	        (struct ask){.key = KEY_VIEWER, .path = "/api/v1/overview"});
	ck_assert_str_eq(
		json_string_value(overview_of(&r, TEST_SERVICE, "lastStatus")),
		"failed");
	ck_assert_str_eq(
		json_string_value(overview_of(&r, TEST_SERVICE, "lastError")),
		"Cancelled");
}
END

SUITE("hosts");
