#include "profile/export/firefox.h"
#include "lib/folded.h"
#include "lib/test.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

static const struct firefox_meta meta = {
	.product = "shop </script> cpu",
	.process = "shop",
	.oscpu = "Linux",
	.time_ms = INT64_C(1768464000123),
	.duration_ms = 5000,
	.cpus = 2,
};

static json_t *
written(const struct profile *p, const struct timeline *t)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);
	json_error_t e;
	json_t *j;

	ck_assert_int_eq(firefox_write(p, 1, t, &meta, &b), 0);
	j = json_loadb(b.p, b.len, JSON_REJECT_DUPLICATES, &e);
	ck_assert_msg(j != NULL, "%s at %d", e.text, e.position);
	return j;
}

/* The value at a path such as "threads.0.samples.length". */
static json_t *
at(json_t *j, const char *path)
{
	char part[64];

	while (j && *path) {
		size_t n = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		j = json_is_array(j) ? json_array_get(j, (size_t)atoi(part))
		                     : json_object_get(j, part);
		path += n + (path[n] == '.');
	}
	ck_assert_msg(j != NULL, "no %s", part);
	return j;
}

static double
number(json_t *j, const char *path)
{
	return json_number_value(at(j, path));
}

/* Columns are as long as their table says, and refer to rows that exist. */
static void
check_table(json_t *thread, const char *table)
{
	json_t *t = at(thread, table), *v;
	size_t n = (size_t)number(t, "length");
	const char *key;

	json_object_foreach(t, key, v) {
		if (json_is_array(v))
			ck_assert_msg(json_array_size(v) == n, "%s.%s", table,
			              key);
	}
}

static void
check_refers(json_t *thread, const char *column, const char *table)
{
	double n = number(at(thread, table), "length");
	json_t *v;
	size_t i;

	json_array_foreach(at(thread, column), i, v) {
		if (json_is_null(v) || json_number_value(v) == -1)
			continue;
		ck_assert_msg(json_number_value(v) >= 0 &&
		                      json_number_value(v) < n,
		              "%s[%zu]", column, i);
	}
}

static void
check_thread(json_t *thread)
{
	static const char *const tables[] = {
		"samples",       "stackTable",    "frameTable", "funcTable",
		"nativeSymbols", "resourceTable", "markers"};

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		check_table(thread, tables[i]);
	check_refers(thread, "samples.stack", "stackTable");
	check_refers(thread, "stackTable.prefix", "stackTable");
	check_refers(thread, "stackTable.frame", "frameTable");
	check_refers(thread, "frameTable.func", "funcTable");
	check_refers(thread, "frameTable.nativeSymbol", "nativeSymbols");
	check_refers(thread, "funcTable.resource", "resourceTable");
}

TEST(without_a_timeline_samples_fill_the_duration)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of("main;a 1\nmain;b@/lib/b.so 3\nmain 0\n");
	json_t *j = written(p, NULL);

	check_thread(at(j, "threads.0"));
	ck_assert_str_eq(json_string_value(at(j, "threads.0.name")), "shop");
	ck_assert_int_eq((int)number(j, "threads.0.samples.length"), 2);
	ck_assert_int_eq((int)number(j, "threads.0.samples.time.1"), 1250);
	ck_assert_int_eq((int)number(j, "threads.0.samples.weight.1"), 30);
	ck_assert_str_eq(
		json_string_value(at(j, "threads.0.samples.weightType")),
		"tracing-ms");
	ck_assert_int_eq((int)number(j, "meta.preprocessedProfileVersion"), 57);
	ck_assert_int_eq((int)number(j, "meta.stackwalk"), 1);
	ck_assert_str_eq(
		json_string_value(at(j, "meta.categories.0.subcategories.0")),
		"Other");
	ck_assert_int_eq((int)number(j, "meta.logicalCPUs"), 2);
	json_decref(j);
}
END

