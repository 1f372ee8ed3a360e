/* Stacks and frames that a view leaves out. */
#include "profile/sift.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/export.h"
#include "profile/pprof.h"

#include <errno.h>
#include <string.h>

#define STACKS                     \
	"main;serve;log;write 1\n" \
	"main;serve;work 2\n"      \
	"main;serve;work;log 4\n"  \
	"main;idle@libc.so 8\n"

static const struct {
	const char *why;
	struct sift sift;
	const char *expected; /* in samples of 10 ms */
} rows[] = {
	{"only stacks through it",
         {.focus = "work"},
         "main;serve;work 2\nmain;serve;work;log 4\n"},
	{"through each of them",
         {.focus = "work;log"},
         "main;serve;work;log 4\n"},
	{"none through any of them",
         {.hide = "log;idle"},
         "main;serve;work 2\n"},
	{"the caller has the cost",
         {.fold = "log;serve"},
         "main;idle 8\nmain;work 6\nmain;write 1\n"},
	{"all at once",
         {.focus = "serve", .hide = "write", .fold = "main;log"},
         "serve;work 6\n"},
	{"a frame that is folded counts",
         {.focus = "log", .fold = "log"},
         "main;serve;work 4\nmain;serve;write 1\n"},
	{"frames of a package are folded",
         {.fold_package = "other;libc.so"},
         "main 8\nmain;serve;log;write 1\nmain;serve;work 2\n"
         "main;serve;work;log 4\n"},
	{"no such function", {.focus = "nothing"}, ""},
	{"texts are searched for",
         {.focus_text = "^WORK$|rite", .fold_text = "log|serve"},
         "main;work 6\nmain;write 1\n"},
	{"text that is no expression",
         {.hide_text = "(o", .focus = "main;serve", .focus_text = "or"},
         "main;serve;work 2\nmain;serve;work;log 4\n"},
	{"stacks through what a text finds are hidden",
         {.hide_text = "^(lo|idl)"},
         "main;serve;work 2\n"},
};

static void
folded(const struct profile *p, struct buf *out)
{
	const struct export_meta meta = {
		.title = "", .id = "", .service = "", .type = "cpu"};
	CLEANUP_TREE struct tree *t = NULL;

	ck_assert_int_eq(tree_new(p, profile_type_index(p, "cpu"), &t), 0);
	ck_assert_int_eq(format_find("folded")->write(t, &meta, out), 0);
}

TEST(a_view_leaves_out_what_its_lists_name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *p = profile_of(STACKS);
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

		ck_assert_int_eq(sift_profile(p, &rows[i].sift), 0);
		folded(p, &out);
		ck_assert_msg(!strcmp(buf_str(&out), rows[i].expected),
		              "%s: %s", rows[i].why, buf_str(&out));
	}
}
END

#define KINDS_STACKS                           \
	"main;f;g;f;work;malloc@libc.so.6 1\n" \
	"main;f;f;f 2\n"                       \
	"void boost::asio::run<int>();main;h@[kernel.kallsyms] 4\n"
static const struct {
	const char *kinds, *expected;
} by_kind[] = {
	{"kernel", "main;f;f;f 2\nmain;f;g;f;work;malloc 1\n"
                   "void boost::asio::run<int>();main 4\n"},
	{"allocator;boost", "main;f;f;f 2\nmain;f;g;f;work 1\nmain;h 4\n"},
	{"recursion;runtime", "main;f 2\nmain;f;work 1\n"
                              "void boost::asio::run<int>();main;h 4\n"},
};

TEST(frames_of_a_kind_are_folded)
{
	for (size_t i = 0; i < ARRAY_LEN(by_kind); i++) {
		CLEANUP_PROFILE struct profile *p = profile_of(KINDS_STACKS);
		CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
		const struct sift s = {.fold_kind = by_kind[i].kinds};

		ck_assert_int_eq(sift_profile(p, &s), 0);
		folded(p, &out);
		ck_assert_str_eq(buf_str(&out), by_kind[i].expected);
	}
}
END

