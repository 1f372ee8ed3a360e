/*
 * Compares two profiles of one type, function by function: which functions
 * cost more, which cost less, and whether that is more than chance.
 *
 * A function is listed if its cost moved by at least COMPARE_POINTS percent of
 * all cost, and a two-sided test finds more than chance explains; the share of
 * false entries in the list stays below COMPARE_FDR. enum compare_by selects
 * the quantity that is tested. The total is tested as well, and, if no function
 * decides the verdict by its own cost, so are the totals of functions, at a
 * stricter level.
 *
 * The dispersion of a function is the variance of its cost, divided by that of
 * independent samples. It is measured within a capture by blocks (blocks.h),
 * between captures by others of the base, and without blocks from all functions
 * that both sides have. Decisions 24 and 25 of include/DECISIONS explain the
 * method.
 *
 * Source: Benjamini and Hochberg, J. R. Statist. Soc. B 57, 1995; Yates,
 * Suppl. J. R. Statist. Soc. 1, 1934; Devlin and Roeder, Biometrics 55, 1999.
 */
#pragma once

#include "profile/blocks.h"

#include <stdbool.h>

#define COMPARE_POINTS           0.5 /* percent of all cost */
#define COMPARE_FDR              0.05
#define COMPARE_TOTALS_FDR       0.01 /* of totals, tested after those */
#define COMPARE_SAMPLES          100  /* that each side needs */
#define COMPARE_TOTAL            5.0  /* percent that all cost may rise by */
#define COMPARE_DISPERSION       2.0  /* where too few functions tell */
#define COMPARE_DISPERSION_LEAST 1.2
#define COMPARE_DISPERSION_MAX   20.0

/* The quantity that cost is divided by. Words of ?normalize=. */
enum compare_by {
	COMPARE_BY_SHARE, /* the total */
	COMPARE_BY_RATE,  /* time; a gauge, which spends none, is _BY_NONE */
	COMPARE_BY_WORK,  /* work done */
	COMPARE_BY_NONE,  /* nothing: values as captured */
};
extern const char *const compare_bys[]; /* NULL at the end */

/* The source of variances. */
enum compare_method { COMPARE_FROM_FUNCTIONS, COMPARE_FROM_BLOCKS };
/* "functions", "blocks" */
extern const char *const compare_methods[];

/* One side; everything it points to must outlive the comparison. */
struct compare_side {
	const struct tree *tree;
	double seconds; /* captured; 0: unknown */
	double work;    /* done in that time, in any unit; 0: unknown */
	const struct blocks *blocks; /* of functions; NULL: not known */
	const struct blocks *nodes;  /* of its nodes; only diff.h asks for them,
	                                once a function is listed */
	/* of the base: other captures of what it is one of, which tell how
	 * captures differ when nothing changed; their profiles' duration_ns is
	 * what they cost per second by */
	const struct tree *const *others;
	size_t nothers;
};

/* The variance of a count, divided by that of independent samples. */
struct compare_spread {
	double dispersion;
	double freedom; /* degrees; 0: not measured here */
	double between; /* the part of dispersion that captures differ by; its
	                   degrees of freedom are those of the comparison */
};

/* The cost of a function on one side. */
struct compare_cost {
	int64_t self, total;        /* in the type's unit */
	double samples;             /* self, as the test counts them */
	double pct, cumulative_pct; /* 0..100 */
	double rate;   /* self per second; of a gauge: self itself */
	uint32_t name; /* in the side's tree */
	struct compare_spread share, pace; /* of the total, in time */
};

enum compare_change {
	COMPARE_UNCHANGED,
	COMPARE_REGRESSION, /* it costs more, by what was tested */
	COMPARE_IMPROVEMENT,
};

struct compare_function {
	const char *name, *package; /* borrowed from a tree */
	struct compare_cost base, now;
	double delta; /* of pct, points */
	double cost;  /* what it costs more per second, or unit of work, in
	                 percent of all that the base costs; 0 unless known */
	double p;     /* 1: not tested */
	enum compare_change change;
	double total_p; /* of its total; 1: not tested */
};