TEST(symbol_servers_are_asked_by_the_id_of_breakpad)
{
	static const struct {
		const char *build_id, *breakpad;
	} rows[] = {
		{"000102030405060708090a0b0c0d0e0f10111213",
	         "030201000504070608090A0B0C0D0E0F0"},
		{"abcdef", "00EFCDAB0000000000000000000000000"},
		{"", "000000000000000000000000000000000"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *p =
			profile_of("main;b@/lib/b.so 3\n");
		json_t *j, *lib;

		for (uint32_t k = 0; k < p->nmappings; k++)
			ck_assert_int_eq(
				profile_cstring(p, rows[i].build_id,
			                        &p->mappings[k].build_id),
				0);
		j = written(p, NULL);
		lib = at(j, "libs.0");
		ck_assert_str_eq(json_string_value(at(lib, "breakpadId")),
		                 rows[i].breakpad);
		if (*rows[i].build_id)
			ck_assert_str_eq(json_string_value(at(lib, "codeId")),
			                 rows[i].build_id);
		else
			ck_assert(json_is_null(at(lib, "codeId")));
		json_decref(j);
	}
}
END

TEST(inlined_functions_share_address_and_symbol)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\nout 1\nin 1\n");
	const struct line lines[] = {{2, 7}, {1, 9}};
	const int64_t v[] = {1, 10000000};
	uint32_t l;
	json_t *j;

	ck_assert_int_eq(profile_location(p, 0, 0x4242, lines, 2, &l), 0);
	ck_assert_int_eq(profile_sample(p, &l, 1, NULL, 0, v), 0);
	j = written(p, NULL);
	check_thread(at(j, "threads.0"));
	/* the last frames, outermost first */
	ck_assert_int_eq((int)number(j, "threads.0.frameTable.address.3"),
	                 0x4242);
	ck_assert_int_eq((int)number(j, "threads.0.frameTable.address.4"),
	                 0x4242);
	ck_assert_int_eq((int)number(j, "threads.0.frameTable.inlineDepth.3"),
	                 0);
	ck_assert_int_eq((int)number(j, "threads.0.frameTable.inlineDepth.4"),
	                 1);
	ck_assert_int_eq((int)number(j, "threads.0.frameTable.line.4"), 7);
	ck_assert_int_eq((int)number(j, "threads.0.frameTable.nativeSymbol.3"),
	                 (int)number(j, "threads.0.frameTable.nativeSymbol.4"));
	json_decref(j);
}
END

