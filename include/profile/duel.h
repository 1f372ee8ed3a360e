/*
 * Which of two programs costs more, by pairs of their runs: a test that may be
 * asked after each pair, and stops as soon as it is certain.
 *
 * A pair is the difference of the logarithms of both costs. If the programs
 * cost the same, and a coin decides which of them runs first, a difference is
 * as likely as its negative, however noisy the machine is and however it
 * drifts. A gambler who bets on the sign of each difference, more on the large
 * ones, then cannot expect to win: that he ever has 1/p times his stake has a
 * probability of p at most. The same holds for a program that costs more by
 * some factor, once the factor is taken out, which gives bounds of the factor.
 *
 *   Source   Ville's inequality; A. Ramdas et al., "Game-theoretic statistics
 *            and safe anytime-valid inference", Statistical Science 2023
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>

#define DUEL_FALSE     0.0005 /* probability of each wrong verdict, at most */
#define DUEL_UNSURE    0.05   /* that the factor is outside of its bounds */
#define DUEL_MAX_PAIRS 10000

enum duel_verdict {
	DUEL_OPEN,   /* not certain yet */
	DUEL_SAME,   /* the factor is within the gate */
	DUEL_SLOWER, /* the second costs more */
	DUEL_FASTER, /* the second costs less */
};

/* The second's cost, divided by the first's: the median, and bounds between
 * which it is; 0 and INFINITY when they are not known. */
struct duel_factor {
	double factor, from, to;
};

struct duel;
/* gate is the least change that matters: 0.02 for 2 %. NULL: out of memory. */
struct duel *duel_new(double gate);
void duel_free(struct duel *d);
DEFINE_CLEANUP(struct duel *, duel_free)
#define CLEANUP_DUEL CLEANUP(duel_free_ptr)

/* Adds a difference, log(second / first), and returns the verdict, which does
 * not change once it is not DUEL_OPEN. Past DUEL_MAX_PAIRS nothing is added. */
enum duel_verdict duel_add(struct duel *d, double difference);
/* Returns the number of differences. */
size_t duel_pairs(const struct duel *d);
struct duel_factor duel_factor(const struct duel *d);
