#include "cli/table.h"
#include "lib/test.h"

#include <string.h>

static json_t *
json_of(const char *text)
{
	json_t *j = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(j);
	return j;
}

static const char recorded[] =
	"{\"topFunctions\":["
	"{\"funcName\":\"model::matmul(float*)\",\"package\":\"demo\","
	"\"selfPct\":48.04,\"cumulativePct\":51,\"sampleCount\":\"480\"},"
	"{\"funcName\":\"std::sort\",\"package\":\"libstdc++.so.6\","
	"\"selfPct\":9.5,\"cumulativePct\":100,\"sampleCount\":\"95\"}],"
	"\"quality\":{\"samplesKept\":1000,\"samplesLost\":2,"
	"\"stacksComplete\":998,\"notes\":[\"records were lost\"]}}";

TEST(top_functions_line_up)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(recorded);

	top_show(&out, j, -1, 0);
	ck_assert_str_eq(
		buf_str(&out),
		"SELF %  TOTAL %  SAMPLES  PACKAGE         FUNCTION\n"
		"  48.0     51.0      480  demo            "
		"model::matmul(float*)\n"
		"   9.5    100.0       95  libstdc++.so.6  std::sort\n");
}
END

TEST(a_narrow_screen_cuts_the_last_column_only)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(recorded);

	top_show(&out, j, 1, 52);
	ck_assert_ptr_nonnull(
		strstr(buf_str(&out), "demo     model::m~(float*)\n"));
	for (const char *p = buf_str(&out); *p;) {
		size_t n = strcspn(p, "\n");

		ck_assert_uint_le(n, 52);
		p += n + (p[n] == '\n');
	}
}
END

TEST(a_long_column_of_text_gives_way_to_the_last)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(
		"{\"topFunctions\":[{\"selfPct\":1,\"cumulativePct\":1,"
		"\"sampleCount\":\"12345678901234567890\",\"package\":"
		"\"example.org/a/very/long/path/of/a/package\","
		"\"funcName\":\"std::map<int, int>::find_if_it_is_there\""
		"}]}");

	top_show(&out, j, 1, 80);
	ck_assert_str_eq(strchr(buf_str(&out), '\n') + 1,
	                 "   1.0      1.0  12345678901234567890  examp~kage  "
	                 "std::map<int, ~if_it_is_there\n");
}
END

	static json_t *
	stack_of(size_t n)
{
	json_t *frames = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(frames, json_sprintf("f%zu", i));
	return json_pack("[{so}]", "a", frames);
}

TEST(a_deep_stack_keeps_its_leaf_and_its_root)
{
	static const struct column columns[] = {{"A", "a", LEFT, STACK}};
	static const struct {
		size_t depth;
		const char *shown;
	} rows[] = {
		{1, "A\nf0\n"},
		{12, "A\nf0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11\n"},
		{13, "A\nf0, f1, f2, f3, f4, f5, f6, f7, f8, (2 more), f11, "
	             "f12\n"},
		{100000, "A\nf0, f1, f2, f3, f4, f5, f6, f7, f8, (99989 more), "
	                 "f99998, f99999\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
		CLEANUP_JSON json_t *j = stack_of(rows[i].depth);

		table_show(&out, columns, 1, j, 0);
		ck_assert_str_eq(buf_str(&out), rows[i].shown);
	}
}
END

TEST(a_long_name_in_a_stack_is_cut_in_its_middle)
{
	static const struct column columns[] = {{"A", "a", LEFT, STACK}};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_array();
	char name[CELL_MAX * 2];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	name[0] = 'a';
	name[sizeof(name) - 2] = 'z';
	json_array_append_new(j, json_pack("{s[ss]}", "a", name, "main"));
	table_show(&out, columns, 1, j, 0);
	ck_assert_uint_eq(strlen(buf_str(&out)),
	                  strlen("A\n, main\n") + STACK_NAME);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "A\nax"));
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "x~x"));
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "xz, main\n"));
}
END

TEST(columns_that_nothing_is_in_can_be_left_out)
{
	static const struct column columns[] = {
		{"A", "a", LEFT, PLAIN},
		{"B", "b", LEFT, PLAIN},
		{"C", "c", RIGHT, PLAIN},
	};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of("[{\"a\":\"x\",\"b\":\"\",\"c\":0},"
	                                 "{\"a\":\"y\",\"c\":1}]");

	table_show_used(&out, columns, 3, j, 0);
	ck_assert_str_eq(buf_str(&out), "A  C\nx  0\ny  1\n");
	buf_clear(&out);
	table_show_used(&out, columns + 1, 1, j, 0);
	ck_assert_str_eq(buf_str(&out), "");
}
END

TEST(an_empty_last_cell_leaves_no_blanks)
{
	static const struct column columns[] = {
		{"A", "a", LEFT, PLAIN},
		{"B", "b", LEFT, PLAIN},
	};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of("[{\"a\":\"x\",\"b\":\"\"}]");

	table_show(&out, columns, 2, j, 0);
	ck_assert_str_eq(buf_str(&out), "A  B\nx\n");
}
END

TEST(a_limit_shows_so_many)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(recorded);

	top_show(&out, j, 1, 0);
	ck_assert_ptr_null(strstr(buf_str(&out), "std::sort"));
}
END

TEST(without_a_limit_a_screenful_is_shown)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_pack("{s[]}", "topFunctions");
	json_t *rows = json_object_get(j, "topFunctions");
	size_t lines = 0;

	for (int i = 0; i < TOP_ROWS + 1; i++)
		json_array_append_new(rows, json_pack("{ss}", "funcName", "f"));
	top_show(&out, j, -1, 0);
	for (const char *p = buf_str(&out); (p = strchr(p, '\n')); p++)
		lines++;
	ck_assert_uint_eq(lines, TOP_ROWS + 1);
}
END

