/* The cost of one function, computed from stacks and from a tree of them. */
#include "profile/function.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/merge.h"

#include <errno.h>

#define MAX_BYTES ((size_t)1 << 20)

/* In profile_of() one sample is 10 ms. */
#define NS(samples) ((samples) * (int64_t)FOLDED_PERIOD_NS)

static const struct {
	const char *name;
	int64_t self, total; /* samples */
} rows[] = {
	{"a", 1 + 8, 1 + 4 + 8}, /* a stack counts once */
	{"b", 2, 1 + 2 + 4},
	{"c", 4, 4},
	{"d", 0, 0}, /* nowhere */
	{"", 0, 0},
};

static void
check_costs(const struct packed *k)
{
	struct function_cost c;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_int_eq(function_cost(k, 1, rows[i].name, &c), 0);
		ck_assert_int_eq(c.self, NS(rows[i].self));
		ck_assert_int_eq(c.total, NS(rows[i].total));
		ck_assert_int_eq(c.samples, rows[i].total);
		ck_assert_int_eq(c.all, NS(15));
		ck_assert_int_eq(c.all_samples, 15);
	}
	ck_assert_int_eq(function_cost(k, 2, "a", &c), -EINVAL);
}

TEST(a_function_costs_the_same_of_stacks_and_of_a_tree)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of("a;b;a 1\nb 2\na;b;c 4\na 8\n");
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_PACKED struct packed k = {0};
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	check_costs(&(struct packed){.p = p});
	ck_assert_int_eq(merge_new(MAX_BYTES, &m), 0);
	ck_assert_int_eq(merge_add(m, p), 0);
	ck_assert_int_eq(merge_encode(m, &file), 0);
	ck_assert_int_eq(packed_decode(file.p, file.len, MAX_BYTES, &k, &why),
	                 0);
	check_costs(&k);
}
END

TEST(frames_without_a_name_are_called_by_their_place)
{
	CLEANUP_PROFILE struct profile *p = profile_of("a 1\n");
	const int64_t v[] = {2, NS(2)};
	struct function_cost c;
	uint32_t at;

	ck_assert_int_eq(profile_location(p, PROFILE_NONE, 0x10, NULL, 0, &at),
	                 0);
	ck_assert_int_eq(profile_sample(p, &at, 1, NULL, 0, v), 0);
	ck_assert_int_eq(function_cost(&(struct packed){.p = p}, 1, "0x10", &c),
	                 0);
	ck_assert_int_eq(c.self, NS(2));
	ck_assert_int_eq(c.all, NS(3));
}
END

SUITE("function");
