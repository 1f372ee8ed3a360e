#include "profile/export.h"
#include "base/driving.h"
#include "base/json.h"
#include "lib/folded.h"
#include "lib/stacks.h"
#include "lib/test.h"
#include "profile/pprof.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct export_meta meta = {
	.title = "ai-service <cpu>",
	.id = "sess-abc",
	.service = "ai-service",
	.type = "cpu",
	.time_ms = INT64_C(1768464000123),
	.duration_ms = 5000,
};

/* Hostile names: markup, an end of script, bytes that are not UTF-8. */
#define HOSTILE "a</script><b>&]]>\"\\;x 1\n\xFF\x01z\xEF\xBF\xBF 1\n"

static int
write_as(const char *format, const char *folded, struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);
	const struct format *f = format_find(format);
	struct tree *t;
	int r;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	r = f->write(t, &meta, out);
	tree_free(t);
	return r;
}

static size_t
count(const char *text, const char *what)
{
	size_t n = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		n++;
	return n;
}

TEST(formats_have_content_types_of_their_own)
{
	for (size_t i = 0; i < nformats; i++)
		for (size_t k = 0; k < i; k++)
			ck_assert_msg(strcmp(formats[i].content_type,
			                     formats[k].content_type) != 0,
			              "%s and %s", formats[i].name,
			              formats[k].name);
}
END

TEST(formats_are_found_by_name_only)
{
	ck_assert_str_eq(format_find("svg")->content_type, "image/svg+xml");
	ck_assert_str_eq(format_find("pprof")->extension, "pb.gz");
	ck_assert_ptr_null(format_find("SVG"));
	ck_assert_ptr_null(format_find(""));
}
END

TEST(every_format_writes_any_profile_and_respects_the_ceiling)
{
	static const char *const profiles[] = {"", "main 1\n", HOSTILE};

	for (size_t i = 0; i < nformats; i++) {
		for (size_t k = 0; k < ARRAY_LEN(profiles); k++) {
			CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);
			CLEANUP_BUF struct buf less = BUF_INIT(0);

			ck_assert_int_eq(
				write_as(formats[i].name, profiles[k], &b), 0);
			if (!b.len)
				continue;
			less.max = b.len - 1;
			ck_assert_int_eq(
				write_as(formats[i].name, profiles[k], &less),
				-E2BIG);
		}
	}
}
END

/* Names that control a terminal or turn the direction of text. */
#define DRIVING                \
	"a\x1b[2J\x7f\xc2\x9b" \
	"31m\xd8\x9c\xe2\x80\x8f\xe2\x80\xae\xe2\x81\xa6z"

/* Returns the first such character that does not end a line or a field. */
static const char *
first_driving(const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++)
		if (!strchr("\t\n", b->p[i]) &&
		    driving((const unsigned char *)b->p + i, b->len - i))
			return b->p + i;
	return NULL;
}

TEST(no_format_that_is_text_drives_a_terminal_or_turns_its_direction)
{
	static const char *const binary[] = {"pprof", "otlp", "columns"};
	size_t texts = 0;

	for (size_t i = 0; i < nformats; i++) {
		CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);
		const char *found;
		size_t k = 0;

		while (k < ARRAY_LEN(binary) &&
		       strcmp(binary[k], formats[i].name) != 0)
			k++;
		if (k < ARRAY_LEN(binary))
			continue;
		ck_assert_int_eq(
			write_as(formats[i].name,
		                 "main;" DRIVING "@/lib/" DRIVING " 1\n", &b),
			0);
		found = first_driving(&b);
		ck_assert_msg(!found, "%s: ...%.40s", formats[i].name,
		              found - (found - b.p < 10 ? found - b.p : 10));
		texts++;
	}
	ck_assert_uint_ge(texts, 9);
}
END

TEST(every_format_writes_a_stack_of_many_frames)
{
	CLEANUP_BUF struct buf folded = BUF_INIT(BUF_MAX_REPLY);

	for (int i = 0; i < 400; i++)
		buf_addf(&folded, "%sf%d", i ? ";" : "", i);
	buf_puts(&folded, " 3\n");
	for (size_t i = 0; i < nformats; i++) {
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

		ck_assert_int_eq(
			write_as(formats[i].name, buf_str(&folded), &out), 0);
		ck_assert_uint_gt(out.len, 0);
	}
}
END

