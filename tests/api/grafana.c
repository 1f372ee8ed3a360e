/* Calls of Grafana's data source, compared with the API's own answers. */
#include "base/clock.h"
#include "base/json_out.h"
#include "lib/api_short.h"
#include "lib/folded.h"
#include "lib/stacks.h"
#include "lib/windows.h"

#include <string.h>

#define S       INT64_C(1000)
#define T0      (20000 * 86400 * S)
#define QUERIER "/querier.v1.QuerierService/"
#define CPU     "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define MEMORY  "memory:inuse_space:bytes:space:bytes"
#define THREADS "goroutine:goroutine:count:goroutine:count"

static void
put(struct test_api *a, const char *host, const char *labels, int64_t at_s,
    const char *folded)
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);
	const struct test_window w = {
		.host = host,
		.labels = labels,
		.start_ms = T0 + at_s * S,
		.span_ms = 10 * S,
		.profile = p,
	};
	char id[ID_MAX];

	test_window(&a->store.s, &w, id);
}

static void
put_threads(struct test_api *a, int64_t at_s, int n)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	char text[64], id[ID_MAX];

	snprintf(text, sizeof(text), "%d state=waiting|main.f main.main\n", n);
	p = stacks_of(text);
	test_window(&a->store.s,
	            &(struct test_window){.type = "goroutine",
	                                  .start_ms = T0 + at_s * S,
	                                  .span_ms = 10 * S,
	                                  .profile = p},
	            id);
}

static void
put_all(struct test_api *a)
{
	put(a, "a", "{\"stage\":\"live\"}", 0, "main;f;g 30\nmain 10\n");
	put(a, "a", "{\"stage\":\"live\"}", 10, "main;f 60\n");
	put(a, "b", "{\"stage\":\"test\"}", 10, "main;h 7\n");
	put_threads(a, 0, 10);
	put_threads(a, 10, 30);
}

/* Sends a request in JSON. */
static struct client_reply
call(struct test_api *a, const char *method, const char *body)
{
	char path[128];

	snprintf(path, sizeof(path), QUERIER "%s", method);
	return api_say(a, KEY_VIEWER, "POST", path, body);
}

/* Requests a type and a selector, for the minute that begins at T0. */
static struct client_reply
select_json(struct test_api *a, const char *method, const char *type,
            const char *selector, const char *more)
{
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);

	json_open(&body, NULL, '{');
	json_put_text(&body, "profileTypeID", type);
	json_put_text(&body, "labelSelector", selector);
	json_put_int(&body, "start", T0);
	json_put_int(&body, "end", T0 + 60 * S);
	buf_puts(&body, more);
	json_close(&body, '}');
	return call(a, method, buf_str(&body));
}

static void
assert_body(struct client_reply *r, const char *text)
{
	ck_assert_msg(r->status == 200, "%s", buf_str(&r->body));
	r->body.p[--r->body.len] = '\0'; /* removes the newline */
	ck_assert_str_eq(buf_str(&r->body), text);
}

TEST(types_labels_and_values_are_those_of_stored_windows)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply types = {0}, names = {0}, hosts = {0},
					  live = {0}, series = {0};

	put_all(&a);
	types = call(&a, "ProfileTypes", "{}");
	assert_body(&types,
	            "{\"profileTypes\":[{\"ID\":\"" CPU
	            "\",\"name\":\"process_cpu\",\"sampleType\":\"cpu\","
	            "\"sampleUnit\":\"nanoseconds\",\"periodType\":\"cpu\","
	            "\"periodUnit\":\"nanoseconds\"},{\"ID\":\"" THREADS
	            "\",\"name\":\"goroutine\",\"sampleType\":\"goroutine\","
	            "\"sampleUnit\":\"count\",\"periodType\":\"goroutine\","
	            "\"periodUnit\":\"count\"}]}");
	names = call(&a, "LabelNames", "{}");
	assert_body(&names, "{\"names\":[\"__name__\",\"__period_type__\","
	                    "\"__period_unit__\",\"__profile_type__\","
	                    "\"__type__\",\"__unit__\",\"host\","
	                    "\"service_name\",\"stage\"]}");
	hosts = call(&a, "LabelValues",
	             "{\"name\":\"host\",\"matchers\":"
	             "[\"{__profile_type__=\\\"" CPU "\\\"}\"]}");
	assert_body(&hosts, "{\"names\":[\"a\",\"b\"]}");
	live = call(&a, "LabelValues",
	            "{\"name\":\"host\",\"matchers\":"
	            "[\"{stage=~\\\"l.*\\\"}\"]}");
	assert_body(&live, "{\"names\":[\"a\"]}");
	series = call(&a, "Series",
	              "{\"labelNames\":[\"stage\",\"service_name\"],"
	              "\"matchers\":[\"{stage!=\\\"\\\"}\"]}");
	assert_body(&series,
	            "{\"labelsSet\":[{\"labels\":[{\"name\":\"service_name\","
	            "\"value\":\"svc\"},{\"name\":\"stage\",\"value\":\"live\"}"
	            "]},{\"labels\":[{\"name\":\"service_name\",\"value\":"
	            "\"svc\"},{\"name\":\"stage\",\"value\":\"test\"}]}]}");
}
END

