/*
 * Time: monotonic nanoseconds for durations, epoch milliseconds for times that
 * are stored or shown.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)
#define MS_PER_S  INT64_C(1000)

/* "2026-01-15T08:00:00.123Z" and its NUL. */
#define RFC3339_LEN 25

int64_t clock_mono_ns(void);
int64_t clock_wall_ms(void);

/* The clocks of two machines agree if they differ by no more than this. */
#define CLOCK_AGREE_MS (5 * MS_PER_S)
/* The largest difference in words: "300000000 days behind". */
#define CLOCK_OFFSET_LEN 40

/* Returns the least by which this host's clock can be ahead of another
 * machine's, which showed other_ms at some time between a question and its
 * answer. Negative if it is behind. */
int64_t clock_ahead(int64_t asked_ms, int64_t other_ms, int64_t answered_ms);
static inline bool
clock_agrees(int64_t ahead_ms)
{
	return ahead_ms <= CLOCK_AGREE_MS && ahead_ms >= -CLOCK_AGREE_MS;
}
/* Writes "7.2 s ahead" or "10 min behind". */
void clock_format_offset(int64_t ahead_ms, char out[static CLOCK_OFFSET_LEN]);

/* Returns the CPU time of the calling thread, user and system. In a process
 * with one thread this is the CPU time of the process. */
int64_t clock_cpu_ns(void);

/* Writes RFC 3339 in UTC, with milliseconds. Times outside the years 1 to 9999
 * are clamped. */
void clock_format(int64_t epoch_ms, char out[static RFC3339_LEN]);
/*
 * Reads RFC 3339 with any offset and any number of fraction digits.
 *   Errors   -EINVAL; *out untouched
 */
MUST_CHECK int clock_parse(const char *text, int64_t *out_epoch_ms);
/*
 * Reads a time as people and programs write it: RFC 3339; "now", "now-90m",
 * "now+30d"; or a number since 1970, whose unit follows from its length: up to
 * 11 digits are seconds, up to 14 milliseconds, 17 microseconds, 19
 * nanoseconds.
 *
 *   Shape    years 1..9999
 *   Errors   -EINVAL; *out untouched
 */
MUST_CHECK int
clock_read(const char *text, int64_t now_ms, int64_t *out_epoch_ms);
/*
 * Reads a span of time: "15s", "5m", "6h", "7d", "2w", or seconds.
 *   Errors   -EINVAL, also for more than ten thousand years; *out untouched
 */
MUST_CHECK int clock_read_span(const char *text, int64_t *out_ms);