/* The same function is in two files. */
TEST(a_kind_depends_on_the_file_that_has_the_function)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of("main;work@python3.11;f 1\nmain;work;f 2\n"
	                   "main;work@python3.11;g 4\n");
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	const struct sift s = {.fold_kind = "interpreter"};

	ck_assert_int_eq(sift_profile(p, &s), 0);
	folded(p, &out);
	ck_assert_str_eq(buf_str(&out), "main;f 1\nmain;g 4\nmain;work;f 2\n");
}
END

TEST(a_profile_whose_time_is_over_stays_as_it_is)
{
	CLEANUP_PROFILE struct profile *p = profile_of(STACKS);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL),
			       before = BUF_INIT(BUF_MAX_SMALL);

	folded(p, &before);
	ck_assert_int_eq(
		sift_profile(p, &(struct sift){.fold_text = "o", .end_ns = 1}),
		-ETIME);
	folded(p, &out);
	ck_assert_str_eq(buf_str(&out), buf_str(&before));
}
END

/* One stack with the most lines that its locations may have, in many
 * samples. */
TEST(repetitions_are_sought_in_so_many_frames_only)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	const int64_t values[2] = {1, FOLDED_PERIOD_NS};
	const uint32_t samples =
		TREE_MAX_FRAMES / PROFILE_MAX_FRAMES / PROFILE_MAX_LINES + 1;
	struct line lines[PROFILE_MAX_LINES] = {{0}};
	uint32_t stack[PROFILE_MAX_FRAMES];
	struct label number = {0};

	ck_assert_int_eq(profile_cstring(p, "number", &number.key), 0);
	ck_assert_int_eq(profile_location(p, PROFILE_NONE, 7, lines,
	                                  PROFILE_MAX_LINES, &stack[0]),
	                 0);
	for (size_t i = 1; i < ARRAY_LEN(stack); i++)
		stack[i] = stack[0];
	for (number.num = 0; number.num < samples; number.num++)
		ck_assert_int_eq(profile_sample(p, stack, PROFILE_MAX_FRAMES,
		                                &number, 1, values),
		                 0);
	ck_assert_int_eq(
		sift_profile(p, &(struct sift){.fold_kind = "recursion"}),
		-E2BIG);
}
END

/* f is inlined in g, which f calls: the repetition ends between the lines of
 * one place. */
TEST(a_repetition_ends_within_inlined_frames)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 1\n");
	CLEANUP_PROFILE struct profile *again = NULL;
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY),
			       why = BUF_INIT(256);
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);
	const struct sift s = {.fold_kind = "recursion"};
	const int64_t values[2] = {2, 2 * FOLDED_PERIOD_NS};
	struct function g = {0};
	struct line lines[3] = {{0}};
	uint32_t stack[3];

	ck_assert_int_eq(profile_cstring(p, "g", &g.name), 0);
	ck_assert_int_eq(profile_function(p, &g, &lines[1].function), 0);
	lines[0].function = p->lines[p->locations[p->stack[0]].line0].function;
	lines[2] = p->lines[p->locations[p->stack[1]].line0];
	/* innermost first: f, inlined in g, which is inlined in main */
	ck_assert_int_eq(
		profile_location(p, PROFILE_NONE, 7, lines, 3, &stack[1]), 0);
	stack[0] = p->stack[0];
	stack[2] = p->stack[0];
	ck_assert_int_eq(profile_sample(p, stack, 3, NULL, 0, values), 0);
	ck_assert_int_eq(pprof_encode(p, &file), 0);
	ck_assert_int_eq(
		pprof_decode(file.p, file.len, BUF_MAX_REPLY, &again, &why), 0);
	ck_assert_int_eq(sift_profile(again, &s), 0);
	ck_assert_int_eq(sift_profile(again, &s), 0);
	folded(again, &out);
	ck_assert_str_eq(buf_str(&out), "f 2\nmain;f 1\n");
	buf_clear(&file);
	ck_assert_int_eq(pprof_encode(again, &file), 0);
}
END

TEST(an_unknown_kind_is_refused)
{
	static const char *const bad[] = {"", "kern", "kernel;", "kernel,boost",
	                                  "kernels"};
	CLEANUP_PROFILE struct profile *p = profile_of(STACKS);

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct sift s = {.fold_kind = bad[i]};

		ck_assert_int_eq(sift_profile(p, &s), -EINVAL);
	}
}
END

