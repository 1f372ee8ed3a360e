#include "stat.h"

#include <math.h>
#include <stdlib.h>

static double
wallace(double freedom)
{
	return (8 * freedom + 1) / (8 * freedom + 3);
}

double
stat_z_of(double t, double freedom)
{
	return freedom > STAT_EXACT
	               ? wallace(freedom) * sqrt(freedom * log1p(t * t / freedom))
	               : fabs(t);
}

double
stat_two_sided(double t, double freedom)
{
	return erfc(stat_z_of(t, freedom) / M_SQRT2);
}

double
stat_t_at(double z, double freedom)
{
	double at = freedom > STAT_EXACT ? z / wallace(freedom) : z;

	return freedom > STAT_EXACT ? sqrt(freedom * expm1(at * at / freedom))
	                            : z;
}

double
stat_welch(double v, double v_freedom, double w, double w_freedom)
{
	double spread = 0;

	if (v_freedom > STAT_EXACT)
		spread += v * v / v_freedom;
	if (w_freedom > STAT_EXACT)
		spread += w * w / w_freedom;
	return spread > 0 ? (v + w) * (v + w) / spread : STAT_EXACT;
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
stat_threshold(double *p, size_t n, double fdr)
{
	qsort(p, n, sizeof(*p), by_size);
	for (size_t i = n; i-- > 0;)
		if (p[i] <= fdr * (double)(i + 1) / (double)n)
			return p[i];
	return -1;
}
