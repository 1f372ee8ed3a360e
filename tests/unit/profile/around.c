/* The callers and callees of a function, as stacks. */
#include "profile/around.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/export.h"

#include <errno.h>
#include <string.h>

#define STACKS                     \
	"main;serve;work;copy 1\n" \
	"main;work 2\n"            \
	"main;work;fold;work 4\n"  \
	"main;idle 8\n"

static const struct {
	const char *name, *callees, *callers;
	int64_t total, self;
} rows[] = {
	/* a stack that contains work twice counts twice */
	{"work", "work 6\nwork;copy 1\nwork;fold;work 4\n",
         "work;fold;work;main 4\nwork;main 6\nwork;serve;main 1\n", 7, 6},
	{"main",
         "main;idle 8\nmain;serve;work;copy 1\nmain;work 2\n"
         "main;work;fold;work 4\n",
         "main 15\n", 15, 0},
	{"idle", "idle 8\n", "idle;main 8\n", 8, 8},
	{"nothing", "", "", 0, 0},
};

static void
assert_folded(const struct profile *p, const char *expected)
{
	const struct export_meta meta = {
		.title = "", .id = "", .service = "", .type = "cpu"};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_TREE struct tree *t = NULL;

	ck_assert_int_eq(tree_new(p, 0, &t), 0);
	for (uint32_t i = 0; i < t->n; i++) /* with samples of 1 ns */
		t->samples[i] = t->self[i] / FOLDED_PERIOD_NS;
	t->total_samples = t->total[0] / FOLDED_PERIOD_NS;
	t->counted = true;
	ck_assert_int_eq(format_find("folded")->write(t, &meta, &out), 0);
	ck_assert_str_eq(buf_str(&out), expected);
}

TEST(callers_and_callees_have_every_occurrence_of_a_function)
{
	CLEANUP_PROFILE struct profile *p = profile_of(STACKS);
	uint32_t type = profile_type_index(p, "cpu");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_AROUND struct around a = {0};

		ck_assert_int_eq(around_new(p, type, rows[i].name, &a), 0);
		assert_folded(a.callees, rows[i].callees);
		assert_folded(a.callers, rows[i].callers);
		ck_assert_int_eq(a.total, rows[i].total * FOLDED_PERIOD_NS);
		ck_assert_int_eq(a.self, rows[i].self * FOLDED_PERIOD_NS);
	}
}
END

/* Adds a location with lines c, b and a, of which c is innermost. */
static void
add_inlined(struct profile *p, uint32_t *out)
{
	struct line lines[3] = {0};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct function f = {0};

		ck_assert_int_eq(profile_string(p, &"cba"[i], 1, &f.name), 0);
		ck_assert_int_eq(profile_function(p, &f, &lines[i].function),
		                 0);
	}
	ck_assert_int_eq(profile_location(p, PROFILE_NONE, 0x10, lines, 3, out),
	                 0);
}

TEST(inlined_functions_are_frames_of_their_own)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	CLEANUP_AROUND struct around a = {0};
	const int64_t value = FOLDED_PERIOD_NS;
	uint32_t at;

	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	add_inlined(p, &at);
	ck_assert_int_eq(profile_sample(p, &at, 1, NULL, 0, &value), 0);
	ck_assert_int_eq(around_new(p, 0, "b", &a), 0);
	assert_folded(a.callees, "b;c 1\n");
	assert_folded(a.callers, "b;a 1\n");
	ck_assert_int_eq(a.total, value);
	ck_assert_int_eq(a.self, 0);
}
END

SUITE("around");
