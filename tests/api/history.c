/* Lists and trends of a service, and pinned profiles. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "lib/stacks.h"
#include "lib/windows.h"
#include "profile/types.h"
#include "range/shifts.h"
#include "store/blob.h"
#include "store/db/db_test.h"

#include <string.h>

#define S   INT64_C(1000)
#define H   (3600 * S)
#define DAY (24 * H)
#define T0  (20000 * DAY)

static void
put(struct test_api *a, int64_t start_ms, const char *folded,
    char id[static ID_MAX])
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);

	test_window(&a->store.s,
	            &(struct test_window){.start_ms = start_ms,
	                                  .span_ms = 10 * S,
	                                  .profile = p},
	            id);
}

static struct client_reply
get(struct test_api *a, const char *fmt, ...) PRINTF(2, 3);
static struct client_reply
get(struct test_api *a, const char *fmt, ...)
{
	char path[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	return ask(a, (struct ask){.key = KEY_VIEWER, .path = path});
}

#define HISTORY  API_PROFILES "/history?service=" TEST_SERVICE
#define SERIES   API_PROFILES "/history/series?service=" TEST_SERVICE
#define SESSIONS "/api/v1/profiling/sessions?service=" TEST_SERVICE

static const json_t *
item(const struct client_reply *r, const char *list, size_t i)
{
	ck_assert_msg(r->status == 200, "%s", buf_str(&r->body));
	return json_array_get(json_object_get(r->json, list), i);
}

static size_t
count(const struct client_reply *r, const char *list)
{
	ck_assert_msg(r->status == 200, "%s", buf_str(&r->body));
	return json_array_size(json_object_get(r->json, list));
}

static const char *
text(const json_t *j, const char *name)
{
	return json_string_value(json_object_get(j, name));
}

TEST(history_lists_sessions_and_windows_newest_first)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	CLEANUP_REPLY struct client_reply r = {0}, none = {0}, cut = {0};
	char session[ID_MAX], first[ID_MAX], second[ID_MAX];

	test_upload(&a, p, "cpu", session);
	put(&a, T0, "main 1\n", first);
	put(&a, T0 + H, "main;f 1\n", second);
	r = get(&a, HISTORY);
	none = get(&a, HISTORY "&resolution=none");
	cut = get(&a, HISTORY "&from=%lld&to=%lld&top=1", (long long)T0,
	          (long long)(T0 + H));
	ck_assert_uint_eq(count(&r, "items"), 3);
	ck_assert_str_eq(text(item(&r, "items", 0), "id"), session);
	ck_assert_str_eq(text(item(&r, "items", 1), "id"), second);
	ck_assert_str_eq(text(item(&r, "items", 2), "id"), first);
	ck_assert_uint_eq(json_array_size(json_object_get(item(&r, "items", 1),
	                                                  "topFunctions")),
	                  0);
	ck_assert_uint_eq(count(&none, "items"), 1);
	ck_assert_uint_eq(count(&cut, "items"), 1);
	ck_assert_uint_eq(json_array_size(json_object_get(
				  item(&cut, "items", 0), "topFunctions")),
	                  1);
}
END

TEST(an_upload_is_where_its_own_time_is)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *old = profile_of("main 1\n");
	CLEANUP_PROFILE struct profile *new = profile_of("main 1\n");
	CLEANUP_REPLY struct client_reply r = {0}, page = {0}, next = {0},
					  then = {0};
	char first[ID_MAX], second[ID_MAX], newest[ID_MAX], between[ID_MAX];

	put(&a, T0, "main 1\n", first);
	put(&a, T0 + H, "main 1\n", second);
	old->time_ns = (T0 + H / 2) * NS_PER_MS;
	test_upload(&a, new, "cpu", newest);
	test_upload(&a, old, "cpu", between);
	r = get(&a, HISTORY);
	ck_assert_uint_eq(count(&r, "items"), 4);
	ck_assert_str_eq(text(item(&r, "items", 0), "id"), newest);
	ck_assert_str_eq(text(item(&r, "items", 1), "id"), second);
	ck_assert_str_eq(text(item(&r, "items", 2), "id"), between);
	ck_assert_str_eq(text(item(&r, "items", 3), "id"), first);
	page = get(&a, HISTORY "&limit=2");
	next = get(&a, HISTORY "&limit=2&cursor=%s",
	           reply_text(&page, "nextCursor"));
	ck_assert_str_eq(text(item(&next, "items", 0), "id"), between);
	ck_assert_str_eq(text(item(&next, "items", 1), "id"), first);
	then = get(&a, HISTORY "&resolution=none&from=%lld&to=%lld",
	           (long long)T0, (long long)(T0 + H));
	ck_assert_uint_eq(count(&then, "items"), 1);
}
END

TEST(history_pages_hold_every_item_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	char id[ID_MAX], cursor[256] = "";
	size_t n = 0, pages = 0;

	for (int i = 0; i < 5; i++) {
		put(&a, T0 + i * H, "main 1\n", id);
		test_upload(&a, p, "cpu", id);
	}
	for (; pages < 20; pages++) {
		CLEANUP_REPLY struct client_reply r =
			get(&a, HISTORY "&limit=3&cursor=%s", cursor);

		n += count(&r, "items");
		ck_assert_uint_le(count(&r, "items"), 3);
		snprintf(cursor, sizeof(cursor), "%s",
		         reply_text(&r, "nextCursor"));
		if (!*cursor)
			break;
	}
	ck_assert_uint_eq(n, 10);
	ck_assert_uint_lt(pages, 20);
}
END

TEST(auto_lists_each_time_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply all = {0}, captured = {0},
					  minutes = {0}, failed = {0};
	char id[ID_MAX];

	for (int i = 0; i < 12; i++)
		put(&a, T0 + i * 10 * S, "main 1\n", id);
	test_rollup(&a.store.s, WINDOW_MINUTE);
	put(&a, T0 + H, "main 1\n", id);
	all = get(&a, HISTORY);
	captured = get(&a, HISTORY "&resolution=captured");
	minutes = get(&a, HISTORY "&resolution=minute");
	failed = get(&a, HISTORY "&status=failed");
	ck_assert_uint_eq(count(&all, "items"), 3);
	ck_assert_uint_eq(count(&captured, "items"), 13);
	ck_assert_uint_eq(count(&minutes, "items"), 2);
	ck_assert_uint_eq(count(&failed, "items"), 0);
}
END

TEST(labels_choose_sessions_and_windows)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	test_upload(&a, p, "cpu", id);
	test_window(&a.store.s,
	            &(struct test_window){.labels = "{\"team\":\"x\"}",
	                                  .start_ms = T0,
	                                  .span_ms = 10 * S,
	                                  .profile = p},
	            id);
	r = get(&a, HISTORY "&label.team=x");
	ck_assert_uint_eq(count(&r, "items"), 1);
	ck_assert_str_eq(text(item(&r, "items", 0), "id"), id);
}
END

static double
at(const struct client_reply *r, size_t i, const char *name)
{
	const json_t *v = json_object_get(item(r, "points", i), name);

	return json_is_null(v) ? -1 : json_number_value(v);
}

TEST(a_trend_has_a_point_for_each_step_and_nulls_for_gaps)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply all = {0}, f = {0};
	char id[ID_MAX];

	put(&a, T0, "main;f;f 3\nmain 1\n", id);
	put(&a, T0 + 120 * S, "main;f;g 4\n", id);
	all = get(&a, SERIES "&profileType=cpu&from=%lld&to=%lld&step=1m",
	          (long long)T0, (long long)(T0 + 180 * S));
	f = get(&a,
	        SERIES "&profileType=cpu&from=%lld&to=%lld&step=1m"
	               "&function=f",
	        (long long)T0, (long long)(T0 + 180 * S));
	ck_assert_uint_eq(count(&all, "points"), 3);
	ck_assert_double_eq(at(&all, 0, "value"), 4e7);
	ck_assert_double_eq(at(&all, 0, "rate"), 4e6);
	ck_assert_double_eq(at(&all, 0, "share"), 1);
	ck_assert_double_eq(at(&all, 0, "coveredSeconds"), 10);
	ck_assert_double_eq(at(&all, 1, "value"), -1);
	ck_assert_double_eq(at(&all, 1, "coveredSeconds"), 0);
	ck_assert_double_eq(at(&f, 0, "value"), 3e7);
	ck_assert_double_eq(at(&f, 0, "self"), 3e7);
	ck_assert_double_eq(at(&f, 0, "share"), 0.75);
	ck_assert_double_eq(at(&f, 2, "value"), 4e7);
	ck_assert_double_eq(at(&f, 2, "self"), 0);
	ck_assert_double_eq(at(&f, 2, "samples"), 4);
}
END

static void
put_at(struct test_api *a, const char *host, const char *labels,
       const char *folded)
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);
	char id[ID_MAX];

	test_window(&a->store.s,
	            &(struct test_window){.host = host,
	                                  .labels = labels,
	                                  .start_ms = T0,
	                                  .span_ms = 10 * S,
	                                  .profile = p},
	            id);
}

#define GROUPS API_PROFILES "/history/groups?service=" TEST_SERVICE

TEST(groups_have_their_share_and_add_up_to_the_service)
{
	static const struct {
		const char *by, *first, *second;
		double share, sum;
	} rows[] = {
		{"host", "a", "b", 0.6, 1},
		{"label.zone", "x", "y", 0.7, 0.9},
		{"label.none", NULL, NULL, 0, 0},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	put_at(&a, "a", "{\"zone\":\"x\",\"__values__\":\"cpu\"}", "main 50\n");
	put_at(&a, "a", "{}", "main 10\n");
	put_at(&a, "b", "{\"zone\":\"x\"}", "main 20\n");
	put_at(&a, "b", "{\"zone\":\"y\"}", "main 20\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r = {0};
		double sum = 0;

		r = get(&a, GROUPS "&profileType=cpu&from=%lld&to=%lld&by=%s",
		        (long long)T0, (long long)(T0 + 60 * S), rows[i].by);
		ck_assert_uint_eq(count(&r, "keys"), 2);
		ck_assert_uint_eq(count(&r, "groups"), rows[i].first ? 2 : 0);
		for (size_t k = 0; k < count(&r, "groups"); k++)
			sum += json_number_value(json_object_get(
				item(&r, "groups", k), "share"));
		ck_assert_double_eq_tol(sum, rows[i].sum, 1e-9);
		if (!rows[i].first)
			continue;
		ck_assert_str_eq(text(item(&r, "groups", 0), "value"),
		                 rows[i].first);
		ck_assert_str_eq(text(item(&r, "groups", 1), "value"),
		                 rows[i].second);
		ck_assert_double_eq_tol(
			json_number_value(json_object_get(item(&r, "groups", 0),
		                                          "share")),
			rows[i].share, 1e-9);
		ck_assert_double_eq_tol(
			json_number_value(json_object_get(r.json, "cost")), 1e9,
			1);
	}
}
END

TEST(values_past_those_that_are_groups_are_counted_once)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char zone[32];

	for (int i = 0; i < 104; i++) {
		snprintf(zone, sizeof(zone), "{\"zone\":\"z%d\"}", i % 52);
		put_at(&a, i < 52 ? "a" : "b", zone, "main 1\n");
	}
	r = get(&a, GROUPS "&profileType=cpu&from=%lld&to=%lld&by=label.zone",
	        (long long)T0, (long long)(T0 + 60 * S));
	ck_assert_uint_eq(count(&r, "groups"), 50);
	ck_assert_int_eq(
		json_integer_value(json_object_get(r.json, "groupsLeft")), 2);
	ck_assert_int_eq(json_integer_value(json_object_get(item(&r, "keys", 1),
	                                                    "values")),
	                 52);
}
END

/* Adds a sample with a label to a profile of CPU time. */
static void
add_labelled(struct profile *p, const char *key, const char *value, int64_t ns)
{
	struct label l = {0};
	const int64_t values[] = {1, ns};

	ck_assert_int_eq(profile_cstring(p, key, &l.key), 0);
	ck_assert_int_eq(profile_cstring(p, value, &l.str), 0);
	ck_assert_int_eq(profile_sample(p, p->stack, 1, &l, 1, values), 0);
}

