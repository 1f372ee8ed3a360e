/*
 * The rate at which a capture runs.
 *
 * Programs wake on timers of whole 10 ms (100 Hz) and of whole ms. A sampler
 * in step with them would always see the same phase of their work, so it runs
 * at a nearby rate that does not stay in step.
 */
#pragma once

#include <stdint.h>

#define RATE_MIN 1
#define RATE_MAX 10000

/* Returns the period in ns for a requested rate, which is clamped to
 * RATE_MIN..RATE_MAX. 100 gives the period of 99, 1000 that of 999. */
uint64_t rate_period_ns(uint32_t asked_hz);
/* Returns thousandths of samples per second. */
int64_t rate_millihertz(uint64_t period_ns);
