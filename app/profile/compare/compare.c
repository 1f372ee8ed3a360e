#include "profile/compare.h"

#include "compare_math.h"
#include "compare_others.h"
#include "compare_rows.h"
#include "compare_spread.h"
#include "compare_test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define Z_95 1.959964

const char *const compare_bys[] = {"share", "rate", "work", "none", NULL};
const char *const compare_methods[] = {
	[COMPARE_FROM_FUNCTIONS] = "functions",
	[COMPARE_FROM_BLOCKS] = "blocks",
};
const char *const compare_verdicts[] = {
	[COMPARE_OK] = "ok",
	[COMPARE_REGRESSED] = "regressed",
	[COMPARE_IMPROVED] = "improved",
	[COMPARE_INSUFFICIENT] = "insufficient-data",
};

void
comparison_free(struct comparison *c)
{
	if (!c)
		return;
	free(c->functions);
	free(c);
}

static int
rank(enum compare_change c)
{
	return c == COMPARE_REGRESSION ? 0 : c == COMPARE_IMPROVEMENT ? 1 : 2;
}

static int
by_change(const void *a, const void *b, void *of)
{
	const struct compare_function *x = a, *y = b;
	double dx = fabs(compare_size(of, x)), dy = fabs(compare_size(of, y));

	if (x->change != y->change)
		return rank(x->change) - rank(y->change);
	if (dx != dy)
		return dx < dy ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Relative variance of after by before. What captures differ by is estimated
 * once for both sides. */
static struct compare_spread
error_of(const struct comparison *c)
{
	double v = c->base_total.dispersion / c->base_samples;
	double w = c->now_total.dispersion / c->now_samples;
	double freedom =
		stat_welch(v, c->base_total.freedom, w, c->now_total.freedom);
	double between = c->by == COMPARE_BY_WORK ? 0
	                                          : 2 * c->between.dispersion;

	if (!(between > 0))
		return (struct compare_spread){v + w, freedom};
	return (struct compare_spread){
		v + w + between,
		stat_welch(v + w, freedom, between, c->between.freedom),
	};
}

static void
overall(struct comparison *c, const struct compare_side *base,
        const struct compare_side *now)
{
	struct compare_spread error;
	double before, after, step;

	if (c->base_per <= 0 || c->now_per <= 0)
		return;
	before = (double)base->tree->total[0] / c->base_per;
	after = (double)now->tree->total[0] / c->now_per;
	if (before <= 0 || after <= 0 || c->base_samples <= 0 ||
	    c->now_samples <= 0)
		return;
	c->delta = 100 * (after / before - 1);
	compare_costs(c, before);
	error = error_of(c);
	step = stat_t_at(Z_95, error.freedom) * sqrt(error.dispersion);
	c->low = 100 * (after / before * exp(-step) - 1);
	c->high = 100 * (after / before * exp(step) - 1);
	c->known = true;
}

bool
compare_decides(const struct comparison *c, const struct compare_function *f)
{
	enum compare_change want = c->verdict == COMPARE_REGRESSED
	                                   ? COMPARE_REGRESSION
	                           : c->verdict == COMPARE_IMPROVED
	                                   ? COMPARE_IMPROVEMENT
	                                   : COMPARE_UNCHANGED;

	return want && f->change == want && compare_moved(c, f);
}

static enum compare_verdict
judge(const struct comparison *c)
{
	enum compare_verdict v = COMPARE_OK;

	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++) {
		if (!compare_moved(c, &c->functions[i]))
			continue;
		if (c->functions[i].change == COMPARE_REGRESSION)
			return COMPARE_REGRESSED;
		v = COMPARE_IMPROVED;
	}
	return v;
}

/* What cost is divided by, and what is tested where that is not known. */
static void
choose(struct comparison *c, const struct compare_side *base,
       const struct compare_side *now, bool gauge, enum compare_by by)
{
	bool worked = by == COMPARE_BY_WORK && base->work > 0 && now->work > 0;
	bool as_is = gauge || by == COMPARE_BY_NONE;

	c->base_timed = as_is || base->seconds > 0;
	c->now_timed = as_is || now->seconds > 0;
	c->base_per = worked ? base->work : as_is ? 1 : base->seconds;
	c->now_per = worked ? now->work : as_is ? 1 : now->seconds;
	c->by = gauge && by == COMPARE_BY_RATE ? COMPARE_BY_NONE : by;
	if ((by == COMPARE_BY_WORK && !worked) || c->base_per <= 0 ||
	    c->now_per <= 0)
		c->by = COMPARE_BY_SHARE;
}

int
compare_new(const struct compare_side *base, const struct compare_side *now,
            bool gauge, enum compare_by by, struct comparison **out)
{
	CLEANUP_COMPARISON struct comparison *c = calloc(1, sizeof(*c));
	CLEANUP_FREE double *scratch = NULL;
	bool enough;
	int rc;

	if (!c)
		return -ENOMEM;
	rc = compare_rows(c, base, now, gauge);
	if (rc)
		return rc;
	scratch = calloc(c->n + 1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	enough = c->base_samples >= COMPARE_SAMPLES &&
	         c->now_samples >= COMPARE_SAMPLES;
	choose(c, base, now, gauge, by);
	compare_spread(c, base, now, scratch);
	c->captures = 1;
	if (base->nothers)
		rc = compare_others(c, base, gauge);
	if (rc)
		return rc;
	overall(c, base, now);
	if (enough)
		compare_test(c, scratch);
	qsort_r(c->functions, c->n, sizeof(*c->functions), by_change, c);
	c->verdict = enough ? judge(c) : COMPARE_INSUFFICIENT;
	*out = TAKE(c);
	return 0;
}
