/* Statistics of compare.c, on numbers alone. */
#pragma once

#include <stddef.h>

/* Degrees of freedom of a variance that is known. */
#define STAT_EXACT 0

/*
 * Two-sided tail of Student's t, of the normal distribution when freedom is
 * STAT_EXACT. From 3 degrees on and above 1e-4 it is off by less than 3 %.
 *
 *   Source   Wallace, Ann. Math. Stat. 30, 1959
 */
double stat_two_sided(double t, double freedom);
/* The t beyond which as much lies as beyond z. */
double stat_t_at(double z, double freedom);
/*
 * Degrees of freedom of the sum of two variances.
 *
 *   Source   Welch, Biometrika 34, 1947
 */
double stat_welch(double v, double v_freedom, double w, double w_freedom);
/* Median; v is sorted in place, n > 0. */
double stat_median(double *v, size_t n);
/*
 * Benjamini and Hochberg's step-up: the largest p that may be called
 * significant among n tests when a share fdr of what is so called may be
 * chance; -1 when none may. p is sorted in place.
 */
double stat_threshold(double *p, size_t n, double fdr);
