/* Words of the command line: shortened names, parsed times, and suggestions for
 * mistyped words. */
#include "base/clock.h"
#include "cli/name.h"
#include "cli/near.h"
#include "cli/screen.h"
#include "cli/stacks.h"
#include "cli/text.h"
#include "cli/when.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *name;
	size_t width;
	const char *shown;
} fitted[] = {
	{"main.work", 20, "main.work"},
	{"std::vector<std::pair<int, long> >::push_back", 30,
         "std::vector<…>::push_back"},
	{"std::map<int, std::string>::find(int const&)", 36,
         "std::map<…>::find(int const&)"},
	{"alpha::beta::gamma::delta", 18, "…::gamma::delta"},
	{"<alloc::vec::Vec<T> as core::iter::Iterator>::next", 24, "<…>::next"},
	{"std::operator<< <std::char_traits<char> >", 26,
         "std::operator<< <…>"},
	{"github.com/some/where/pkg.(*Type).Method", 24,
         "…/pkg.(*Type).Method"},
	{"a_c_function_with_a_very_long_name", 13, "a_c_fu…g_name"},
	{"_json.cpython-311-x86_64-linux-gnu.so", 20, "_json.cpyt…ux-gnu.so"},
	{"libpython3.11.so.1.0", 12, "libpyt…o.1.0"},
	{"unclosed<template<of::names", 20, "unclosed<t…of::names"},
};

TEST(what_is_cut_from_a_name_is_what_tells_least)
{
	for (size_t i = 0; i < ARRAY_LEN(fitted); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		name_fit(&out, fitted[i].name, fitted[i].width);
		ck_assert_str_eq(buf_str(&out), fitted[i].shown);
	}
}
END

TEST(no_name_is_wider_than_its_column)
{
	static const char *const names[] = {
		"std::vector<std::pair<int, long> >::push_back(int)",
		"operator()",
		"<<<<<<>>>>>>",
		")))",
		"a::b::c::",
		"::",
		"operator",
		"x.y.z.",
		"f(g(h(i(j(k)))))",
		"+0x",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t width = 4; width < 60; width++) {
			CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

			name_fit(&out, names[i], width);
			ck_assert_uint_le(text_columns(buf_str(&out)), width);
			ck_assert(out.len > 0);
		}
}
END

/* The 22nd of November 2026, 17:05:06 UTC. */
static const int64_t now_ms = INT64_C(1795367106) * MS_PER_S;

static const struct {
	const char *text;
	enum when way;
	const char *read;
} times[] = {
	{"1h", WHEN_PAST, "now-1h"},
	{"90d", WHEN_FUTURE, "now+90d"},
	{"14:03", WHEN_PAST, "2026-11-22T14:03:00.000Z"},
	{"14:03", WHEN_FUTURE, "2026-11-23T14:03:00.000Z"},
	{"18:00", WHEN_PAST, "2026-11-21T18:00:00.000Z"},
	{"today", WHEN_PAST, "2026-11-22T00:00:00.000Z"},
	{"yesterday", WHEN_PAST, "2026-11-21T00:00:00.000Z"},
	{"2026-01-31", WHEN_PAST, "2026-01-31T00:00:00.000Z"},
	{"2026-01-31 14:03", WHEN_PAST, "2026-01-31T14:03:00.000Z"},
	{"2026-01-31T14:03:00Z", WHEN_PAST, "2026-01-31T14:03:00Z"},
	{"now-2d", WHEN_PAST, "now-2d"},
	{"1795367106", WHEN_PAST, "1795367106"},
};

TEST(times_are_read_as_people_write_them)
{
	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_msg(
			!when_read(times[i].text, times[i].way, now_ms, &out),
			"%s", times[i].text);
		ck_assert_str_eq(buf_str(&out), times[i].read);
	}
}
END

TEST(what_is_no_time_is_refused)
{
	static const char *const wrong[] = {"",         "h",          "1",
	                                    "1x",       "25:00",      "14:03x",
	                                    "26-01-31", "2026-13-01", "soon"};

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
		int rc = when_read(wrong[i], WHEN_PAST, now_ms, &out);

		/* a number is seconds since 1970 */
		ck_assert_msg(rc == (strcmp(wrong[i], "1") ? -EINVAL : 0),
		              "'%s'", wrong[i]);
		ck_assert(!rc || !out.len);
	}
}
END