TEST(samples_are_grouped_and_compared_by_what_their_threads_published)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main 20\n");
	CLEANUP_REPLY struct client_reply r = {0}, usual = {0}, trend = {0};
	CLEANUP_REPLY struct client_reply diff = {0}, none = {0}, traces = {0};
	char id[ID_MAX];

	add_labelled(p, "http.route", "/cart", 500000000);
	add_labelled(p, "http.route", "/pay", 300000000);
	add_labelled(p, "http.route", "/cart", 1);
	add_labelled(p, "trace_id", "77", 1);
	test_window(&a.store.s,
	            &(struct test_window){.host = "a",
	                                  .labels = "{}",
	                                  .start_ms = T0,
	                                  .span_ms = 10 * S,
	                                  .profile = p},
	            id);
	r = get(&a, GROUPS "&profileType=cpu&from=%lld&to=%lld&by=%s",
	        (long long)T0, (long long)(T0 + 60 * S), "sample.http.route");
	usual = get(&a, GROUPS "&profileType=cpu&from=%lld&to=%lld",
	            (long long)T0, (long long)(T0 + 60 * S));
	ck_assert_uint_eq(count(&r, "keys"), 3);
	ck_assert_str_eq(text(item(&r, "keys", 1), "by"), "sample.http.route");
	ck_assert_int_eq(json_integer_value(json_object_get(item(&r, "keys", 1),
	                                                    "values")),
	                 2);
	ck_assert_uint_eq(count(&r, "groups"), 3);
	ck_assert_str_eq(text(item(&r, "groups", 0), "value"), "/cart");
	ck_assert_str_eq(text(item(&r, "groups", 2), "value"), "");
	ck_assert_double_eq_tol(json_number_value(json_object_get(
					item(&r, "groups", 1), "share")),
	                        0.3, 1e-6);
	ck_assert_str_eq(reply_text(&usual, "by"), "sample.http.route");
	traces = get(&a, GROUPS "&profileType=cpu&from=%lld&to=%lld&by=%s",
	             (long long)T0, (long long)(T0 + 60 * S),
	             "sample.trace_id");
	ck_assert_str_eq(text(item(&traces, "groups", 1), "value"), "77");
	trend = get(&a,
	            SERIES "&profileType=cpu&from=%lld&to=%lld&step=1m"
	                   "&sample.http.route=/pay",
	            (long long)T0, (long long)(T0 + 60 * S));
	ck_assert_double_eq(at(&trend, 0, "value"), 3e8);
	diff = get(&a,
	           API_PROFILES "/diff?service=" TEST_SERVICE
	                        "&profileType=cpu&format=json&baseFrom=%lld"
	                        "&baseTo=%lld&comparisonFrom=%lld"
	                        "&comparisonTo=%lld&sample.http.route=/pay",
	           (long long)T0, (long long)(T0 + 60 * S), (long long)T0,
	           (long long)(T0 + 60 * S));
	ck_assert_double_eq(
		json_number_value(json_object_get(diff.json, "total")), 3e8);
	none = get(&a,
	           API_PROFILES "/diff?service=" TEST_SERVICE
	                        "&profileType=cpu&baseFrom=0&baseTo=1"
	                        "&comparisonFrom=%lld&comparisonTo=%lld"
	                        "&optional=true",
	           (long long)T0, (long long)(T0 + 60 * S));
	ck_assert_int_eq(none.status, 204);
}
END