enum compare_verdict {
	COMPARE_OK,
	COMPARE_REGRESSED,  /* a regression costs more per second as well, or
	                       a function together with what it calls */
	COMPARE_COSTS_MORE, /* none does, but all cost together rose */
	COMPARE_IMPROVED,   /* neither, and an improvement costs less */
	COMPARE_INSUFFICIENT,
};
/* "ok", "regressed", "costs-more", "improved", "insufficient-data" */
extern const char *const compare_verdicts[];

struct comparison {
	struct compare_function *functions; /* regressions by delta, then
	                                       improvements, then the rest */
	size_t n, nregressions, nimprovements;
	size_t ntested;
	/* those whose total rose, most first, where compare_totals() looked */
	const struct compare_function **risen;
	size_t nrisen;
	enum compare_by by; /* what came of it */
	enum compare_method method;
	unsigned blocks;        /* after joining; 0: not measured */
	size_t captures;        /* of the base and its others */
	double between_freedom; /* of each function's spread.between */
	bool counted;           /* both sides say how many samples they have */
	double base_samples, now_samples;
	double base_per, now_per; /* seconds or work; 1: neither counts; 0:
	                             not known */
	double dispersion;        /* of shares, all functions together */
	/* of all that a side costs per second; and what captures of the base
	 * differ by in that, as a variance by its square */
	struct compare_spread base_total, now_total, between;
	double delta, low, high;    /* cost per second, or unit of work:
	                               percent, and its 95 % confidence
	                               interval; 0 unless known */
	bool known;                 /* these, and each function's cost */
	bool rose;                  /* by COMPARE_TOTAL percent or more, and by
	                               more than chance explains */
	bool totals;                /* functions are compared by their totals */
	bool as_is;                 /* time does not count: of a gauge, or
	                               COMPARE_BY_NONE */
	bool base_timed, now_timed; /* rates are known; of a gauge always */
	enum compare_verdict verdict;
};

/*
 * Compares the trees of one value type.
 *
 *   Shape    gauge: cost is what there is, not what is spent per second.
 *            Without seconds or work, COMPARE_BY_ them is _SHARE
 *   Owns     *out is the caller's; comparison_free() it
 *   Errors   -ENOMEM; *out untouched
 */
MUST_CHECK int
compare_new(const struct compare_side *base, const struct compare_side *now,
            bool gauge, enum compare_by by, struct comparison **out);
void comparison_free(struct comparison *c);
DEFINE_CLEANUP(struct comparison *, comparison_free)
#define CLEANUP_COMPARISON CLEANUP(comparison_free_ptr)

/* True when the cost per second, or unit of work, of a listed function moved
 * the way its share did; when it is new or gone, or neither is known. */
bool
compare_moved(const struct comparison *c, const struct compare_function *f);
/* True for functions that decided the verdict. */
bool
compare_decides(const struct comparison *c, const struct compare_function *f);
/* Writes a sentence that says why the verdict is what it is. */
void compare_reason(const struct comparison *c, struct buf *out);

/* True when it is worth to test totals, which takes trees of stacks: no
 * function costs more by itself, and the share of a total rose by more than it
 * would for independent samples. */
bool compare_totals_tell(const struct comparison *c);
/*
 * Finds the functions whose total rose by more than chance explains; they call
 * what costs more. The verdict is COMPARE_REGRESSED where there are any. Shares
 * are tested, whatever c tests, and cost per second, or per unit of work, must
 * have risen as well: a function that holds everything rises with the total,
 * and tells nothing.
 *
 *   Shape    sides: those of c, with trees of stacks, and with blocks of nodes
 *            or without any. Nothing is done unless compare_totals_tell()
 *   Errors   -ENOMEM; c untouched
 */
MUST_CHECK int
compare_totals(struct comparison *c, const struct compare_side *base,
               const struct compare_side *now);

/* A node of a call tree on both sides: its total for self, and in place of a
 * name its number in the side's tree, or COMPARE_NO_NODE. */
#define COMPARE_NO_NODE UINT32_MAX
struct compare_node {
	struct top_entry base, now;
};

/*
 * Tests nodes as c tested functions, by the sides' blocks of nodes.
 *   Errors   -ENOMEM; out[n] untouched
 */
MUST_CHECK int
compare_nodes(const struct comparison *c, const struct compare_side *base,
              const struct compare_side *now, const struct compare_node *nodes,
              size_t n, enum compare_change *out);
