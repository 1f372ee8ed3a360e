/*
 * Time: monotonic nanoseconds for durations, epoch milliseconds for what is
 * stored and shown.
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)
#define MS_PER_S  INT64_C(1000)

/* "2026-01-15T08:00:00.123Z" and its NUL. */
#define RFC3339_LEN 25

int64_t clock_mono_ns(void);
int64_t clock_wall_ms(void);
/* Returns the CPU time of this thread, user and system; a process with one
 * thread gets all of its CPU time. */
int64_t clock_cpu_ns(void);

/* RFC 3339 UTC with milliseconds; years 1..9999, clamped outside. */
void clock_format(int64_t epoch_ms, char out[static RFC3339_LEN]);
/*
 * Reads RFC 3339 with any offset and any number of fraction digits.
 *   Errors   -EINVAL; *out untouched
 */
MUST_CHECK int clock_parse(const char *text, int64_t *out_epoch_ms);
/*
 * Reads a time as people and programs write it: RFC 3339; "now", "now-90m",
 * "now+30d"; or a number since 1970, told apart by its digits: up to 11 are
 * seconds, 14 milliseconds, 17 microseconds, 19 nanoseconds.
 *
 *   Shape    years 1..9999
 *   Errors   -EINVAL; *out untouched
 */
MUST_CHECK int
clock_read(const char *text, int64_t now_ms, int64_t *out_epoch_ms);
/*
 * Reads a span of time: "15s", "5m", "6h", "7d", "2w", or seconds.
 *   Errors   -EINVAL, also past ten thousand years; *out untouched
 */
MUST_CHECK int clock_read_span(const char *text, int64_t *out_ms);