TEST(a_pushed_profile_may_have_a_label_that_is_named_host)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply none = {0}, names = {0}, hosts = {0};

	put(&a, "", "{\"stage\":\"live\"}", 0, "main 10\n");
	none = call(&a, "LabelNames", "{}");
	ck_assert_ptr_nonnull(strstr(buf_str(&none.body), "\"stage\""));
	ck_assert_ptr_null(strstr(buf_str(&none.body), "\"host\""));
	put(&a, "", "{\"host\":\"pod\"}", 10, "main 10\n");
	names = call(&a, "LabelNames", "{}");
	ck_assert_ptr_nonnull(strstr(buf_str(&names.body), "\"host\""));
	hosts = call(&a, "LabelValues", "{\"name\":\"host\"}");
	assert_body(&hosts, "{\"names\":[\"pod\"]}");
}
END

TEST(a_flame_graph_has_levels_names_and_totals)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply all = {0}, one = {0}, none = {0};

	put_all(&a);
	all = select_json(&a, "SelectMergeStacktraces", CPU, "{}", "");
	/* total: 107 samples of 10 ms; below main: 10 self, f 90, h 7 */
	assert_body(
		&all,
		"{\"flamegraph\":{\"names\":[\"total\",\"main\",\"f\",\"g\","
		"\"h\"],\"levels\":["
		"{\"values\":[\"0\",\"1070000000\",\"0\",\"0\"]},"
		"{\"values\":[\"0\",\"1070000000\",\"100000000\",\"1\"]},"
		"{\"values\":[\"100000000\",\"900000000\",\"600000000\",\"2\","
		"\"0\",\"70000000\",\"70000000\",\"4\"]},"
		"{\"values\":[\"700000000\",\"300000000\",\"300000000\",\"3\"]}"
		"],\"total\":\"1070000000\",\"maxSelf\":\"600000000\"}}");
	one = select_json(&a, "SelectMergeStacktraces", CPU,
	                  "{service_name=\"svc\",host=\"b\"}", "");
	assert_body(&one,
	            "{\"flamegraph\":{\"names\":[\"total\",\"main\","
	            "\"h\"],\"levels\":["
	            "{\"values\":[\"0\",\"70000000\",\"0\",\"0\"]},"
	            "{\"values\":[\"0\",\"70000000\",\"0\",\"1\"]},"
	            "{\"values\":[\"0\",\"70000000\",\"70000000\",\"2\"]}"
	            "],\"total\":\"70000000\",\"maxSelf\":\"70000000\"}}");
	none = select_json(&a, "SelectMergeStacktraces", MEMORY, "{}", "");
	assert_body(&none, "{\"flamegraph\":{\"names\":[\"total\"],\"levels\":"
	                   "[{\"values\":[\"0\",\"0\",\"0\",\"0\"]}]}}");
}
END

TEST(nodes_that_are_left_out_are_named_other_and_keep_their_total)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	put_all(&a);
	r = select_json(&a, "SelectMergeStacktraces", CPU, "{}",
	                ",\"maxNodes\":\"3\"");
	assert_body(&r,
	            "{\"flamegraph\":{\"names\":[\"total\",\"main\",\"f\","
	            "\"other\"],\"levels\":["
	            "{\"values\":[\"0\",\"1070000000\",\"0\",\"0\"]},"
	            "{\"values\":[\"0\",\"1070000000\",\"100000000\",\"1\"]},"
	            "{\"values\":[\"100000000\",\"900000000\",\"600000000\","
	            "\"2\",\"0\",\"70000000\",\"70000000\",\"3\"]},"
	            "{\"values\":[\"700000000\",\"300000000\",\"300000000\","
	            "\"3\"]}],"
	            "\"total\":\"1070000000\",\"maxSelf\":\"600000000\"}}");
}
END

