#include "profile/shift.h"

#include "stat.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A burst is a bin that differs from the bins around it, AROUND on each side,
 * by this many standard deviations. */
#define AROUND     8
#define BURST      4.0
#define BURSTS_MAX 0.05 /* share of all bins; more bursts are phases */
/* As in spread.c: neighbours are alike if their correlation exceeds this,
 * divided by the square root of their number. */
#define ALIKE 0.3
/* Bins are joined twice more than this test requires: chance hides weak phases
 * in short bins. */
#define MORE   2
#define JOINED 8 /* fewest bins after joining */
/* Two samples of a 95 % interval of the time of a shift: twice the logarithm of
 * the likelihood ratio has the distribution of the larger one of two with two
 * degrees of freedom. */
#define INTERVAL 7.35
/* Each further shift must be worth this much, since it, too, may be anywhere.
 * GUARD lowers the rate of false shifts below what the caller asks for, since
 * phases are less regular than the theory assumes. tests/bench/shift.c
 * measures both. */
#define EACH  15
#define GUARD 0.5

struct fit {
	const struct shift_bin *bins;
	size_t n, least;   /* bins; fewest of a level */
	double *cost, *of; /* by bin: sums of the bins before it */
	enum shift_by by;
	size_t cuts[SHIFT_MAX + 1][SHIFT_MAX + 2]; /* by number of shifts */
	double gain[SHIFT_MAX + 1]; /* in twice the log likelihood */
	size_t most;                /* shifts that fit into the range */
};

static void
fit_done(struct fit *f)
{
	free(f->cost);
	free(f->of);
}

/* --- likelihood ----------------------------------------------------------- */

static double
xlogx(double x, double by)
{
	return x > 0 && by > 0 ? x * log(x / by) : 0;
}

/* Returns twice the log likelihood of a level with the bins [a, b). */
static double
likelihood(const struct fit *f, size_t a, size_t b)
{
	double x = f->cost[b] - f->cost[a], of = f->of[b] - f->of[a];

	return 2 *
	       (xlogx(x, of) + (f->by == SHIFT_SHARE ? xlogx(of - x, of) : 0));
}

/* Finds the best levels for each number of shifts. */
static int
fit_levels(struct fit *f)
{
	size_t n = f->n, w = n + 1;
	CLEANUP_FREE double *best = NULL;
	CLEANUP_FREE uint16_t *from = NULL;

	f->most = n / f->least - 1;
	if (f->most > SHIFT_MAX)
		f->most = SHIFT_MAX;
	best = malloc((f->most + 1) * w * sizeof(*best));
	from = malloc((f->most + 1) * w * sizeof(*from));
	if (!best || !from)
		return -ENOMEM;
	for (size_t k = 0; k <= f->most; k++)
		for (size_t i = 0; i < w; i++)
			best[k * w + i] = -INFINITY;
	for (size_t a = 0; a + f->least <= n; a++)
		for (size_t b = a + f->least; b <= n; b++) {
			double l = likelihood(f, a, b);

			if (!a)
				best[b] = l;
			for (size_t k = 1; k <= f->most && a; k++) {
				double sum = best[(k - 1) * w + a] + l;

				if (sum <= best[k * w + b])
					continue;
				best[k * w + b] = sum;
				from[k * w + b] = (uint16_t)a;
			}
		}
	for (size_t k = 0; k <= f->most; k++) {
		size_t at = n;

		f->gain[k] = best[k * w + n] - best[n];
		f->cuts[k][k + 1] = n;
		f->cuts[k][0] = 0;
		for (size_t i = k; i > 0; i--)
			f->cuts[k][i] = at = from[i * w + at];
	}
	return 0;
}

/* --- chance --------------------------------------------------------------- */

struct chance {
	double dispersion, freedom;
};

/* The residuals of joined bins. */
struct left {
	double squares, neighbours, expected;
	size_t n;
};

/* Adds up the residuals of the levels of k shifts, with `each` bins joined. */
static struct left
left_over(const struct fit *f, size_t k, size_t each)
{
	const size_t *cut = f->cuts[k];
	struct left l = {0};
	double before = 0;
	size_t at = 0;

	for (size_t b = 0; b + each <= f->n; b += each, l.n++) {
		double off = 0, variance = 0;

		for (size_t i = b; i < b + each; i++) {
			double of = f->of[i + 1] - f->of[i], level, all;

			at += i >= cut[at + 1];
			all = f->of[cut[at + 1]] - f->of[cut[at]];
			level = f->cost[cut[at + 1]] - f->cost[cut[at]];
			if (!(all > 0))
				continue;
			level /= all;
			off += f->cost[i + 1] - f->cost[i] - level * of;
			/* a bin is part of the mean it is compared with */
			variance += of * level *
			            (f->by == SHIFT_SHARE ? 1 - level : 1) *
			            (1 - (double)each * of / all);
		}
		l.squares += off * off;
		l.neighbours += off * before;
		l.expected += variance;
		before = off;
	}
	return l;
}

