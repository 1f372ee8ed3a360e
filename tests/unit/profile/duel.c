/*
 * Duels of drawn runs: how often they are wrong, and how many pairs they take.
 * Noise is as on machines that several share: most runs vary by about a
 * percent, one of twelve costs up to half more, and the machine drifts.
 */
#include "profile/duel.h"
#include "base/cleanup.h"
#include "lib/random.h"
#include "lib/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define GATE      0.02
#define MOST      200 /* pairs */
#define ALIKE     4000
#define DIFFERENT 200

static uint64_t state;

/* Returns a random number between 0 and 1, never 0. */
static double
uniform(void)
{
	return random_real(&state) + 0x1p-54;
}

static double
normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* The logarithm of the cost of a run. */
static double
run(double sigma, double drift)
{
	double noise = sigma * normal() + drift;

	return uniform() < 1.0 / 12 ? noise + 0.5 * uniform() : noise;
}

/* Plays one duel, and returns the verdict; *pairs: how many it took. */
static enum duel_verdict
play(double factor, double sigma, size_t *pairs)
{
	CLEANUP_DUEL struct duel *d = duel_new(GATE);
	enum duel_verdict v = DUEL_OPEN;
	double drift = 0;

	for (*pairs = 0; *pairs < MOST && v == DUEL_OPEN; ++*pairs) {
		bool first = uniform() < 0.5;
		double one, two;

		drift += 0.002 * normal();
		one = run(sigma, drift);
		/* whatever runs second finds caches warm, or the CPU hot */
		two = run(sigma, drift + 0.005);
		v = duel_add(d, first ? two + log(factor) - one
		                      : one + log(factor) - two);
	}
	return v;
}

/* DUEL_FALSE is the bound: of 4000 duels, at most two are expected to be
 * wrong. */
TEST(programs_that_cost_the_same_raise_no_alarm_on_a_noisy_machine)
{
	size_t pairs, all = 0;
	int wrong = 0, same = 0;

	state = 1;
	for (int i = 0; i < ALIKE; i++) {
		enum duel_verdict v = play(1, i % 2 ? 0.01 : 0.003, &pairs);

		wrong += v == DUEL_SLOWER;
		same += v == DUEL_SAME;
		all += pairs;
	}
	printf("of %d duels of equals %d say slower, %d say same; %zu pairs\n",
	       ALIKE, wrong, same, all / ALIKE);
	ck_assert_int_le(wrong, ALIKE / 1000);
	ck_assert_int_ge(same, ALIKE * 9 / 10);
}
END

TEST(a_program_that_costs_more_than_the_gate_is_found)
{
	static const struct {
		double factor, sigma;
		enum duel_verdict verdict;
		int found; /* percent, at least */
	} rows[] = {
		{1.05, 0.01, DUEL_SLOWER, 98},
		{1.03, 0.003, DUEL_SLOWER, 98},
		{1.03, 0.01, DUEL_SLOWER, 90},
		{0.95, 0.01, DUEL_FASTER, 98},
	};

	for (size_t r = 0; r < ARRAY_LEN(rows); r++) {
		size_t all = 0, pairs;
		int found = 0;

		state = 100 + r;
		for (int i = 0; i < DIFFERENT; i++) {
			found += play(rows[r].factor, rows[r].sigma, &pairs) ==
			         rows[r].verdict;
			all += pairs;
		}
		printf("factor %g, noise %g: %d of %d found, %zu pairs\n",
		       rows[r].factor, rows[r].sigma, found, DIFFERENT,
		       all / DIFFERENT);
		ck_assert_int_ge(found * 100, rows[r].found * DIFFERENT);
	}
}
END

TEST(bounds_have_the_factor)
{
	double width = 0;
	int outside = 0;

	state = 7;
	for (int i = 0; i < DIFFERENT; i++) {
		CLEANUP_DUEL struct duel *d = duel_new(1);
		struct duel_factor f;

		for (size_t k = 0; k < 40; k++)
			(void)duel_add(d,
			               run(0.01, 0) + log(1.1) - run(0.01, 0));
		f = duel_factor(d);
		ck_assert(f.from < f.factor && f.factor < f.to);
		width += f.to / f.from - 1;
		outside += f.from > 1.1 || f.to < 1.1;
	}
	printf("%d of %d bounds are wrong, mean width %.1f %%\n", outside,
	       DIFFERENT, 100 * width / DIFFERENT);
	ck_assert_int_le(outside, DIFFERENT / 20);
	ck_assert(width < 0.2 * DIFFERENT);
}
END

TEST(few_pairs_are_no_verdict)
{
	CLEANUP_DUEL struct duel *d = duel_new(GATE);
	struct duel_factor f = duel_factor(d);

	ck_assert(f.from == 0 && isinf(f.to));
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(duel_add(d, 0.5), DUEL_OPEN);
	ck_assert_uint_eq(duel_pairs(d), 5);
}
END

SUITE("duel", .seconds = 200);