TEST(a_group_is_compared_with_the_others)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const char *more[] = {"&label.zone=y", ""};
	struct client_reply r[2];

	put_at(&a, "a", "{\"zone\":\"x\"}", "main 10\n");
	put_at(&a, "b", "{\"zone\":\"y\"}", "main 20\n");
	put_at(&a, "c", "{\"zone\":\"z\"}", "main 40\n");
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		r[i] = get(&a,
		           API_PROFILES
		           "/diff?service=" TEST_SERVICE
		           "&profileType=cpu&format=folded&baseFrom=%lld"
		           "&baseTo=%lld&comparisonFrom=%lld"
		           "&comparisonTo=%lld&others=true%s",
		           (long long)T0, (long long)(T0 + 60 * S),
		           (long long)T0, (long long)(T0 + 60 * S), more[i]);
	ck_assert_str_eq(buf_str(&r[0].body), "main 50 20\n");
	assert_error(&r[1], 400, "InvalidParameter");
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		client_reply_done(&r[i]);
}
END

TEST(only_a_range_has_the_others_and_its_link_keeps_the_host)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main 10\n");
	CLEANUP_REPLY struct client_reply r = {0}, swapped = {0};
	char id[ID_MAX];

	put_at(&a, "a", "{}", "main 10\n");
	put_at(&a, "b", "{}", "main 20\n");
	test_upload(&a, p, "cpu", id);
	r = get(&a,
	        API_PROFILES "/compare?baseFrom=%lld&baseTo=%lld"
	                     "&comparisonProfileId=%s&host=a&others=true",
	        (long long)T0, (long long)(T0 + 60 * S), id);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_ptr_nonnull(strstr(
		text(json_object_get(r.json, "links"), "diff"), "&host=a&"));
	swapped = get(&a,
	              API_PROFILES
	              "/compare?comparisonFrom=%lld&comparisonTo=%lld"
	              "&baseProfileId=%s&host=a&others=true",
	              (long long)T0, (long long)(T0 + 60 * S), id);
	assert_error(&swapped, 400, "InvalidParameter");
}
END

