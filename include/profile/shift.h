/*
 * Finds the times from which a function, or a service as a whole, costs more or
 * less: the shifts of a range of time.
 *
 * A range is cut into bins. Its levels, each with a constant cost, are fitted
 * by likelihood, at most SHIFT_MAX + 1 of them. A shift is accepted if the fit
 * with it is better than chance explains: of steady ranges, at most one in a
 * hundred has a shift. The effect of chance is measured by the residuals of the
 * fit. Neighbouring bins that resemble each other are joined first, as in a
 * comparison, since a phase of a program fills several bins. A phase that is
 * longer than about a twentieth of the range is a shift itself.
 *
 * A level takes at least SHIFT_LEVEL of the bins. A burst that is shorter, such
 * as the start of a program, is left out.
 *
 * Source: segment neighbourhood; Auger and Lawrence, Bull. Math. Biol. 51,
 * 1989. The interval of a time: Siegmund, Int. Stat. Review 56, 1988.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHIFT_BINS    400       /* more are joined */
#define SHIFT_MAX     5         /* shifts of a range */
#define SHIFT_LEVEL   (1. / 20) /* fewest bins of a level, of all of them */
#define SHIFT_LEAST   5         /* bins of a level */
#define SHIFT_SAMPLES 30        /* the fewest of a function */

/*
 * Bins are in order of time, and do not overlap. A bin whose `of` is 0 is
 * skipped.
 */
struct shift_bin {
	int64_t start_ms, end_ms;
	double cost; /* in samples */
	double of;   /* samples of all functions, or seconds */
};

/* How cost varies by chance. */
enum shift_by {
	SHIFT_SHARE, /* a share of all samples: binomial */
	SHIFT_RATE,  /* samples per time: Poisson */
};

struct shift {
	int64_t at_ms;                  /* most likely */
	int64_t earliest_ms, latest_ms; /* 95 % interval */
	double before, after; /* cost per `of`, of the levels on both sides */
	int64_t before_ms, after_ms; /* where these levels begin and end */
};

struct shifts {
	struct shift items[SHIFT_MAX];
	size_t n;
	double samples;    /* cost of all bins */
	double dispersion; /* variance, divided by that of independent samples;
	                      0 if samples or bins are too few */
	double least;      /* the smallest factor that would be found halfway
	                      through the range; 0: none */
};

#define SHIFT_ALARMS 0.01 /* share of steady ranges with a shift */

/*
 * Finds the shifts of a range, in order of time.
 *
 *   Shape    alarms: SHIFT_ALARMS, divided by the number of functions that are
 *            tested at once
 *   Errors   -ENOMEM; *out untouched
 */
MUST_CHECK int shift_find(const struct shift_bin *bins, size_t n,
                          enum shift_by by, double alarms, struct shifts *out);