TEST(a_series_has_points_of_each_group)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply all = {0}, hosts = {0}, top = {0},
					  gauge = {0}, mean = {0};

	put_all(&a);
	all = select_json(&a, "SelectSeries", CPU, "{}", ",\"step\":10");
	assert_body(&all,
	            "{\"series\":[{\"points\":["
	            "{\"value\":400000000,\"timestamp\":\"1728000010000\"},"
	            "{\"value\":670000000,\"timestamp\":\"1728000020000\"}"
	            "]}]}");
	hosts = select_json(&a, "SelectSeries", CPU, "{host=~\"a|b\"}",
	                    ",\"step\":60,\"group_by\":[\"host\"]");
	assert_body(&hosts,
	            "{\"series\":[{\"labels\":[{\"name\":\"host\",\"value\":"
	            "\"a\"}],\"points\":[{\"value\":1000000000,\"timestamp\":"
	            "\"1728000060000\"}]},{\"labels\":[{\"name\":\"host\","
	            "\"value\":\"b\"}],\"points\":[{\"value\":70000000,"
	            "\"timestamp\":\"1728000060000\"}]}]}");
	top = select_json(&a, "SelectSeries", CPU, "{}",
	                  ",\"step\":60,\"groupBy\":[\"stage\"],\"limit\":1");
	ck_assert(strstr(buf_str(&top.body), "\"live\""));
	ck_assert(!strstr(buf_str(&top.body), "\"test\""));
	gauge = select_json(&a, "SelectSeries", THREADS, "{}", ",\"step\":60");
	assert_body(&gauge, "{\"series\":[{\"points\":[{\"value\":20,"
	                    "\"timestamp\":\"1728000060000\"}]}]}");
	mean = select_json(&a, "SelectSeries", CPU, "{host=\"a\"}",
	                   ",\"step\":60,\"aggregation\":"
	                   "\"TIME_SERIES_AGGREGATION_TYPE_AVERAGE\"");
	assert_body(&mean, "{\"series\":[{\"points\":[{\"value\":500000000,"
	                   "\"timestamp\":\"1728000060000\"}]}]}");
}
END

TEST(a_call_site_leaves_the_stacks_that_begin_with_it)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply f = {0}, none = {0};

	put_all(&a);
	f = select_json(&a, "SelectMergeStacktraces", CPU, "{}",
	                ",\"stackTraceSelector\":{\"call_site\":[{\"name\":"
	                "\"main\"},{\"name\":\"f\"}]}");
	assert_body(&f,
	            "{\"flamegraph\":{\"names\":[\"total\",\"main\",\"f\","
	            "\"g\"],\"levels\":["
	            "{\"values\":[\"0\",\"900000000\",\"0\",\"0\"]},"
	            "{\"values\":[\"0\",\"900000000\",\"0\",\"1\"]},"
	            "{\"values\":[\"0\",\"900000000\",\"600000000\",\"2\"]},"
	            "{\"values\":[\"600000000\",\"300000000\",\"300000000\","
	            "\"3\"]}],\"total\":\"900000000\","
	            "\"maxSelf\":\"600000000\"}}");
	none = select_json(&a, "SelectMergeStacktraces", CPU, "{}",
	                   ",\"stack_trace_selector\":{\"callSite\":"
	                   "[{\"name\":\"f\"}]}");
	assert_body(&none, "{\"flamegraph\":{\"names\":[\"total\"],"
	                   "\"levels\":[{\"values\":[\"0\",\"0\",\"0\","
	                   "\"0\"]}]}}");
}
END

