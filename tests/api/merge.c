/* Ranges of time summed into one profile. */
#include "base/clock.h"
#include "base/json.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "lib/stacks.h"
#include "lib/windows.h"
#include "profile/pprof.h"
#include "range/range.h"
#include "store/host_sum.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define S     INT64_C(1000)
#define H     (3600 * S)
#define DAY   (24 * H)
#define T0    (20000 * DAY)
#define MERGE API_PROFILES "/merge?service=" TEST_SERVICE

static void
put(struct test_api *a, struct test_window w, const char *folded)
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);
	char id[ID_MAX];

	w.profile = p;
	test_window(&a->store.s, &w, id);
}

/* Stores a profile of n goroutines that wait in one place. */
static void
put_gauge(struct test_api *a, struct test_window w, int n)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	char text[64], id[ID_MAX];

	snprintf(text, sizeof(text), "%d state=waiting|main.f main.main\n", n);
	p = stacks_of(text);
	w.type = "goroutine";
	w.profile = p;
	test_window(&a->store.s, &w, id);
}

static struct client_reply
merge(struct test_api *a, const char *type, int64_t from, int64_t to,
      const char *more)
{
	char path[512];

	snprintf(path, sizeof(path),
	         MERGE "&profileType=%s&from=%lld&to=%lld%s", type,
	         (long long)from, (long long)to, more);
	return ask(a, (struct ask){.key = KEY_VIEWER, .path = path});
}

static double
number(const struct client_reply *r, const char *name)
{
	ck_assert_msg(r->status == 200, "%s", buf_str(&r->body));
	return json_number_value(json_object_get(r->json, name));
}

static double
top(const struct client_reply *r, size_t i, const char *name)
{
	const json_t *e =
		json_array_get(json_object_get(r->json, "topFunctions"), i);

	return json_number_value(json_object_get(e, name));
}

TEST(counters_are_summed_and_recursion_counts_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main;f;f;g 30\nmain 10\n");
	put(&a,
	    (struct test_window){.start_ms = T0 + 10 * S, .span_ms = 10 * S},
	    "main;f 60\n");
	r = merge(&a, "cpu", T0, T0 + H, "");
	ck_assert_double_eq(number(&r, "total"), 1e9);
	ck_assert_double_eq(number(&r, "sampleCount"), 100);
	ck_assert_double_eq(number(&r, "coveredSeconds"), 20);
	ck_assert_double_eq(number(&r, "totalPerSecond"), 5e7);
	ck_assert_double_eq(number(&r, "windows"), 2);
	ck_assert_double_eq(number(&r, "gapCount"), 1);
	ck_assert_double_eq(top(&r, 0, "selfPct"), 60);
	ck_assert_double_eq(top(&r, 0, "cumulativePct"), 90);
}
END

static bool
has_notice(const struct client_reply *r, const char *text)
{
	CLEANUP_FREE char *notices =
		json_dumps(json_object_get(r->json, "notices"), JSON_COMPACT);

	return notices && strstr(notices, text);
}

