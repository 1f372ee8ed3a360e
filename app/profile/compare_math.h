/* Statistics of compare.c, on numbers alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Two-sided tail of the normal distribution. */
double stat_two_sided(double z);
/*
 * z of a two-proportion test of x of n against y of m, pooled, with Yates'
 * correction or without; 0 when there is nothing to tell apart.
 */
double stat_proportions(double x, double n, double y, double m, bool yates);
/* z of a ratio of two rates above 0, by the counts they come from. */
double stat_ratio(double ratio, double x, double y);
/* Median; v is sorted in place, n > 0. */
double stat_median(double *v, size_t n);
/*
 * Benjamini and Hochberg: the largest p of sorted p[n] that may be called
 * significant among m tests at rate fdr; -1 when none may.
 */
double stat_threshold(const double *sorted, size_t n, size_t m, double fdr);
