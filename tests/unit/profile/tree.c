#include "lib/folded.h"
#include "lib/random.h"
#include "lib/test.h"
#include "profile/summary.h"

#include <errno.h>
#include <string.h>

/* Writes one line per node: depth, name, self and total, in samples. */
static const char *
drawn(const struct tree *t, struct buf *b)
{
	for (uint32_t i = 0; i < t->n; i++)
		buf_addf(b, "%u %s %lld %lld\n", t->depth[i],
		         tree_name(t, t->name[i], NULL), (long long)t->self[i],
		         (long long)t->total[i]);
	return buf_str(b);
}

static struct tree *
tree_of(const struct profile *p, uint32_t type)
{
	struct tree *t = NULL;

	ck_assert_int_eq(tree_new(p, type, &t), 0);
	return t;
}

TEST(stacks_merge_from_the_root_with_children_by_name)
{
	CLEANUP_PROFILE struct profile *p = profile_of(
		"main;z 1\nmain;a;x 2\nmain;a 4\nstart 8\nmain;a;b 16\n");
	CLEANUP_TREE struct tree *t = tree_of(p, 0);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_str_eq(drawn(t, &b), "0 all 0 31\n"
	                               "1 main 0 23\n"
	                               "2 a 4 22\n"
	                               "3 b 16 16\n"
	                               "3 x 2 2\n"
	                               "2 z 1 1\n"
	                               "1 start 8 8\n");
	ck_assert_int_eq(t->total_samples, 31);
}
END

TEST(the_subtree_of_a_node_ends_where_end_says)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of("main;a;x 1\nmain;b 1\nstart 1\n");
	CLEANUP_TREE struct tree *t = tree_of(p, 0);
	const uint32_t want[] = {6, 5, 4, 4, 5, 6};

	ck_assert_uint_eq(t->n, ARRAY_LEN(want));
	ck_assert_mem_eq(t->end, want, sizeof(want));
}
END

TEST(inlined_functions_are_frames_of_their_own)
{
	CLEANUP_PROFILE struct profile *p = profile_of("outer;inner 1\n");
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	const struct line lines[] = {{0, 1}, {1, 2}}; /* inner in outer */
	int64_t v[] = {2, 2};
	struct tree *t;
	uint32_t at;

	ck_assert_int_eq(profile_location(p, 0, 5, lines, 2, &at), 0);
	ck_assert_int_eq(profile_sample(p, &at, 1, NULL, 0, v), 0);
	t = tree_of(p, 0);
	ck_assert_str_eq(drawn(t, &b), "0 all 0 3\n"
	                               "1 outer 0 3\n"
	                               "2 inner 3 3\n");
	tree_free(t);
}
END

TEST(a_profile_without_samples_is_a_root)
{
	CLEANUP_PROFILE struct profile *p = profile_of("");
	CLEANUP_TREE struct tree *t = tree_of(p, 1);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);

	ck_assert_str_eq(drawn(t, &b), "0 all 0 0\n");
}
END

TEST(a_type_that_is_not_there_is_invalid)
{
	CLEANUP_PROFILE struct profile *p = profile_of("main 1\n");
	struct tree *t = NULL;

	ck_assert_int_eq(tree_new(p, 2, &t), -EINVAL);
	ck_assert_ptr_null(t);
}
END

TEST(sums_that_could_leave_int64_are_refused)
{
	CLEANUP_PROFILE struct profile *p = profile_of("a 1\nb 1\n");
	struct tree *t = NULL;

	p->values[1] = INT64_MAX;
	p->values[3] = -1;
	ck_assert_int_eq(tree_new(p, 1, &t), -EOVERFLOW);
	p->values[1]--;
	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(t->total[0], INT64_MAX - 2);
	tree_free(t);
	p->values[3] = INT64_MIN;
	ck_assert_int_eq(tree_new(p, 1, &t), -EOVERFLOW);
}
END