TEST(nothing_to_show_is_said)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of("{\"topFunctions\":[]}");

	top_show(&out, j, -1, 0);
	ck_assert_str_eq(buf_str(&out), "no samples\n");
}
END

TEST(quality_is_told_at_a_glance)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(recorded);

	quality_show(&out, j);
	ck_assert_str_eq(buf_str(&out),
	                 "quality: 1000 samples, 2 lost, 998 stacks complete\n"
	                 "note: records were lost\n");
}
END

TEST(characters_count_not_bytes)
{
	static const struct column columns[] = {
		{"A", "a", LEFT, PLAIN},
		{"B", "b", LEFT, PLAIN},
	};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j =
		json_of("[{\"a\":\"\\u00e4\\u00f6\",\"b\":\"x\"},"
	                "{\"a\":\"abc\",\"b\":\"y\"}]");

	table_show(&out, columns, 2, j, 0);
	ck_assert_str_eq(buf_str(&out), "A    B\n"
	                                "\xc3\xa4\xc3\xb6   x\n"
	                                "abc  y\n");
}
END

	static const struct {
	const char *hostile, *shown;
} names[] = {
	{"plain", "plain"},
	{"\033[2J\033]0;owned\007", "?[2J?]0;owned?"},
	{"a\nb\tc\r", "a?b?c?"},
	{"\xc2\x9b"
         "31m",
         "?31m"},
	{"\xc2\xa0\xc3\xa9", "\xc2\xa0\xc3\xa9"},
	{"\x7f", "?"},
};

TEST(names_can_not_drive_the_terminal)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		safe_puts(&out, names[i].hostile);
		ck_assert_str_eq(buf_str(&out), names[i].shown);
	}
}
END

TEST(a_cell_past_its_ceiling_says_so)
{
	static const struct column columns[] = {{"A", "a", LEFT, PLAIN}};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *rows = json_array();
	char *name = malloc(CELL_MAX + 2);

	memset(name, 'x', CELL_MAX + 1);
	name[CELL_MAX + 1] = '\0';
	json_array_append_new(rows, json_pack("{ss}", "a", name));
	table_show(&out, columns, 1, rows, 0);
	free(name);
	ck_assert_str_eq(buf_str(&out), "A\n(too long)\n");
}
END

	static const struct {
	double progress;
	const char *bar;
} bars[] = {
	{0, "capturing    [>         ]   0 % "},
	{0.5, "capturing    [=====>    ]  50 % "},
	{1, "capturing    [==========] 100 % "},
	{-3, "capturing    [>         ]   0 % "},
	{7, "capturing    [==========] 100 % "},
};

TEST(the_bar_fills_and_stays_within_its_ends)
{
	for (size_t i = 0; i < ARRAY_LEN(bars); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		bar_show(&out, "capturing", bars[i].progress, 0);
		ck_assert_str_eq(buf_str(&out), bars[i].bar);
	}
}
END

TEST(a_phase_of_any_length_keeps_the_bar_in_place)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf other = BUF_INIT(BUF_MAX_SMALL);

	bar_show(&out, "a phase of more than twelve", 0.3, 60);
	bar_show(&other, "done", 0.3, 60);
	ck_assert_uint_eq(out.len, other.len);
	ck_assert_uint_le(out.len, 60);
}
END

TEST(an_error_shows_its_words_code_and_details)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j =
		json_of("{\"message\":\"sampleRate: expected 1 to 10000\","
	                "\"error_code\":\"InvalidParameter\",\"details\":{"
	                "\"parameter\":\"sampleRate\",\"got\":0,"
	                "\"expected\":[1,\"10000\"]}}");

	error_show(&out, 400, j, 3);
	ck_assert_str_eq(
		buf_str(&out),
		"stoker: sampleRate: expected 1 to 10000 (InvalidParameter)\n"
		"  got: 0\n"
		"  expected: 1, 10000\n"
		"  try again in 3 s\n");
}
END

TEST(an_error_that_is_not_ours_is_told_by_its_status)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	error_show(&out, 502, NULL, 0);
	ck_assert_str_eq(buf_str(&out), "stoker: the server did not answer as "
	                                "its API says (HTTP 502)\n");
}
END

TEST(an_object_leaves_out_what_is_empty)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(
		"{\"name\":\"web\",\"host\":\"\",\"labels\":{},\"gone\":null,"
		"\"match\":{\"unit\":\"web.service\"},\"items\":[]}");

	object_show(&out, j);
	ck_assert_str_eq(buf_str(&out), "name: web\nmatch: unit=web.service\n");
}
END

	SUITE("cli_show", top_functions_line_up,
              a_narrow_screen_cuts_the_last_column_only,
              a_long_column_of_text_gives_way_to_the_last,
              a_deep_stack_keeps_its_leaf_and_its_root,
              a_long_name_in_a_stack_is_cut_in_its_middle,
              columns_that_nothing_is_in_can_be_left_out,
              an_empty_last_cell_leaves_no_blanks, a_limit_shows_so_many,
              without_a_limit_a_screenful_is_shown, nothing_to_show_is_said,
              quality_is_told_at_a_glance, characters_count_not_bytes,
              names_can_not_drive_the_terminal, a_cell_past_its_ceiling_says_so,
              the_bar_fills_and_stays_within_its_ends,
              a_phase_of_any_length_keeps_the_bar_in_place,
              an_error_shows_its_words_code_and_details,
              an_error_that_is_not_ours_is_told_by_its_status,
              an_object_leaves_out_what_is_empty)
