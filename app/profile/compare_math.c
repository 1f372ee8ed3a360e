#include "compare_math.h"

#include <math.h>
#include <stdlib.h>

double
stat_two_sided(double z)
{
	return erfc(fabs(z) / M_SQRT2);
}

double
stat_proportions(double x, double n, double y, double m, bool yates)
{
	double pooled, error, gap, half;

	if (n <= 0 || m <= 0)
		return 0;
	pooled = (x + y) / (n + m);
	error = sqrt(pooled * (1 - pooled) * (1 / n + 1 / m));
	gap = y / m - x / n;
	half = yates ? 0.5 * (1 / n + 1 / m) : 0;
	if (!(error > 0) || fabs(gap) <= half)
		return 0;
	return (gap > 0 ? gap - half : gap + half) / error;
}

double
stat_ratio(double ratio, double x, double y)
{
	if (x <= 0 || y <= 0)
		return 0;
	return log(ratio) / sqrt(1 / x + 1 / y);
}

static int
by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double
stat_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_size);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double
stat_threshold(const double *sorted, size_t n, size_t m, double fdr)
{
	for (size_t i = n; i-- > 0;)
		if (sorted[i] <= fdr * (double)(i + 1) / (double)m)
			return sorted[i];
	return -1;
}
