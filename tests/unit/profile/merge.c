#include "profile/merge.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/export.h"
#include "profile/pprof.h"

#include <errno.h>
#include <string.h>

#define MAX ((size_t)16 << 20)

static struct profile *
merged(struct profile *const *inputs, size_t n)
{
	CLEANUP_MERGE struct merge *m = NULL;
	struct profile *out = NULL;

	ck_assert_int_eq(merge_new(MAX, &m), 0);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(merge_add(m, inputs[i]), 0);
	ck_assert_int_eq(merge_end(m, &out), 0);
	return out;
}

static void
check_folded(const struct profile *p, const char *want)
{
	static const struct export_meta meta = {.title = ""};
	CLEANUP_BUF struct buf b = BUF_INIT(MAX);
	CLEANUP_TREE struct tree *t = NULL;

	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(format_find("folded")->write(t, &meta, &b), 0);
	ck_assert_str_eq(buf_str(&b), want);
}

TEST(equal_stacks_add_up)
{
	CLEANUP_PROFILE struct profile *a = profile_of("m;a 1\nm;b 2\n");
	CLEANUP_PROFILE struct profile *b = profile_of("m;a 0\nm;b 3\nm;c 4\n");
	CLEANUP_PROFILE struct profile *p = NULL;

	a->time_ns = 200;
	b->time_ns = 100;
	a->duration_ns = b->duration_ns = 5;
	a->period = 10;
	p = merged((struct profile *[]){a, b}, 2);
	check_folded(p, "m;a 1\nm;b 5\nm;c 4\n");
	ck_assert_uint_eq(p->nsamples, 3);
	ck_assert_uint_eq(p->nmappings, 1);
	ck_assert_uint_eq(p->nfunctions, 4);
	ck_assert_int_eq(p->time_ns, 100);
	ck_assert_int_eq(p->duration_ns, 10);
	ck_assert_int_eq(p->period, 10);
}
END

TEST(one_input_comes_out_as_it_was)
{
	CLEANUP_PROFILE struct profile *a =
		profile_of("m;a@/lib/a.so 1\nm;b 2\nx 3\n");
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_BUF struct buf one = BUF_INIT(MAX), two = BUF_INIT(MAX);

	ck_assert_int_eq(profile_comment(a, "asked"), 0);
	p = merged(&a, 1);
	ck_assert_uint_eq(p->nstack, a->nstack);
	ck_assert_mem_eq(p->values, a->values,
	                 a->nsamples * 2 * sizeof(*a->values));
	ck_assert_int_eq(pprof_encode(p, &one), 0);
	profile_free(p);
	p = merged((struct profile *[]){a, a}, 2);
	ck_assert_uint_eq(p->ncomments, 1);
	ck_assert_uint_eq(p->nlocations, a->nlocations);
	ck_assert_int_eq(p->values[0], 2 * a->values[0]);
	ck_assert_int_eq(pprof_encode(p, &two), 0);
}
END

TEST(times_that_threads_waited_for_a_cpu_are_added_up)
{
	CLEANUP_PROFILE struct profile *a = profile_of("m;a 1\n");
	CLEANUP_PROFILE struct profile *b = profile_of("m;b 1\n");
	CLEANUP_PROFILE struct profile *c = profile_of("m;c 1\n");
	CLEANUP_PROFILE struct profile *p = NULL;

	ck_assert_double_eq(profile_ran_part(a), 1);
	ck_assert_int_eq(profile_mark_waits(a, 100, 300), 0);
	ck_assert_int_eq(profile_mark_waits(b, 100, 300), 0);
	ck_assert_int_eq(profile_mark_waits(b, 200, 0), 0);
	ck_assert_double_eq(profile_ran_part(a), 0.25);
	ck_assert_double_eq(profile_ran_part(b), 0.5);
	p = merged((struct profile *[]){a, b, a, c}, 4);
	ck_assert_uint_eq(p->ncomments, 1);
	ck_assert_str_eq(profile_text(p, p->comments[0]),
	                 "threads ran 500 ms and waited 900 ms for a CPU");
}
END

TEST(a_comment_with_other_times_says_nothing_of_waits)
{
	static const char *const texts[] = {
		"threads ran -5 ms and waited 5 ms for a CPU",
		"threads ran 5 ms and waited 9223372036854775807 ms for a CPU",
		"threads ran  ms and waited  ms for a CPU",
		"threads ran 5 ms",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEANUP_PROFILE struct profile *p = profile_of("m;a 1\n");

		ck_assert_int_eq(profile_comment(p, texts[i]), 0);
		ck_assert_double_eq(profile_ran_part(p), 1);
	}
}
END

