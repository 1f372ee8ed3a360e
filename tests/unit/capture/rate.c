#include "capture/recorder/rate.h"

#include "lib/test.h"

TEST(rates_run_beside_the_ones_asked_for)
{
	static const struct {
		uint32_t asked;
		int64_t millihertz;
	} rows[] = {
		{100, 99000}, {1000, 999000}, {99, 99000},      {97, 97000},
		{50, 49000},  {20, 19000},    {10000, 9999000},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int64_t got = rate_millihertz(rate_period_ns(rows[i].asked));

		/* Periods are whole ns, so a rate of 10 kHz is exact to 0.1
		 * Hz. */
		ck_assert_int_ge(got, rows[i].millihertz);
		ck_assert_int_le(got, rows[i].millihertz +
		                              rows[i].millihertz / 90000);
	}
}
END

TEST(no_rate_is_in_step_with_timers_of_10_ms)
{
	for (uint32_t hz = RATE_MIN; hz <= 2000; hz++) {
		uint64_t period = rate_period_ns(hz);
		uint64_t phase = period % 10000000;

		/* Within a second it drifts off a 100 Hz timer by more than 0.1
		 * ms. */
		uint64_t off = phase < 5000000 ? phase : 10000000 - phase;
		uint64_t in_a_second = off * 1000000000 / period;

		ck_assert_msg(hz > 100 || in_a_second > 100000, "%u Hz", hz);
		ck_assert_msg(period >= 1000000000 / hz, "%u Hz", hz);
	}
}
END

TEST(rates_out_of_bounds_are_clamped)
{
	ck_assert_uint_eq(rate_period_ns(0), rate_period_ns(RATE_MIN));
	ck_assert_uint_eq(rate_period_ns(UINT32_MAX), rate_period_ns(RATE_MAX));
}
END

SUITE("rate");