TEST(folded_is_root_first_in_samples)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(
		write_as("folded", "main;a;b 2\nmain;a 3\nstart 4\n", &b), 0);
	ck_assert_str_eq(buf_str(&b), "main;a 3\nmain;a;b 2\nstart 4\n");
}
END

TEST(folded_survives_what_separates_frames_and_lines)
{
	CLEANUP_PROFILE struct profile *p = profile_of("x 1\n");
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	struct tree *t;

	ck_assert_int_eq(
		profile_cstring(p, "a;b\nc\t1 9", &p->functions[0].name), 0);
	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(format_find("folded")->write(t, &meta, &b), 0);
	ck_assert_str_eq(buf_str(&b), "a:b c 1 9 1\n");
	tree_free(t);
}
END

TEST(folded_keeps_samples_without_a_stack)
{
	CLEANUP_PROFILE struct profile *p = profile_of("x 1\n");
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	int64_t v[] = {2, 20000000};
	struct tree *t;

	ck_assert_int_eq(profile_sample(p, NULL, 0, NULL, 0, v), 0);
	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(format_find("folded")->write(t, &meta, &b), 0);
	ck_assert_str_eq(buf_str(&b), "all 2\nx 1\n");
	tree_free(t);
}
END

/* perf record samples cycles with periods that differ. */
TEST(folded_is_the_time_where_samples_have_other_shares)
{
	CLEANUP_PROFILE struct profile *p = profile_of("hot 1\ncold 1\n");
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	struct tree *t;

	p->values[p->ntypes - 1] *= 9;
	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(format_find("folded")->write(t, &meta, &b), 0);
	ck_assert_str_eq(buf_str(&b), "cold 10000000\nhot 90000000\n");
	tree_free(t);
}
END

/* Removes a part of a text, from `from` up to the next `to`. */
static void
leave_out(const char *text, const char *from, const char *to)
{
	char *start = strstr(text, from),
	     *end = start ? strstr(start, to) : NULL;

	ck_assert_ptr_nonnull(end);
	memmove(start, end, strlen(end) + 1);
}

TEST(json_is_the_tree_as_columns)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(write_as("json", "main;w@/lib/w.so 2\nmain 1\n", &b),
	                 0);
	*strstr(buf_str(&b), ",\"formats\"") = '\0';
	leave_out(buf_str(&b), ",\"kinds\":", ",\"depth\"");
	ck_assert_str_eq(
		buf_str(&b),
		"{\"version\":1,\"id\":\"sess-abc\","
		"\"title\":\"ai-service \\u003ccpu>\","
		"\"service\":\"ai-service\",\"type\":\"cpu\","
		"\"unit\":\"nanoseconds\","
		"\"startedAt\":\"2026-01-15T08:00:00.123Z\","
		"\"durationMs\":5000,\"total\":30000000,\"totalSamples\":3,"
		"\"names\":[\"\",\"all\",\"w\",\"main\"],"
		"\"packages\":[\"\",\"\",\"w.so\",\"app\"],"
		"\"files\":[\"\"],\"file\":[],\"line\":[],"
		"\"depth\":[0,1,2],\"name\":[1,3,2],"
		"\"self\":[0,10000000,20000000],"
		"\"totals\":[30000000,30000000,20000000],"
		"\"quality\":{}");
}
END

TEST(json_of_hostile_names_parses_and_stays_inside_script)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	json_t *j;

	ck_assert_int_eq(write_as("json", HOSTILE, &b), 0);
	ck_assert_ptr_null(strchr(buf_str(&b), '<'));
	j = json_loadb(b.p, b.len, 0, NULL);
	ck_assert_ptr_nonnull(j);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "names")),
	                  json_array_size(json_object_get(j, "packages")));
	json_decref(j);
}
END

TEST(the_page_has_style_scripts_and_data_in_place)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);

	ck_assert_int_eq(write_as("html", HOSTILE, &b), 0);
	ck_assert_uint_eq(count(buf_str(&b), "STOKER-"), 0);
	ck_assert_uint_eq(count(buf_str(&b), "{\"version\":1,"), 1);
	ck_assert_uint_eq(count(buf_str(&b), "<style>"), 1);
	/* a script's text never ends its element before its own end tag */
	ck_assert_uint_eq(count(buf_str(&b), "<script"),
	                  count(buf_str(&b), "</script"));
}
END