TEST(samples_of_a_space_are_counted_in_its_objects)
{
	CLEANUP_PROFILE struct profile *p = profile_new();
	const char *types[][2] = {{"alloc_objects", "count"},
	                          {"alloc_space", "bytes"},
	                          {"inuse_objects", "count"},
	                          {"inuse_space", "bytes"}};
	int64_t v[] = {100, 4096, 3, 96};
	struct tree *t;

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		ck_assert_int_eq(profile_type(p, types[i][0], types[i][1]), 0);
	ck_assert_int_eq(profile_sample(p, NULL, 0, NULL, 0, v), 0);
	t = tree_of(p, 3);
	ck_assert_int_eq(t->total_samples, 3);
	ck_assert_int_eq(t->total[0], 96);
	tree_free(t);
}
END

/* A profile of CPU time alone, with two stacks of this many nanoseconds. */
static struct profile *
profile_of_time(const char *unit, int64_t period, int64_t a, int64_t b)
{
	struct profile *p = profile_new();
	struct mapping app = {0};
	uint32_t mapping, at;

	ck_assert_int_eq(profile_type(p, "cpu", "nanoseconds"), 0);
	ck_assert_int_eq(profile_cstring(p, unit, &p->period_type.unit), 0);
	p->period = period;
	ck_assert_int_eq(profile_cstring(p, "/bin/app", &app.file), 0);
	app.limit = UINT64_MAX;
	ck_assert_int_eq(profile_mapping(p, &app, &mapping), 0);
	for (uint64_t i = 0; i < 2; i++) {
		ck_assert_int_eq(
			profile_location(p, mapping, 0x10 + i, NULL, 0, &at),
			0);
		ck_assert_int_eq(
			profile_sample(p, &at, 1, NULL, 0, i ? &b : &a), 0);
	}
	return p;
}

TEST(samples_of_time_alone_are_counted_by_the_period)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of_time("nanoseconds", 10000000, 140000000, 160000000);
	CLEANUP_TREE struct tree *t = tree_of(p, 0);

	ck_assert(t->counted);
	ck_assert_int_eq(t->total_samples, 30);
	ck_assert_int_eq(t->samples[1], 14);
	ck_assert_int_eq(t->samples[2], 16);
}
END

TEST(samples_are_unknown_without_a_count_and_a_period)
{
	static const struct {
		const char *unit;
		int64_t period;
	} rows[] = {{"nanoseconds", 0},
	            {"nanoseconds", 1},
	            {"nanoseconds", 1000}, /* one microsecond */
	            {"bytes", 512}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *p = profile_of_time(
			rows[i].unit, rows[i].period, 140000000, 160000000);
		CLEANUP_TREE struct tree *t = tree_of(p, 0);

		ck_assert(!t->counted);
		ck_assert_int_eq(t->total_samples, 0);
		ck_assert_int_eq(t->total[0], 300000000);
	}
}
END

TEST(a_stack_of_all_frames_inlined_is_deep_and_whole)
{
	CLEANUP_PROFILE struct profile *p = profile_of("f 1\n");
	struct line lines[PROFILE_MAX_LINES] = {0};
	uint32_t stack[PROFILE_MAX_FRAMES], at;
	int64_t v[] = {1, 1};
	struct tree *t;

	ck_assert_int_eq(
		profile_location(p, 0, 7, lines, PROFILE_MAX_LINES, &at), 0);
	for (size_t i = 0; i < PROFILE_MAX_FRAMES; i++)
		stack[i] = at;
	ck_assert_int_eq(
		profile_sample(p, stack, PROFILE_MAX_FRAMES, NULL, 0, v), 0);
	t = tree_of(p, 0);
	ck_assert_uint_eq(t->n, 1 + PROFILE_MAX_FRAMES * PROFILE_MAX_LINES);
	ck_assert_uint_eq(t->depth[t->n - 1], t->n - 1);
	ck_assert_int_eq(t->total[1], 2);
	tree_free(t);
}
END