/* --- shifts --------------------------------------------------------------- */

#define SHIFTS   API_PROFILES "/history/shifts?service=" TEST_SERVICE
#define SHIFTS_N 80 /* windows */

/* Stores windows in which f, called by main, costs three times as much from the
 * 50th on. Each has some functions that no other has. */
static void
put_shifted_among(struct test_api *a, int others)
{
	char id[ID_MAX];

	for (int i = 0; i < SHIFTS_N; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		buf_addf(&text, "main;f %d\nmain;g %d\n",
		         (i < 50 ? 6 : 18) + i % 3, 80 + i % 7);
		for (int k = 0; k < others; k++)
			buf_addf(&text, "main;once_%d_%d 1\n", i, k);
		put(a, T0 + i * 10 * S, buf_str(&text), id);
	}
}

static void
put_shifted(struct test_api *a)
{
	put_shifted_among(a, 0);
}

static struct client_reply
shifts_of(struct test_api *a, const char *function)
{
	return get(a, SHIFTS "&profileType=cpu&from=%lld&to=%lld%s",
	           (long long)T0, (long long)(T0 + SHIFTS_N * 10 * S),
	           function);
}

static const json_t *
first_shift(const json_t *of)
{
	const json_t *list = json_object_get(of, "shifts");

	ck_assert_uint_eq(json_array_size(list), 1);
	return json_array_get(list, 0);
}

