/* Blocks of nodes add up to the tree, whether profiles are packed or not. */
#include "lib/any_profile.h"
#include "lib/folded.h"
#include "lib/test.h"
#include "profile/blocks.h"
#include "profile/merge.h"

#include <errno.h>
#include <math.h>

#define MAX_BYTES ((size_t)16 << 20)
#define PARTS     8
#define SEEDS     200

static struct packed
packed(const struct profile *p)
{
	CLEANUP_MERGE struct merge *m = NULL;
	CLEANUP_BUF struct buf file = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct packed k = {0};

	ck_assert_int_eq(merge_new(MAX_BYTES, &m), 0);
	ck_assert_int_eq(merge_add(m, p), 0);
	ck_assert_int_eq(merge_encode(m, &file), 0);
	ck_assert_int_eq(packed_decode(file.p, file.len, MAX_BYTES, &k, &why),
	                 0);
	return k;
}

/* A profile that was read in PARTS equal parts, packed or not. */
struct source {
	const struct profile *p;
	bool is_packed;
	size_t next;
	struct packed lent;
};

static int
next_part(void *arg, size_t *part, const struct packed **out)
{
	struct source *s = arg;
	struct packed k;

	packed_done(&s->lent);
	if (s->next == PARTS)
		return -ENODATA;
	*part = s->next++;
	k = packed(s->p);
	if (s->is_packed)
		s->lent = k;
	else
		ck_assert_int_eq(packed_profile(&k, MAX_BYTES, &s->lent.p), 0);
	*out = &s->lent;
	return 0;
}

static int
blocks_of_source(const struct tree *t, struct source s, struct blocks **out)
{
	struct blocks_part parts[PARTS];

	for (int i = 0; i < PARTS; i++)
		parts[i] = (struct blocks_part){
			.start_ms = i * 1000,
			.end_ms = (i + 1) * 1000,
			.seconds = 1,
			.samples = 100,
			.each = 1,
		};
	return blocks_of_parts(
		t, &(struct blocks_parts){parts, PARTS, next_part, &s},
		BLOCKS_OF_NODES, out);
}

/* Each row adds up to the node's total, times the number of readings. */
static uint32_t
check_totals(const struct tree *t, const struct blocks *b, double times)
{
	uint32_t rows = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct block_row *r = blocks_row(b, i);
		double want = (double)t->total[i] * times, order = 0, time = 0;

		for (unsigned k = 0; r && k < BLOCKS; k++) {
			order += r->order[k];
			time += r->time[k];
		}
		if (!r)
			continue;
		ck_assert_double_eq_tol(order, want, 1e-9 * want);
		ck_assert_double_eq_tol(time, want, 1e-9 * want);
		rows++;
	}
	return rows;
}

TEST(parts_hold_the_totals_of_nodes_packed_or_not)
{
	int tried = 0;

	for (unsigned seed = 0; seed < SEEDS; seed++) {
		CLEANUP_PROFILE struct profile *any = any_profile(seed);
		CLEANUP_PROFILE struct profile *p = NULL;
		CLEANUP_TREE struct tree *t = NULL;
		struct packed k;
		CLEANUP_BLOCKS struct blocks *one = NULL;
		CLEANUP_BLOCKS struct blocks *two = NULL;

		for (uint32_t i = 0; i < any->nsamples * any->ntypes; i++)
			any->values[i] = (any->values[i] & 0xffff) + 1;
		if (!any->nsamples || !any->ntypes)
			continue;
		k = packed(any);
		ck_assert_int_eq(packed_profile(&k, MAX_BYTES, &p), 0);
		ck_assert_int_eq(tree_new(p, profile_type_index(p, NULL), &t),
		                 0);
		ck_assert_int_eq(
			blocks_of_source(
				t, (struct source){.p = any, .is_packed = true},
				&one),
			0);
		ck_assert_int_eq(
			blocks_of_source(
				t,
				(struct source){.p = any, .is_packed = false},
				&two),
			0);
		ck_assert_uint_ge(check_totals(t, one, PARTS), 1);
		ck_assert_uint_eq(check_totals(t, one, PARTS),
		                  check_totals(t, two, PARTS));
		tried++;
	}
	ck_assert_int_ge(tried, SEEDS / 2);
}
END