TEST(a_package_is_the_go_path_else_the_module)
{
	static const struct {
		const char *name, *file, *want;
	} rows[] = {
		{"runtime.gcBgMarkWorker", "", "runtime"},
		{"main.main", "", "main"},
		{"main.main.func1", "/src/main.go", "main"},
		{"encoding/json.(*decodeState).value", "", "encoding/json"},
		{"github.com/a/b.F[github.com/c/d.T]", "", "github.com/a/b"},
		{"gopkg.in/yaml%2ev2.Marshal", "", "gopkg.in/yaml%2ev2"},
		{"sync.(*Mutex).Lock", "/go/src/sync/mutex.go", "sync"},
		{"memcpy", "", "app"},
		{"foo.constprop.0", "", "app"},
		{"main.cold", "/src/main.c", "app"},
		{"std::filesystem::path(a/b.c)", "", "app"},
		{".plt", "", "app"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_PROFILE struct profile *p = profile_of("x 1\n");
		struct function *f = &p->functions[0];
		struct tree *t;

		ck_assert_int_eq(profile_cstring(p, rows[i].name, &f->name), 0);
		ck_assert_int_eq(profile_cstring(p, rows[i].file, &f->file), 0);
		t = tree_of(p, 0);
		ck_assert_str_eq(tree_name(t, t->name[1], NULL), rows[i].name);
		ck_assert_str_eq(tree_package(t, t->name[1], NULL),
		                 rows[i].want);
		tree_free(t);
	}
}
END

TEST(a_frame_that_says_whose_stack_it_is_has_no_package_of_go)
{
	CLEANUP_PROFILE struct profile *p = profile_of("x 1\n");
	CLEANUP_TREE struct tree *t = NULL;

	ck_assert_int_eq(profile_cstring(p, "/usr/bin/python3.11",
	                                 &p->functions[0].name),
	                 0);
	ck_assert_int_eq(
		profile_cstring(p, SUMMARY_PROGRAMS, &p->mappings[0].file), 0);
	t = tree_of(p, 0);
	ck_assert_str_eq(tree_package(t, t->name[1], NULL), SUMMARY_PROGRAMS);
}
END

static void
assert_same_top(const struct tree *a, const struct tree *b)
{
	CLEANUP_FREE struct top_entry *x = NULL;
	CLEANUP_FREE struct top_entry *y = NULL;
	uint32_t n, m;

	ck_assert_int_eq(tree_top(a, 0, &x, &n), 0);
	ck_assert_int_eq(tree_top(b, 0, &y, &m), 0);
	ck_assert_uint_eq(n, m);
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_str_eq(tree_name(a, x[i].name, NULL),
		                 tree_name(b, y[i].name, NULL));
		ck_assert_str_eq(tree_package(a, x[i].name, NULL),
		                 tree_package(b, y[i].name, NULL));
		ck_assert_int_eq(x[i].self, y[i].self);
		ck_assert_int_eq(x[i].total, y[i].total);
		ck_assert_int_eq(x[i].samples, y[i].samples);
	}
}

/* Stacks of a few functions, so that many begin alike or recur. */
static struct profile *
drawn_profile(uint64_t seed)
{
	CLEANUP_BUF struct buf b = BUF_INIT((size_t)1 << 20);

	for (int i = 0; i < 500; i++) {
		unsigned depth = 1 + (unsigned)(random_next(&seed) % 12);

		for (unsigned k = 0; k < depth; k++)
			buf_addf(&b, "%sf%u", k ? ";" : "",
			         (unsigned)(random_next(&seed) % 5));
		buf_addf(&b, " %u\n", 1 + (unsigned)(random_next(&seed) % 9));
	}
	return profile_of(buf_str(&b));
}

TEST(functions_alone_have_the_top_of_the_whole_tree)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		CLEANUP_PROFILE struct profile *p = drawn_profile(seed);
		CLEANUP_TREE struct tree *whole = tree_of(p, 0);
		CLEANUP_TREE struct tree *flat = NULL;

		ck_assert_int_eq(tree_functions(p, 0, &flat), 0);
		ck_assert_int_eq(flat->total[0], whole->total[0]);
		ck_assert_int_eq(flat->total_samples, whole->total_samples);
		assert_same_top(whole, flat);
	}
}
END

