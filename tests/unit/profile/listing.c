#include "profile/listing.h"

#include "lib/folded.h"
#include "lib/test.h"
#include "profile/export.h"
#include "profile/gzip.h"
#include "profile/stored/wire.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

static uint32_t
text(struct listing *l, const char *s)
{
	uint32_t id;

	ck_assert_int_eq(strings_add(l->strings, s, strlen(s), &id), 0);
	return id;
}

/* The listing of draw() in draw.c, which has an inlined fill(). */
static struct listing *
example(void)
{
	struct listing *l = listing_new();
	struct listing_file file = {.path = text(l, "/src/draw.c"),
	                            .build_id = text(l, "ab01"),
	                            .state = LISTING_NEWER};
	struct listing_function function = {.name = text(l, "draw"),
	                                    .module = text(l, "/bin/p"),
	                                    .build_id = text(l, "ab01"),
	                                    .start = 0x1000};
	struct listing_code code[] = {
		{0x1000, 4, text(l, "push"), text(l, "draw"), file.path, 9},
		{0x1004, 5, text(l, "call f"), text(l, "draw"), file.path, 10},
		{0x1009, 1, text(l, "ret"), text(l, "fill"), file.path, 3},
	};

	ck_assert_int_eq(listing_file(l, &file), 0);
	for (uint32_t i = 1; i < 40; i++) {
		const struct listing_line line = {
			i, text(l, i == 10 ? "f();" : "x")};

		ck_assert_int_eq(listing_line(l, &line), 0);
	}
	ck_assert_int_eq(listing_function(l, &function), 0);
	for (size_t i = 0; i < ARRAY_LEN(code); i++)
		ck_assert_int_eq(listing_code(l, &code[i]), 0);
	return l;
}

TEST(a_listing_is_read_as_it_was_written)
{
	CLEANUP_LISTING struct listing *l = example(), *again = NULL;
	CLEANUP_BUF struct buf file = BUF_INIT(LISTING_MAX_FILE);

	ck_assert_int_eq(listing_encode(l, &file), 0);
	ck_assert_int_eq(listing_decode(file.p, file.len, &again), 0);
	ck_assert_uint_eq(again->nfiles, 1);
	ck_assert_uint_eq(again->files[0].state, LISTING_NEWER);
	ck_assert_str_eq(
		strings_get(again->strings, again->files[0].build_id, NULL),
		"ab01");
	ck_assert_uint_eq(again->files[0].nlines, 39);
	ck_assert_str_eq(
		strings_get(again->strings, again->lines[9].text, NULL),
		"f();");
	ck_assert_uint_eq(again->functions[0].start, 0x1000);
	ck_assert_uint_eq(again->functions[0].ncode, 3);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(again->code[i].address, l->code[i].address);
		ck_assert_uint_eq(again->code[i].size, l->code[i].size);
		ck_assert_uint_eq(again->code[i].line, l->code[i].line);
		ck_assert_uint_eq(again->code[i].text, l->code[i].text);
	}
}
END

/* Reads a file with these bytes. */
static int
read_raw(const char *p, size_t n)
{
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY);
	CLEANUP_LISTING struct listing *l = NULL;

	ck_assert_int_eq(gzip_deflate(p, n, &file), 0);
	return listing_decode(file.p, file.len, &l);
}
#define RAW(s) read_raw(s, sizeof(s) - 1)

TEST(a_hostile_listing_is_refused)
{
	struct listing *l;

	ck_assert_int_eq(listing_decode("no gzip", 7, &l), -EBADMSG);
	ck_assert_int_eq(RAW("\x08\x01"), 0);
	ck_assert_int_eq(RAW("\x08\x02"), -EPROTONOSUPPORT);
	ck_assert_int_eq(RAW(""), -EPROTONOSUPPORT);
	/* a string that does not exist; a line and an instruction of no
	 * function */
	ck_assert_int_eq(RAW("\x08\x01\x1a\x02\x08\x07"), -EBADMSG);
	ck_assert_int_eq(RAW("\x08\x01\x22\x02\x08\x01"), -EBADMSG);
	ck_assert_int_eq(RAW("\x08\x01\x12\x00\x32\x02\x08\x01"), -EBADMSG);
	/* lines that do not ascend; an unknown state; a string twice */
	ck_assert_int_eq(
		RAW("\x08\x01\x12\x00\x1a\x00\x22\x02\x08\x02\x22\x02\x08\x02"),
		-EBADMSG);
	ck_assert_int_eq(RAW("\x08\x01\x12\x00\x1a\x02\x10\x04"), -EBADMSG);
	ck_assert_int_eq(RAW("\x08\x01\x12\x00\x12\x00"), -EBADMSG);
	ck_assert_int_eq(
		RAW("\x08\x01\x12\x00\x1a\x00\x22\x02\x08\x02\x22\x02\x08\x03"),
		0);
}
END