TEST(a_range_is_shown_without_windows_that_cannot_be_read)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, series = {0}, shifts = {0};
	CLEANUP_REPLY struct client_reply all = {0}, groups = {0};

	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main;f 30\n");
	put(&a,
	    (struct test_window){.start_ms = T0 + 10 * S, .span_ms = 10 * S},
	    "main;f 60\n");
	test_sql(&a.store,
	         "UPDATE profile_window SET checksum = 'x' WHERE start_ms = "
	         "(SELECT max(start_ms) FROM profile_window)",
	         NULL, 0);
	r = merge(&a, "cpu", T0, T0 + H, "");
	ck_assert_double_eq(number(&r, "sampleCount"), 30);
	ck_assert_double_eq(number(&r, "coveredSeconds"), 10);
	ck_assert(has_notice(&r, "stoker verify"));
	ck_assert_ptr_null(client_header(&r, "ETag"));
	series = ask(&a, (struct ask){.key = KEY_VIEWER,
	                              .path = API_PROFILES
	                              "/history/series?service=" TEST_SERVICE
	                              "&profileType=cpu&function=f&step=1h"
	                              "&from=1728000000000&to=1728003600000"});
	ck_assert_double_eq(number(&series, "profiles"), 1);
	ck_assert(has_notice(&series, "stoker verify"));
	groups = ask(&a, (struct ask){.key = KEY_VIEWER,
	                              .path = API_PROFILES
	                              "/history/groups?service=" TEST_SERVICE
	                              "&profileType=cpu&by=sample.none"
	                              "&from=1728000000000&to=1728003600000"});
	ck_assert(has_notice(&groups, "stoker verify"));
	shifts = ask(&a, (struct ask){.key = KEY_VIEWER,
	                              .path = API_PROFILES
	                              "/history/shifts?service=" TEST_SERVICE
	                              "&profileType=cpu"
	                              "&from=1728000000000&to=1728003600000"});
	ck_assert(has_notice(&shifts, "stoker verify"));
	test_sql(&a.store, "UPDATE profile_window SET checksum = 'x'", NULL, 0);
	all = merge(&a, "cpu", T0, T0 + H, "");
	assert_error(&all, 500, "ProfileDamaged");
}
END

/* Stores a window with a value that no other tool counts. */
static void
put_odd(struct test_api *a, int64_t start_ms, const char *counts,
        char id[static ID_MAX])
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct function f = {0};
	struct line line = {0};
	const int64_t value = 7;
	uint32_t at;

	ck_assert_int_eq(profile_type(p, counts, "count"), 0);
	ck_assert_int_eq(profile_cstring(p, "odd", &f.name), 0);
	ck_assert_int_eq(profile_function(p, &f, &line.function), 0);
	ck_assert_int_eq(profile_location(p, PROFILE_NONE, 0x10, &line, 1, &at),
	                 0);
	ck_assert_int_eq(profile_sample(p, &at, 1, NULL, 0, &value), 0);
	test_window(&a->store.s,
	            &(struct test_window){.start_ms = start_ms,
	                                  .span_ms = 10 * S,
	                                  .profile = p},
	            id);
}

TEST(profiles_that_count_something_else_are_left_out_of_a_range)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, none = {0};
	char odd[ID_MAX], first[ID_MAX], second[ID_MAX];

	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main 30\n");
	put_odd(&a, T0 + 10 * S, "apples", odd);
	r = merge(&a, "cpu", T0, T0 + H, "");
	ck_assert_double_eq(number(&r, "total"), 3e8);
	ck_assert_double_eq(number(&r, "coveredSeconds"), 10);
	ck_assert(has_notice(&r, odd));
	put_odd(&a, T0 + 2 * H, "apples", first);
	put_odd(&a, T0 + 2 * H + 10 * S, "pears", second);
	none = merge(&a, "cpu", T0 + 2 * H, T0 + 3 * H, "");
	assert_error(&none, 409, "ProfilesDiffer");
	ck_assert_ptr_nonnull(strstr(reply_detail(&none, "profiles"), first));
	ck_assert_ptr_nonnull(strstr(reply_detail(&none, "profiles"), second));
}
END

TEST(a_range_fails_if_a_window_cannot_be_read_now)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	int segments = a.store.s.segments_fd;
	char name[128];

	if (test_on_server())
		SKIP("windows that are not in files cannot lose one");
	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main;f 30\n");
	put(&a,
	    (struct test_window){.start_ms = T0 + 10 * S, .span_ms = 10 * S},
	    "main;f 60\n");
	test_sql(&a.store,
	         "SELECT segment || '.seg' FROM profile_window "
	         "ORDER BY start_ms LIMIT 1",
	         name, sizeof(name));
	ck_assert_int_eq(unlinkat(segments, name, 0), 0);
	ck_assert_int_eq(mkdirat(segments, name, 0700), 0); /* EISDIR */
	r = merge(&a, "cpu", T0, T0 + H, "");
	assert_error(&r, 500, "InternalError");
}
END