/* Measures how far the cost of bins deviates from the levels of k shifts. */
static struct chance
chance_of(const struct fit *f, size_t k)
{
	struct chance c = {1, STAT_EXACT};
	int more = MORE;

	for (size_t each = 1; f->n / each >= JOINED && more; each *= 2) {
		struct left l = left_over(f, k, each);
		double alike = l.squares > 0 ? l.neighbours / l.squares : 0;

		if (l.expected > 0)
			c.dispersion =
				fmax(c.dispersion, l.squares / l.expected);
		if (more == MORE)
			c.freedom = fmax((double)l.n - (double)k - 1, 1);
		/* bins of a level deviate from their own mean */
		alike += (double)(k + 1) / (double)l.n;
		if (alike * sqrt((double)l.n) <= ALIKE)
			more--;
	}
	return c;
}

/* Returns a gain in terms of independent samples. */
static double
worth(double gain, const struct chance *c)
{
	double z = stat_z_of(sqrt(fmax(gain, 0) / c->dispersion), c->freedom);

	return z * z;
}

/*
 * Returns how often chance alone makes a shift worth that much.
 *
 *   Source   the largest of a standardized Brownian bridge between SHIFT_LEVEL
 *            and 1 - SHIFT_LEVEL; James, James and Siegmund, Biometrika 74,
 *            1987
 */
static double
by_chance(double worth)
{
	double odds = 2 * log((1 - SHIFT_LEVEL) / SHIFT_LEVEL);

	return sqrt(worth / (2 * M_PI)) * exp(-worth / 2) *
	       ((1 - 1 / worth) * odds + 4 / worth);
}

/* Returns how much n shifts must be worth together. */
static double
asked(double alarms, size_t n)
{
	double worth = 2;

	while (by_chance(worth) > GUARD * alarms)
		worth += 0.1;
	return worth + (double)(n - 1) * EACH;
}

/* Returns the number of shifts that the range has. */
static size_t
count_shifts(const struct fit *f, double alarms)
{
	size_t n = 0;

	for (size_t k = 1; k <= f->most; k++) {
		struct chance c = chance_of(f, k);

		if (worth(f->gain[k] - f->gain[n], &c) >= asked(alarms, k - n))
			n = k;
	}
	return n;
}

/* --- bursts --------------------------------------------------------------- */

/* Returns the usual cost of n bins from a bin on; -1 if they are too few. */
static double
usual(const struct shift_bin *bins, size_t n)
{
	double rates[AROUND];
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (bins[i].of > 0)
			rates[k++] = bins[i].cost / bins[i].of;
	return k < AROUND / 2 ? -1 : stat_median(rates, k);
}

/* Returns how far a bin is above what is usual before or after it; negative
 * below both, 0 if it is in between. */
static double
stands_out(const struct shift_bin *bins, size_t n, size_t i)
{
	size_t before = i < AROUND ? i : AROUND;
	size_t after = n - i - 1 < AROUND ? n - i - 1 : AROUND;
	double l = usual(bins + i - before, before);
	double r = usual(bins + i + 1, after);
	double rate = bins[i].of > 0 ? bins[i].cost / bins[i].of : l;

	l = l < 0 ? r : l;
	r = r < 0 ? l : r;
	if (rate > l && rate > r)
		return rate - fmax(l, r);
	return rate < l && rate < r ? rate - fmin(l, r) : 0;
}

static bool
is_burst(const struct shift_bin *bins, size_t n, size_t i, double mean,
         double dispersion)
{
	double of = bins[i].of, off = stands_out(bins, n, i) * of;
	double usual = bins[i].cost - off;
	double level = off > 0 ? fmax(mean * of, usual) : mean * of;

	return fabs(off) > BURST * (sqrt(dispersion * level) + (off > 0));
}

/*
 * Returns the dispersion of neighbours: a shift does not add to it. Single
 * large differences, as at bursts, count little.
 */
static double
neighbours_differ(const struct shift_bin *bins, size_t n, double mean)
{
	double squares = 0;

	for (size_t i = 1; i < n; i++) {
		double a = bins[i - 1].of, b = bins[i].of;
		double off = bins[i].cost * a - bins[i - 1].cost * b;

		if (a > 0 && b > 0)
			squares += fmin(off * off / (a * b * (a + b) * mean),
			                BURST * BURST);
	}
	return fmax(1, squares / (double)n);
}

/* Drops bins that cost far more, or less, than those before and after them. */
static int
drop_bursts(struct shift_bin *bins, size_t *n)
{
	CLEANUP_FREE bool *drop = calloc(*n + 1, sizeof(*drop));
	double cost = 0, of = 0, dispersion;
	size_t kept = 0, bursts = 0;

	if (!drop)
		return -ENOMEM;
	for (size_t i = 0; i < *n; i++) {
		cost += bins[i].cost;
		of += bins[i].of;
	}
	if (!(cost > 0) || !(of > 0))
		return 0;
	dispersion = neighbours_differ(bins, *n, cost / of);
	for (size_t i = 0; i < *n; i++) {
		drop[i] = is_burst(bins, *n, i, cost / of, dispersion);
		bursts += drop[i];
	}
	if ((double)bursts > BURSTS_MAX * (double)*n)
		return 0;
	for (size_t i = 0; i < *n; i++)
		if (!drop[i])
			bins[kept++] = bins[i];
	*n = kept;
	return 0;
}

