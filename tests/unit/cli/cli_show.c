#include "base/quantity.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/values.h"
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

static const struct screen pipe_ = {0};

static struct screen
wide(size_t columns)
{
	return (struct screen){.width = columns};
}

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

	top_show(&out, j, -1, &pipe_);
	ck_assert_str_eq(
		buf_str(&out),
		"SELF %  TOTAL %  SAMPLES  PACKAGE         FUNCTION\n"
		"  48.0     51.0      480  demo            "
		"model::matmul(float*)\n"
		"   9.5    100.0       95  libstdc++.so.6  std::sort\n");
}
END

TEST(a_narrow_screen_leaves_the_functions_name)
{
	struct screen screen = wide(52);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(recorded);

	top_show(&out, j, 1, &screen);
	ck_assert_ptr_nonnull(
		strstr(buf_str(&out), "demo     model::matmul(…)\n"));
	for (const char *p = buf_str(&out); *p;) {
		size_t n = strcspn(p, "\n");

		ck_assert_uint_le(n, 52 + strlen(ELLIPSIS) - 1);
		p += n + (p[n] == '\n');
	}
}
END

TEST(a_long_column_of_text_gives_way_to_the_last)
{
	struct screen screen = wide(80);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(
		"{\"topFunctions\":[{\"selfPct\":1,\"cumulativePct\":1,"
		"\"sampleCount\":\"12345678901234567890\",\"package\":"
		"\"example.org/a/very/long/path/of/a/package\","
		"\"funcName\":\"std::map<int, int>::find_if_it_is_there\""
		"}]}");

	top_show(&out, j, 1, &screen);
	ck_assert_str_eq(strchr(buf_str(&out), '\n') + 1,
	                 "   1.0      1.0  12345678901234567890  …/package   "
	                 "…::find_if_it_is_there\n");
}
END

/* Returns the column at which the text begins. */
static size_t
column_of(const struct buf *out, const char *text)
{
	CLEANUP_BUF struct buf before = BUF_INIT(BUF_MAX_SMALL);
	const char *at = strstr(buf_str(out), text), *line = at;

	ck_assert_ptr_nonnull(at);
	while (line > out->p && line[-1] != '\n')
		line--;
	buf_add(&before, line, (size_t)(at - line));
	return text_columns(buf_str(&before));
}

TEST(a_package_that_is_cut_is_as_wide_as_its_column)
{
	struct screen screen = wide(80);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(
		"{\"topFunctions\":[{\"selfPct\":1,\"cumulativePct\":1,"
		"\"sampleCount\":\"1\",\"package\":"
		"\"example.org/a/long/path/of/some_package\",\"funcName\":"
		"\"a_function_whose_name_is_of_forty_letters\"},"
		"{\"selfPct\":1,\"cumulativePct\":1,\"sampleCount\":\"1\","
		"\"package\":\"demo\",\"funcName\":\"main\"}]}");

	top_show(&out, j, 2, &screen);
	ck_assert_uint_eq(column_of(&out, "a_func"), column_of(&out, "main"));
}
END

TEST(a_long_function_leaves_the_kernel_its_name)
{
	struct screen screen = wide(80);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(
		"{\"topFunctions\":[{\"selfPct\":1,\"cumulativePct\":1,"
		"\"sampleCount\":\"1\",\"package\":\"[kernel.kallsyms]\","
		"\"funcName\":\"__a_function_of_more_than_thirty_six_letters\""
		"}]}");

	top_show(&out, j, 1, &screen);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), " [kernel.kallsyms]  __a"));
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

	table_show_used(&out, columns, 3, j, &pipe_);
	ck_assert_str_eq(buf_str(&out), "A  C\nx  0\ny  1\n");
	buf_clear(&out);
	table_show_used(&out, columns + 1, 1, j, &pipe_);
	ck_assert_str_eq(buf_str(&out), "");
}
END

TEST(a_table_of_twelve_columns_is_shown_whole)
{
	struct column columns[12];
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of("[{\"a\":1}]");

	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		columns[i] = (struct column){"A", "a", LEFT, PLAIN};
	table_show_used(&out, columns, ARRAY_LEN(columns), j, &pipe_);
	ck_assert_str_eq(buf_str(&out), "A  A  A  A  A  A  A  A  A  A  A  A\n"
	                                "1  1  1  1  1  1  1  1  1  1  1  1\n");
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

	table_show(&out, columns, 2, j, &pipe_);
	ck_assert_str_eq(buf_str(&out), "A  B\nx\n");
}
END