/* One sample at an offset in a file that is mapped at start. */
static struct profile *
at_address(uint64_t start, const char *file, const char *build_id)
{
	struct profile *p = profile_new();
	struct mapping m = {.start = start, .limit = start + 0x1800};
	const int64_t v[] = {1, 1};
	uint32_t mapping, l;

	ck_assert_int_eq(profile_type(p, "samples", "count"), 0);
	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	ck_assert_int_eq(profile_cstring(p, file, &m.file), 0);
	ck_assert_int_eq(profile_cstring(p, build_id, &m.build_id), 0);
	ck_assert_int_eq(profile_mapping(p, &m, &mapping), 0);
	ck_assert_int_eq(
		profile_location(p, mapping, start + 0x123, NULL, 0, &l), 0);
	ck_assert_int_eq(profile_sample(p, &l, 1, NULL, 0, v), 0);
	return p;
}

TEST(a_file_is_the_same_by_its_build_id_wherever_it_lies)
{
	static const struct {
		const char *file, *build_id;
		uint32_t mappings;
	} rows[] = {
		{"/lib/a.so", "ab12", 1}, /* the same */
		{"/mnt/a.so", "ab12", 1}, /* the same file by another path */
		{"/lib/a.so", "cd34", 2}, /* the file was replaced */
		{"/lib/a.so", "", 2},     /* nothing identifies the file */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *a =
			at_address(0x10000, "/lib/a.so", "ab12");
		CLEANUP_PROFILE struct profile *b =
			at_address(0x7000, rows[i].file, rows[i].build_id);
		CLEANUP_PROFILE struct profile *p =
			merged((struct profile *[]){a, b}, 2);

		ck_assert_uint_eq(p->nmappings, rows[i].mappings);
		ck_assert_uint_eq(p->nsamples, rows[i].mappings);
		ck_assert_uint_eq(p->locations[0].address, 0x10123);
	}
}
END

TEST(a_file_is_the_same_if_its_ends_are_in_one_page)
{
	static const struct {
		uint64_t one, other;
		uint32_t mappings;
	} rows[] = {
		{0x1000, 0x1000, 1}, {0x1000, 0xfff, 1},  {0x1000, 0x1001, 2},
		{0x2000, 0x1001, 1}, {0x2000, 0x1000, 2},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *a =
			at_address(0x10000, "/lib/a.so", "ab12");
		CLEANUP_PROFILE struct profile *b =
			at_address(0x10000, "/lib/a.so", "ab12");
		CLEANUP_PROFILE struct profile *p = NULL;

		a->mappings[0].limit = a->mappings[0].start + rows[i].one;
		b->mappings[0].limit = b->mappings[0].start + rows[i].other;
		p = merged((struct profile *[]){a, b}, 2);
		ck_assert_msg(p->nmappings == rows[i].mappings, "row %zu", i);
	}
}
END

TEST(labels_keep_samples_apart)
{
	CLEANUP_PROFILE struct profile *a = profile_of("m 1\n");
	CLEANUP_PROFILE struct profile *b = profile_of("m 1\nother 1\n");
	CLEANUP_PROFILE struct profile *p = NULL;
	struct label l = {0};
	const int64_t v[] = {5, 50};
	const uint32_t stack[] = {0};

	ck_assert_int_eq(profile_cstring(a, "thread", &l.key), 0);
	ck_assert_int_eq(profile_cstring(a, "main", &l.str), 0);
	ck_assert_int_eq(profile_sample(a, stack, 1, &l, 1, v), 0);
	p = merged((struct profile *[]){a, b}, 2);
	ck_assert_uint_eq(p->nsamples, 3);
	ck_assert_int_eq(p->values[0], 2);
	ck_assert_int_eq(p->values[2], 5);
	ck_assert_str_eq(profile_text(p, p->labels[0].str), "main");
}
END

TEST(a_label_of_one_input_keeps_it_apart)
{
	CLEANUP_PROFILE struct profile *a = profile_of("m;a 1\n");
	CLEANUP_PROFILE struct profile *p = NULL;
	CLEANUP_MERGE struct merge *m = NULL;

	ck_assert_int_eq(merge_new(MAX, &m), 0);
	ck_assert_int_eq(merge_add(m, a), 0);
	ck_assert_int_eq(merge_label(m, "k", "v"), 0);
	ck_assert_int_eq(merge_add(m, a), 0);
	ck_assert_int_eq(merge_label(m, NULL, NULL), 0);
	ck_assert_int_eq(merge_add(m, a), 0);
	ck_assert_int_eq(merge_end(m, &p), 0);
	ck_assert_uint_eq(p->nsamples, 2);
	ck_assert_int_eq(p->values[0], 2 * a->values[0]);
	ck_assert_uint_eq(p->samples[1].nlabels, 1);
	ck_assert_str_eq(profile_text(p, p->labels[0].str), "v");
}
END