TEST(windows_without_samples_cover_their_time)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, idle = {0}, series = {0};
	CLEANUP_REPLY struct client_reply optional = {0};

	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S}, "");
	put(&a,
	    (struct test_window){.start_ms = T0 + 10 * S, .span_ms = 10 * S},
	    "main;f 60\n");
	idle = merge(&a, "cpu", T0, T0 + 5 * S, "");
	optional = merge(&a, "cpu", T0, T0 + 5 * S, "&optional=true");
	r = merge(&a, "cpu", T0, T0 + H, "");
	series = ask(&a, (struct ask){.key = KEY_VIEWER,
	                              .path = API_PROFILES
	                              "/history/series?service=" TEST_SERVICE
	                              "&profileType=cpu&function=f&step=1h"
	                              "&from=1728000000000&to=1728003600000"});
	assert_error(&idle, 404, "EmptyRange");
	ck_assert_int_eq(optional.status, 204);
	ck_assert_double_eq(number(&r, "sampleCount"), 60);
	ck_assert_double_eq(number(&r, "coveredSeconds"), 20);
	ck_assert_int_eq(series.status, 200);
}
END

TEST(gauges_are_averaged_over_the_time_covered)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	/* 10 for 10 s, then 40 for 20 s: the mean is 30 */
	put_gauge(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	          10);
	put_gauge(&a,
	          (struct test_window){.start_ms = T0 + 100 * S,
	                               .span_ms = 20 * S},
	          40);
	r = merge(&a, "goroutine", T0, T0 + H, "");
	ck_assert_double_eq(number(&r, "total"), 30);
	ck_assert_double_eq(number(&r, "totalPerSecond"), 0);
	ck_assert_str_eq(reply_text(&r, "aggregation"), "mean");
}
END

TEST(gauges_of_hosts_at_once_add_up)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply both = {0}, one = {0}, then = {0};

	put_gauge(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	          10);
	put_gauge(&a,
	          (struct test_window){
			  .host = "h2", .start_ms = T0, .span_ms = 10 * S},
	          40);
	both = merge(&a, "goroutine", T0, T0 + H, "");
	one = merge(&a, "goroutine", T0, T0 + H, "&host=h2");
	ck_assert_double_eq(number(&both, "total"), 50);
	ck_assert_double_eq(number(&both, "coveredSeconds"), 10);
	ck_assert_double_eq(number(&one, "total"), 40);
	/* captures at different times are averaged */
	put_gauge(&a,
	          (struct test_window){.start_ms = T0 + DAY, .span_ms = 10 * S},
	          10);
	put_gauge(&a,
	          (struct test_window){.host = "h2",
	                               .start_ms = T0 + DAY + 10 * S,
	                               .span_ms = 10 * S},
	          40);
	then = merge(&a, "goroutine", T0 + DAY, T0 + DAY + H, "");
	ck_assert_double_eq(number(&then, "total"), 25);
}
END

TEST(rollups_of_a_gauge_are_means_as_well)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply before = {0}, after = {0};

	for (int i = 0; i < 12; i++)
		put_gauge(&a,
		          (struct test_window){.start_ms = T0 + i * 10 * S,
		                               .span_ms = 10 * S},
		          10 + i);
	before = merge(&a, "goroutine", T0, T0 + H, "");
	test_rollup(&a.store.s, WINDOW_MINUTE);
	test_rollup(&a.store.s, WINDOW_HOUR);
	after = merge(&a, "goroutine", T0, T0 + H, "");
	ck_assert_double_eq(number(&before, "total"), 16); /* 15.5, rounded */
	ck_assert_double_eq(number(&after, "total"), 16);
	ck_assert_double_eq(number(&after, "profiles"), 1);
	ck_assert_double_eq(number(&after, "windows"), 12);
}
END