TEST(a_limit_shows_so_many)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(recorded);

	top_show(&out, j, 1, &pipe_);
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
	top_show(&out, j, -1, &pipe_);
	for (const char *p = buf_str(&out); (p = strchr(p, '\n')); p++)
		lines++;
	ck_assert_uint_eq(lines, TOP_ROWS + 1);
}
END

TEST(functions_that_only_call_others_are_shown)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(
		"{\"topFunctions\":["
		"{\"funcName\":\"rare\",\"package\":\"app\",\"selfPct\":0,"
		"\"cumulativePct\":0,\"sampleCount\":\"1\"},"
		"{\"funcName\":\"<module>\",\"package\":\"app\",\"selfPct\":0,"
		"\"cumulativePct\":100,\"sampleCount\":\"0\"}]}");

	top_show(&out, j, -1, &pipe_);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "rare"));
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "<module>"));
}
END

TEST(nothing_to_show_is_said)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of("{\"topFunctions\":[]}");

	top_show(&out, j, -1, &pipe_);
	ck_assert_str_eq(buf_str(&out), "no samples\n");
}
END

TEST(quality_is_told_at_a_glance)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of(recorded);

	quality_show(&out, j);
	ck_assert_str_eq(
		buf_str(&out),
		"quality: 1000 samples, 2 lost, 998 stacks complete\n");
	buf_clear(&out);
	reasons_show(&out, j, &pipe_);
	ck_assert_str_eq(buf_str(&out), "note: records were lost\n");
}
END

TEST(nothing_is_measured_in_the_units_of_something)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	quantity(&out, 0, "nanoseconds");
	buf_putc(&out, ' ');
	quantity(&out, 0, "bytes");
	buf_putc(&out, ' ');
	quantity(&out, 112280000, "nanoseconds");
	buf_putc(&out, ' ');
	quantity(&out, 0, "count");
	ck_assert_str_eq(buf_str(&out), "0 ns 0 B 112.28 ms 0 count");
}
END

TEST(stacks_that_nobody_unwound_are_not_counted)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j =
		json_of("{\"quality\":{\"samplesKept\":27,\"samplesLost\":0,"
	                "\"stacksComplete\":0,\"stacksTruncated\":0,"
	                "\"unwindFailed\":0}}");

	quality_show(&out, j);
	ck_assert_str_eq(buf_str(&out), "quality: 27 samples, 0 lost\n");
}
END

TEST(a_note_stands_below_its_row_and_is_not_cut)
{
	static const struct column columns[] = {{"ID", "id", LEFT, PLAIN}};
	struct screen screen = wide(24);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of("[{\"id\":\"a\",\"" TABLE_NOTE
	                                 "\":\"a reason that takes "
	                                 "more than a line\"},{\"id\":\"b\"}]");

	table_show(&out, columns, 1, j, &screen);
	ck_assert_str_eq(buf_str(&out), "ID\na\n"
	                                "    a reason that takes\n"
	                                "    more than a line\n"
	                                "b\n");
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

	table_show(&out, columns, 2, j, &pipe_);
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
	{"a\xe2\x80\xae"
         "b\xe2\x81\xa6"
         "c\xd8\x9c"
         "d\xe2\x80\x8f",
         "a?b?c?d?"},
	{"\xe2\x80\xa6\xe2\x82\xac", "\xe2\x80\xa6\xe2\x82\xac"},
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

TEST(texts_of_others_keep_their_lines_and_drive_no_terminal)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	safe_lines(&out, "main;a\033[2J\t1\nmain;\xc2\x9b"
	                 "b 2\n");
	ck_assert_str_eq(buf_str(&out), "main;a?[2J\t1\nmain;?b 2\n");
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
	table_show(&out, columns, 1, rows, &pipe_);
	free(name);
	ck_assert_str_eq(buf_str(&out), "A\n(too long)\n");
}
END

static const struct {
	struct progress p;
	const char *line;
} lines[] = {
	{{"queued", -1, 10, 0},
         "queued                                                      "},
	{{"capturing", 0, 10, 0},
         "capturing: 0.0 of 10 s                      [>             ]"},
	{{"capturing", 5, 10, 331},
         "capturing: 5.0 of 10 s, 331 samples         [=======>      ]"},
	{{"symbolizing", 10, 10, 990},
         "symbolizing: 10.0 of 10 s, 990 samples      [==============]"},
	{{"capturing", 0.3, 0, 0},
         "capturing: 0.3 s                                            "},
};

TEST(progress_is_told_in_seconds_and_samples)
{
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		progress_show(&out, &lines[i].p, 60);
		ck_assert_str_eq(buf_str(&out), lines[i].line);
	}
}
END