TEST(a_series_of_a_call_site_has_the_cost_of_its_stacks)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply f = {0}, g = {0};

	put_all(&a);
	f = select_json(&a, "SelectSeries", CPU, "{}",
	                ",\"step\":10,\"stackTraceSelector\":{\"callSite\":"
	                "[{\"name\":\"main\"},{\"name\":\"f\"}]}");
	assert_body(&f, "{\"series\":[{\"points\":["
	                "{\"value\":300000000,\"timestamp\":\"1728000010000\"},"
	                "{\"value\":600000000,\"timestamp\":\"1728000020000\"}"
	                "]}]}");
	/* windows without such a stack are points as well, with a value of 0,
	 * which JSON leaves out */
	g = select_json(&a, "SelectSeries", CPU, "{host=\"b\"}",
	                ",\"step\":60,\"stackTraceSelector\":{\"frameFilter\":"
	                "{\"excludeFunctionNames\":[\"h\"]}}");
	assert_body(&g, "{\"series\":[{\"points\":[{"
	                "\"timestamp\":\"1728000060000\"}]}]}");
}
END

TEST(a_part_that_is_not_served_is_refused_and_not_left_in)
{
	static const char *const parts[] = {
		",\"profileIdSelector\":[\"p-1\"]",
		",\"format\":\"PROFILE_FORMAT_TREE\"",
		",\"format\":\"PROFILE_FORMAT_FUNCTION_TREE\"",
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply none = {0};

	put_all(&a);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		CLEANUP_REPLY struct client_reply r = select_json(
			&a, "SelectMergeStacktraces", CPU, "{}", parts[i]);

		assert_error(&r, 501, "CallNotServed");
	}
	none = select_json(&a, "SelectMergeStacktraces", CPU, "{}",
	                   ",\"spanSelector\":[],\"stackTraceSelector\":"
	                   "{\"frameFilter\":{}}");
	ck_assert_int_eq(none.status, 200);
}
END

#define FILTER(lists) ",\"stackTraceSelector\":{\"frameFilter\":{" lists "}}"

/* Returns the total of the flame graph that a filter leaves. */
static int64_t
total_by(struct test_api *a, const char *more)
{
	CLEANUP_REPLY struct client_reply r =
		select_json(a, "SelectMergeStacktraces", CPU, "{}", more);

	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	return strtoll(json_string_value(json_object_get(
			       json_object_get(r.json, "flamegraph"), "total"))
	                       ?: "0",
	               NULL, 10);
}

TEST(a_filter_of_frames_lets_stacks_pass_by_names_and_patterns)
{
	static const struct {
		const char *more;
		int64_t samples;
	} rows[] = {
		{FILTER("\"includeFunctionNames\":[\"f\"]"), 90},
		{FILTER("\"includeFunctionNames\":[\"f\",\"g\"]"), 30},
		{FILTER("\"includeFunctionNames\":[\"x\"]"), 0},
		{",\"span_selector\":[\"00f067aa0ba902b7\"]", 0},
		{",\"traceIdSelector\":[\"4bf92f3577b34da6a3ce929d0e0e4736\"]",
	         0},
		{FILTER("\"exclude_function_names\":[\"f\",\"h\"]"), 10},
		{FILTER("\"includeFunctionNameRegexes\":[\"^[gh]$\"]"), 37},
		{FILTER("\"excludeFunctionNameRegexes\":[\"ai\"]"), 0},
		{FILTER("\"includeFunctionNames\":[\"f\"],"
	                "\"excludeFunctionNameRegexes\":[\"g\"]"),
	         60},
		{FILTER(""), 107},
	};
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply bad = {0};

	put_all(&a);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_int_eq(total_by(&a, rows[i].more),
		                 rows[i].samples * 10000000);
	bad = select_json(&a, "SelectMergeStacktraces", CPU, "{}",
	                  FILTER("\"includeFunctionNameRegexes\":[\"(\"]"));
	assert_error(&bad, 400, "InvalidMessage");
}
END

