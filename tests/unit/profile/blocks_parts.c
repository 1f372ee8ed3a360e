/* The blocks that the parts of a range make. */
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/blocks.h"

#include <errno.h>

#define WINDOW_MS INT64_C(10000)
#define MAX_PARTS 200

static struct blocks_part parts[MAX_PARTS];

/* Makes parts of hosts, whose clocks differ; the first part has `first`
 * windows, the others one. */
static size_t
list(int nparts, int hosts, int first)
{
	int64_t at = 0;
	size_t n = 0;

	for (int i = 0; i < nparts; i++) {
		int windows = i ? 1 : first;
		int64_t end = at + windows * WINDOW_MS;

		for (int h = 0; h < hosts; h++)
			parts[n++] = (struct blocks_part){
				.start_ms = at + h * 10,
				.end_ms = end + h * 10,
				.seconds = (double)(end - at) / 1000,
				.samples = windows * 190.0,
				.each = 1,
			};
		at = end;
	}
	return n;
}

static const struct {
	const char *name;
	int parts, hosts, first; /* windows in the first part; others have 1 */
	unsigned blocks;         /* 0: none */
} cuts[] = {
	{"one", 1, 1, 1, 0},
	{"three", 3, 1, 1, 0},
	{"four", 4, 1, 1, 4},
	{"32", 32, 1, 1, 32},
	{"33: pairs", 33, 1, 1, 17},
	{"64: pairs", 64, 1, 1, 32},
	{"an hour and four windows", 5, 1, 360, 0},
	{"hosts at one time", 1, 100, 1, 0},
	{"hosts at four times", 4, 40, 1, 4},
};

/* All parts are alike; if `only` is not NULL, only that part has samples. */
struct reading {
	const size_t *only;
	size_t n, next;
	struct packed lent;
};

static int
next_part(void *arg, size_t *part, const struct packed **out)
{
	struct reading *r = arg;

	packed_done(&r->lent);
	if (r->next == r->n)
		return -ENODATA;
	*part = r->next++;
	if (!r->only || *part == *r->only)
		r->lent.p = profile_of("main;f 1000\n");
	*out = &r->lent;
	return 0;
}

static int
blocks_of_list(size_t n, size_t *only, struct blocks **out)
{
	struct reading reading = {.only = only, .n = n};
	const struct blocks_parts all = {parts, n, next_part, &reading};
	CLEANUP_PROFILE struct profile *p = profile_of("main;f 1000\n");
	CLEANUP_TREE struct tree *t = NULL;
	int rc;

	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	rc = blocks_of_parts(t, &all, BLOCKS_OF_FUNCTIONS, out);
	packed_done(&reading.lent);
	return rc;
}

TEST_EACH(blocks_are_as_many_as_parts_allow, cuts)
{
	CLEANUP_BLOCKS struct blocks *b = NULL;
	size_t n = list(cuts[_i].parts, cuts[_i].hosts, cuts[_i].first);
	int rc = blocks_of_list(n, NULL, &b);

	if (!cuts[_i].blocks) {
		ck_assert_int_eq(rc, -ENODATA);
		return;
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(b->norder, cuts[_i].blocks);
	ck_assert_uint_eq(b->ntime, cuts[_i].blocks);
}
END

/* How much a part weighs is known only once it has been read. */
TEST(parts_of_which_one_turns_out_to_be_all_make_no_blocks)
{
	size_t n = list(10, 1, 1), only = 3;
	struct blocks *b = NULL;

	ck_assert_int_eq(blocks_of_list(n, &only, &b), -ENODATA);
	ck_assert_ptr_null(b);
}
END

TEST(unequal_blocks_have_fewer_degrees_of_freedom)
{
	double same[BLOCKS], size[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		same[i] = size[i] = 7;
	size[0] = 7 * 31;
	for (unsigned n = 2; n <= BLOCKS; n++)
		ck_assert_double_eq_tol(blocks_freedom(same, n, 1), n - 1,
		                        1e-9);
	ck_assert_double_eq_tol(blocks_freedom(same, BLOCKS, 8), 3, 1e-9);
	/* one block has half of everything */
	ck_assert_double_lt(blocks_freedom(size, BLOCKS, 1), 4);
	ck_assert_double_eq(blocks_freedom(same, 1, 1), 0);
}
END

/* A rollup and the windows after it are worth little more than one part. */
TEST(parts_are_worth_as_many_as_would_be_equal)
{
	size_t n = list(20, 1, 1);

	ck_assert_double_eq_tol(blocks_worth(parts, n), 20, 1e-9);
	n = list(20, 1, 360);
	ck_assert_double_lt(blocks_worth(parts, n), 1.2);
	n = list(4, 30, 1);
	ck_assert_double_eq_tol(blocks_worth(parts, n), 4, 0.1);
	ck_assert_double_eq(blocks_worth(parts, 0), 0);
}
END

SUITE("blocks_parts");
