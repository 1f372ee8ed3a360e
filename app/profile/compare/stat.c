#include "stat.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static double
wallace(double freedom)
{
	return (8 * freedom + 1) / (8 * freedom + 3);
}

double
stat_z_of(double t, double freedom)
{
	return freedom > STAT_EXACT
	               ? wallace(freedom) *
	                         sqrt(freedom * log1p(t * t / freedom))
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

#define DIGITS 256

/* Returns 8 bits of an integer that has the same order as the value. Source:
 * IEEE 754: sign, exponent and fraction, the highest first. */
static unsigned
digit_of(double v, int shift)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	bits = bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
	return bits >> shift & (DIGITS - 1);
}

/* Returns the value that is the kth, from 0, in order. Digit by digit, the
 * candidates move to the front. */
static double
nth(double *v, size_t n, size_t k)
{
	for (int shift = 64 - 8; shift >= 0 && n > 1; shift -= 8) {
		size_t count[DIGITS] = {0}, kept = 0;
		unsigned digit = 0;

		for (size_t i = 0; i < n; i++)
			count[digit_of(v[i], shift)]++;
		while (k >= count[digit])
			k -= count[digit++];
		for (size_t i = 0; i < n; i++) {
			double one = v[i];

			if (digit_of(one, shift) != digit)
				continue;
			v[i] = v[kept];
			v[kept++] = one;
		}
		n = kept;
	}
	return v[0];
}

double
stat_median(double *v, size_t n)
{
	double middle = nth(v, n, n / 2);

	return n % 2 ? middle : (nth(v, n, n / 2 - 1) + middle) / 2;
}

/* Sorts only the values up to fdr: larger ones are never significant. */
double
stat_threshold(double *p, size_t n, double fdr)
{
	size_t few = 0;

	for (size_t i = 0; i < n; i++)
		if (p[i] <= fdr)
			p[few++] = p[i];
	qsort(p, few, sizeof(*p), by_size);
	for (size_t i = few; i-- > 0;)
		if (p[i] <= fdr * (double)(i + 1) / (double)n)
			return p[i];
	return -1;
}