/* Writes the line of each node of the tree whose total is at least `least`. */
static void
put_large(const struct tree *t, int64_t least, struct buf *out)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->total[i] >= least)
			buf_addf(out, "%u %s %lld %lld\n", t->depth[i],
			         tree_name(t, t->name[i], NULL),
			         (long long)t->self[i], (long long)t->total[i]);
}

TEST(a_picture_of_few_nodes_has_the_large_ones_as_they_are)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		CLEANUP_PROFILE struct profile *p = drawn_profile(seed);
		CLEANUP_TREE struct tree *whole = tree_of(p, 0);
		CLEANUP_TREE struct tree *flat = NULL;
		CLEANUP_TREE struct tree *few = NULL;
		CLEANUP_BUF struct buf a = BUF_INIT((size_t)1 << 20);
		CLEANUP_BUF struct buf b = BUF_INIT((size_t)1 << 20);
		int64_t left_out;

		ck_assert_int_eq(tree_functions(p, 0, &flat), 0);
		ck_assert_int_eq(tree_visible(flat, 500, &few, &left_out), 0);
		ck_assert_int_gt(left_out, 0);
		ck_assert_uint_le(few->n, 500);
		ck_assert_uint_gt(few->n, 1);
		put_large(whole, left_out, &a);
		ck_assert_str_eq(drawn(few, &b), buf_str(&a));
		for (uint32_t i = 0; i < few->n; i++)
			ck_assert(few->end[i] == few->n ||
			          few->depth[few->end[i]] <= few->depth[i]);
	}
}
END

TEST(a_picture_with_room_for_all_nodes_has_them)
{
	CLEANUP_PROFILE struct profile *p = drawn_profile(1);
	CLEANUP_TREE struct tree *whole = tree_of(p, 0);
	CLEANUP_TREE struct tree *flat = NULL;
	CLEANUP_TREE struct tree *all = NULL;
	CLEANUP_BUF struct buf a = BUF_INIT((size_t)1 << 20);
	CLEANUP_BUF struct buf b = BUF_INIT((size_t)1 << 20);
	int64_t left_out;

	ck_assert_int_eq(tree_functions(p, 0, &flat), 0);
	ck_assert_int_eq(tree_visible(flat, whole->n, &all, &left_out), 0);
	ck_assert_int_eq(left_out, 0);
	ck_assert_str_eq(drawn(all, &a), drawn(whole, &b));
}
END

/* Compares each node's total with a sum that this test makes. */
TEST(each_node_has_the_sum_of_the_nodes_below_it)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		CLEANUP_PROFILE struct profile *p = drawn_profile(seed);
		CLEANUP_TREE struct tree *t = tree_of(p, 0);

		for (uint32_t i = 0; i < t->n; i++) {
			int64_t sum = 0;

			for (uint32_t k = i; k < t->end[i]; k++) {
				ck_assert(k == i || t->depth[k] > t->depth[i]);
				sum += t->self[k];
			}
			ck_assert_int_eq(t->total[i], sum);
			ck_assert(t->end[i] == t->n ||
			          t->depth[t->end[i]] <= t->depth[i]);
		}
	}
}
END

/* The children of a node have different names, and are sorted by them. */
TEST(children_of_a_node_come_once_each_in_the_order_of_their_names)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		CLEANUP_PROFILE struct profile *p = drawn_profile(seed);
		CLEANUP_TREE struct tree *t = tree_of(p, 0);

		for (uint32_t i = 1; i < t->n; i++) {
			uint32_t next = t->end[i];

			if (next == t->n || t->depth[next] != t->depth[i])
				continue;
			ck_assert_str_lt(tree_name(t, t->name[i], NULL),
			                 tree_name(t, t->name[next], NULL));
		}
	}
}
END

SUITE("tree");
