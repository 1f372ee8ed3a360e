/*
 * Coverage of a time range by windows of any number of series, hosts and
 * levels.
 *
 * A window is spread evenly over its time: an hour with 30 minutes captured
 * covers half of any part of it. If windows of several series overlap, the one
 * that covers most counts: two hosts profiled at the same time cover an hour
 * once.
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct span {
	int64_t start_ms, end_ms;
	int64_t covered_ms; /* captured time within the window */
};

/*
 * Computes the covered milliseconds of n steps of step_ms each, from from_ms
 * on.
 *   Errors   -ENOMEM; out untouched
 */
MUST_CHECK int
coverage_of(const struct span *spans, size_t nspans, int64_t from_ms,
            int64_t step_ms, size_t n, double *out_ms);

struct gap {
	int64_t from_ms, to_ms;
};

/*
 * Lists gaps: parts of a range without any window, at least least_ms long.
 *
 *   Shape    the first max in order of time; *out_n counts all gaps
 *   Errors   -ENOMEM; outputs untouched
 */
MUST_CHECK int
coverage_gaps(const struct span *spans, size_t nspans, const struct gap *range,
              int64_t least_ms, struct gap *out, size_t max, size_t *out_n);