/* Adds m, once for each of two spans of a route. */
static struct profile *
profile_of_spans(void)
{
	static const char *const texts[][2] = {
		{"http.route", "/cart"}, {"span_id", "1"}, {"trace_id", "a"}};
	struct profile *p = profile_of("m 1\n");
	struct label labels[3] = {{0}};
	const int64_t values[2] = {1, FOLDED_PERIOD_NS};

	for (int k = 0; k < 3; k++) {
		ck_assert_int_eq(
			profile_cstring(p, texts[k][0], &labels[k].key), 0);
		ck_assert_int_eq(
			profile_cstring(p, texts[k][1], &labels[k].str), 0);
	}
	for (uint32_t n = 2; n <= 3; n++)
		ck_assert_int_eq(
			profile_sample(p, p->stack, 1, labels, n, values), 0);
	return p;
}

TEST(samples_without_ids_are_one)
{
	CLEANUP_PROFILE struct profile *a = profile_of_spans();
	CLEANUP_PROFILE struct profile *with = NULL, *without = NULL;
	CLEANUP_MERGE struct merge *m = NULL, *none = NULL;

	ck_assert_int_eq(merge_new(MAX, &m), 0);
	ck_assert_int_eq(merge_add(m, a), 0);
	ck_assert_int_eq(merge_end(m, &with), 0);
	ck_assert_uint_eq(with->nsamples, 3);
	ck_assert_int_eq(merge_new(MAX, &none), 0);
	merge_forget_ids(none);
	ck_assert_int_eq(merge_add(none, a), 0);
	ck_assert_int_eq(merge_end(none, &without), 0);
	ck_assert_uint_eq(without->nsamples, 2);
	ck_assert_uint_eq(without->samples[1].nlabels, 1);
	ck_assert_str_eq(profile_text(without, without->labels[0].str),
	                 "/cart");
	ck_assert_int_eq(without->values[2], 2);
}
END

TEST(other_value_types_are_refused)
{
	CLEANUP_PROFILE struct profile *a = profile_of("m 1\n");
	CLEANUP_PROFILE struct profile *b = profile_new();
	CLEANUP_MERGE struct merge *m = NULL;
	struct profile *p;

	ck_assert_int_eq(profile_type(b, "samples", "count"), 0);
	ck_assert_int_eq(merge_new(MAX, &m), 0);
	ck_assert_int_eq(merge_end(m, &p), -ENODATA);
	ck_assert_int_eq(merge_add(m, a), 0);
	ck_assert_int_eq(merge_add(m, b), -EINVAL);
}
END

TEST(sums_and_memory_are_bounded)
{
	CLEANUP_PROFILE struct profile *a = profile_of("m 1\n");
	CLEANUP_MERGE struct merge *m = NULL, *small = NULL;

	a->values[0] = INT64_MAX;
	ck_assert_int_eq(merge_new(MAX, &m), 0);
	ck_assert_int_eq(merge_add(m, a), 0);
	ck_assert_int_eq(merge_add(m, a), -EOVERFLOW);
	ck_assert_int_eq(merge_new(100, &small), 0);
	ck_assert_int_eq(merge_add(small, a), -E2BIG);
}
END

TEST(a_reduced_profile_has_the_value_of_its_type_alone)
{
	CLEANUP_PROFILE struct profile *p = profile_of("m;f 3\nm 1\n");
	const struct type *cpu = type_find("cpu");

	ck_assert_int_eq(profile_reduce(p, type_find("memory")), -ENODATA);
	ck_assert_int_eq(profile_reduce(p, cpu), 0);
	ck_assert_uint_eq(p->ntypes, 1);
	ck_assert_int_eq(p->values[0], 3 * FOLDED_PERIOD_NS);
	ck_assert_int_eq(p->values[1], FOLDED_PERIOD_NS);
	ck_assert_int_eq(p->period, FOLDED_PERIOD_NS);
	ck_assert_uint_eq(profile_type_index(p, "cpu"), 0);
	ck_assert_uint_eq(profile_type_index(p, NULL), 0);
}
END

SUITE("merge");
