#include "lib/test.h"
#include "store/source.h"

#include <string.h>

#define URL "http://localhost:6060"

static const struct {
	const char *kind, *match, *url, *wanted, *type;
	enum source source;
	const char *missing;
} rows[] = {
	{"auto", "exe", "", "auto", "cpu", SOURCE_OUTSIDE, ""},
	{"auto", "", "", "auto", "cpu", SOURCE_OUTSIDE, ""},
	{"go", "exe", URL, "auto", "cpu", SOURCE_OUTSIDE, ""},
	{"go", "", URL, "auto", "cpu", SOURCE_ENDPOINT, ""},
	{"go", "exe", URL, "endpoint", "cpu", SOURCE_ENDPOINT, ""},
	{"go", "exe", URL, "outside", "cpu", SOURCE_OUTSIDE, ""},
	{"go", "exe", "", "endpoint", "cpu", SOURCE_NONE, "a pprofUrl"},
	{"auto", "exe", URL, "auto", "memory", SOURCE_OUTSIDE, ""},
	{"auto", "", URL, "auto", "memory", SOURCE_ENDPOINT, ""},
	{"go", "exe", "", "auto", "memory", SOURCE_OUTSIDE, ""},
	{"go", "exe", URL, "endpoint", "memory", SOURCE_ENDPOINT, ""},
	{"native", "exe", "", "auto", "memory", SOURCE_OUTSIDE, ""},
	{"native", "exe", "", "endpoint", "memory", SOURCE_NONE, "a pprofUrl"},
	{"auto", "exe", "", "auto", "memory", SOURCE_OUTSIDE, ""},
	{"auto", "exe", "", "auto", "mutex", SOURCE_OUTSIDE, ""},
	{"go", "exe", URL, "auto", "alloc", SOURCE_OUTSIDE, ""},
	{"go", "", URL, "auto", "alloc", SOURCE_ENDPOINT, ""},
	{"go", "exe", URL, "auto", "block", SOURCE_OUTSIDE, ""},
	{"go", "exe", URL, "auto", "mutex", SOURCE_OUTSIDE, ""},
	{"go", "exe", URL, "auto", "goroutine", SOURCE_OUTSIDE, ""},
	{"auto", "exe", URL, "endpoint", "goroutine", SOURCE_ENDPOINT, ""},
	{"auto", "exe", "", "auto", "goroutine", SOURCE_OUTSIDE, ""},
	{"native", "exe", "", "auto", "goroutine", SOURCE_OUTSIDE, ""},
	{"go", "", URL, "auto", "io", SOURCE_NONE, "a match of its processes"},
	{"go", "exe", URL, "endpoint", "io", SOURCE_NONE, "another source"},
	{"go", "", URL, "endpoint", "io", SOURCE_NONE,
         "another source, and a match of its processes"},
	{"go", "exe", URL, "auto", "nonsense", SOURCE_NONE,
         "an engine that this release lacks"},
};

TEST(the_first_row_that_fits_is_taken)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct service s = {
			.kind = (char *)rows[i].kind,
			.match_kind = (char *)rows[i].match,
			.match_value = (char *)"/bin/true",
			.pprof_url = (char *)rows[i].url,
			.source = (char *)rows[i].wanted,
		};

		ck_assert_msg(source_of(&s, rows[i].type) == rows[i].source,
		              "row %zu", i);
		if (!rows[i].source)
			ck_assert_str_eq(source_missing(&s, rows[i].type),
			                 rows[i].missing);
	}
}
END

TEST(a_source_that_is_missing_has_a_command_that_sets_it)
{
	static const struct {
		const char *kind, *match, *url, *wanted, *type, *fix;
	} of[] = {
		{"go", "exe", "", "endpoint", "cpu",
	         "stoker service set web --pprof-url URL"},
		{"go", "exe", URL, "endpoint", "io",
	         "stoker service set web --source auto"},
		{"go", "", URL, "endpoint", "io",
	         "stoker service set web --source auto --exe PATH"},
		{"go", "", URL, "auto", "io",
	         "stoker service set web --exe PATH"},
		{"go", "exe", URL, "auto", "nonsense", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		CLEANUP_BUF struct buf fix = BUF_INIT(BUF_MAX_SMALL);
		struct service s = {
			.name = (char *)"web",
			.kind = (char *)of[i].kind,
			.match_kind = (char *)of[i].match,
			.match_value = (char *)"/bin/true",
			.pprof_url = (char *)of[i].url,
			.source = (char *)of[i].wanted,
		};

		source_fix(&s, of[i].type, &fix);
		ck_assert_str_eq(buf_str(&fix), of[i].fix);
	}
}
END

TEST(of_all_programs_of_a_host_only_what_is_sampled_is_profiled)
{
	struct service s = {.kind = "auto",
	                    .match_kind = "exe",
	                    .match_value = "*",
	                    .pprof_url = "",
	                    .source = "auto"};

	ck_assert_int_eq(source_of(&s, "cpu"), SOURCE_OUTSIDE);
	ck_assert_int_eq(source_of(&s, "block"), SOURCE_OUTSIDE);
	ck_assert_int_eq(source_of(&s, "alloc"), SOURCE_NONE);
	ck_assert_str_eq(source_missing(&s, "alloc"),
	                 "a service of one program");
}
END

TEST(a_type_stands_on_the_checks_of_its_source)
{
	static const struct {
		const char *kind, *match, *url, *type;
		size_t n;
		enum check checks[SOURCE_CHECKS];
	} of[] = {
		{"auto", "exe", "", "cpu", 1, {CHECK_EVENTS}},
		{"auto", "exe", URL, "cpu", 1, {CHECK_EVENTS}},
		{"go", "", URL, "cpu", 1, {CHECKS}},
		{"go", "exe", "", "block", 1, {CHECK_MEMORY}},
		{"native", "exe", "", "block", 1, {CHECK_WAITS}},
		{"auto", "exe", "", "block", 2, {CHECK_MEMORY, CHECK_WAITS}},
		{"native", "exe", "", "memory", 2, {CHECK_MEMORY, CHECK_INUSE}},
		{"go", "exe", "", "nonsense", 0, {0}},
	};

	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		const struct service s = {
			.kind = (char *)of[i].kind,
			.match_kind = (char *)of[i].match,
			.match_value = (char *)"/bin/true",
			.pprof_url = (char *)of[i].url,
			.source = (char *)"auto",
		};
		enum check checks[SOURCE_CHECKS] = {0};
		size_t n = source_checks(&s, of[i].type, checks);

		ck_assert_uint_eq(n, of[i].n);
		ck_assert_mem_eq(checks, of[i].checks, n * sizeof(checks[0]));
	}
}
END

SUITE("source_of");