TEST(a_listing_has_bounds)
{
	CLEANUP_LISTING struct listing *l = listing_new();
	const struct listing_file file = {0};

	for (int i = 0; i < LISTING_MAX_FILES; i++)
		ck_assert_int_eq(listing_file(l, &file), 0);
	ck_assert_int_eq(listing_file(l, &file), -E2BIG);
	ck_assert_uint_eq(l->nfiles, LISTING_MAX_FILES);
}
END

/* --- the view ------------------------------------------------------------- */

static uint32_t
id_of(struct profile *p, const char *s)
{
	uint32_t id;

	ck_assert_int_eq(profile_cstring(p, s, &id), 0);
	return id;
}

/* A profile with 3 samples at 0x1004 in draw(), line 10, of which 2 are in
 * fill(), which it calls there. */
static struct profile *
drawn(void)
{
	struct profile *p = profile_new();
	struct mapping m = {.limit = UINT64_MAX};
	struct function draw = {0}, fill = {0};
	struct line at_draw = {.line = 10}, at_fill = {.line = 3};
	uint32_t mapping, stack[2];
	const int64_t two = 2, one = 1;

	m.file = id_of(p, "/bin/p");
	m.build_id = id_of(p, "ab01");
	draw.name = id_of(p, "draw");
	fill.name = id_of(p, "fill");
	draw.file = fill.file = id_of(p, "/src/draw.c");
	ck_assert_int_eq(profile_type(p, "cpu", "count"), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	ck_assert_int_eq(profile_function(p, &draw, &at_draw.function), 0);
	ck_assert_int_eq(profile_function(p, &fill, &at_fill.function), 0);
	ck_assert_int_eq(
		profile_location(p, mapping, 0x2000, &at_fill, 1, &stack[0]),
		0);
	ck_assert_int_eq(
		profile_location(p, mapping, 0x1008, &at_draw, 1, &stack[1]),
		0);
	ck_assert_int_eq(profile_sample(p, stack, 2, NULL, 0, &two), 0);
	ck_assert_int_eq(profile_sample(p, &stack[1], 1, NULL, 0, &one), 0);
	return p;
}

static json_t *
view_all(const struct listing_source *in, uint32_t n, const char *function)
{
	CLEANUP_PROFILE struct profile *p = drawn();
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_REPLY);
	const struct export_meta meta = {.title = "x",
	                                 .id = "x",
	                                 .service = "x",
	                                 .type = "cpu",
	                                 .listings = in,
	                                 .nlistings = n,
	                                 .function = function};
	json_t *j;

	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	ck_assert_int_eq(format_find("listing")->write(t, &meta, &out), 0);
	j = json_loadb(out.p, out.len, 0, NULL);
	ck_assert_ptr_nonnull(j);
	return j;
}

/* l is the profile's own; NULL: it has none. */
static json_t *
view(struct listing *l, const char *function)
{
	const struct listing_source in = {.l = l};

	return view_all(&in, l ? 1 : 0, function);
}

static json_t *
part(const json_t *j, const char *list, size_t i)
{
	json_t *of = json_object_get(j, list);

	ck_assert_ptr_nonnull(json_array_get(of, i));
	return json_array_get(of, i);
}