static const struct {
	const char *time, *shown;
} shown[] = {
	{"2026-11-22T14:03:22.123Z", "14:03:22"},
	{"2026-11-21T14:03:22Z", "Nov 21 14:03"},
	{"2025-11-21T14:03:22Z", "2025-11-21"},
	{"never", "never"},
};

TEST(a_terminal_shows_times_short)
{
	struct screen s = {.times = true, .now_ms = now_ms};

	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_LEN(shown); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		screen_time(&s, shown[i].time, &out);
		ck_assert_str_eq(buf_str(&out), shown[i].shown);
	}
}
END

TEST(a_pipe_gets_times_as_the_api_has_them)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	struct screen s = {.now_ms = now_ms};

	screen_time(&s, shown[0].time, &out);
	ck_assert_str_eq(buf_str(&out), shown[0].time);
}
END

static const struct {
	const char *word;
	const char *candidates[3];
	const char *meant;
} meant[] = {
	{"gorutine", {"cpu", "goroutine", "memory"}, "goroutine"},
	{"pcu", {"cpu", "goroutine", "memory"}, "cpu"},
	{"mem", {"cpu", "memory", "mutex"}, "memory"},
	{"xyzzy", {"cpu", "memory", "mutex"}, NULL},
	{"", {"cpu", "memory", "mutex"}, NULL},
};

TEST(a_word_that_is_nearly_right_is_found)
{
	for (size_t i = 0; i < ARRAY_LEN(meant); i++) {
		struct near n = NEAR(meant[i].word);

		for (size_t k = 0; k < 3; k++)
			near_try(&n, meant[i].candidates[k]);
		ck_assert_pstr_eq(n.best, meant[i].meant);
	}
}
END

TEST(text_is_wrapped_at_blanks_and_goes_on_indented)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	text_wrap(&out, "one two three four", 4, 2, 12);
	ck_assert_str_eq(buf_str(&out), "one two\n  three four");
}
END

/* Two stacks of one program, the second below the first's callers. */
static const char recorded[] =
	"[{\"count\":8,\"state\":\"waiting\",\"waitReason\":\"mutex\","
	"\"createdBy\":\"begin\",\"frames\":[\"lock\",\"serve\",\"a\","
	"\"b\",\"c\"],\"locations\":[\"lock.c:3\",\"serve.c:4\",\"\","
	"\"\",\"\"]},"
	"{\"baseCount\":1,\"compareCount\":3,\"state\":\"running\","
	"\"frames\":[\"read\",\"a\",\"b\",\"c\"],\"locations\":[]}]";

TEST(callers_of_a_stack_above_are_counted_not_repeated)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *list = json_loads(recorded, 0, NULL);
	struct screen screen = {.width = 80};
	CLEANUP_STACKS struct stacks k = {.screen = &screen};

	stacks_show(&k, list, 10, &out);
	ck_assert_str_eq(buf_str(&out),
	                 "#1: 8 waiting (mutex), created by begin\n"
	                 "    lock   lock.c:3\n"
	                 "    serve  serve.c:4\n"
	                 "    a\n"
	                 "    b\n"
	                 "    c\n"
	                 "\n"
	                 "#2: 1 before, 3 now running\n"
	                 "    read\n"
	                 "    ... 3 callers as of #1\n");
}
END

TEST(a_deep_stack_keeps_its_leaf_and_its_root)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_JSON json_t *list =
		json_pack("[{s[]si}]", "frames", "count", 1);
	json_t *frames = json_object_get(json_array_get(list, 0), "frames");
	struct screen screen = {.width = 80};
	CLEANUP_STACKS struct stacks k = {.screen = &screen};

	for (int i = 0; i < 1000; i++)
		json_array_append_new(frames, json_sprintf("f%d", i));
	stacks_show(&k, list, 10, &out);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "    f0\n"));
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "    ... 989 more\n"));
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "    f999\n"));
	ck_assert_ptr_null(strstr(buf_str(&out), "f500"));
}
END

SUITE("cli_words");