TEST(a_timeline_holds_the_totals_of_nodes)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of("m;a;b 300\nm;a 20\nm;c 80\n");
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_TIMELINE struct timeline *line = timeline_new();
	CLEANUP_BLOCKS struct blocks *b = NULL;
	int rc = tree_new(p, 1, &t)
	                 ?: timeline_thread(line, &(struct timeline_thread){0});

	line->duration_us = 400;
	for (uint32_t i = 0; i < 400 && !rc; i++)
		rc = timeline_sample(line,
		                     &(struct timeline_sample){
					     .time_us = i,
					     .weight_ns = FOLDED_PERIOD_NS,
					     .sample = i < 300   ? 0
		                                       : i < 320 ? 1
		                                                 : 2,
				     });
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(blocks_of_timeline(t, line, BLOCKS_OF_NODES, &b), 0);
	ck_assert_uint_eq(check_totals(t, b, 1), t->n);
	/* a ran first, so the last block has none of it */
	ck_assert_double_gt(blocks_row(b, 2)->time[0], 0);
	ck_assert_double_eq(blocks_row(b, 2)->time[BLOCKS - 1], 0);
}
END

TEST(small_nodes_have_no_row_and_count_for_what_is_above_them)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of("m;a;b 1\nm;a;c 20000\nm;d;e 1\n");
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BLOCKS struct blocks *b = NULL;

	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(
		blocks_of_source(t, (struct source){.p = p, .is_packed = false},
	                         &b),
		0);
	/* all, m, a and c; not b, d and e */
	ck_assert_uint_eq(check_totals(t, b, PARTS), 4);
	ck_assert_ptr_null(blocks_row(b, t->n));
}
END

static double
cost_in(const struct blocks *b, const struct tree *t, const char *name)
{
	double sum = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		if (strcmp(tree_name(t, t->name[i], NULL), name) != 0)
			continue;
		for (unsigned k = 0; k < BLOCKS; k++)
			sum += blocks_row(b, t->name[i])->order[k];
		return sum;
	}
	ck_abort_msg("no function %s", name);
}

TEST(totals_of_functions_are_added_up_and_count_recursion_once)
{
	CLEANUP_PROFILE struct profile *p =
		profile_of("m;r;f 100\nm;r;g;r;r;f 30\nm;h;r 7\nm;h;f;f 5\n");
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_BLOCKS struct blocks *nodes = NULL;
	CLEANUP_BLOCKS struct blocks *b = NULL;
	const double each = PARTS * FOLDED_PERIOD_NS;

	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(
		blocks_of_source(t, (struct source){.p = p, .is_packed = false},
	                         &nodes),
		0);
	ck_assert_int_eq(blocks_of_totals(t, nodes, &b), 0);
	ck_assert_double_eq_tol(cost_in(b, t, "m"), 142 * each, 1);
	ck_assert_double_eq_tol(cost_in(b, t, "r"), 137 * each, 1);
	ck_assert_double_eq_tol(cost_in(b, t, "f"), 135 * each, 1);
	ck_assert_double_eq_tol(cost_in(b, t, "g"), 30 * each, 1);
	ck_assert_double_eq_tol(cost_in(b, t, "h"), 12 * each, 1);
}
END

TEST(an_empty_tree_has_no_blocks)
{
	CLEANUP_PROFILE struct profile *p = profile_of("");
	CLEANUP_TREE struct tree *t = NULL;
	struct blocks *b = NULL;

	ck_assert_int_eq(tree_new(p, 1, &t), 0);
	ck_assert_int_eq(
		blocks_of_source(t, (struct source){.p = p, .is_packed = false},
	                         &b),
		-ENODATA);
	ck_assert_ptr_null(b);
}
END

SUITE("blocks_nodes");