TEST(an_svg_says_when_and_how_long_it_was_taken_and_its_total)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);

	ck_assert_int_eq(write_as("svg", "main;w 3\nmain 1\n", &b), 0);
	ck_assert_msg(count(buf_str(&b),
	                    ">2026-01-15T08:00:00.123Z, 5.00 s long, "
	                    "total 40.00 ms</text>") == 1,
	              "%s", buf_str(&b));
}
END

TEST(an_svg_has_a_box_with_a_tooltip_for_each_node)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(write_as("svg", "main;w@/lib/w.so 3\nmain 1\n", &b),
	                 0);
	ck_assert_uint_eq(count(buf_str(&b), "<g>"), 3);
	ck_assert_uint_eq(count(buf_str(&b),
	                        "<title>w [w.so]\n30.00 ms (75.00 %)</title>"),
	                  1);
	ck_assert_uint_eq(count(buf_str(&b), "width=\"900.00\""), 1);
}
END

/* Returns what follows the tooltip of the only frame of that name. */
static const char *
box_of(const char *svg, const char *name)
{
	CLEANUP_BUF struct buf tooltip = BUF_INIT(BUF_MAX_SMALL);
	const char *at;

	buf_addf(&tooltip, "<title>%s [app]\n", name);
	at = strstr(svg, buf_str(&tooltip));
	ck_assert_msg(at, "no box of %s", name);
	return strstr(at, "</title>") + strlen("</title>");
}

static void
lies_at(const char *svg, const char *name, const char *rect)
{
	const char *box = box_of(svg, name);

	ck_assert_msg(!strncmp(box, rect, strlen(rect)), "%s: %.90s", name,
	              box);
}

TEST(a_box_of_an_svg_lies_below_its_caller_and_as_wide_as_its_cost)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	const char *svg;

	ck_assert_int_eq(write_as("svg",
	                          "main;a;x 2\nmain;a;y 1\nmain;a 1\n"
	                          "main;b;z 2\n",
	                          &b),
	                 0);
	svg = buf_str(&b);
	lies_at(svg, "main", "<rect x=\"10.00\" y=\"61\" width=\"1200.00\"");
	lies_at(svg, "a", "<rect x=\"10.00\" y=\"78\" width=\"800.00\"");
	lies_at(svg, "x", "<rect x=\"10.00\" y=\"95\" width=\"400.00\"");
	lies_at(svg, "y", "<rect x=\"410.00\" y=\"95\" width=\"200.00\"");
	lies_at(svg, "b", "<rect x=\"810.00\" y=\"78\" width=\"400.00\"");
	lies_at(svg, "z", "<rect x=\"810.00\" y=\"95\" width=\"400.00\"");
	/* the last row ends at 112, a margin above the end of the picture */
	ck_assert_uint_eq(count(svg, "width=\"1220\" height=\"122\""), 1);
}
END

/* Draws a frame that is this many pixels wide. */
static void
label_is(const char *name, int pixels, const char *want)
{
	CLEANUP_BUF struct buf folded = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	const char *box, *text;

	buf_addf(&folded, "%s %d\nrest %d\n", name, pixels, 1200 - pixels);
	ck_assert_int_eq(write_as("svg", buf_str(&folded), &b), 0);
	box = box_of(buf_str(&b), name);
	text = strchr(box, '>') + 1; /* behind the rectangle */
	if (*want)
		text = strchr(text, '>') + 1;
	ck_assert_msg(!strncmp(text, want, strlen(want)) &&
	                      text[strlen(want)] == '<',
	              "%d pixels: %.60s", pixels, text);
}

TEST(a_label_of_an_svg_stays_inside_its_box)
{
	/* ten characters are 72 pixels wide, and have 3 beside them */
	label_is("abcdefghij", 79, "abcdefghij");
	label_is("abcdefghij", 77, "abcdefg..");
	label_is("abcdefghij", 28, "a..");
	label_is("abcdefghij", 27, "");
}
END

