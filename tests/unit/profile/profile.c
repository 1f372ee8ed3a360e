#include "profile/profile.h"
#include "lib/folded.h"
#include "lib/test.h"

#include <errno.h>
#include <string.h>

static uint32_t
text(struct profile *p, const char *s)
{
	uint32_t id = UINT32_MAX;

	ck_assert_int_eq(profile_cstring(p, s, &id), 0);
	return id;
}

static const char *
frame_name(const struct profile *p, uint32_t location, struct buf *b)
{
	buf_clear(b);
	profile_frame_name(p, location, 0, b);
	return buf_str(b);
}

TEST(equal_stacks_are_one_sample_with_the_sum_of_values)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of("main;a 2\nmain;b 1\nmain;a 3\n");

	ck_assert_uint_eq(p->nsamples, 2);
	ck_assert_int_eq(p->values[0], 5);
	ck_assert_int_eq(p->values[1], 5 * FOLDED_PERIOD_NS);
	ck_assert_uint_eq(p->nfunctions, 3);
	ck_assert_uint_eq(p->nlocations, 3);
	ck_assert_uint_eq(p->nmappings, 1);
}
END

TEST(samples_with_other_labels_stay_apart)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	struct label one = {.key = text(p, "tid"), .num = 1};
	struct label two = {.key = one.key, .num = 2};
	int64_t v[] = {1, 1};

	ck_assert_int_eq(profile_sample(p, p->stack, 1, &one, 1, v), 0);
	ck_assert_int_eq(profile_sample(p, p->stack, 1, &two, 1, v), 0);
	ck_assert_int_eq(profile_sample(p, p->stack, 1, &one, 1, v), 0);
	ck_assert_uint_eq(p->nsamples, 3);
	ck_assert_int_eq(p->values[2], 2);
}
END

TEST(locations_differ_by_mapping_address_and_lines)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;x@/lib/a 1\n");
	const struct line lines[] = {{0, 7}, {1, 8}};
	const struct {
		uint32_t mapping;
		uint64_t address;
		uint32_t nlines, want;
	} rows[] = {
		{0, 9, 0, 2}, {1, 9, 0, 3}, {PROFILE_NONE, 9, 0, 4},
		{0, 9, 1, 5}, {0, 9, 2, 6}, {0, 10, 0, 7},
		{0, 9, 1, 5}, {0, 9, 0, 2},
	};
	uint32_t got;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(profile_location(p, rows[i].mapping,
		                                  rows[i].address, lines,
		                                  rows[i].nlines, &got),
		                 0);
		ck_assert_uint_eq(got, rows[i].want);
	}
}
END

TEST(a_stack_holds_its_limit_and_no_more)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	uint32_t stack[PROFILE_MAX_FRAMES + 1] = {0};
	int64_t v[] = {1, 1};

	ck_assert_int_eq(
		profile_sample(p, stack, PROFILE_MAX_FRAMES, NULL, 0, v), 0);
	ck_assert_int_eq(
		profile_sample(p, stack, PROFILE_MAX_FRAMES + 1, NULL, 0, v),
		-E2BIG);
	ck_assert_uint_eq(p->nsamples, 2);
}
END

TEST(a_location_holds_its_limit_of_lines_and_no_more)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	struct line lines[PROFILE_MAX_LINES + 1] = {0};
	uint32_t at;

	ck_assert_int_eq(
		profile_location(p, 0, 1, lines, PROFILE_MAX_LINES, &at), 0);
	ck_assert_int_eq(
		profile_location(p, 0, 1, lines, PROFILE_MAX_LINES + 1, &at),
		-E2BIG);
}
END

TEST(there_are_at_most_16_types)
{
	CLEANUP_PROFILE struct profile *p = profile_new();

	for (int i = 0; i < PROFILE_MAX_TYPES; i++)
		ck_assert_int_eq(profile_type(p, "t", "count"), 0);
	ck_assert_int_eq(profile_type(p, "t", "count"), -E2BIG);
	ck_assert_uint_eq(p->ntypes, PROFILE_MAX_TYPES);
}
END

TEST(a_sum_past_int64_is_refused_and_changes_nothing)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	int64_t v[] = {1, INT64_MAX};

	ck_assert_int_eq(profile_sample(p, p->stack, 1, NULL, 0, v),
	                 -EOVERFLOW);
	ck_assert_int_eq(p->values[0], 1);
	ck_assert_int_eq(p->values[1], FOLDED_PERIOD_NS);
}
END

TEST(a_frame_is_named_by_function_else_module_else_address)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	struct mapping m = {.start = 0x7000, .limit = 0x9000, .offset = 0x100};
	struct function named = {.name = text(p, "run()")};
	struct function mangled = {.system_name = text(p, "_Z3runv")};
	struct line line = {0};
	uint32_t at, location;

	m.file = text(p, "/usr/lib/libx.so.1");
	ck_assert_int_eq(profile_mapping(p, &m, &at), 0);
	ck_assert_int_eq(profile_location(p, at, 0x7010, NULL, 0, &location),
	                 0);
	ck_assert_str_eq(frame_name(p, location, &b), "libx.so.1+0x110");
	ck_assert_int_eq(
		profile_location(p, PROFILE_NONE, 0xABC, NULL, 0, &location),
		0);
	ck_assert_str_eq(frame_name(p, location, &b), "0xabc");

	ck_assert_int_eq(profile_function(p, &named, &line.function), 0);
	ck_assert_int_eq(profile_location(p, at, 1, &line, 1, &location), 0);
	ck_assert_str_eq(frame_name(p, location, &b), "run()");
	ck_assert_int_eq(profile_function(p, &mangled, &line.function), 0);
	ck_assert_int_eq(profile_location(p, at, 1, &line, 1, &location), 0);
	ck_assert_str_eq(frame_name(p, location, &b), "_Z3runv");
}
END

TEST(a_type_is_found_by_name_and_the_last_is_the_default)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");

	ck_assert_uint_eq(profile_type_index(p, "samples"), 0);
	ck_assert_uint_eq(profile_type_index(p, "cpu"), 1);
	ck_assert_uint_eq(profile_type_index(p, "heap"), PROFILE_NONE);
	ck_assert_uint_eq(profile_type_index(p, NULL), 1);
	p->default_type = p->types[0].type;
	ck_assert_uint_eq(profile_type_index(p, NULL), 0);
}
END

TEST(a_place_in_a_file_is_no_name)
{
	static const struct {
		const char *name, *system;
		bool named;
	} rows[] = {
		{"app+0x1300", "", false}, {"app+0x1300", "_Z1f", true},
		{"app+0x13g", "", true},   {"lib+0x1300", "", true},
		{"app", "", true},         {"", "", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *p = profile_new();
		struct mapping m = {.limit = 1};
		struct function f = {0};
		struct line line = {0};
		uint32_t mapping, at;

		ck_assert_int_eq(profile_cstring(p, "/srv/app", &m.file), 0);
		ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
		ck_assert_int_eq(profile_cstring(p, rows[i].name, &f.name), 0);
		ck_assert_int_eq(
			profile_cstring(p, rows[i].system, &f.system_name), 0);
		ck_assert_int_eq(profile_function(p, &f, &line.function), 0);
		ck_assert_int_eq(profile_location(p, mapping, 0, &line, 1, &at),
		                 0);
		ck_assert_int_eq(profile_is_named(p, at), rows[i].named);
	}
}
END

SUITE("profile");
