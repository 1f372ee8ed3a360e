#include "store/coverage.h"

#include "lib/test.h"

static void
expect(const struct span *spans, size_t n, int64_t from, int64_t step,
       const double *covered, size_t steps)
{
	double out[8];

	ck_assert_int_eq(coverage_of(spans, n, from, step, steps, out), 0);
	for (size_t i = 0; i < steps; i++)
		ck_assert_double_eq_tol(out[i], covered[i], 1e-6);
}

TEST(a_window_covers_its_time_and_no_other)
{
	static const struct span spans[] = {{10, 20, 10}};
	static const double covered[] = {0, 5, 5, 0};

	expect(spans, 1, 0, 15, (double[]){5}, 1);
	expect(spans, 1, 5, 5, covered, 4);
}
END

TEST(what_was_captured_is_spread_over_a_window)
{
	static const struct span spans[] = {{0, 100, 50}};
	static const double covered[] = {5, 5};

	expect(spans, 1, 40, 10, covered, 2);
}
END

TEST(no_window_covers_more_than_its_time)
{
	static const struct span spans[] = {{0, 10, 15}};

	expect(spans, 1, 0, 20, (double[]){10}, 1);
}
END

TEST(two_series_at_once_cover_a_time_once)
{
	static const struct span spans[] = {
		{0, 10, 10}, {5, 15, 10}, {5, 15, 5}};

	expect(spans, 3, 0, 20, (double[]){15}, 1);
}
END

TEST(a_series_that_follows_another_adds_to_it)
{
	static const struct span spans[] = {{10, 20, 10}, {0, 10, 4}};

	expect(spans, 2, 0, 20, (double[]){14}, 1);
}
END

TEST(no_window_covers_nothing)
{
	static const struct span spans[] = {{5, 5, 0}};

	expect(spans, 0, 0, 10, (double[]){0}, 1);
	expect(spans, 1, 0, 10, (double[]){0}, 1);
}
END

TEST(gaps_are_before_between_and_after)
{
	static const struct span spans[] = {
		{10, 20, 10}, {12, 15, 3}, {19, 30, 11}, {40, 45, 5}};
	static const struct gap range = {0, 50};
	struct gap out[3];
	size_t n;

	ck_assert_int_eq(coverage_gaps(spans, 4, &range, 5, out, 3, &n), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(out[0].from_ms, 0);
	ck_assert_int_eq(out[0].to_ms, 10);
	ck_assert_int_eq(out[1].from_ms, 30);
	ck_assert_int_eq(out[1].to_ms, 40);
	ck_assert_int_eq(out[2].from_ms, 45);
	ck_assert_int_eq(out[2].to_ms, 50);
	ck_assert_int_eq(coverage_gaps(spans, 4, &range, 6, out, 1, &n), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(out[0].to_ms, 10);
}
END

SUITE("coverage");