/* One sample of a function that calls itself `depth` times. */
static struct profile *
recursive(uint32_t depth)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_FREE uint32_t *stack = calloc(depth, sizeof(*stack));
	struct function f = {0};
	struct line line = {0};
	uint32_t location;
	int64_t value = 1;

	ck_assert(p && stack);
	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_cstring(p, "f", &f.name), 0);
	ck_assert_int_eq(profile_function(p, &f, &line.function), 0);
	ck_assert_int_eq(
		profile_location(p, PROFILE_NONE, 1, &line, 1, &location), 0);
	for (uint32_t i = 0; i < depth; i++)
		stack[i] = location;
	ck_assert_int_eq(profile_sample(p, stack, depth, NULL, 0, &value), 0);
	return TAKE(p);
}

static const struct {
	uint32_t depth;
	size_t boxes, height;
} deep[] = {
	{100, 101, 44 + 101 * 17 + 10},
	{511, 512, 44 + 512 * 17 + 10},
	{512, 512, 44 + 512 * 17 + 10},
	{600, 512, 44 + 512 * 17 + 10},
};

TEST(an_svg_is_as_high_as_the_512_rows_that_it_shows_at_most)
{
	for (size_t i = 0; i < ARRAY_LEN(deep); i++) {
		CLEANUP_PROFILE struct profile *p = recursive(deep[i].depth);
		CLEANUP_TREE struct tree *t = NULL;
		CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);
		CLEANUP_BUF struct buf want = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(tree_new(p, 0, &t), 0);
		ck_assert_int_eq(format_find("svg")->write(t, &meta, &b), 0);
		ck_assert_uint_eq(count(buf_str(&b), "<g>"), deep[i].boxes);
		buf_addf(&want, " height=\"%zu\" ", deep[i].height);
		ck_assert_uint_eq(count(buf_str(&b), buf_str(&want)), 1);
	}
}
END

TEST(an_svg_of_hostile_names_holds_no_markup_of_theirs)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(write_as("svg", HOSTILE, &b), 0);
	ck_assert_uint_eq(count(buf_str(&b), "</script"), 0);
	ck_assert_uint_eq(count(buf_str(&b), "<b>"), 0);
	ck_assert_uint_eq(count(buf_str(&b), "]]>"), 0);
	ck_assert_uint_eq(count(buf_str(&b), "\xFF"), 0);
	ck_assert_uint_eq(count(buf_str(&b), "\x01"), 0);
	ck_assert_uint_eq(count(buf_str(&b), "\xEF\xBF\xBF"), 0);
	ck_assert_uint_gt(count(buf_str(&b), "&lt;/script&gt;"), 0);
}
END

TEST(an_svg_leaves_out_what_is_too_narrow_among_many)
{
	CLEANUP_BUF struct buf folded = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);

	/* each is about 0.12 pixels wide, and would be drawn if there were
	 * fewer */
	for (int i = 0; i < 10000; i++)
		buf_addf(&folded, "f%d;g%d;h%d 1\n", i, i, i);
	ck_assert_int_eq(write_as("svg", buf_str(&folded), &b), 0);
	ck_assert_uint_eq(count(buf_str(&b), "<g>"), 1);
}
END

TEST(pprof_is_the_profile_itself)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = NULL;

	ck_assert_int_eq(write_as("pprof", "main;a 2\n", &b), 0);
	ck_assert_int_eq(pprof_decode(b.p, b.len, BUF_MAX_SMALL, &p, &why), 0);
	ck_assert_int_eq(p->values[0], 2);
}
END

TEST(speedscope_has_a_row_for_each_stack)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(
		write_as("speedscope", "main;w@/lib/w.so 2\nmain 1\n", &b), 0);
	ck_assert_str_eq(
		buf_str(&b),
		"{\"$schema\":\"https://www.speedscope.app/"
		"file-format-schema.json\",\"name\":\"ai-service \\u003ccpu>\","
		"\"exporter\":\"stoker 0.0.0\","
		"\"activeProfileIndex\":0,\"shared\":{\"frames\":[{\"name\":"
		"\"\"},{\"name\":\"all\"},{\"name\":\"w\",\"file\":"
		"\"w.so\"},{\"name\":\"main\",\"file\":\"app\"}]},"
		"\"profiles\":[{\"type\":\"sampled\",\"name\":"
		"\"ai-service \\u003ccpu>\",\"unit\":\"nanoseconds\","
		"\"startValue\":0,\"endValue\":30000000,"
		"\"samples\":[[3],[3,2]],"
		"\"weights\":[10000000,20000000],\"counts\":[1,2]}]}");
}
END

