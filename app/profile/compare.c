#include "profile/compare.h"

#include "compare_math.h"
#include "compare_rows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* The median of chi squared with one degree of freedom. */
#define MEDIAN_CHI2 0.454936
/* Fewer functions than this, or of fewer samples in both together, tell
 * nothing of the dispersion. */
#define DISPERSION_LEAST   8
#define DISPERSION_SAMPLES 20
#define DISPERSION_GUARD   1.0
/* Functions with fewer samples in both together are not tested: no result
 * could be significant, and each would cost the others some. */
#define TEST_LEAST 10
#define Z_95       1.959964
/* One-sided, for "costs more per second as well". */
#define Z_COSTS 1.644854

const char *const compare_verdicts[] = {
	[COMPARE_OK] = "ok",
	[COMPARE_REGRESSED] = "regressed",
	[COMPARE_IMPROVED] = "improved",
	[COMPARE_INSUFFICIENT] = "insufficient-data",
};

void
comparison_free(struct comparison *c)
{
	if (!c)
		return;
	free(c->functions);
	free(c);
}

static bool
is_tested(const struct compare_function *f)
{
	return f->base.samples + f->now.samples >= TEST_LEAST;
}

static double
z_of(const struct comparison *c, const struct compare_function *f, bool yates)
{
	return stat_proportions(f->base.samples, c->base_samples,
	                        f->now.samples, c->now_samples, yates);
}

/* True when it tells something of the dispersion. */
static bool
is_common(const struct compare_function *f)
{
	return f->base.samples > 0 && f->now.samples > 0 &&
	       f->base.samples + f->now.samples >= DISPERSION_SAMPLES;
}

/* The part of a common function's samples that is on the other side, as the
 * median has it: a change of one function moves the shares of all, but not
 * how the others stand to each other. */
static double
usual_part(const struct comparison *c, double *scratch, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct compare_function *f = &c->functions[i];

		if (is_common(f))
			scratch[(*n)++] = f->now.samples /
			                  (f->base.samples + f->now.samples);
	}
	return *n ? stat_median(scratch, *n) : 0;
}

/*
 * How many times the binomial variance the functions common to both sides
 * show; scratch has room for all. A median of n squares is off by 2.3 /
 * sqrt(n) of itself: taken for high by most of that.
 */
static double
dispersion(const struct comparison *c, double *scratch)
{
	size_t n, k = 0;
	double part = usual_part(c, scratch, &n), seen;

	if (n < DISPERSION_LEAST)
		return COMPARE_DISPERSION;
	for (size_t i = 0; i < c->n; i++) {
		const struct compare_function *f = &c->functions[i];
		double all = f->base.samples + f->now.samples;
		double off = f->now.samples - part * all;

		if (is_common(f))
			scratch[k++] = off * off / (all * part * (1 - part));
	}
	seen = stat_median(scratch, n) / MEDIAN_CHI2;
	seen *= 1 + DISPERSION_GUARD / sqrt((double)n);
	return fmin(fmax(seen, COMPARE_DISPERSION_LEAST),
	            COMPARE_DISPERSION_MAX);
}

static int
by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
test_all(struct comparison *c, double *scratch)
{
	double threshold;
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		f->p = 1;
		if (!is_tested(f))
			continue;
		f->p = stat_two_sided(z_of(c, f, true) / sqrt(c->dispersion));
		scratch[n++] = f->p;
	}
	c->ntested = n;
	qsort(scratch, n, sizeof(*scratch), by_value);
	threshold = stat_threshold(scratch, n, n, COMPARE_FDR);
	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		if (f->p > threshold || fabs(f->delta) < COMPARE_POINTS)
			continue;
		f->change = f->delta > 0 ? COMPARE_REGRESSION
		                         : COMPARE_IMPROVEMENT;
		c->nregressions += f->delta > 0;
		c->nimprovements += f->delta < 0;
	}
}

static int
rank(enum compare_change c)
{
	return c == COMPARE_REGRESSION ? 0 : c == COMPARE_IMPROVEMENT ? 1 : 2;
}

static int
by_change(const void *a, const void *b)
{
	const struct compare_function *x = a, *y = b;
	double dx = fabs(x->delta), dy = fabs(y->delta);

	if (x->change != y->change)
		return rank(x->change) - rank(y->change);
	if (dx != dy)
		return dx < dy ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Cost per second, and how sure that is: counts of a Poisson process. */
static void
overall(struct comparison *c, const struct compare_side *base,
        const struct compare_side *now, bool gauge)
{
	double before = (double)base->tree->total[0],
	       after = (double)now->tree->total[0];
	double step;

	if (!gauge) {
		before = base->seconds > 0 ? before / base->seconds : 0;
		after = now->seconds > 0 ? after / now->seconds : 0;
	}
	if (before <= 0 || after <= 0 || c->base_samples <= 0 ||
	    c->now_samples <= 0)
		return;
	step = Z_95 *
	       sqrt(c->dispersion * (1 / c->base_samples + 1 / c->now_samples));
	c->delta = 100 * (after / before - 1);
	c->low = 100 * (after / before * exp(-step) - 1);
	c->high = 100 * (after / before * exp(step) - 1);
}

bool
compare_moved(const struct comparison *c, const struct compare_function *f)
{
	double z;

	if (f->base.rate <= 0 || f->now.rate <= 0)
		return true; /* new, gone, or of unknown duration */
	z = stat_ratio(f->now.rate / f->base.rate, f->base.samples,
	               f->now.samples) /
	    sqrt(c->dispersion);
	return f->change == COMPARE_REGRESSION ? z > Z_COSTS : z < -Z_COSTS;
}

bool
compare_decides(const struct comparison *c, const struct compare_function *f)
{
	enum compare_change want = c->verdict == COMPARE_REGRESSED
	                                   ? COMPARE_REGRESSION
	                           : c->verdict == COMPARE_IMPROVED
	                                   ? COMPARE_IMPROVEMENT
	                                   : COMPARE_UNCHANGED;

	return want && f->change == want && compare_moved(c, f);
}

static enum compare_verdict
judge(const struct comparison *c)
{
	enum compare_verdict v = COMPARE_OK;

	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++) {
		if (!compare_moved(c, &c->functions[i]))
			continue;
		if (c->functions[i].change == COMPARE_REGRESSION)
			return COMPARE_REGRESSED;
		v = COMPARE_IMPROVED;
	}
	return v;
}

int
compare_new(const struct compare_side *base, const struct compare_side *now,
            bool gauge, struct comparison **out)
{
	CLEANUP_COMPARISON struct comparison *c = calloc(1, sizeof(*c));
	CLEANUP_FREE double *scratch = NULL;
	bool enough;
	int rc;

	if (!c)
		return -ENOMEM;
	rc = compare_rows(c, base, now, gauge);
	if (rc)
		return rc;
	scratch = calloc(c->n + 1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	enough = c->base_samples >= COMPARE_SAMPLES &&
	         c->now_samples >= COMPARE_SAMPLES;
	c->dispersion = dispersion(c, scratch);
	overall(c, base, now, gauge);
	if (enough)
		test_all(c, scratch);
	qsort(c->functions, c->n, sizeof(*c->functions), by_change);
	c->verdict = enough ? judge(c) : COMPARE_INSUFFICIENT;
	*out = TAKE(c);
	return 0;
}
