#include "lib/folded.h"
#include "lib/test.h"
#include "profile/summary.h"

#include <string.h>

/* Checks the functions, as "name self/total/samples" lines in samples. */
static void
check_top(const char *folded, uint32_t max, const char *want)
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FREE struct top_entry *top = NULL;
	struct tree *t;
	uint32_t n;

	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(tree_top(t, max, &top, &n), 0);
	for (uint32_t i = 0; i < n; i++)
		buf_addf(&b, "%s %lld/%lld/%lld\n",
		         tree_name(t, top[i].name, NULL),
		         (long long)top[i].self / FOLDED_PERIOD_NS,
		         (long long)top[i].total / FOLDED_PERIOD_NS,
		         (long long)top[i].samples);
	ck_assert_str_eq(buf_str(&b), want);
	tree_free(t);
}

static void
check_summary(const char *folded, uint32_t max, const char *want)
{
	CLEANUP_PROFILE struct profile *p = profile_of(folded);
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	struct tree *t;

	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(summary_top(t, max, &b), 0);
	ck_assert_str_eq(buf_str(&b), want);
	tree_free(t);
}

TEST(functions_come_by_self_then_total_then_name)
{
	check_top("main;a 1\nmain;b 5\nmain;c;d 1\nmain;c 0\n", 0,
	          "b 5/5/5\na 1/1/1\nd 1/1/1\nmain 0/7/0\nc 0/1/0\n");
}
END

TEST(a_function_is_summed_over_all_its_callers)
{
	check_top("x;f 1\ny;f 2\n", 1, "f 3/3/3\n");
	/* one name begins where the other one ends */
	check_top("a;f 1\nf 2\n", 1, "f 3/3/3\n");
}
END

TEST(recursion_counts_a_sample_once)
{
	check_top("f;f;f 1\nf;g;f 2\nf;g 4\n", 0, "g 4/6/4\nf 3/7/3\n");
}
END

TEST(a_function_called_as_the_root_is_only_itself)
{
	check_top("all 1\nb 2\n", 0, "b 2/2/2\nall 1/1/1\n");
}
END

TEST(max_cuts_the_list)
{
	check_top("a 3\nb 2\nc 1\n", 2, "a 3/3/3\nb 2/2/2\n");
	check_top("a 3\nb 2\n", 2, "a 3/3/3\nb 2/2/2\n");
}
END

TEST(a_summary_has_the_fields_of_the_api)
{
	check_summary("main;work@/lib/libw.so 2\nmain 1\n", 0,
	              "[{\"funcName\":\"work\",\"package\":\"libw.so\","
	              "\"selfPct\":66.67,\"cumulativePct\":66.67,"
	              "\"sampleCount\":\"2\"},"
	              "{\"funcName\":\"main\",\"package\":\"app\","
	              "\"selfPct\":33.33,\"cumulativePct\":100,"
	              "\"sampleCount\":\"1\"}]");
}
END

TEST(percents_drop_zeros_and_round_to_two_decimals)
{
	check_summary("a 125\nb 875\n", 2,
	              "[{\"funcName\":\"b\",\"package\":\"app\","
	              "\"selfPct\":87.5,\"cumulativePct\":87.5,"
	              "\"sampleCount\":\"875\"},"
	              "{\"funcName\":\"a\",\"package\":\"app\","
	              "\"selfPct\":12.5,\"cumulativePct\":12.5,"
	              "\"sampleCount\":\"125\"}]");
	check_summary("a 1\nb 9999\n", 1,
	              "[{\"funcName\":\"b\",\"package\":\"app\","
	              "\"selfPct\":99.99,\"cumulativePct\":99.99,"
	              "\"sampleCount\":\"9999\"}]");
}
END

TEST(a_summary_of_nothing_is_an_empty_list)
{
	check_summary("", 10, "[]");
}
END

SUITE("top");
