/*
 * Compares two profiles of one type, function by function: which functions
 * cost more, which cost less, and whether that is more than chance.
 *
 * A function is listed if its cost moved by at least COMPARE_POINTS percent of
 * all cost, and a two-sided test finds more than chance explains; the share of
 * false entries in the list stays below COMPARE_FDR, and so does the share of
 * comparisons of equal programs that list any. enum compare_by selects
 * the quantity that is tested. The total is tested as well, and, if no function
 * decides the verdict by its own cost, so are the totals of functions.
 *
 * While other programs take the CPU, a program may cost less per second only
 * because it gets less done. How far a program yields is not known, but is the
 * same on both sides: the change of the total is therefore between what was
 * measured and that times the ratio of both sides' base_ran and now_ran.
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
#define COMPARE_FDR              0.01
#define COMPARE_SAMPLES          100 /* needed on each side */
#define COMPARE_TOTAL            5.0 /* percent by which all cost may rise */
#define COMPARE_WAIT_MAX_S       (30 * 86400.0) /* longer waits are not named */
#define COMPARE_DISPERSION       2.0 /* used if the functions are too few */
#define COMPARE_DISPERSION_LEAST 1.2
#define COMPARE_DISPERSION_MAX   20.0

/* The quantity that cost is divided by; the values of ?normalize=. */
enum compare_by {
	COMPARE_BY_SHARE, /* the total */
	COMPARE_BY_RATE,  /* time; becomes _BY_NONE for a gauge */
	COMPARE_BY_WORK,  /* work done */
	COMPARE_BY_NONE,  /* nothing: values are compared as captured */
};
extern const char *const compare_bys[]; /* NULL at the end */

/* The source of variances. */
enum compare_method { COMPARE_FROM_FUNCTIONS, COMPARE_FROM_BLOCKS };
/* "functions", "blocks" */
extern const char *const compare_methods[];

/* One side; everything it points to must outlive the comparison. */
struct compare_side {
	const struct tree *tree;
	double seconds; /* of capture; 0 if unknown */
	double work;    /* done in that time, in any unit; 0 if unknown */
	const struct blocks *blocks; /* of functions; NULL if unknown */
	const struct blocks *nodes;  /* of nodes; only diff.h uses them, once a
	                                function is listed */
	/* for the base: other captures of the same program, which show how
	 * captures differ when nothing has changed; their cost per second
	 * follows from duration_ns of their profiles */
	const struct tree *const *others;
	size_t nothers;
};

/* The variance of a count, divided by that of independent samples. */
struct compare_spread {
	double dispersion;
	double freedom; /* degrees of freedom; 0 if not measured here */
	double between; /* the part of dispersion that is due to differences
	                   between captures; its degrees of freedom are
	                   comparison.between_freedom */
};

/* The time from which a cost is as the comparison found it, with its 95 %
 * interval (profile/shift.h). */
struct compare_since {
	int64_t at_ms, earliest_ms, latest_ms; /* at_ms 0: not known */
};

/* The cost of a function on one side. */
struct compare_cost {
	int64_t self, total;        /* in the type's unit */
	double samples;             /* self, as counted by the test */
	double pct, cumulative_pct; /* 0..100 */
	double rate;                /* self per second; for a gauge, self */
	uint32_t name;              /* in the side's tree */
	struct compare_spread share, pace; /* of its share, of its cost per
	                                      second */
};

enum compare_change {
	COMPARE_UNCHANGED,
	COMPARE_REGRESSION, /* it costs more, in the quantity that was tested */
	COMPARE_IMPROVEMENT,
};

struct compare_function {
	const char *name, *package; /* borrowed from a tree */
	struct compare_cost base, now;
	double delta; /* of pct, points */
	double cost;  /* increase per second, or per unit of work, in percent of
	                 the base's total; 0 unless known */
	double p;     /* 1 if not tested */
	enum compare_change change;
	double total_p;             /* p of its total; 1 if not tested */
	struct compare_since since; /* set by the caller */
};

enum compare_verdict {
	COMPARE_OK,           /* and the total did not rise by COMPARE_TOTAL, if
	                       it is known */
	COMPARE_REGRESSED,    /* a regression also costs more per second, or a
	                       function does together with its callees */
	COMPARE_COSTS_MORE,   /* no function does, but the total rose */
	COMPARE_IMPROVED,     /* neither, and an improvement or the total costs
	                       less */
	COMPARE_INSUFFICIENT, /* too few samples, or nothing moved and the total
	                         may have risen */
};
/* "ok", "regressed", "costs-more", "improved", "insufficient-data" */
extern const char *const compare_verdicts[];

