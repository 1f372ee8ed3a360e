/* Statistical functions for compare.c. */
#pragma once

#include <stddef.h>

/* Degrees of freedom of a known variance. */
#define STAT_EXACT 0

/*
 * Returns the two-sided tail of Student's t distribution, or of the normal
 * distribution if freedom is STAT_EXACT. With 3 or more degrees of freedom,
 * tails above 1e-4 are accurate to 3 %.
 *
 *   Source   Wallace, Ann. Math. Stat. 30, 1959
 */
double stat_two_sided(double t, double freedom);
/* Returns the z of the normal distribution whose tail equals that of |t|. */
double stat_z_of(double t, double freedom);
/* Returns the t whose tail equals that of z in the normal distribution. */
double stat_t_at(double z, double freedom);
/*
 * Returns the degrees of freedom of the sum of two variances.
 *
 *   Source   Welch, Biometrika 34, 1947
 */
double stat_welch(double v, double v_freedom, double w, double w_freedom);
/* Returns the median of v[n], n > 0; changes their order. */
double stat_median(double *v, size_t n);
/*
 * Benjamini and Hochberg's step-up procedure: returns the largest p that is
 * significant among n tests, if a share fdr of the significant ones may be due
 * to chance; -1 if none is. Overwrites p.
 */
double stat_threshold(double *p, size_t n, double fdr);