TEST(rollups_add_up_to_what_they_are_made_of)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply before = {0}, after = {0};

	for (int i = 0; i < 100; i++) {
		char text[64];

		snprintf(text, sizeof(text), "main;f%d %d\nmain;g 1\n", i % 7,
		         i + 1);
		put(&a,
		    (struct test_window){.start_ms = T0 + i * 6 * H,
		                         .span_ms = 10 * S},
		    text);
	}
	before = merge(&a, "cpu", T0 - H, T0 + 30 * DAY, "&top=0");
	for (enum window_level l = WINDOW_MINUTE; l < WINDOW_LEVELS; l++)
		test_rollup(&a.store.s, l);
	after = merge(&a, "cpu", T0 - H, T0 + 30 * DAY, "&top=0");
	ck_assert_double_eq(number(&before, "profiles"), 100);
	ck_assert_double_eq(number(&after, "profiles"), 25);
	ck_assert_double_eq(number(&after, "total"),
	                    (100 * 101 / 2 + 100) * 1e7);
	ck_assert_double_eq(number(&after, "total"), number(&before, "total"));
	ck_assert_double_eq_tol(number(&after, "coveredSeconds"),
	                        number(&before, "coveredSeconds"), 1e-3);
	ck_assert(json_equal(json_object_get(before.json, "topFunctions"),
	                     json_object_get(after.json, "topFunctions")));
}
END

TEST(labels_and_host_choose_series)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, none = {0}, twice = {0};

	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main 1\n");
	put(&a,
	    (struct test_window){.labels = "{\"env\":\"a b\",\"team\":\"x\"}",
	                         .start_ms = T0,
	                         .span_ms = 10 * S},
	    "main 2\n");
	r = merge(&a, "cpu", T0, T0 + H, "&label.team=x&label.env=a%20b");
	none = merge(&a, "cpu", T0, T0 + H, "&label.team=x&label.env=c");
	twice = merge(&a, "cpu", T0, T0 + H, "&label.team=x&label.team=y");
	ck_assert_double_eq(number(&r, "sampleCount"), 2);
	assert_error(&none, 404, "EmptyRange");
	assert_error(&twice, 400, "InvalidParameter");
}
END

/* A worker saw 10 samples, and a client pushed 5 of them. */
static void
put_both(struct test_api *a)
{
	put(a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main 10\n");
	put(a,
	    (struct test_window){
		    .host = WINDOW_PUSHED, .start_ms = T0, .span_ms = 10 * S},
	    "main 5\n");
}

TEST(what_a_worker_saw_is_not_counted_again_as_it_was_pushed)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply one = {0}, all = {0}, pushed = {0};

	put_both(&a);
	one = merge(&a, "cpu", T0, T0 + H, "");
	ck_assert_double_eq(number(&one, "sampleCount"), 10);
	ck_assert_double_eq(number(&one, "leftOut"), 1);
	ck_assert_str_eq(reply_text(&one, "origin"), "captured");
	ck_assert_uint_eq(json_array_size(json_object_get(one.json, "series")),
	                  1);
	ck_assert_uint_eq(json_array_size(json_object_get(one.json, "notices")),
	                  1);
	pushed = merge(&a, "cpu", T0, T0 + H, "&origin=pushed");
	ck_assert_double_eq(number(&pushed, "sampleCount"), 5);
	all = merge(&a, "cpu", T0, T0 + H, "&origin=all");
	ck_assert_double_eq(number(&all, "sampleCount"), 15);
	ck_assert_str_eq(reply_text(&all, "origin"), "all");
	ck_assert_uint_eq(json_array_size(json_object_get(all.json, "notices")),
	                  1);
}
END