TEST(a_line_of_progress_is_as_wide_as_asked)
{
	static const size_t widths[] = {5, 43, 44, 55, 56, 57, 120};
	struct progress p = {"a\033phase of more than twelve", 3, 10, 12345};

	for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		progress_show(&out, &p, widths[i]);
		ck_assert_uint_eq(text_columns(buf_str(&out)), widths[i]);
		ck_assert_ptr_null(strchr(buf_str(&out), '\033'));
	}
}
END

TEST(a_line_of_progress_that_is_too_long_keeps_its_beginning)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	progress_show(&out, &lines[2].p, 20);
	ck_assert_str_eq(buf_str(&out), "capturing: 5.0 of 1…");
}
END

/* Appends a link as stoker shows it to a user who came by ssh, or did not. */
static void
link_of(const char *ssh, const char *url, struct buf *out)
{
	buf_clear(out);
	if (ssh)
		ck_assert_int_eq(setenv("SSH_CONNECTION", ssh, 1), 0);
	else
		ck_assert_int_eq(unsetenv("SSH_CONNECTION"), 0);
	ck_assert_int_eq(setenv("USER", "ops", 1), 0);
	link_show(out, "flame graph", url);
}

TEST(a_link_to_this_host_comes_with_its_tunnel)
{
	static const char from[] = "198.51.100.7 50000 192.0.2.5 22";
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	link_of(from, "http://127.0.0.1:8088/ui/", &out);
	ck_assert_str_eq(buf_str(&out),
	                 "flame graph:\nhttp://127.0.0.1:8088/ui/\n"
	                 "on the machine of your browser, first:\n"
	                 "  ssh -L 8088:127.0.0.1:8088 ops@192.0.2.5\n");
	link_of("198.51.100.7 50000 192.0.2.5 2222", "http://localhost/ui/",
	        &out);
	ck_assert_ptr_nonnull(
		strstr(buf_str(&out), "ssh -p 2222 -L 80:127.0.0.1:80 ops@"));
	link_of(NULL, "http://127.0.0.1:8088/ui/", &out);
	ck_assert_ptr_null(strstr(buf_str(&out), "ssh"));
	link_of("nonsense", "http://127.0.0.1:8088/ui/", &out);
	ck_assert_ptr_null(strstr(buf_str(&out), "ssh"));
	link_of(from, "http://127.0.0.1.example.com/ui/", &out);
	ck_assert_ptr_null(strstr(buf_str(&out), "ssh"));
	/* as long as localhost */
	link_of(from, "http://ops01.lan:8088/ui/", &out);
	ck_assert_ptr_null(strstr(buf_str(&out), "ssh"));
	link_of(from, "https://stoker.example.com/ui/", &out);
	ck_assert_ptr_null(strstr(buf_str(&out), "ssh"));
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

TEST(a_member_that_is_empty_is_left_out)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j =
		json_of("{\"host\":\"\",\"labels\":{},\"gone\":null,"
	                "\"match\":{\"unit\":\"web.service\"},\"items\":[]}");
	const char *key;
	json_t *v;

	json_object_foreach(j, key, v)
		member_show(&out, key, v, &pipe_);
	ck_assert_str_eq(buf_str(&out), "match:       unit=web.service\n");
}
END

TEST(a_result_without_samples_is_empty_not_poor)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	struct screen screen = wide(80);
	CLEANUP_JSON json_t *j = json_of(
		"{\"sampleCount\":0,\"quality\":{\"reasons\":[\"idle\"]}}");

	reasons_show(&out, j, &screen);
	ck_assert_str_eq(buf_str(&out), "EMPTY: idle\n");
}
END

TEST(a_long_reason_goes_on_below_its_beginning)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	struct screen screen = wide(40);
	CLEANUP_JSON json_t *j = json_of(
		"{\"quality\":{\"reasons\":[\"only 12 samples were taken in "
		"sixty seconds\"]}}");

	reasons_show(&out, j, &screen);
	ck_assert_str_eq(buf_str(&out),
	                 "POOR RESULT: only 12 samples were taken\n"
	                 "             in sixty seconds\n");
}
END

TEST(colours_change_no_letter)
{
	static const struct column columns[] = {{"A", "a", LEFT, PLAIN}};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = json_of("[{\"a\":\"x\"}]");
	struct screen screen = {.colours = true};

	table_show(&out, columns, 1, j, &screen);
	ck_assert_str_eq(buf_str(&out), "\033[1mA\033[0m\nx\n");
}
END

SUITE("cli_show");