TEST(a_sandwich_has_the_callers_and_callees_of_a_function)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply f = {0}, cut = {0}, none = {0};

	put_all(&a);
	f = select_json(&a, "SelectMergeStacktraces", CPU, "{}",
	                ",\"format\":\"PROFILE_FORMAT_SANDWICH\","
	                "\"sandwichFunction\":\"f\"");
	assert_body(&f, "{\"sandwich\":{\"callers\":{\"total\":\"900000000\","
	                "\"children\":[{\"nameIndex\":1,"
	                "\"total\":\"900000000\"}]},"
	                "\"callees\":{\"total\":\"900000000\","
	                "\"self\":\"600000000\",\"children\":[{\"nameIndex\":2,"
	                "\"total\":\"300000000\",\"self\":\"300000000\"}]},"
	                "\"names\":[\"f\",\"main\",\"g\"],"
	                "\"total\":\"900000000\",\"self\":\"600000000\"}}");
	cut = select_json(&a, "SelectMergeStacktraces", CPU, "{}",
	                  ",\"format\":\"PROFILE_FORMAT_SANDWICH\","
	                  "\"sandwich_function\":\"main\",\"maxNodes\":2");
	assert_body(&cut,
	            "{\"sandwich\":{\"callers\":{\"total\":\"1070000000\"},"
	            "\"callees\":{\"total\":\"1070000000\","
	            "\"self\":\"100000000\",\"children\":[{\"nameIndex\":1,"
	            "\"total\":\"900000000\",\"self\":\"600000000\","
	            "\"children\":[{\"nameIndex\":2,"
	            "\"total\":\"300000000\",\"self\":\"300000000\","
	            "\"truncated\":true}]},{\"nameIndex\":2,"
	            "\"total\":\"70000000\",\"self\":\"70000000\","
	            "\"truncated\":true}]},"
	            "\"names\":[\"main\",\"f\",\"other\"],"
	            "\"total\":\"1070000000\",\"self\":\"100000000\"}}");
	none = select_json(&a, "SelectMergeStacktraces", CPU, "{}",
	                   ",\"format\":\"PROFILE_FORMAT_SANDWICH\"");
	assert_error(&none, 400, "InvalidMessage");
}
END

TEST(a_difference_has_the_costs_of_both_sides)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	put_all(&a);
#define SIDE(host)                                                  \
	"{\"profileTypeID\":\"" CPU                                 \
	"\",\"start\":\"1728000000000\",\"end\":\"1728000060000\"," \
	"\"labelSelector\":\"{host=\\\"" host "\\\"}\"}"
	r = call(&a, "Diff",
	         "{\"left\":" SIDE("a") ",\"right\":" SIDE("b") "}");
#undef SIDE
	assert_body(
		&r,
		"{\"flamegraph\":{\"names\":[\"total\",\"main\",\"f\",\"g\","
		"\"h\"],\"levels\":["
		"{\"values\":[\"0\",\"1000000000\",\"0\",\"0\",\"70000000\","
		"\"0\",\"0\"]},"
		"{\"values\":[\"0\",\"1000000000\",\"100000000\",\"0\","
		"\"70000000\",\"0\",\"1\"]},"
		"{\"values\":[\"100000000\",\"900000000\",\"600000000\",\"0\","
		"\"0\",\"0\",\"2\",\"0\",\"0\",\"0\",\"0\",\"70000000\","
		"\"70000000\",\"4\"]},"
		"{\"values\":[\"700000000\",\"300000000\",\"300000000\",\"0\","
		"\"0\",\"0\",\"3\"]}],"
		"\"total\":\"1070000000\",\"maxSelf\":\"600000000\","
		"\"leftTicks\":\"1000000000\",\"rightTicks\":\"70000000\"}}");
}
END

TEST(a_table_of_functions_has_their_costs_in_all_stacks)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};

	put_all(&a);
	r = select_json(&a, "SelectMergeStacktraces", CPU, "{}",
	                ",\"maxNodes\":3,"
	                "\"format\":\"PROFILE_FORMAT_FUNCTIONS\"");
	assert_body(&r, "{\"functions\":{\"functions\":["
	                "{\"name\":\"f\",\"self\":\"600000000\","
	                "\"total\":\"900000000\"},"
	                "{\"name\":\"g\",\"self\":\"300000000\","
	                "\"total\":\"300000000\"},"
	                "{\"name\":\"main\",\"self\":\"100000000\","
	                "\"total\":\"1070000000\"}],"
	                "\"total\":\"1070000000\","
	                "\"totalFunctions\":\"4\"}}");
}
END

/* GET of a graph, from T0 on; the caller has encoded the query for a URL. */
static struct client_reply
render(struct test_api *a, const char *path)
{
	return ask(a, (struct ask){.key = KEY_VIEWER, .path = path});
}

#define ENCODED_CPU "process_cpu%3Acpu%3Ananoseconds%3Acpu%3Ananoseconds"