TEST(speedscope_has_source_files_and_lines)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p =
		stacks_of("1 |main.work:12 main.main\n");
	CLEANUP_TREE struct tree *t = NULL;

	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(format_find("speedscope")->write(t, &meta, &b), 0);
	ck_assert_ptr_nonnull(strstr(
		buf_str(&b),
		"{\"name\":\"main.work\",\"file\":\"app.go\",\"line\":12},"
		"{\"name\":\"main.main\",\"file\":\"app.go\"}"));
}
END

/* A reader would think that counts of 0 are measured. */
TEST(speedscope_has_no_counts_where_samples_are_not_known)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_TREE struct tree *t = NULL;
	const int64_t value = 5;

	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(profile_type(p, "off_cpu", "nanoseconds"), 0);
	ck_assert_int_eq(profile_sample(p, NULL, 0, NULL, 0, &value), 0);
	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(format_find("speedscope")->write(t, &meta, &b), 0);
	ck_assert_ptr_nonnull(
		strstr(buf_str(&b), "\"weights\":[5],\"counts\":[]}"));
}
END

TEST(speedscope_leaves_out_what_shrank)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(write_as("speedscope", "a 5\nb -3\n", &b), 0);
	ck_assert_ptr_nonnull(strstr(buf_str(&b), "\"samples\":[[2]]"));
	ck_assert_ptr_nonnull(strstr(buf_str(&b), "\"endValue\":50000000,"));
}
END

TEST(dot_counts_recursion_once_and_dots_what_it_leaves_out)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	/* f calls itself through tiny, which is too small for a box */
	ck_assert_int_eq(
		write_as("dot", "m;f;f 999\nm;tiny;g 1\nm;g 1000\n", &b), 0);
	ck_assert_uint_eq(count(buf_str(&b), "[label=\"tiny"), 0);
	ck_assert_uint_eq(count(buf_str(&b), "N2 -> N2 [label=\"9.99 s\""), 1);
	ck_assert_uint_eq(count(buf_str(&b), "N0 -> N1 [label=\"10.01 s\""), 1);
	ck_assert_uint_eq(count(buf_str(&b), "dotted"), 0);
	buf_clear(&b);
	ck_assert_int_eq(write_as("dot", "m;tiny;g 4\nm;x 1000\n", &b), 0);
	ck_assert_uint_eq(count(buf_str(&b), "tiny"), 0);
}
END

TEST(dot_of_hostile_names_keeps_its_quotes)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(write_as("dot", HOSTILE, &b), 0);
	ck_assert_uint_eq(count(buf_str(&b), "]]>\\\"\\\\:x"), 0);
	ck_assert_uint_gt(count(buf_str(&b), "]]>\\\"\\\\"), 0);
	ck_assert_uint_eq(count(buf_str(&b), "\xFF"), 0);
}
END

/* Returns a value of a column whose values are width bytes wide. */
static double
column_value(const char *column, size_t width, size_t i)
{
	uint64_t v = 0;
	double real;

	memcpy(&v, column + i * width, width);
	memcpy(&real, &v, sizeof(real));
	return width == sizeof(real) ? real : (double)v;
}

/* Compares a document of columns with that of json. */
static void
check_columns(const struct buf *b, const json_t *want)
{
	uint32_t length;
	CLEANUP_JSON json_t *got = NULL;
	const char *name, *at = b->p + sizeof(length);
	json_t *width;
	size_t n;

	memcpy(&length, b->p, sizeof(length));
	got = json_loadb(at, length, 0, NULL);
	ck_assert_ptr_nonnull(got);
	n = (size_t)json_number_value(json_object_get(got, "nodes"));
	at += length;
	json_object_foreach(json_object_get(got, "columns"), name, width) {
		const json_t *column = json_object_get(want, name);
		bool is_id = !strcmp(name, "depth") || !strcmp(name, "name");
		double by = is_id ? 1
		                  : json_number_value(
					    json_object_get(got, "scale"));
		size_t bytes = (size_t)json_integer_value(width);

		ck_assert_uint_eq((size_t)(at - b->p) % 8, 0);
		ck_assert_uint_eq(json_array_size(column), n);
		for (size_t i = 0; i < n; i++)
			ck_assert_double_eq(
				column_value(at, bytes, i) * by,
				json_number_value(json_array_get(column, i)));
		at += (n * bytes + 7) / 8 * 8;
	}
	ck_assert_ptr_eq(at, b->p + b->len);
	ck_assert_int_eq(json_equal(json_object_get(got, "names"),
	                            json_object_get(want, "names")),
	                 1);
}