TEST(a_function_costs_more_since_a_time_that_its_interval_has)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, g = {0};
	const json_t *s;
	char at[RFC3339_LEN];

	put_shifted(&a);
	r = shifts_of(&a, "&function=f");
	g = shifts_of(&a, "&function=g");
	s = first_shift(item(&r, "functions", 0));
	clock_format(T0 + 500 * S, at);
	ck_assert_str_eq(text(s, "at"), at);
	ck_assert_str_le(text(s, "earliest"), at);
	ck_assert_str_ge(text(s, "latest"), at);
	ck_assert_double_eq_tol(json_number_value(json_object_get(s, "factor")),
	                        19. / 7, .02);
	ck_assert_str_eq(text(item(&r, "functions", 0), "cost"), "self");
	/* g's share fell, but not its cost per second */
	ck_assert_uint_eq(json_array_size(json_object_get(
				  item(&g, "functions", 0), "shifts")),
	                  0);
}
END

TEST(functions_that_shifted_are_found_without_their_names)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, none = {0}, main_ = {0};

	put_shifted(&a);
	r = shifts_of(&a, "");
	none = shifts_of(&a, "&function=nosuch");
	main_ = shifts_of(&a, "&function=main");
	ck_assert_uint_eq(count(&r, "functions"), 1);
	ck_assert_str_eq(text(item(&r, "functions", 0), "function"), "f");
	ck_assert_double_eq(
		json_number_value(json_object_get(r.json, "tested")), 2);
	first_shift(json_object_get(r.json, "whole"));
	ck_assert_uint_eq(count(&none, "functions"), 1);
	ck_assert(json_is_null(
		json_object_get(item(&none, "functions", 0), "leastFactor")));
	/* main has no self cost */
	ck_assert_str_eq(text(item(&main_, "functions", 0), "cost"), "total");
}
END