TEST(a_range_and_its_windows_name_hosts_whose_clock_is_off)
{
	static const char note[] = "the clock of " TEST_HOST " is 10 min ahead";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply before = {0}, after = {0},
					  window = {0}, sum = {0};
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_FREE char *quality = NULL, *of_sum = NULL;
	char path[128], id[ID_MAX];

	p = profile_of("main 10\n");
	test_window(&a.store.s,
	            &(struct test_window){
			    .start_ms = T0, .span_ms = 10 * S, .profile = p},
	            id);
	before = merge(&a, "cpu", T0, T0 + H, "");
	ck_assert(!has_notice(&before, "the clock of"));
	test_sql(
		&a.store,
		"UPDATE worker SET clock_ms = 600000 WHERE host = '" TEST_HOST
		"'; INSERT INTO worker (host, boot_id, version, pid, "
		"capabilities, started_ms, heartbeat_ms, alive_until_ms, "
		"tenants, clock_ms) SELECT 'elsewhere', boot_id, version, pid, "
		"capabilities, started_ms, heartbeat_ms, alive_until_ms, '*', "
		"600000 FROM worker",
		NULL, 0);
	after = merge(&a, "cpu", T0, T0 + H, "");
	ck_assert(has_notice(&after, note));
	ck_assert(!has_notice(&after, "elsewhere"));
	snprintf(path, sizeof(path), API_PROFILES "/%s", id);
	window = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	quality = json_dumps(json_object_get(window.json, "quality"), 0);
	ck_assert_msg(quality && strstr(quality, note), "%s", quality);
	ck_assert_ptr_null(strstr(quality, "elsewhere"));
	/* a sum over hosts may contain costs of any host */
	test_window(&a.store.s,
	            &(struct test_window){.host = HOST_SUM,
	                                  .start_ms = T0,
	                                  .span_ms = 10 * S,
	                                  .profile = p},
	            id);
	snprintf(path, sizeof(path), API_PROFILES "/%s", id);
	sum = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	of_sum = json_dumps(json_object_get(sum.json, "quality"), 0);
	ck_assert_msg(of_sum && strstr(of_sum, "elsewhere"), "%s", of_sum);
}
END

TEST(pushes_stand_where_no_worker_captured)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	put_both(&a);
	put(&a,
	    (struct test_window){.host = WINDOW_PUSHED,
	                         .start_ms = T0 + DAY,
	                         .span_ms = 10 * S},
	    "main 7\n");
	r = merge(&a, "cpu", T0 + DAY, T0 + DAY + H, "");
	ck_assert_double_eq(number(&r, "sampleCount"), 7);
	ck_assert_double_eq(number(&r, "leftOut"), 0);
	ck_assert_str_eq(reply_text(&r, "origin"), "pushed");
}
END

TEST(samples_without_a_stack_are_told)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main;f 30\n[truncated] 12\n");
	r = merge(&a, "cpu", T0, T0 + H, "");
	ck_assert_double_eq(number(&r, "sampleCount"), 42);
	ck_assert_double_eq(number(&r, "truncatedSamples"), 12);
}
END

TEST(a_range_of_too_many_series_is_refused)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, some = {0};
	char labels[64], id[ID_MAX];

	for (int i = 0; i < RANGE_MAX_SERIES; i++) {
		snprintf(labels, sizeof(labels), "{\"n\":\"%d\"}", i);
		ck_assert_int_eq(series_of(&a.store.s, TEST_TENANT,
		                           TEST_SERVICE, "cpu", TEST_HOST,
		                           labels, id),
		                 0);
	}
	put(&a,
	    (struct test_window){.labels = "{\"n\":\"last\"}",
	                         .start_ms = T0,
	                         .span_ms = 10 * S},
	    "main 1\n");
	r = merge(&a, "cpu", T0, T0 + H, "");
	assert_error(&r, 400, "TooManySeries");
	some = merge(&a, "cpu", T0, T0 + H, "&label.n=last");
	ck_assert_double_eq(number(&some, "sampleCount"), 1);
}
END

TEST(labels_are_bounded)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_BUF struct buf many = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct client_reply r = {0}, empty = {0};

	for (int i = 0; i < 17; i++)
		buf_addf(&many, "&label.k%d=v", i);
	r = merge(&a, "cpu", T0, T0 + H, buf_str(&many));
	empty = merge(&a, "cpu", T0, T0 + H, "&label.=v");
	assert_error(&r, 400, "InvalidParameter");
	assert_error(&empty, 400, "InvalidParameter");
	ck_assert_str_eq(reply_detail(&r, "parameter"), "label");
}
END

