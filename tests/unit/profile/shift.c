/* The times from which a function costs more or less. tests/bench/shift.c
 * measures false and missed alarms over thousands of ranges. */
#include "profile/shift.h"
#include "lib/random.h"
#include "lib/test.h"

#include <math.h>

#define BIN_MS 10000
#define HOUR   360

static uint64_t seed;

/* Draws the number of samples of a bin; mean is the expected number. */
static double
samples(double mean)
{
	double p = exp(-mean), sum = p, u = random_real(&seed), k = 0;

	while (u > sum && k < 1000)
		sum += p *= mean / ++k;
	return k;
}

/* A level of cost: n bins of `all` samples each, this share of them the
 * function's. */
struct level {
	size_t n;
	double share, all;
};

static size_t
range_of(const struct level *levels, size_t nlevels, struct shift_bin *bins)
{
	size_t n = 0;

	seed = 7;
	for (size_t i = 0; i < nlevels; i++)
		for (size_t k = 0; k < levels[i].n; k++, n++) {
			const struct level *l = &levels[i];
			double cost = samples(l->share * l->all);

			bins[n] = (struct shift_bin){
				(int64_t)n * BIN_MS, (int64_t)(n + 1) * BIN_MS,
				cost, cost + samples((1 - l->share) * l->all)};
		}
	return n;
}

static struct shifts
found(const struct shift_bin *bins, size_t n, enum shift_by by)
{
	struct shifts s;

	ck_assert_int_eq(shift_find(bins, n, by, SHIFT_ALARMS, &s), 0);
	return s;
}

static struct shifts
found_in(const struct level *levels, size_t n)
{
	struct shift_bin bins[4 * HOUR];

	return found(bins, range_of(levels, n, bins), SHIFT_SHARE);
}

static void
assert_at(const struct shift *s, size_t bin)
{
	int64_t ms = (int64_t)bin * BIN_MS;

	ck_assert_int_le(s->earliest_ms, ms);
	ck_assert_int_ge(s->latest_ms, ms);
	ck_assert_int_le(s->earliest_ms, s->at_ms);
	ck_assert_int_ge(s->latest_ms, s->at_ms);
}

TEST(a_function_that_costs_twice_as_much_is_found_with_its_time)
{
	const struct level l[] = {{200, .1, 80}, {160, .2, 80}};
	struct shifts s = found_in(l, 2);

	ck_assert_uint_eq(s.n, 1);
	assert_at(&s.items[0], 200);
	ck_assert_double_eq_tol(s.items[0].before, .1, .01);
	ck_assert_double_eq_tol(s.items[0].after, .2, .02);
	ck_assert_int_eq(s.items[0].before_ms, 0);
	ck_assert_int_eq(s.items[0].after_ms, HOUR * BIN_MS);
}
END

TEST(a_steady_function_has_no_shift)
{
	const struct level l[] = {{HOUR, .1, 80}};
	struct shifts s = found_in(l, 1);

	ck_assert_uint_eq(s.n, 0);
	ck_assert_double_gt(s.least, 1);
	ck_assert_double_lt(s.least, 1.5);
}
END

TEST(a_load_that_doubles_is_no_shift_of_a_share)
{
	const struct level l[] = {{200, .1, 40}, {160, .1, 80}};

	ck_assert_uint_eq(found_in(l, 2).n, 0);
}
END

TEST(two_shifts_that_cancel_each_other_are_both_found)
{
	const struct level l[] = {{150, .1, 80}, {60, .2, 80}, {150, .1, 80}};
	struct shifts s = found_in(l, 3);

	ck_assert_uint_eq(s.n, 2);
	assert_at(&s.items[0], 150);
	assert_at(&s.items[1], 210);
}
END

TEST(a_phase_that_comes_again_and_again_is_no_shift)
{
	struct level l[24];

	for (size_t i = 0; i < 24; i++)
		l[i] = (struct level){HOUR / 24, i % 2 ? .1 : .3, 80};
	ck_assert_uint_eq(found_in(l, 24).n, 0);
}
END

TEST(a_burst_of_two_bins_is_no_shift)
{
	const struct level l[] = {{150, .1, 80}, {2, .9, 200}, {208, .1, 80}};

	ck_assert_uint_eq(found_in(l, 3).n, 0);
}
END

TEST(a_burst_at_the_end_is_no_shift)
{
	const struct level l[] = {{357, .1, 80}, {3, .9, 200}};

	ck_assert_uint_eq(found_in(l, 2).n, 0);
}
END

TEST(a_few_samples_tell_nothing)
{
	const struct level l[] = {{200, .0005, 40}, {160, .002, 40}};
	struct shifts s = found_in(l, 2);

	ck_assert_uint_eq(s.n, 0);
	ck_assert_double_gt(s.samples, 0);
	ck_assert_double_eq(s.least, 0);
}
END

TEST(more_bins_than_are_used_are_joined)
{
	const struct level l[] = {{900, .1, 20}, {540, .2, 20}};
	struct shifts s = found_in(l, 2);

	ck_assert_uint_eq(s.n, 1);
	assert_at(&s.items[0], 900);
}
END

TEST(a_rate_is_held_against_time)
{
	struct shift_bin bins[120];

	seed = 3;
	for (size_t i = 0; i < 120; i++)
		bins[i] = (struct shift_bin){(int64_t)i * BIN_MS,
		                             (int64_t)(i + 1) * BIN_MS,
		                             samples(i < 70 ? 20 : 35), 10};
	/* a bin that was only partly captured */
	bins[90].cost /= 2;
	bins[90].of /= 2;

	struct shifts s = found(bins, 120, SHIFT_RATE);

	ck_assert_uint_eq(s.n, 1);
	assert_at(&s.items[0], 70);
	ck_assert_double_eq_tol(s.items[0].before, 2, .3);
	ck_assert_double_eq_tol(s.items[0].after, 3.5, .4);
}
END

TEST(bins_that_cannot_be_are_skipped)
{
	const double odd[] = {0, -1, NAN, INFINITY, -INFINITY};
	struct shift_bin bins[HOUR];
	const struct level l[] = {{200, .1, 80}, {160, .2, 80}};
	size_t n = range_of(l, 2, bins);

	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		bins[20 * i + 3].of = odd[i];
		bins[20 * i + 9].cost = odd[i] ? odd[i] : -2;
	}
	ck_assert_uint_eq(found(bins, n, SHIFT_SHARE).n, 1);
	ck_assert_uint_eq(found(bins, 0, SHIFT_SHARE).n, 0);
	ck_assert_uint_eq(found(bins, 4, SHIFT_RATE).n, 0);
}
END

SUITE("shift");
