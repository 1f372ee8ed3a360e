#include "rate.h"

#include "base/clock.h"

/* Rates below this are too coarse in whole hertz: the period is stretched. */
#define FINE_HZ    20
#define STRETCH_NS UINT64_C(3700000)

/* True when a rate shares a divisor with 100 Hz. */
static int
beats(uint32_t hz)
{
	return hz % 2 == 0 || hz % 5 == 0;
}

uint64_t
rate_period_ns(uint32_t asked_hz)
{
	uint32_t hz = asked_hz < RATE_MIN   ? RATE_MIN
	              : asked_hz > RATE_MAX ? RATE_MAX
	                                    : asked_hz;

	if (hz < FINE_HZ)
		return (uint64_t)NS_PER_S / hz + STRETCH_NS;
	while (beats(hz))
		hz--;
	return (uint64_t)NS_PER_S / hz;
}

int64_t
rate_millihertz(uint64_t period_ns)
{
	uint64_t scaled = (uint64_t)NS_PER_S * 1000;

	return period_ns ? (int64_t)((scaled + period_ns / 2) / period_ns) : 0;
}