TEST(a_shift_is_found_among_more_functions_than_are_counted_at_a_time)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, f = {0};

	put_shifted_among(&a, 2 * SHIFTS_FUNCTIONS / SHIFTS_N);
	r = shifts_of(&a, "");
	f = shifts_of(&a, "&function=f");
	ck_assert_int_eq(r.status, 200);
	ck_assert_uint_eq(count(&r, "functions"), 1);
	ck_assert_str_eq(text(item(&r, "functions", 0), "function"), "f");
	first_shift(item(&f, "functions", 0));
}
END

/* Stores windows with 10 goroutines and, from the 50th on, 40. */
static void
put_grown(struct test_api *a)
{
	for (int i = 0; i < SHIFTS_N; i++) {
		CLEANUP_PROFILE struct profile *p = NULL;
		char text[64], id[ID_MAX];

		snprintf(text, sizeof(text),
		         "%d state=waiting|main.f main.main\n",
		         (i < 50 ? 10 : 40) + i % 3 - 1);
		p = stacks_of(text);
		test_window(&a->store.s,
		            &(struct test_window){.type = "goroutine",
		                                  .start_ms = T0 + i * 10 * S,
		                                  .span_ms = 10 * S,
		                                  .profile = p},
		            id);
	}
}

static double
level(const json_t *shift, const char *side)
{
	return json_number_value(
		json_object_get(json_object_get(shift, side), "perSecond"));
}

TEST(levels_of_a_gauge_are_its_means)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	const json_t *s;

	put_grown(&a);
	r = get(&a, SHIFTS "&profileType=goroutine&from=%lld&to=%lld",
	        (long long)T0, (long long)(T0 + SHIFTS_N * 10 * S));
	s = first_shift(json_object_get(r.json, "whole"));
	ck_assert_double_eq_tol(level(s, "before"), 10, .1);
	ck_assert_double_eq_tol(level(s, "after"), 40, .1);
}
END

/* Totals come from the rows of windows, so their bytes are not needed. */
TEST(a_trend_of_all_functions_is_told_by_rows_alone)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply all = {0}, f = {0};
	char id[ID_MAX], path[128];

	put(&a, T0, "main;f 3\n", id);
	snprintf(path, sizeof(path), "%s/segments", a.store.dir);
	if (test_on_server())
		test_sql(&a.store, "DELETE FROM blob_bytes", NULL, 0);
	else
		test_remove(path);
	all = get(&a, SERIES "&profileType=cpu&from=%lld&to=%lld&step=1m",
	          (long long)T0, (long long)(T0 + 60 * S));
	f = get(&a,
	        SERIES "&profileType=cpu&from=%lld&to=%lld&step=1m"
	               "&function=f",
	        (long long)T0, (long long)(T0 + 60 * S));
	ck_assert_int_ne(f.status, 200);
	ck_assert_uint_eq(count(&all, "points"), 1);
	ck_assert_double_eq(at(&all, 0, "value"), 3e7);
}
END

TEST(a_trend_is_the_same_from_rollups)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply before = {0}, after = {0};
	char id[ID_MAX];
	double sum = 0;

	for (int i = 0; i < 48; i++)
		put(&a, T0 + i * H / 2, "main;f 2\nmain 1\n", id);
	before = get(&a, SERIES "&profileType=cpu&from=%lld&to=%lld&step=1h",
	             (long long)T0, (long long)(T0 + DAY));
	for (enum window_level l = WINDOW_MINUTE; l < WINDOW_LEVELS; l++)
		test_rollup(&a.store.s, l);
	after = get(&a, SERIES "&profileType=cpu&from=%lld&to=%lld&step=1h",
	            (long long)T0, (long long)(T0 + DAY));
	ck_assert_uint_eq(count(&after, "points"), 24);
	for (size_t i = 0; i < 24; i++) {
		ck_assert_double_eq_tol(at(&after, i, "value"),
		                        at(&before, i, "value"), 1);
		ck_assert_double_eq_tol(at(&after, i, "coveredSeconds"), 20,
		                        1e-3);
		sum += at(&after, i, "value");
	}
	ck_assert_double_eq_tol(sum, 48 * 3e7, 10);
}
END

