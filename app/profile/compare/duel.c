#include "profile/duel.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * The gambler divides his stake into equal parts. He plays each with a
 * different measure of what a large difference is, from 0.03 % to 100 %, and
 * with a different share that he is ready to lose. His fortune is the sum of
 * the parts.
 */
#define MEASURES   28
#define SMALLEST   0.0003
#define STEP       1.35 /* between two measures */
#define SHARES     3
#define FARTHEST   5.0 /* logarithm of a factor */
#define BISECTIONS 40

static const double shares[SHARES] = {0.3, 0.6, 0.9};

/* A gambler who bets that differences are above a shift, or below it. logs are
 * the logarithms of the current value of each part of the stake. */
struct bets {
	double shift;
	bool below;
	double logs[MEASURES][SHARES];
};

/* The bets: the second program costs more than the first; it costs less; the
 * difference is below the gate; it is above the negated gate. */
enum { MORE, LESS, BELOW_GATE, ABOVE_GATE, KINDS };

struct duel {
	struct bets bets[KINDS];
	enum duel_verdict verdict;
	size_t n;
	double differences[DUEL_MAX_PAIRS];
};

struct duel *
duel_new(double gate)
{
	struct duel *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->bets[LESS].below = d->bets[BELOW_GATE].below = true;
	d->bets[BELOW_GATE].shift = log1p(gate);
	d->bets[ABOVE_GATE].shift = -log1p(gate);
	return d;
}

void
duel_free(struct duel *d)
{
	free(d);
}

static void
bet(struct bets *b, double difference)
{
	double above = difference - b->shift, measure = SMALLEST;

	for (size_t m = 0; m < MEASURES; m++, measure *= STEP) {
		double won = tanh((b->below ? -above : above) / measure);

		for (size_t s = 0; s < SHARES; s++)
			b->logs[m][s] += log1p(shares[s] * won);
	}
}

/* True if a gambler who cannot expect to win would reach this sum with a
 * probability of at most `wrong`. */
static bool
is_sure(const struct bets *b, double wrong)
{
	double sum = 0;

	for (size_t m = 0; m < MEASURES; m++)
		for (size_t s = 0; s < SHARES; s++)
			sum += exp(b->logs[m][s]);
	return sum / (MEASURES * SHARES) >= 1 / wrong;
}

enum duel_verdict
duel_add(struct duel *d, double difference)
{
	if (d->n == DUEL_MAX_PAIRS || d->verdict != DUEL_OPEN)
		return d->verdict;
	d->differences[d->n++] = difference;
	for (size_t i = 0; i < KINDS; i++)
		bet(&d->bets[i], difference);
	/* a change certainly within the gate raises no alarm, even if it is
	 * certainly above zero */
	if (is_sure(&d->bets[BELOW_GATE], DUEL_FALSE) &&
	    is_sure(&d->bets[ABOVE_GATE], DUEL_FALSE))
		d->verdict = DUEL_SAME;
	else if (is_sure(&d->bets[MORE], DUEL_FALSE))
		d->verdict = DUEL_SLOWER;
	else if (is_sure(&d->bets[LESS], DUEL_FALSE))
		d->verdict = DUEL_FASTER;
	return d->verdict;
}

size_t
duel_pairs(const struct duel *d)
{
	return d->n;
}

/* --- the factor ----------------------------------------------------------- */

static bool
is_refuted(const struct duel *d, double shift, bool below)
{
	struct bets b = {.shift = shift, .below = below};

	for (size_t i = 0; i < d->n; i++)
		bet(&b, d->differences[i]);
	return is_sure(&b, DUEL_UNSURE / 2);
}

/* Finds the refuted shift nearest to the median, below or above it. */
static double
bound(const struct duel *d, double median, bool below)
{
	double sign = below ? 1 : -1, open = median;
	double refuted = median + sign * FARTHEST;

	if (!is_refuted(d, refuted, below))
		return sign * INFINITY;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (refuted + open) / 2;

		if (is_refuted(d, middle, below))
			refuted = middle;
		else
			open = middle;
	}
	return refuted;
}

static int
by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Returns the median of the differences; NAN if out of memory. */
static double
median_of(const struct duel *d)
{
	CLEANUP_FREE double *sorted = calloc(d->n, sizeof(*sorted));

	if (!sorted)
		return NAN;
	memcpy(sorted, d->differences, d->n * sizeof(*sorted));
	qsort(sorted, d->n, sizeof(*sorted), by_size);
	return (sorted[(d->n - 1) / 2] + sorted[d->n / 2]) / 2;
}

struct duel_factor
duel_factor(const struct duel *d)
{
	double median = d->n ? median_of(d) : NAN;

	if (isnan(median))
		return (struct duel_factor){1, 0, INFINITY};
	return (struct duel_factor){exp(median), exp(bound(d, median, false)),
	                            exp(bound(d, median, true))};
}