struct comparison {
	struct compare_function *functions; /* regressions by delta, then
	                                       improvements, then the rest, in
	                                       no order */
	size_t n, nregressions, nimprovements;
	size_t ntested;
	/* functions whose total rose, largest first; set by compare_totals() */
	const struct compare_function **risen;
	size_t nrisen;
	enum compare_by by; /* as used, which may differ from the request */
	enum compare_method method;
	unsigned blocks;        /* after joining; 0 if not measured */
	size_t captures;        /* the base and its others */
	double between_freedom; /* of each function's spread.between */
	bool counted;           /* both sides say how many samples they have */
	bool rough;             /* a side's sum is rough: profile_is_rough() */
	double base_samples, now_samples;
	double base_per, now_per; /* seconds or work; 1 if neither counts, 0 if
	                             unknown */
	/*
	 * of the time in which a side's threads were ready to run, the part in
	 * which they ran; 1 if unknown
	 */
	double base_ran, now_ran;
	double fair; /* factor of now's cost per second, if competition for the
	                CPU explains as much as it can of the total's change */
	double dispersion; /* of shares, all functions together */
	/* spread of each side's total cost per second; between is the variance
	 * of that cost between captures of the base, relative to its square */
	struct compare_spread base_total, now_total, between;
	double delta, low, high; /* change of the cost per second, or per unit
	                            of work, in percent, with its 95 %
	                            confidence interval; 0 unless known */
	struct compare_since since; /* of the total; set by the caller */
	bool known;    /* delta, low, high and each function's cost are known */
	bool rose;     /* the total rose, by COMPARE_TOTAL percent or more
	                  and by more than chance explains */
	bool fell;     /* likewise */
	bool enough;   /* samples on both sides, to test functions */
	double wait_s; /* of COMPARE_INSUFFICIENT: seconds by which a longer
	                  comparison would decide; 0 if not known */
	/* of COMPARE_OK and COMPARE_INSUFFICIENT: the function whose cost
	 * shifted most within the comparison, since its `since`; NULL: none;
	 * set by the caller */
	const struct compare_function *shifted;
	double shifted_factor; /* cost per second from then on, divided by that
	                          before; INFINITY: there was none before */
	bool totals;   /* functions are compared by their totals */
	bool as_is;    /* time does not count: a gauge, or COMPARE_BY_NONE */
	bool base_timed, now_timed; /* rates are known; a gauge's always */
	enum compare_verdict verdict;
};

/*
 * Compares the trees of one value type.
 *
 *   Shape    gauge: cost is an amount in use, not one spent over time.
 *            COMPARE_BY_RATE without seconds, and COMPARE_BY_WORK without work,
 *            become COMPARE_BY_SHARE
 *   Owns     *out is the caller's; comparison_free() it
 *   Errors   -ENOMEM; *out untouched
 */
MUST_CHECK int
compare_new(const struct compare_side *base, const struct compare_side *now,
            bool gauge, enum compare_by by, struct comparison **out);
void comparison_free(struct comparison *c);
DEFINE_CLEANUP(struct comparison *, comparison_free)
#define CLEANUP_COMPARISON CLEANUP(comparison_free_ptr)

/* True when the cost per second, or per unit of work, of a listed function
 * moved in the same direction as its share. Also true for a function that is
 * new or gone, and when these costs are not known. */
bool
compare_moved(const struct comparison *c, const struct compare_function *f);
/* True for a function that decided the verdict. */
bool
compare_decides(const struct comparison *c, const struct compare_function *f);
/* Returns the verdict for people: "costs more", "costs less", "unchanged",
 * "does not cost more" if a fall of the total is not excluded, or "not enough
 * data". */
const char *compare_words(const struct comparison *c);
/* Appends the verdict as a sentence that names the functions which decided it,
 * and how all cost together changed; or how long to wait. */
void compare_reason(const struct comparison *c, struct buf *out);
/* Adds the change of the total, the verdict, its words and its sentence to a
 * JSON object. */
void compare_put_verdict(const struct comparison *c, struct buf *out);

/* True when compare_totals(), which needs trees of stacks, may find something:
 * no function costs more by itself, and the share of some total rose by more
 * than independent samples would explain. */
bool compare_totals_decide(const struct comparison *c);
/*
 * Finds the functions whose total rose by more than chance explains: the cost
 * rose in functions that they call. If there are any, the verdict becomes
 * COMPARE_REGRESSED. Shares are tested, whatever c tests. Cost per second, or
 * per unit of work, must have risen as well: a function that encloses
 * everything merely rises with the total.
 *
 *   Shape    sides: those of c, with trees of stacks, and with blocks of nodes
 *            or without any blocks. Does nothing unless compare_totals_decide()
 *   Errors   -ENOMEM; c untouched
 */
MUST_CHECK int
compare_totals(struct comparison *c, const struct compare_side *base,
               const struct compare_side *now);

/* A node of the call tree, on both sides. In each entry, self is the node's
 * total, and name is its number in the side's tree, or COMPARE_NO_NODE. */
#define COMPARE_NO_NODE UINT32_MAX
struct compare_node {
	struct top_entry base, now;
};

/*
 * Tests nodes in the way in which c tested functions, with the sides' blocks of
 * nodes.
 *   Errors   -ENOMEM; out[n] untouched
 */
MUST_CHECK int
compare_nodes(const struct comparison *c, const struct compare_side *base,
              const struct compare_side *now, const struct compare_node *nodes,
              size_t n, enum compare_change *out);