/* Three requests, two of them for one route. */
static struct profile *
profile_of_requests(void)
{
	static const char *const requests[][2] = {
		{"/cart", "1"}, {"/cart", "2"}, {"/items", "3"}};
	struct profile *p = profile_of("main 8\n");
	const int64_t values[2] = {1, FOLDED_PERIOD_NS};

	for (int i = 0; i < 3; i++) {
		struct label l[2] = {{0}};

		ck_assert_int_eq(profile_cstring(p, "http.route", &l[0].key),
		                 0);
		ck_assert_int_eq(profile_cstring(p, requests[i][0], &l[0].str),
		                 0);
		ck_assert_int_eq(profile_cstring(p, "span_id", &l[1].key), 0);
		ck_assert_int_eq(profile_cstring(p, requests[i][1], &l[1].str),
		                 0);
		ck_assert_int_eq(profile_sample(p, p->stack, 1, l, 2, values),
		                 0);
	}
	return p;
}

static const struct {
	struct sift_label labels[3];
	uint32_t n;
	int64_t left; /* samples */
} by_label[] = {
	{{{"http.route", "/cart"}}, 1, 2},
	{{{"http.route", "/"}}, 1, 0},
	{{{"route", "/cart"}}, 1, 0},
	{{{"http.route", "/cart"}, {"http.route", "/items"}}, 2, 3},
	{{{"http.route", "/cart"}, {"span_id", "2"}}, 2, 1},
	{{{"http.route", "/cart"}, {"span_id", "3"}}, 2, 0},
	{{{"span_id", "3"}, {"http.route", "/items"}, {"span_id", "1"}}, 3, 1},
	{{{0}}, 0, 11},
};

TEST(samples_are_chosen_by_their_labels)
{
	for (size_t i = 0; i < ARRAY_LEN(by_label); i++) {
		CLEANUP_PROFILE struct profile *p = profile_of_requests();
		struct sift s = {.nlabels = by_label[i].n};

		memcpy(s.labels, by_label[i].labels,
		       sizeof(by_label[i].labels));
		ck_assert_int_eq(sift_profile(p, &s), 0);
		ck_assert_msg(profile_total(p, 0) == by_label[i].left,
		              "row %zu: %lld", i,
		              (long long)profile_total(p, 0));
	}
}
END

/* The profile, written and decoded, keeps its labels. */
TEST(what_is_left_is_a_profile)
{
	CLEANUP_PROFILE struct profile *p = profile_of(STACKS);
	CLEANUP_PROFILE struct profile *again = NULL, *twice = NULL;
	CLEANUP_BUF struct buf file = BUF_INIT(BUF_MAX_REPLY),
			       why = BUF_INIT(256);
	const struct sift s = {.hide = "write", .fold = "work"};
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_int_eq(pprof_encode(p, &file), 0);
	ck_assert_int_eq(
		pprof_decode(file.p, file.len, BUF_MAX_REPLY, &again, &why), 0);
	ck_assert_int_eq(sift_profile(again, &s), 0);
	buf_clear(&file);
	ck_assert_int_eq(pprof_encode(again, &file), 0);
	ck_assert_int_eq(
		pprof_decode(file.p, file.len, BUF_MAX_REPLY, &twice, &why), 0);
	folded(twice, &out);
	ck_assert_str_eq(buf_str(&out), "main;idle 8\nmain;serve "
	                                "2\nmain;serve;log 4\n");
}
END

TEST(a_list_has_names_and_not_too_many)
{
	static const char *const bad[] = {
		"",
		";",
		"a;",
		"a;;b",
		"1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP_PROFILE struct profile *p = profile_of(STACKS);

		ck_assert_int_eq(
			sift_profile(p, &(struct sift){.focus = bad[i]}),
			-EINVAL);
		ck_assert_int_eq(
			sift_profile(p, &(struct sift){.fold = bad[i]}),
			-EINVAL);
		ck_assert_uint_eq(p->nsamples, 4);
	}
}
END

SUITE("sift");