TEST(a_range_is_checked)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply back = {0}, empty = {0}, no = {0};

	back = merge(&a, "cpu", T0 + 1, T0, "");
	empty = merge(&a, "cpu", T0, T0, "");
	no = ask(&a, (struct ask){.key = KEY_VIEWER,
	                          .path = API_PROFILES
	                          "/merge?service=no&profileType=cpu"});
	assert_error(&back, 400, "InvalidParameter");
	ck_assert_str_eq(reply_detail(&back, "parameter"), "from");
	assert_error(&empty, 404, "EmptyRange");
	assert_error(&no, 404, "UnknownService");
}
END

TEST(sessions_stand_in_where_there_is_no_window)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 3\n");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	test_upload(&a, p, "cpu", id);
	test_upload(&a, p, "cpu", id);
	r = ask(&a, (struct ask){.key = KEY_VIEWER,
	                         .path = MERGE "&profileType=cpu&to=now%2B1m"});
	ck_assert_double_eq(number(&r, "sampleCount"), 6);
	ck_assert_str_eq(reply_text(&r, "source"), "sessions");
}
END

static void
captured_on(struct test_api *a, const char *host)
{
	const struct session_ask q = test_ask();
	CLEANUP_JOB struct job job = {0};
	struct job_ref ref;
	char id[ID_MAX];

	ck_assert_int_eq(job_enqueue(&a->store.s, &q, host, id), 0);
	ck_assert_int_eq(job_claim(&a->store.s, host, TEST_LEASE_MS, 8, &job),
	                 0);
	ref = job_ref(&job);
	test_capture_end(a, &ref);
}

TEST(a_host_chooses_sessions)
{
	static const struct {
		const char *more;
		double samples;
	} rows[] = {{"", 6}, {"&host=" TEST_HOST, 4}, {"&host=h2", 2}};
	CLEANUP_API struct test_api a = test_api(1, "");

	captured_on(&a, TEST_HOST);
	captured_on(&a, TEST_HOST);
	captured_on(&a, "h2");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		char path[256];

		snprintf(path, sizeof(path),
		         MERGE "&profileType=cpu&to=now%%2B1m%s", rows[i].more);
		r = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
		ck_assert_double_eq(number(&r, "sampleCount"), rows[i].samples);
	}
}
END

TEST(a_merged_range_is_a_pprof_file)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf why = BUF_INIT(1024);
	CLEANUP_REPLY struct client_reply r = {0};

	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main;f 3\n");
	put(&a, (struct test_window){.start_ms = T0 + H, .span_ms = 5 * S},
	    "main;f 4\n");
	r = merge(&a, "cpu", T0, T0 + DAY, "&format=pprof");
	ck_assert_int_eq(r.status, 200);
	ck_assert_int_eq(pprof_decode(r.body.p, r.body.len, 1 << 20, &p, &why),
	                 0);
	ck_assert_uint_eq(p->nsamples, 1);
	ck_assert_int_eq(p->values[0], 7);
	ck_assert_int_eq(p->duration_ns, 15 * NS_PER_S);
}
END

/* Opens the link, without its host. */
static struct client_reply
open_link(struct test_api *a, const char *url, const char *accept)
{
	return ask(a, (struct ask){.path = strstr(url, "/api/"),
	                           .accept = accept});
}

TEST(a_link_to_a_range_opens_from_the_address_alone)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, page = {0}, bad = {0},
					  folded = {0};
	CLEANUP_BUF struct buf other = BUF_INIT(8192);
	const char *url;

	put(&a,
	    (struct test_window){.labels = "{\"team\":\"a&b\"}",
	                         .start_ms = T0,
	                         .span_ms = 10 * S},
	    "main;f 3\n");
	r = merge(&a, "cpu", T0, T0 + H, "&label.team=a%26b");
	url = reply_text(&r, "flameGraphUrl");
	page = open_link(&a, url, "text/html,*/*;q=0.8");
	ck_assert_int_eq(page.status, 200);
	ck_assert_str_eq(client_header(&page, "Content-Type"),
	                 "text/html; charset=utf-8");
	buf_addf(&other, "%s&format=folded", url);
	folded = open_link(&a, buf_str(&other), NULL);
	ck_assert_str_eq(buf_str(&folded.body), "main;f 3\n");
	buf_clear(&other);
	buf_addf(&other, "%.*sto=9%s", (int)(strstr(url, "to=") - url), url,
	         strstr(url, "to=") + 3);
	bad = open_link(&a, buf_str(&other), NULL);
	assert_error(&bad, 401, "Unauthorized");
}
END

