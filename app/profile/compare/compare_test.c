#include "compare_test.h"

#include "compare_math.h"

#include <math.h>

/* Functions with fewer samples in both together are not tested: no result
 * could be significant, and each would cost the others some. */
#define TEST_LEAST 10
/* One-sided level of "costs more per second as well". */
#define COSTS 0.05

struct result {
	double t, freedom;
};

/* A gap between two estimates, of variances v and w. */
static struct result
gap_of(double gap, double correction, double v, struct compare_spread base,
       double w, struct compare_spread now)
{
	double error;

	v *= base.dispersion;
	w *= now.dispersion;
	error = sqrt(v + w);
	if (!(error > 0) || fabs(gap) <= correction)
		return (struct result){0, STAT_EXACT};
	return (struct result){
		(gap > 0 ? gap - correction : gap + correction) / error,
		stat_welch(v, base.freedom, w, now.freedom),
	};
}

/* Two proportions, pooled, with Yates' correction. Blocks measure shares of
 * cost, which samples need not have equal parts of. */
static struct result
by_share(const struct comparison *c, const struct compare_function *f)
{
	double n = c->base_samples, m = c->now_samples;
	bool measured = c->method == COMPARE_FROM_BLOCKS;
	double p = measured ? f->base.pct / 100 : f->base.samples / n;
	double q = measured ? f->now.pct / 100 : f->now.samples / m;
	double pooled = (p * n + q * m) / (n + m);
	double each = pooled * (1 - pooled);

	return gap_of(q - p, 0.5 * (1 / n + 1 / m), each / n, f->base.share,
	              each / m, f->now.share);
}

/* Two rates, pooled: as many samples per second or unit of work. */
static struct result
by_pace(const struct comparison *c, const struct compare_function *f)
{
	double x = f->base.samples, y = f->now.samples;
	double n = c->base_per, m = c->now_per;
	double base, now, each;

	if (n <= 0 || m <= 0 || x + y <= 0)
		return (struct result){0, STAT_EXACT};
	/* samples of a side stand for as much as its own, whatever its rate */
	base = (double)f->base.self / n;
	now = (double)f->now.self / m;
	each = (base * n + now * m) / (n + m);
	return gap_of(now - base, 0,
	              x > 0 ? each * (double)f->base.self / x / n
	                    : each * (double)f->now.self / y / n,
	              f->base.pace,
	              y > 0 ? each * (double)f->now.self / y / m
	                    : each * (double)f->base.self / x / m,
	              f->now.pace);
}

bool
compare_moved(const struct comparison *c, const struct compare_function *f)
{
	struct result r;

	if (f->base.self <= 0 || f->now.self <= 0 || c->base_per <= 0 ||
	    c->now_per <= 0)
		return true; /* new, gone, or of unknown duration */
	r = by_pace(c, f);
	return (f->change == COMPARE_REGRESSION ? r.t > 0 : r.t < 0) &&
	       stat_two_sided(r.t, r.freedom) < 2 * COSTS;
}

double
compare_size(const struct comparison *c, const struct compare_function *f)
{
	return c->by == COMPARE_BY_SHARE ? f->delta : f->cost;
}

static int
by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Fills p of all functions, and those tested into scratch. */
static size_t
test_each(struct comparison *c, double *scratch)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];
		struct result r;

		if (f->base.samples + f->now.samples < TEST_LEAST)
			continue;
		r = c->by == COMPARE_BY_SHARE ? by_share(c, f) : by_pace(c, f);
		f->p = stat_two_sided(r.t, r.freedom);
		scratch[n++] = f->p;
	}
	return n;
}

void
compare_test(struct comparison *c, double *scratch)
{
	size_t n = c->ntested = test_each(c, scratch);
	double threshold;

	qsort(scratch, n, sizeof(*scratch), by_value);
	threshold = stat_threshold(scratch, n, n, COMPARE_FDR);
	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];
		double size = compare_size(c, f);

		if (f->p > threshold || fabs(size) < COMPARE_POINTS)
			continue;
		f->change = size > 0 ? COMPARE_REGRESSION : COMPARE_IMPROVEMENT;
		c->nregressions += size > 0;
		c->nimprovements += size < 0;
	}
}