TEST(a_trend_of_a_gauge_is_its_mean)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	for (int i = 1; i <= 2; i++) {
		CLEANUP_PROFILE struct profile *p = stacks_of(
			i == 1 ? "10 state=waiting|main.f main.main\n"
			       : "40 state=waiting|main.f main.main\n");
		char id[ID_MAX];

		test_window(&a.store.s,
		            &(struct test_window){.type = "goroutine",
		                                  .start_ms = T0 + i * 30 * S,
		                                  .span_ms = i * 10 * S,
		                                  .profile = p},
		            id);
	}
	r = get(&a, SERIES "&profileType=goroutine&from=%lld&to=%lld&step=1d",
	        (long long)T0, (long long)(T0 + DAY));
	ck_assert_double_eq_tol(at(&r, 0, "value"), 30, 1e-6);
	ck_assert_double_eq(at(&r, 0, "rate"), -1);
}
END

/* A minute is the shortest span that windows are rolled up to. */
TEST(a_gauge_that_is_pushed_every_two_minutes_keeps_its_mean)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p =
		stacks_of("10 state=waiting|main.f main.main\n");
	char id[ID_MAX];

	for (int i = 0; i < 10; i++)
		test_window(&a.store.s,
		            &(struct test_window){.type = "goroutine",
		                                  .start_ms = T0 + i * 120 * S,
		                                  .span_ms = 120 * S,
		                                  .profile = p},
		            id);
	for (enum window_level l = WINDOW_MINUTE; l <= WINDOW_HOUR; l++) {
		CLEANUP_REPLY struct client_reply r = {0};

		test_rollup(&a.store.s, l);
		r = get(&a,
		        API_PROFILES "/merge?service=" TEST_SERVICE
		                     "&profileType=goroutine&from=%lld&to=%lld",
		        (long long)T0, (long long)(T0 + 1200 * S));
		ck_assert_double_eq_tol(
			json_number_value(json_object_get(r.json, "total")), 10,
			1e-6);
		ck_assert_double_eq_tol(json_number_value(json_object_get(
						r.json, "coveredSeconds")),
		                        1200, 1e-3);
	}
}
END

/* test_upload() makes captures of five seconds. */
TEST(a_trend_of_a_range_without_windows_is_of_sessions)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 3\nmain 1\n");
	CLEANUP_REPLY struct client_reply all = {0}, f = {0}, window = {0};
	char id[ID_MAX];

	p->time_ns = (T0 + 70 * S) * NS_PER_MS;
	test_upload(&a, p, "cpu", id);
	all = get(&a, SERIES "&profileType=cpu&from=%lld&to=%lld&step=1m",
	          (long long)T0, (long long)(T0 + 180 * S));
	f = get(&a,
	        SERIES "&profileType=cpu&from=%lld&to=%lld&step=1m"
	               "&function=f",
	        (long long)T0, (long long)(T0 + 180 * S));
	ck_assert_double_eq(at(&all, 0, "value"), -1);
	ck_assert_double_eq(at(&all, 1, "value"), 4e7);
	ck_assert_double_eq_tol(at(&all, 1, "rate"), 4e7 / 5.001, 1);
	ck_assert_double_eq(at(&all, 1, "samples"), 4);
	ck_assert_double_eq(at(&f, 1, "value"), 3e7);
	ck_assert_double_eq(at(&f, 1, "share"), 0.75);

	/* a worker that was watching saw the work of that capture, too */
	put(&a, T0 + 120 * S, "main 9\n", id);
	window = get(&a, SERIES "&profileType=cpu&from=%lld&to=%lld&step=1m",
	             (long long)T0, (long long)(T0 + 180 * S));
	ck_assert_double_eq(at(&window, 1, "value"), -1);
	ck_assert_double_eq(at(&window, 2, "value"), 9e7);
}
END

/* Returns the index of the only point that has a value. */
static size_t
only(const struct client_reply *r)
{
	size_t found = 0, n = 0;

	for (size_t i = 0; i < count(r, "points"); i++)
		if (at(r, i, "value") >= 0) {
			found = i;
			n++;
		}
	ck_assert_uint_eq(n, 1);
	return found;
}