TEST(a_link_to_a_range_shows_no_source_text)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, bad = {0};
	CLEANUP_BUF struct buf url = BUF_INIT(8192);

	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main;f 3\n");
	r = merge(&a, "cpu", T0, T0 + H, "");
	buf_addf(&url, "%s&format=listing", reply_text(&r, "flameGraphUrl"));
	bad = open_link(&a, buf_str(&url), NULL);
	assert_error(&bad, 403, "Forbidden");
}
END

TEST(a_link_to_a_range_of_one_host_shows_that_host)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, folded = {0};
	CLEANUP_BUF struct buf url = BUF_INIT(8192);

	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main;f 3\n");
	put(&a,
	    (struct test_window){
		    .host = "h2", .start_ms = T0, .span_ms = 10 * S},
	    "main;g 4\n");
	r = merge(&a, "cpu", T0, T0 + H, "&host=h2");
	buf_addf(&url, "%s&format=folded", reply_text(&r, "flameGraphUrl"));
	folded = open_link(&a, buf_str(&url), NULL);
	ck_assert_str_eq(buf_str(&folded.body), "main;g 4\n");
}
END

TEST(a_range_that_has_not_changed_is_304)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, same = {0}, more = {0};
	char etag[128];

	put(&a, (struct test_window){.start_ms = T0, .span_ms = 10 * S},
	    "main;f 3\n");
	r = merge(&a, "cpu", T0, T0 + H, "&format=svg");
	snprintf(etag, sizeof(etag), "%s", client_header(&r, "ETag"));
	for (int i = 0; i < 2; i++) {
		char path[256];
		struct client_reply *to = i ? &more : &same;

		snprintf(path, sizeof(path),
		         MERGE "&profileType=cpu&from=%lld&to=%lld&format=svg",
		         (long long)T0, (long long)(T0 + H + i));
		if (i)
			put(&a,
			    (struct test_window){.start_ms = T0 + H,
			                         .span_ms = 10 * S},
			    "main;f 3\n");
		*to = ask(&a, (struct ask){.key = KEY_VIEWER,
		                           .path = path,
		                           .if_none_match = etag});
	}
	ck_assert_int_eq(same.status, 304);
	ck_assert_int_eq(more.status, 200);
}
END

TEST(a_window_is_a_profile)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 3\nmain;g 1\n");
	CLEANUP_REPLY struct client_reply got = {0}, view = {0}, gone = {0},
					  both = {0}, other = {0};
	char id[ID_MAX], path[256];

	test_window(&a.store.s,
	            &(struct test_window){
			    .start_ms = T0, .span_ms = 10 * S, .profile = p},
	            id);
	snprintf(path, sizeof(path), API_PROFILES "/%s", id);
	got = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	gone = api_say(&a, KEY_ADMIN, "DELETE", path, NULL);
	other = ask(&a, (struct ask){.key = KEY_OTHER, .path = path});
	snprintf(path, sizeof(path),
	         API_PROFILES "/%s/flamegraph?format=folded", id);
	view = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	snprintf(path, sizeof(path),
	         API_PROFILES
	         "/compare?baseProfileId=%s&comparisonProfileId=%s",
	         id, id);
	both = ask(&a, (struct ask){.key = KEY_VIEWER, .path = path});
	ck_assert_double_eq(number(&got, "sampleCount"), 4);
	ck_assert_str_eq(reply_text(&got, "id"), id);
	ck_assert_double_eq(top(&got, 0, "selfPct"), 75);
	ck_assert_str_eq(buf_str(&view.body), "main;f 3\nmain;g 1\n");
	ck_assert_str_eq(reply_text(&both, "verdict"), "insufficient-data");
	assert_error(&gone, 409, "WindowNotDeleted");
	assert_error(&other, 404, "UnknownProfile");
}
END

SUITE("merge");