TEST(columns_say_what_json_says)
{
	static const char *const profiles[] = {
		"",
		"main 1\n",
		HOSTILE,
		"a;b;c 2\na;b 4\n",
		"a 255\n",
		"a 256\nb 1\n",
		"a 65536\nb 1\n",
		"a 4294967296\nb 1\n",
		"a;b;c;d;e;f;g;h;i 1\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
		CLEANUP_BUF struct buf json = BUF_INIT(BUF_MAX_REPLY);
		CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);
		CLEANUP_JSON json_t *want = NULL;

		ck_assert_int_eq(write_as("json", profiles[i], &json), 0);
		ck_assert_int_eq(write_as("columns", profiles[i], &b), 0);
		want = json_loads(buf_str(&json), 0, NULL);
		check_columns(&b, want);
	}
}
END

TEST(columns_may_be_negative)
{
	CLEANUP_PROFILE struct profile *p = profile_of("x 1\n");
	CLEANUP_BUF struct buf json = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_JSON json_t *want = NULL;
	int64_t v[] = {-4, -40};

	ck_assert_int_eq(profile_sample(p, NULL, 0, NULL, 0, v), 0);
	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(format_find("json")->write(t, &meta, &json), 0);
	ck_assert_int_eq(format_find("columns")->write(t, &meta, &b), 0);
	want = json_loads(buf_str(&json), 0, NULL);
	check_columns(&b, want);
}
END

/* The quality report may contain names from the target. */
TEST(json_tells_sources_quality_and_what_other_formats_there_are)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;work 1\n");
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_JSON json_t *j = NULL;
	struct export_meta of = meta;
	const json_t *report;

	of.quality = "{\"verdict\":\"poor\",\"reasons\":[\"</script><b>\"]}";
	for (uint32_t i = 0; i < p->nfunctions; i++)
		ck_assert_int_eq(profile_cstring(p, "/src/shop/work.c",
		                                 &p->functions[i].file),
		                 0);
	/* one line is the lowest one known, the other where the function
	 * starts */
	p->lines[0].line = 17;
	p->functions[1].start_line = 40;
	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(format_find("json")->write(t, &of, &b), 0);
	ck_assert_ptr_null(strchr(buf_str(&b), '<'));
	j = json_loads(buf_str(&b), 0, NULL);
	ck_assert_ptr_nonnull(j);
	ck_assert_ptr_nonnull(strstr(
		buf_str(&b), "\"files\":[\"\",\"/src/shop/work.c\"],"
			     "\"file\":[0,0,1,1],\"line\":[0,0,17,40],"));
	report = json_object_get(j, "quality");
	ck_assert_str_eq(json_string_value(json_array_get(
				 json_object_get(report, "reasons"), 0)),
	                 "</script><b>");
	for (size_t i = 0; i < nformats; i++)
		ck_assert_int_eq(!json_object_get(json_object_get(j, "formats"),
		                                  formats[i].name),
		                 (formats[i].use == FORMAT_READ ||
		                  formats[i].use == FORMAT_LISTED));
}
END

static void
lines_of(const char *stacks, const char *function, struct buf *out)
{
	CLEANUP_PROFILE struct profile *p = stacks_of(stacks);
	CLEANUP_BUF struct buf all = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_JSON json_t *j = NULL;
	struct export_meta of = meta;
	const json_t *row;
	size_t i;

	of.function = function;
	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(format_find("lines")->write(t, &of, &all), 0);
	j = json_loadb(all.p, all.len, 0, NULL);
	ck_assert_ptr_nonnull(j);
	json_array_foreach(json_object_get(j, "lines"), i, row)
		buf_addf(out, "%s:%lld %lld %lld\n",
		         json_string_value(json_object_get(row, "function")),
		         json_integer_value(json_object_get(row, "line")),
		         json_integer_value(json_object_get(row, "self")),
		         json_integer_value(json_object_get(row, "total")));
	buf_addf(out, "%lld left out",
	         json_integer_value(json_object_get(j, "leftOut")));
}

