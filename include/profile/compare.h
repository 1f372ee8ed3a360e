/*
 * Two profiles of one type, function by function: what costs more, what
 * costs less, and whether that is more than chance.
 *
 * A function is listed when its share of self cost moved by at least
 * COMPARE_POINTS, and a two-proportion test over samples (pooled, two-sided,
 * with Yates' correction) stays below COMPARE_FDR after Benjamini and
 * Hochberg's step-up over all functions tested.
 *
 * Samples of one thread, taken at a fixed rate, are no independent draws: a
 * phase of a program fills many in a row. The variance is therefore taken
 * for a multiple of the binomial one, which the functions common to both
 * tell: when half of them move beyond what independent samples would, the
 * ratio of the median z squared to its expectation scales all of them
 * ("genomic control", Devlin and Roeder, Biometrics 55, 1999), between
 * COMPARE_DISPERSION_LEAST and _MAX. They are held against each other, not
 * against the total, which a change of one function moves for all. Where
 * there are too few, it is COMPARE_DISPERSION.
 *
 * Measured over seconds of captures at 99 Hz, the variance is 0.9 to 1.1
 * times the binomial one for programs that do the same all the time
 * (sqlite3, perl, tests/targets/slower), and 6 times for xz, whose phases
 * last for seconds: such a service needs longer captures.
 *
 * A sample of memory weighs as many bytes as the sampler's period: counts of
 * objects are scaled ones, and too sure of themselves.
 *
 * Source: Benjamini and Hochberg, J. R. Statist. Soc. B 57, 1995; Yates,
 * Suppl. J. R. Statist. Soc. 1, 1934.
 */
#pragma once

#include "profile/tree.h"

#include <stdbool.h>

#define COMPARE_POINTS           0.5 /* percentage points */
#define COMPARE_FDR              0.05
#define COMPARE_SAMPLES          100 /* fewer on either side tell nothing */
#define COMPARE_DISPERSION       2.0 /* where too few functions tell */
#define COMPARE_DISPERSION_LEAST 1.2
#define COMPARE_DISPERSION_MAX   20.0

/* One side; the tree must outlive the comparison. */
struct compare_side {
	const struct tree *tree;
	double seconds; /* captured; 0: unknown */
};

/* What a function costs on one side. */
struct compare_cost {
	int64_t self, total;        /* in the type's unit */
	double samples;             /* self, as the test counts them */
	double pct, cumulative_pct; /* 0..100 */
	double rate; /* self per second; of a gauge: self itself */
};

enum compare_change {
	COMPARE_UNCHANGED,
	COMPARE_REGRESSION, /* its share rose */
	COMPARE_IMPROVEMENT,
};

struct compare_function {
	const char *name, *package; /* borrowed from a tree */
	struct compare_cost base, now;
	double delta; /* of pct, points */
	double p;     /* 1: not tested */
	enum compare_change change;
};

enum compare_verdict {
	COMPARE_OK,
	COMPARE_REGRESSED, /* a regression costs more per second as well */
	COMPARE_IMPROVED,  /* none does, and an improvement costs less */
	COMPARE_INSUFFICIENT,
};
/* "ok", "regressed", "improved", "insufficient-data" */
extern const char *const compare_verdicts[];

struct comparison {
	struct compare_function *functions; /* regressions by delta, then
	                                       improvements, then the rest */
	size_t n, nregressions, nimprovements;
	size_t ntested;
	double base_samples, now_samples;
	double dispersion;
	double delta, low, high; /* cost per second: percent, and its 95 %
	                            confidence interval; 0 when unknown */
	enum compare_verdict verdict;
};

/*
 * Compares the trees of one value type.
 *
 *   Shape    gauge: cost is what there is, not what is spent per second
 *   Owns     *out is the caller's; comparison_free() it
 *   Errors   -ENOMEM; *out untouched
 */
MUST_CHECK int
compare_new(const struct compare_side *base, const struct compare_side *now,
            bool gauge, struct comparison **out);
void comparison_free(struct comparison *c);
DEFINE_CLEANUP(struct comparison *, comparison_free)
#define CLEANUP_COMPARISON CLEANUP(comparison_free_ptr)

/* True when the cost per second of a listed function moved the way its share
 * did; when it is new or gone, or the durations are unknown. */
bool
compare_moved(const struct comparison *c, const struct compare_function *f);
/* True for functions that decided the verdict. */
bool
compare_decides(const struct comparison *c, const struct compare_function *f);