static json_int_t
number(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

TEST(a_line_has_its_text_and_those_around_it)
{
	CLEANUP_LISTING struct listing *l = example();
	json_t *j = view(l, "draw"), *file = part(j, "files", 0);
	json_t *lines = json_object_get(file, "lines");

	ck_assert_str_eq(json_string_value(json_object_get(file, "state")),
	                 "newer");
	ck_assert_uint_eq(json_array_size(lines), 22); /* 1 to 10 + 12 */
	ck_assert_str_eq(json_string_value(json_object_get(
				 json_array_get(lines, 9), "text")),
	                 "f();");
	ck_assert_int_eq(number(json_array_get(lines, 9), "line"), 10);
	ck_assert_int_eq(number(json_array_get(lines, 9), "self"), 1);
	ck_assert_int_eq(number(json_array_get(lines, 9), "total"), 3);
	ck_assert_int_eq(number(json_array_get(lines, 8), "total"), 0);
	json_decref(j);
}
END

TEST(an_instruction_has_the_cost_of_the_addresses_in_it)
{
	CLEANUP_LISTING struct listing *l = example();
	json_t *j = view(l, "draw"), *f = part(j, "functions", 0);

	ck_assert_uint_eq(json_array_size(json_object_get(f, "code")), 3);
	ck_assert_str_eq(json_string_value(json_object_get(part(f, "code", 1),
	                                                   "address")),
	                 "0x1004");
	ck_assert_int_eq(number(part(f, "code", 1), "self"), 1);
	ck_assert_int_eq(number(part(f, "code", 1), "total"), 3);
	ck_assert_int_eq(number(part(f, "code", 0), "total"), 0);
	json_decref(j);
}
END

TEST(an_inlined_function_has_its_instructions_alone)
{
	CLEANUP_LISTING struct listing *l = example();
	json_t *j = view(l, "fill"), *f = part(j, "functions", 0);

	ck_assert_uint_eq(json_array_size(json_object_get(f, "code")), 1);
	ck_assert_str_eq(
		json_string_value(json_object_get(part(f, "code", 0), "text")),
		"ret");
	json_decref(j);
}
END

TEST(without_a_listing_there_are_costs_alone)
{
	json_t *j = view(NULL, "draw"), *file = part(j, "files", 0);

	ck_assert_str_eq(json_string_value(json_object_get(file, "state")),
	                 "none");
	ck_assert_uint_eq(json_array_size(json_object_get(file, "lines")), 1);
	ck_assert_int_eq(number(part(file, "lines", 0), "total"), 3);
	ck_assert_uint_eq(json_array_size(json_object_get(j, "functions")), 0);
	json_decref(j);
}
END

/* --- listings of other captures ------------------------------------------- */

static const char *
text_of(const json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

/* Like example(), of a file and a build; only the first lines are listed. */
static struct listing *
other(const char *path, const char *build_id, uint32_t nlines)
{
	struct listing *l = example();

	l->files[0].path = text(l, path);
	l->files[0].build_id = l->functions[0].build_id = text(l, build_id);
	l->files[0].nlines = nlines;
	return l;
}

TEST(the_text_of_a_range_is_that_of_a_capture_of_the_same_build)
{
	CLEANUP_LISTING struct listing *newer =
		other("/src/draw.c", "cd02", 39);
	CLEANUP_LISTING struct listing *few = other("/src/draw.c", "ab01", 5);
	CLEANUP_LISTING struct listing *same = other("/src/draw.c", "ab01", 39);
	const struct listing_source in[] = {{newer, "sess-newer", 9000},
	                                    {few, "sess-few", 8000},
	                                    {same, "sess-same", 7000}};
	json_t *j = view_all(in, 3, "draw"), *file = part(j, "files", 0);
	json_t *from = json_object_get(file, "from");
	json_t *f = part(j, "functions", 0);

	ck_assert_str_eq(text_of(from, "id"), "sess-same");
	ck_assert_str_eq(text_of(from, "at"), "1970-01-01T00:00:07.000Z");
	ck_assert_str_eq(text_of(from, "build"), "same");
	ck_assert_str_eq(text_of(part(file, "lines", 9), "text"), "f();");
	/* both have the same instructions: the newer listing is shown */
	ck_assert_uint_eq(json_array_size(json_object_get(j, "functions")), 1);
	ck_assert_str_eq(text_of(json_object_get(f, "from"), "id"), "sess-few");
	ck_assert_int_eq(number(part(f, "code", 1), "total"), 3);
	json_decref(j);
}
END

TEST(text_of_another_build_is_not_shown)
{
	static const char *const builds[] = {"cd02", ""};

	for (size_t i = 0; i < ARRAY_LEN(builds); i++) {
		CLEANUP_LISTING struct listing *l =
			other("/src/draw.c", builds[i], 39);
		const struct listing_source in = {l, "sess-other", 9000};
		json_t *j = view_all(&in, 1, "draw"),
		       *file = part(j, "files", 0);

		ck_assert_str_eq(text_of(file, "state"), "none");
		ck_assert_ptr_null(json_object_get(file, "from"));
		ck_assert_uint_eq(
			json_array_size(json_object_get(j, "functions")), 0);
		json_decref(j);
	}
}
END

SUITE("listing");