TEST(a_rendered_graph_is_a_flamebearer_or_one_for_graphviz)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply all = {0}, dot = {0}, bad = {0},
					  none = {0};

	put_all(&a);
	all = render(&a, "/pyroscope/render?query=" ENCODED_CPU
	                 "%7Bhost%3D%22a%22%7D&from=1728000000&"
	                 "until=1728000060&max-nodes=3");
	ck_assert_str_eq(client_header(&all, "Content-Type"),
	                 "application/json");
	assert_body(&all,
	            "{\"version\":1,\"flamebearer\":{\"names\":[\"total\","
	            "\"main\",\"f\",\"other\"],\"levels\":["
	            "[0,1000000000,0,0],[0,1000000000,100000000,1],"
	            "[100000000,900000000,600000000,2],"
	            "[700000000,300000000,300000000,3]],"
	            "\"numTicks\":1000000000,\"maxSelf\":600000000},"
	            "\"metadata\":{\"format\":\"single\",\"spyName\":\"\","
	            "\"sampleRate\":1000000000,\"units\":\"samples\","
	            "\"name\":\"cpu\"},\"timeline\":null,\"groups\":null}");
	dot = render(&a, "/pyroscope/render?query=" ENCODED_CPU
	                 "&from=1728000000&until=1728000060&format=dot&"
	                 "max-nodes=100");
	ck_assert_int_eq(dot.status, 200);
	ck_assert(!strncmp(buf_str(&dot.body), "digraph", 7));
	ck_assert_ptr_nonnull(strstr(buf_str(&dot.body), "main"));
	bad = render(&a, "/pyroscope/render?query=cpu");
	assert_error(&bad, 400, "InvalidMessage");
	none = render(&a, "/pyroscope/render?query=" ENCODED_CPU "&format=svg");
	assert_error(&none, 400, "InvalidParameter");
}
END

TEST(a_rendered_difference_has_both_sides)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, other = {0};

	put_all(&a);
#define SIDE(name, host)                                              \
	name "Query=" ENCODED_CPU "%7Bhost%3D%22" host "%22%7D&" name \
	     "From=1728000000&" name "Until=1728000060"
	r = render(&a, "/pyroscope/render-diff?" SIDE("left", "a") "&" SIDE(
			       "right", "b"));
#undef SIDE
	ck_assert_msg(r.status == 200, "%s", buf_str(&r.body));
	ck_assert_ptr_nonnull(strstr(buf_str(&r.body),
	                             "\"levels\":[[0,1000000000,0,0,70000000,0,"
	                             "0],"));
	ck_assert_ptr_nonnull(strstr(buf_str(&r.body),
	                             "\"leftTicks\":1000000000,"
	                             "\"rightTicks\":70000000"));
	ck_assert_ptr_nonnull(
		strstr(buf_str(&r.body), "\"format\":\"double\""));
	other = render(&a, "/pyroscope/render-diff?leftQuery=" ENCODED_CPU
	                   "&rightQuery=goroutine%3Agoroutine%3Acount%3A"
	                   "goroutine%3Acount");
	assert_error(&other, 400, "InvalidParameter");
}
END

TEST(services_without_windows_are_read_from_their_sessions)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply hosts = {0}, r = {0};
	CLEANUP_BUF struct buf body = BUF_INIT(BUF_MAX_SMALL);
	char id[ID_MAX];

	api_upload_cpu(&a, "main;f 5\n", id);
	hosts = call(&a, "LabelValues", "{\"name\":\"service_name\"}");
	assert_body(&hosts, "{\"names\":[\"svc\"]}");
	buf_addf(&body,
	         "{\"profileTypeID\":\"" CPU "\",\"start\":0,\"end\":%lld,"
	         "\"labelSelector\":\"{service_name=\\\"svc\\\"}\"}",
	         (long long)clock_wall_ms());
	r = call(&a, "SelectMergeStacktraces", buf_str(&body));
	ck_assert(strstr(buf_str(&r.body),
	                 "\"names\":[\"total\",\"main\",\"f\"]"));
	ck_assert(strstr(buf_str(&r.body), "\"total\":\"50000000\""));
}
END