TEST(lines_have_their_own_cost_and_count_recursion_once)
{
	static const char stacks[] = "3 |main.f:12 main.f:14 main.main:7\n"
				     "2 |main.f:14 main.main:7\n"
				     "1 |main.g:9 main.f:12 main.main:8\n";
	CLEANUP_BUF struct buf of_f = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf of_all = BUF_INIT(BUF_MAX_SMALL);

	lines_of(stacks, "main.f", &of_f);
	ck_assert_str_eq(buf_str(&of_f), "main.f:12 3 4\n"
	                                 "main.f:14 2 5\n"
	                                 "0 left out");
	lines_of(stacks, NULL, &of_all);
	ck_assert_str_eq(buf_str(&of_all), "main.f:12 3 4\n"
	                                   "main.f:14 2 5\n"
	                                   "main.g:9 1 1\n"
	                                   "main.main:7 0 5\n"
	                                   "main.main:8 0 1\n"
	                                   "0 left out");
}
END

TEST(lines_beyond_the_most_are_the_cheapest_and_counted)
{
	CLEANUP_BUF struct buf stacks = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);

	for (int i = 1; i <= 1003; i++)
		buf_addf(&stacks, "%d |main.f:%d\n", i, i);
	lines_of(buf_str(&stacks), "main.f", &out);
	ck_assert_int_eq(strncmp(buf_str(&out), "main.f:4 4 4\n", 13), 0);
	ck_assert_ptr_nonnull(strstr(buf_str(&out), "\n3 left out"));
}
END

TEST(a_function_that_is_not_in_the_profile_has_no_lines)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	lines_of("1 |main.f:12\n", "main.absent", &out);
	ck_assert_str_eq(buf_str(&out), "0 left out");
}
END

static void
draw(const struct tree *t, const char *root, const char *search, struct buf *b)
{
	struct export_meta of = meta;

	of.search = search;
	if (root)
		ck_assert_int_eq(tree_find(t, root, &of.root), 0);
	buf_clear(b);
	ck_assert_int_eq(format_find("svg")->write(t, &of, b), 0);
}

TEST(a_picture_shows_a_part_and_marks_what_is_searched)
{
	static const char hit[] = "fill=\"rgb(123,47,181)\"";
	CLEANUP_PROFILE struct profile *p =
		profile_of("main;left;Work;f 2\nmain;right;Work;f "
	                   "5\nmain;right;g 1\nidle 2\n");
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_TREE struct tree *t = NULL;
	uint32_t node;

	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(tree_find(t, "left;f", &node), -ENOENT);
	ck_assert_int_eq(tree_find(t, "", &node), -ENOENT);
	draw(t, "Work", NULL, &b);
	ck_assert_ptr_nonnull(strstr(buf_str(&b), "shown 5"));
	ck_assert_ptr_null(strstr(buf_str(&b), "<title>left"));
	ck_assert_ptr_null(strstr(buf_str(&b), "<title>g"));
	ck_assert_ptr_nonnull(strstr(buf_str(&b), "<title>right"));
	draw(t, "left;Work", NULL, &b);
	ck_assert_ptr_nonnull(strstr(buf_str(&b), "shown 2"));
	ck_assert_ptr_nonnull(strstr(buf_str(&b), "100.00 % of the view"));
	ck_assert_ptr_null(strstr(buf_str(&b), hit));
	draw(t, NULL, "^WO|(", &b);
	ck_assert_ptr_nonnull(strstr(buf_str(&b), ", 0.00 % matched"));
	draw(t, NULL, "^WO", &b);
	ck_assert_ptr_nonnull(strstr(buf_str(&b), ", 70.00 % matched"));
	ck_assert_ptr_nonnull(strstr(buf_str(&b), hit));
	draw(t, "main;right", "work", &b);
	ck_assert_ptr_nonnull(strstr(buf_str(&b), ", 83.33 % matched"));
}
END

SUITE("export");