/* Two threads of process 7, and one of 9. One sample waited. */
static struct timeline *
recorded(void)
{
	static const struct timeline_thread threads[] = {
		{7, 7, TIMELINE_UNSEEN, TIMELINE_UNSEEN, "shop"},
		{7, 8, 1000, 9000, "worker </script>"},
		{9, 9, 2000, TIMELINE_UNSEEN, ""},
	};
	static const struct timeline_sample samples[] = {
		{1500, 10000000, 0, 0, TIMELINE_CPU},
		{2500, 4000000, 1, 1, TIMELINE_BLOCKED},
		{3500, 10000000, 1, 1, TIMELINE_CPU},
	};
	static const struct timeline_event events[] = {
		{2000, 7, TIMELINE_FORK, 9, 9, ""},
		{3000, 5, TIMELINE_LOST, 0, 0, ""},
	};
	static const struct timeline_counter counters[] = {
		{1000, 4096, 10, 7},
		{2000, 8192, 30, 7},
	};
	struct timeline *t = timeline_new();

	t->start_ns = INT64_C(1768464000000000000);
	t->duration_us = 10000;
	t->period_ns = 10000000;
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		ck_assert_int_eq(timeline_thread(t, &threads[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		ck_assert_int_eq(timeline_sample(t, &samples[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		ck_assert_int_eq(timeline_event(t, &events[i]), 0);
	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		ck_assert_int_eq(timeline_counter(t, &counters[i]), 0);
	return t;
}

TEST(a_timeline_gives_threads_real_times_and_states)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;a 1\nmain;b 2\n");
	CLEANUP_TIMELINE struct timeline *t = recorded();
	json_t *j = written(p, t), *blocked;

	for (int i = 0; i < 3; i++)
		check_thread(json_array_get(at(j, "threads"), (size_t)i));
	ck_assert_int_eq((int)number(j, "meta.interval"), 10);
	ck_assert_str_eq(json_string_value(at(j, "threads.1.processName")),
	                 "shop");
	ck_assert_str_eq(json_string_value(at(j, "threads.1.pid")), "7");
	ck_assert_int_eq((int)number(j, "threads.1.samples.length"), 2);
	ck_assert_double_eq(number(j, "threads.1.samples.time.0"), 2.5);
	ck_assert_int_eq((int)number(j, "threads.1.samples.weight.0"), 4);
	ck_assert_int_eq((int)number(j, "threads.1.samples.threadCPUDelta.0"),
	                 0);
	ck_assert_int_eq((int)number(j, "threads.1.samples.threadCPUDelta.1"),
	                 10000);
	/* main, b, then where it waits */
	blocked = at(j, "threads.1.frameTable.category.2");
	ck_assert_int_eq((int)json_integer_value(blocked), 3);
	ck_assert_int_eq((int)number(j, "threads.2.samples.length"), 0);
	json_decref(j);
}
END

TEST(a_timeline_gives_markers_and_counters)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;a 1\nmain;b 2\n");
	CLEANUP_TIMELINE struct timeline *t = recorded();
	json_t *j = written(p, t);

	ck_assert_int_eq((int)number(j, "threads.0.markers.length"), 1);
	ck_assert_str_eq(
		json_string_value(at(j, "threads.0.markers.data.0.text")),
		"5 records");
	ck_assert_int_eq((int)number(j, "threads.1.markers.length"), 0);
	ck_assert_str_eq(
		json_string_value(at(j, "threads.2.markers.data.0.text")),
		"forked by process 7");
	ck_assert_uint_eq(json_array_size(at(j, "counters")), 2);
	ck_assert_int_eq((int)number(j, "counters.0.samples.count.0"), 4096);
	ck_assert_int_eq((int)number(j, "counters.0.samples.count.1"), 4096);
	ck_assert_int_eq((int)number(j, "counters.1.samples.count.1"), 20);
	json_decref(j);
}
END

/* Processes come last first, each with a second thread, an event and a
 * counter. */
TEST(every_process_has_its_name_markers_and_counters)
{
	enum { N = 500 };
	CLEANUP_PROFILE struct profile *p = profile_of("main;a 1\nmain;b 2\n");
	CLEANUP_TIMELINE struct timeline *t = timeline_new();
	json_t *j;

	for (uint32_t pid = N; pid; pid--)
		for (uint32_t k = 0; k < 2; k++) {
			struct timeline_thread row = {.pid = pid,
			                              .tid = k ? pid : pid + N};

			snprintf(row.name, sizeof(row.name), "%s%u",
			         k ? "p" : "worker", pid);
			ck_assert_int_eq(timeline_thread(t, &row), 0);
		}
	for (uint32_t pid = 1; pid <= N; pid++) {
		ck_assert_int_eq(timeline_event(t,
		                                &(struct timeline_event){
							pid, 1, TIMELINE_FORK,
							pid, pid, ""}),
		                 0);
		ck_assert_int_eq(timeline_counter(t,
		                                  &(struct timeline_counter){
							  pid, 4096, 10, pid}),
		                 0);
	}
	j = written(p, t);
	ck_assert_uint_eq(json_array_size(at(j, "threads")), 2 * N);
	ck_assert_uint_eq(json_array_size(at(j, "counters")), 2 * N);
	for (int i = 0; i < 2 * N; i++) {
		json_t *thread = json_array_get(at(j, "threads"), (size_t)i);
		char name[16];

		snprintf(name, sizeof(name), "p%d", N - i / 2);
		ck_assert_str_eq(json_string_value(json_object_get(
					 thread, "processName")),
		                 name);
		ck_assert_int_eq((int)number(thread, "markers.length"), i % 2);
	}
	json_decref(j);
}
END

TEST(a_timeline_of_another_profile_is_left_aside)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	CLEANUP_TIMELINE struct timeline *t = recorded();
	json_t *j = written(p, t);

	ck_assert_uint_eq(json_array_size(at(j, "threads")), 1);
	json_decref(j);
}
END

TEST(hostile_names_stay_text)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of("a</script>\"\\\xFF\x01 1\n");
	json_t *j = written(p, NULL);

	check_thread(at(j, "threads.0"));
	json_decref(j);
}
END

SUITE("firefox");