TEST(grafana_is_told_whether_there_are_profiles)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply before = {0}, after = {0},
					  settings = {0}, heat = {0};

	before = call(&a, "GetProfileStats", "{}");
	assert_body(&before, "{}");
	put_all(&a);
	after = call(&a, "GetProfileStats", "{}");
	ck_assert(json_is_true(json_object_get(after.json, "dataIngested")));
	settings = ask(&a, (struct ask){.key = KEY_VIEWER,
	                                .method = "POST",
	                                .path = "/settings.v1.SettingsService"
	                                        "/Get",
	                                .body = "{}"});
	assert_body(&settings, "{}");
	heat = call(&a, "SelectHeatmap", "{}");
	assert_error(&heat, 501, "CallNotServed");
	ck_assert_str_eq(reply_text(&heat, "code"), "unimplemented");
}
END

/* Sums the values of all samples of a pprof message in JSON. */
static int64_t
sum_of(const struct client_reply *r)
{
	int64_t sum = 0;
	size_t i;
	json_t *s;

	json_array_foreach(json_object_get(r->json, "sample"), i, s)
		sum += strtoll(json_string_value(json_array_get(
				       json_object_get(s, "value"), 1)),
		               NULL, 10);
	return sum;
}

TEST(a_merged_profile_has_every_sample)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0}, merged = {0};

	put_all(&a);
	r = select_json(&a, "SelectMergeProfile", CPU, "{}", "");
	merged = ask(&a, (struct ask){.key = KEY_VIEWER,
	                              .path = API_PROFILES
	                              "/merge?service=svc&profileType=cpu"
	                              "&from=1728000000000&to=1728000060000"});
	ck_assert_int_eq(sum_of(&r), 1070000000);
	ck_assert_int_eq(
		json_integer_value(json_object_get(merged.json, "total")),
		sum_of(&r));
}
END

TEST(what_is_wrong_is_refused_by_name)
{
	static const struct {
		const char *method, *body, *says;
	} rows[] = {
		{"SelectSeries", "{\"profileTypeID\":\"cpu\"}", "five parts"},
		{"SelectSeries", "{\"start\":\"x\"}", "start must be a number"},
		{"SelectSeries", "{\"groupBy\":1}", "group_by must be a list"},
		{"SelectSeries", "[]", "must be an object"},
		{"SelectSeries", "{", "not JSON"},
		{"SelectSeries",
	         "{\"profileTypeID\":\"" CPU "\",\"end\":1,\"step\":0}",
	         "step must be"},
		{"SelectSeries",
	         "{\"profileTypeID\":\"" CPU "\",\"start\":2,\"end\":1}",
	         "start must not be after end"},
		{"SelectMergeStacktraces",
	         "{\"profileTypeID\":\"" CPU "\",\"labelSelector\":\"{a=b}\"}",
	         "the value of a must be a quoted text"},
		{"LabelNames", "{\"matchers\":[\"{a=~\\\"(\\\"}\"]}",
	         "the pattern of a is not supported"},
	};
	CLEANUP_API struct test_api a = test_api(1, "");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_REPLY struct client_reply r =
			call(&a, rows[i].method, rows[i].body);

		assert_error(&r, 400, "InvalidMessage");
		ck_assert_str_eq(reply_text(&r, "code"), "invalid_argument");
		ck_assert_msg(strstr(reply_text(&r, "message"), rows[i].says) !=
		                      NULL,
		              "%s", reply_text(&r, "message"));
	}
}
END

TEST(other_content_types_are_refused)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r =
		ask(&a, (struct ask){.key = KEY_VIEWER,
	                             .method = "POST",
	                             .path = QUERIER "LabelNames",
	                             .type = "application/grpc",
	                             .body = "{}"});

	assert_error(&r, 415, "UnsupportedMediaType");
}
END

TEST(a_tenant_sees_its_own_profiles_alone)
{
	CLEANUP_API struct test_api a = test_api(1, "");
	CLEANUP_REPLY struct client_reply r = {0};
	char id[ID_MAX];

	put_all(&a);
	api_upload_cpu(&a, "main;f 5\n", id);
	r = ask(&a, (struct ask){.key = KEY_OTHER,
	                         .method = "POST",
	                         .path = QUERIER "LabelNames",
	                         .body = "{}"});
	assert_body(&r, "{}");
}
END

SUITE("grafana", .seconds = 60);