TEST(a_session_of_unknown_duration_has_a_value_and_no_rate)
{
	static const char stacks[] = "main;f 4\n";
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply up = {0}, gauge = {0}, cpu = {0},
					  memory = {0};

	up = ask(&a, (struct ask){.key = KEY_OPERATOR,
	                          .method = "POST",
	                          .path = SESSIONS "&type=cpu&sampleRate=100",
	                          .type = "text/plain",
	                          .body = stacks});
	gauge = ask(&a, (struct ask){.key = KEY_OPERATOR,
	                             .method = "POST",
	                             .path = SESSIONS "&type=memory",
	                             .type = "text/plain",
	                             .body = stacks});
	ck_assert_int_eq(up.status, 201);
	ck_assert_int_eq(gauge.status, 201);
	cpu = get(&a, SERIES "&profileType=cpu&from=now-1d&to=now%%2B1d"
	                     "&step=30d");
	memory = get(&a, SERIES "&profileType=memory&from=now-1d&to=now%%2B1d"
	                        "&step=30d");
	ck_assert_double_eq(at(&cpu, only(&cpu), "value"), 4e7);
	ck_assert_double_eq(at(&cpu, only(&cpu), "rate"), -1);
	ck_assert_double_eq(at(&memory, only(&memory), "value"), 4);
}
END

TEST(a_trend_has_so_many_points_and_no_more)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply fits = {0}, past = {0};

	fits = get(&a, SERIES "&profileType=cpu&from=%lld&to=%lld&step=1s",
	           (long long)T0, (long long)(T0 + 2000 * S));
	past = get(&a, SERIES "&profileType=cpu&from=%lld&to=%lld&step=1s",
	           (long long)T0, (long long)(T0 + 2001 * S));
	ck_assert_uint_eq(count(&fits, "points"), 2000);
	assert_error(&past, 400, "InvalidParameter");
	ck_assert_str_eq(reply_detail(&past, "parameter"), "step");
}
END

static void
pin(struct test_api *a, const char *method, const char *id, bool pinned)
{
	CLEANUP_REPLY struct client_reply r = {0};
	char path[128];

	snprintf(path, sizeof(path), API_PROFILES "/%s/pin", id);
	r = api_say(a, KEY_OPERATOR, method, path, NULL);
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_int_eq(json_is_true(json_object_get(r.json, "pinned")),
	                 pinned);
}

TEST(a_pinned_window_outlives_its_time)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	const struct window_keep keep = {.all_ms = 1000};
	char id[ID_MAX];

	put(&a, T0, "main 1\n", id);
	pin(&a, "POST", id, true);
	ck_assert_int_eq(window_expire(&a.store.s, &keep), 0);
	pin(&a, "DELETE", id, false);
	ck_assert_int_eq(window_expire(&a.store.s, &keep), 1);
}
END

TEST(a_pinned_session_outlives_its_time)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	char id[ID_MAX];

	test_upload(&a, p, "cpu", id);
	db_skew_clock(a.store.s.db, DAY);
	pin(&a, "POST", id, true);
	ck_assert_int_eq(blob_retain(&a.store.s, INT64_MAX, H), 0);
	pin(&a, "DELETE", id, false);
	ck_assert_int_gt(blob_retain(&a.store.s, INT64_MAX, H), 0);
}
END

/* Windows of an idle service look like this. */
TEST(a_window_without_samples_is_an_empty_profile_of_its_type)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_PROFILE struct profile *none = profile_of("");

	for (size_t i = 0; i < profile_ntypes; i++) {
		CLEANUP_REPLY struct client_reply whole = {0}, view = {0};
		char id[ID_MAX];

		test_window(&a.store.s,
		            &(struct test_window){
				    .type = profile_types[i].name,
				    .start_ms = T0,
				    .span_ms = 10 * S,
				    .profile = none,
			    },
		            id);
		whole = get(&a, API_PROFILES "/%s", id);
		ck_assert_int_eq(whole.status, 200);
		ck_assert_str_eq(text(whole.json, "status"), "completed");
		view = get(&a, API_PROFILES "/%s/flamegraph?format=json", id);
		ck_assert_int_eq(view.status, 200);
		ck_assert_str_eq(text(view.json, "unit"),
		                 profile_types[i].unit);
		ck_assert_int_eq(
			json_integer_value(json_object_get(view.json, "total")),
			0);
	}
}
END

SUITE("history");
