/* The certainty of a sum that was estimated from parts. */
#include "capture/recorder/parts.h"

#include "base/clock.h"
#include "lib/test.h"

#include <math.h>

#define EACH 10 /* samples */

/*
 * Adds a part of EACH samples, which stand for value and for at most `most`
 * times value. A tenth of value was observed.
 */
static void
add(struct parts *p, double at_s, double value, double most)
{
	for (int i = 0; i < EACH; i++)
		parts_add(p, (uint64_t)((at_s + i / 1000.0) * NS_PER_S),
		          value / EACH / 10, value / EACH, value / EACH * most);
}

TEST(parts_that_are_alike_are_sure)
{
	struct parts p = {0};
	struct parts_bounds b;

	for (int i = 0; i < 20; i++)
		add(&p, 1 + i, 100, 1.25);
	b = parts_bounds(&p);
	ck_assert_double_eq_tol(p.sum, 2000, 1e-6);
	ck_assert_double_eq_tol(b.least, 2000, 1);
	ck_assert_double_eq_tol(b.most, 2500, 1);
}
END

/* A part that follows a long pause stands for the whole pause. */
TEST(parts_in_proportion_to_their_time_are_sure)
{
	struct parts p = {0};
	struct parts_bounds b;
	double at = 1;

	for (int i = 0; i < 20; i++) {
		double time = 1 + i % 3;

		at += time;
		add(&p, at, 100 * time, 1);
	}
	b = parts_bounds(&p);
	ck_assert_double_gt(b.least, p.sum * 0.95);
	ck_assert_double_lt(b.most, p.sum * 1.05);
}
END

/* Each part has a whole burst or nothing. */
TEST(parts_that_differ_are_not_sure)
{
	struct parts p = {0};
	struct parts_bounds b;

	for (int i = 0; i < 20; i++)
		add(&p, 1 + i, i % 2 ? 180 : 20, 1);
	b = parts_bounds(&p);
	/* a standard deviation of 82 for each of 19 parts */
	ck_assert_double_eq_tol(p.sum - b.least, 3.2 * 82 * sqrt(19), 60);
	ck_assert_double_eq_tol(b.most - p.sum, 3.2 * 82 * sqrt(19), 60);
}
END

TEST(a_few_parts_show_no_more_than_was_seen)
{
	struct parts p = {0};
	struct parts_bounds b;

	ck_assert_double_eq(parts_bounds(&p).most, 0);
	for (int i = 0; i < 3; i++)
		add(&p, 1 + i, 100, 1);
	b = parts_bounds(&p);
	ck_assert_double_eq_tol(b.least, 30, 1e-6);
	ck_assert_double_ge(b.most, 600);
	add(&p, 4, 100, 1);
	ck_assert_double_gt(parts_bounds(&p).least, 399);
}
END

SUITE("parts");