/* --- shifts --------------------------------------------------------------- */

static bool
counts(const struct shift_bin *b)
{
	return b->of > 0 && isfinite(b->of) && b->cost >= 0 &&
	       isfinite(b->cost);
}

/* Copies the bins that counts() accepts; joins neighbours until there are at
 * most SHIFT_BINS. */
static size_t
join(const struct shift_bin *bins, size_t n, struct shift_bin *out)
{
	size_t all = 0, each, k = 0, in = 0;

	for (size_t i = 0; i < n; i++)
		all += counts(&bins[i]);
	each = (all + SHIFT_BINS - 1) / SHIFT_BINS;
	for (size_t i = 0; i < n; i++) {
		if (!counts(&bins[i]))
			continue;
		if (!in)
			out[k] = (struct shift_bin){
				.start_ms = bins[i].start_ms};
		out[k].end_ms = bins[i].end_ms;
		out[k].cost += bins[i].cost;
		out[k].of += bins[i].of;
		in = (in + 1) % each;
		k += !in;
	}
	return k + (in > 0);
}

static int
fit_init(struct fit *f)
{
	f->cost = calloc(f->n + 1, sizeof(*f->cost));
	f->of = calloc(f->n + 1, sizeof(*f->of));
	if (!f->cost || !f->of)
		return -ENOMEM;
	for (size_t i = 0; i < f->n; i++) {
		f->cost[i + 1] = f->cost[i] + f->bins[i].cost;
		f->of[i + 1] = f->of[i] + f->bins[i].of;
	}
	return 0;
}

/* Describes the shift at a cut between the levels [a, cut) and [cut, b). */
static struct shift
describe(const struct fit *f, size_t a, size_t cut, size_t b,
         const struct chance *c)
{
	double t = stat_t_at(sqrt(INTERVAL), c->freedom);
	double best = likelihood(f, a, cut) + likelihood(f, cut, b);
	size_t first = cut, last = cut;

	for (size_t i = a + 1; i < b; i++) {
		double l = likelihood(f, a, i) + likelihood(f, i, b);

		if (best - l > t * t * c->dispersion)
			continue;
		first = i < first ? i : first;
		last = i > last ? i : last;
	}
	return (struct shift){
		.at_ms = f->bins[cut].start_ms,
		/* the shift may lie within a bin */
		.earliest_ms = f->bins[first - 1].start_ms,
		.latest_ms = f->bins[last].end_ms,
		.before = (f->cost[cut] - f->cost[a]) / (f->of[cut] - f->of[a]),
		.after = (f->cost[b] - f->cost[cut]) / (f->of[b] - f->of[cut]),
		.before_ms = f->bins[a].start_ms,
		.after_ms = f->bins[b - 1].end_ms,
	};
}

/* Returns the factor by which the cost must grow halfway for the shift to be
 * found. */
static double
least_factor(double samples, const struct chance *c, double alarms)
{
	double t = stat_t_at(sqrt(asked(alarms, 1)), c->freedom);
	/* a factor r splits the samples 1 : r */
	double far = t * sqrt(c->dispersion / samples);

	return samples > 0 && far < 1 ? (1 + far) / (1 - far) : 0;
}

static int
find(struct fit *f, double alarms, struct shifts *out)
{
	struct chance c;
	int rc = fit_init(f);

	if (rc)
		return rc;
	out->samples = f->cost[f->n];
	f->least = (size_t)ceil((double)f->n * SHIFT_LEVEL);
	if (f->least < SHIFT_LEAST)
		f->least = SHIFT_LEAST;
	if (f->n < 2 * f->least || out->samples < SHIFT_SAMPLES)
		return 0;
	rc = fit_levels(f);
	if (rc)
		return rc;
	out->n = count_shifts(f, alarms);
	c = chance_of(f, out->n);
	out->dispersion = c.dispersion;
	out->least = least_factor(out->samples, &c, alarms);
	for (size_t i = 0; i < out->n; i++) {
		const size_t *cut = &f->cuts[out->n][i];

		out->items[i] = describe(f, cut[0], cut[1], cut[2], &c);
	}
	return 0;
}

int
shift_find(const struct shift_bin *bins, size_t n, enum shift_by by,
           double alarms, struct shifts *out)
{
	CLEANUP_FREE struct shift_bin *joined = calloc(n + 1, sizeof(*joined));
	CLEANUP(fit_done) struct fit f = {.bins = joined, .by = by};
	struct shifts all = {0};
	int rc;

	if (!joined)
		return -ENOMEM;
	f.n = join(bins, n, joined);
	rc = drop_bursts(joined, &f.n) ?: find(&f, alarms, &all);
	if (!rc)
		*out = all;
	return rc;
}
