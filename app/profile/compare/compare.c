#include "profile/compare.h"

#include "base/pages.h"
#include "spread.h"
#include "stat.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Returns the value of one sample for types of memory, whose samples are not
 * separate rows; 0 if the tree counts samples. Source: runtime.MemProfileRate;
 * period of pprof files. */
static double
sample_weight(const struct tree *t)
{
	const struct profile *p = t->profile;
	const char *unit = profile_text(p, p->types[t->type].unit);
	const char *period = profile_text(p, p->period_type.unit);

	return strcmp(unit, "bytes") || strcmp(period, "bytes") ||
	                       p->period <= 1
	               ? 0
	               : (double)p->period;
}

static double
samples_of(const struct tree *t, int64_t samples, int64_t value)
{
	double weight = sample_weight(t);

	return weight > 0 ? (double)value / weight : (double)samples;
}

static double
percent(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static struct compare_cost
cost_of(const struct compare_side *side, const struct top_entry *e, bool gauge)
{
	const struct tree *t = side->tree;
	double per = gauge ? 1 : side->seconds;

	return (struct compare_cost){
		.self = e->self,
		.total = e->total,
		.samples = samples_of(t, e->samples, e->self),
		.pct = percent(e->self, t->total[0]),
		.cumulative_pct = percent(e->total, t->total[0]),
		.rate = per > 0 ? (double)e->self / per : 0,
		.name = e->name,
	};
}

static void
add_cost(struct comparison *c, const struct compare_side *side, uint32_t row,
         const struct top_entry *e, bool gauge, bool is_base)
{
	struct compare_function *f = &c->functions[row];

	if (row == c->n) {
		*f = (struct compare_function){
			.name = tree_name(side->tree, e->name, NULL),
			.package = tree_package(side->tree, e->name, NULL),
			.p = 1,
			.total_p = 1,
		};
		c->n++;
	}
	*(is_base ? &f->base : &f->now) = cost_of(side, e, gauge);
}

/* Fills in the costs of a side. There is room for all functions of both
 * sides. */
static int
add_side(struct comparison *c, struct strings *names,
         const struct compare_side *side, const struct top_entry *top,
         uint32_t n, bool gauge, bool is_base)
{
	uint32_t rows[STRINGS_AT_ONCE], at = 0;

	while (at < n) {
		int count = compare_rows(names, side->tree, top, at, n, rows);

		if (count < 0)
			return count;
		for (int i = 0; i < count; i++)
			add_cost(c, side, rows[i], &top[at++], gauge, is_base);
	}
	return 0;
}

/* Sets functions, n, base_samples and now_samples. */
static int
find_functions(struct comparison *c, struct strings *names,
               const struct compare_side *base, const struct compare_side *now,
               bool gauge)
{
	CLEANUP_FREE struct top_entry *a = NULL;
	CLEANUP_FREE struct top_entry *b = NULL;
	uint32_t na, nb;
	int rc = tree_costs(base->tree, &a, &na)
	                 ?: tree_costs(now->tree, &b, &nb);

	if (rc)
		return rc;
	c->functions = pages_new(((size_t)na + nb + 1) * sizeof(*c->functions));
	if (!c->functions)
		return -ENOMEM;
	rc = strings_reserve(names, na > nb ? na : nb, 0)
	             ?: add_side(c, names, base, a, na, gauge, true)
	             ?: add_side(c, names, now, b, nb, gauge, false);
	for (size_t i = 0; i < c->n; i++)
		c->functions[i].delta = c->functions[i].now.pct -
		                        c->functions[i].base.pct;
	c->counted = base->tree->counted && now->tree->counted;
	c->rough = profile_is_rough(base->tree->profile) ||
	           profile_is_rough(now->tree->profile);
	c->base_ran = profile_ran_part(base->tree->profile);
	c->now_ran = profile_ran_part(now->tree->profile);
	c->fair = 1;
	c->base_samples = samples_of(base->tree, base->tree->total_samples,
	                             base->tree->total[0]);
	c->now_samples = samples_of(now->tree, now->tree->total_samples,
	                            now->tree->total[0]);
	return rc;
}

static void
find_costs(struct comparison *c, double before)
{
	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		f->cost = 100 *
		          ((double)f->now.self / c->now_per -
		           (double)f->base.self / c->base_per) /
		          before;
	}
}

/* Functions with fewer samples, on both sides together, are not tested: no
 * result could be significant, and each test would weaken the others. */
#define TEST_LEAST 10
/* One-sided level of the test whether the cost per second rose as well. */
#define COSTS 0.05

struct result {
	double t, freedom;
};

/* Tests a gap between two estimates with variances v and w. The variance
 * between captures is one estimate for both sides, so its degrees of freedom
 * count once. */
static struct result
gap_of(const struct comparison *c, double gap, double correction, double v,
       struct compare_spread base, double w, struct compare_spread now)
{
	double between = v * base.between + w * now.between, within;

	v *= base.dispersion - base.between;
	w *= now.dispersion - now.between;
	within = v + w;
	if (!(within + between > 0) || fabs(gap) <= correction)
		return (struct result){0, STAT_EXACT};
	return (struct result){
		(gap > 0 ? gap - correction : gap + correction) /
			sqrt(within + between),
		stat_welch(within, stat_welch(v, base.freedom, w, now.freedom),
	                   between, c->between_freedom),
	};
}

/* Tests two proportions, pooled, with Yates' correction. Blocks measure shares
 * of cost; without them, shares of samples are tested. */
static struct result
by_share(const struct comparison *c, const struct compare_function *f)
{
	double n = c->base_samples, m = c->now_samples;
	bool measured = c->method == COMPARE_FROM_BLOCKS;
	double p = measured ? f->base.pct / 100 : f->base.samples / n;
	double q = measured ? f->now.pct / 100 : f->now.samples / m;
	double pooled = (p * n + q * m) / (n + m);
	double each = pooled * (1 - pooled);

	return gap_of(c, q - p, 0.5 * (1 / n + 1 / m), each / n, f->base.share,
	              each / m, f->now.share);
}

/* Tests two rates, pooled: samples per second, or per unit of work. */
static struct result
by_pace(const struct comparison *c, const struct compare_function *f)
{
	double x = f->base.samples, y = f->now.samples;
	double n = c->base_per, m = c->now_per;
	double base, now, each;

	if (n <= 0 || m <= 0 || x + y <= 0)
		return (struct result){0, STAT_EXACT};
	m /= c->fair;
	/* a sample has the value that its side gives it, since sampling rates
	 * may differ */
	base = (double)f->base.self / n;
	now = (double)f->now.self / m;
	each = (base * n + now * m) / (n + m);
	return gap_of(c, now - base, 0,
	              x > 0 ? each * (double)f->base.self / x / n
	                    : each * (double)f->now.self / y / n,
	              f->base.pace,
	              y > 0 ? each * (double)f->now.self / y / m
	                    : each * (double)f->base.self / x / m,
	              f->now.pace);
}

bool
compare_moved(const struct comparison *c, const struct compare_function *f)
{
	struct result r;

	if (f->base.self <= 0 || f->now.self <= 0 || c->base_per <= 0 ||
	    c->now_per <= 0)
		return true; /* new, gone, or of unknown duration */
	r = by_pace(c, f);
	return (f->change == COMPARE_REGRESSION ? r.t > 0 : r.t < 0) &&
	       stat_two_sided(r.t, r.freedom) < 2 * COSTS;
}

/* Returns how far a function moved, in percent of all cost. */
static double
compare_size(const struct comparison *c, const struct compare_function *f)
{
	return c->by == COMPARE_BY_SHARE ? f->delta : f->cost;
}

/* Sets p of all functions, and copies those of tested functions to scratch.
 * Returns their number. */
static size_t
test_each(struct comparison *c, double *scratch)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];
		struct result r;

		if (f->base.samples + f->now.samples < TEST_LEAST)
			continue;
		r = c->by == COMPARE_BY_SHARE ? by_share(c, f) : by_pace(c, f);
		f->p = stat_two_sided(r.t, r.freedom);
		scratch[n++] = f->p;
	}
	return n;
}

static void
test_all(struct comparison *c, double fdr, double *scratch)
{
	size_t n = c->ntested = test_each(c, scratch);
	double threshold = stat_threshold(scratch, n, fdr);

	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];
		double size = compare_size(c, f);

		if (f->p > threshold || fabs(size) < COMPARE_POINTS)
			continue;
		f->change = size > 0 ? COMPARE_REGRESSION : COMPARE_IMPROVEMENT;
		c->nregressions += size > 0;
		c->nimprovements += size < 0;
	}
}

#define Z_95 1.959964
/* 0.25 % of the normal distribution is beyond this, on one side: the test of
 * the total adds no more than twice that to the false alarms. */
#define Z_ROSE 2.807034

const char *const compare_bys[] = {"share", "rate", "work", "none", NULL};
const char *const compare_methods[] = {
	[COMPARE_FROM_FUNCTIONS] = "functions",
	[COMPARE_FROM_BLOCKS] = "blocks",
};
const char *const compare_verdicts[] = {
	[COMPARE_OK] = "ok",
	[COMPARE_REGRESSED] = "regressed",
	[COMPARE_COSTS_MORE] = "costs-more",
	[COMPARE_IMPROVED] = "improved",
	[COMPARE_INSUFFICIENT] = "insufficient-data",
};

void
comparison_free(struct comparison *c)
{
	if (!c)
		return;
	free(c->functions);
	free(c->risen);
	free(c);
}

static int
by_change(const void *a, const void *b, void *of)
{
	const struct compare_function *x = a, *y = b;
	double dx = fabs(compare_size(of, x)), dy = fabs(compare_size(of, y));

	if (x->change != y->change)
		return x->change == COMPARE_REGRESSION ? -1 : 1;
	if (dx != dy)
		return dx < dy ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Moves the listed functions to the front, and sorts them. */
static void
list_changes(struct comparison *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct compare_function f = c->functions[i];

		if (f.change == COMPARE_UNCHANGED)
			continue;
		c->functions[i] = c->functions[n];
		c->functions[n++] = f;
	}
	qsort_r(c->functions, n, sizeof(*c->functions), by_change, c);
}

/* The relative variance of the ratio of the totals. The variance between
 * captures is one estimate for both sides. */
static struct compare_spread
error_of(const struct comparison *c)
{
	double v = c->base_total.dispersion / c->base_samples;
	double w = c->now_total.dispersion / c->now_samples;
	double between = c->by == COMPARE_BY_WORK ? 0
	                                          : 2 * c->between.dispersion;
	double freedom =
		stat_welch(v, c->base_total.freedom, w, c->now_total.freedom);

	return (struct compare_spread){
		.dispersion = v + w + between,
		.freedom =
			stat_welch(v + w, freedom, between, c->between.freedom),
	};
}

/* Returns the logarithm of the factor by which competition for the CPU can have
 * lowered the ratio of the totals. Cost per unit of work and amounts in use do
 * not depend on it. */
static double
hindrance(const struct comparison *c)
{
	return c->as_is || c->by == COMPARE_BY_WORK
	               ? 0
	               : log(c->base_ran / c->now_ran);
}

static void
overall(struct comparison *c, const struct compare_side *base,
        const struct compare_side *now)
{
	struct compare_spread error;
	double before, after, step, change, more, least, most;

	if (c->rough || c->base_per <= 0 || c->now_per <= 0)
		return;
	before = (double)base->tree->total[0] / c->base_per;
	after = (double)now->tree->total[0] / c->now_per;
	if (before <= 0 || after <= 0 || c->base_samples < 1 ||
	    c->now_samples < 1)
		return;
	c->delta = 100 * (after / before - 1);
	find_costs(c, before);
	change = log(after / before);
	more = hindrance(c);
	least = change + fmin(more, 0);
	most = change + fmax(more, 0);
	c->fair = exp(least > 0  ? least - change
	              : most < 0 ? most - change
	                         : -change);
	error = error_of(c);
	step = stat_t_at(Z_95, error.freedom) * sqrt(error.dispersion);
	c->low = 100 * expm1(least - step);
	c->high = 100 * expm1(most + step);
	/* if all functions grow alike, no share moves */
	step = stat_t_at(Z_ROSE, error.freedom) * sqrt(error.dispersion);
	c->rose = least >= log1p(COMPARE_TOTAL / 100) && least > step;
	c->fell = most <= log1p(-COMPARE_TOTAL / 100) && most < -step;
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
	enum compare_verdict v = c->rose   ? COMPARE_COSTS_MORE
	                         : c->fell ? COMPARE_IMPROVED
	                                   : COMPARE_OK;
	bool open = c->known && c->high >= COMPARE_TOTAL;

	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++) {
		if (!compare_moved(c, &c->functions[i]))
			continue;
		if (c->functions[i].change == COMPARE_REGRESSION)
			return COMPARE_REGRESSED;
		if (v == COMPARE_OK)
			v = COMPARE_IMPROVED;
	}
	return v == COMPARE_OK && open ? COMPARE_INSUFFICIENT : v;
}

/*
 * Returns how many more seconds the comparison needs, at its present rate of
 * samples, to have enough of them, or to take COMPARE_TOTAL out of the
 * interval; 0 if no time suffices.
 */
static double
wait_of(const struct comparison *c, const struct compare_side *now)
{
	double step = log1p(COMPARE_TOTAL / 100) - log1p(c->delta / 100) -
	              fmax(hindrance(c), 0);
	double needs = COMPARE_SAMPLES, left;

	if (c->rough || !c->counted || c->base_samples < COMPARE_SAMPLES ||
	    c->now_samples <= 0)
		return 0;
	if (c->now_samples >= COMPARE_SAMPLES) {
		left = step * step / (Z_95 * Z_95) -
		       c->base_total.dispersion / c->base_samples -
		       2 * c->between.dispersion;
		if (!c->known || left <= 0)
			return 0;
		needs = c->now_total.dispersion / left;
	}
	needs = now->seconds * (needs / c->now_samples - 1);
	return needs > 0 && needs < COMPARE_WAIT_MAX_S ? needs : 0;
}

/* Chooses the divisor of cost, and what is tested if the divisor is unknown. */
static void
choose(struct comparison *c, const struct compare_side *base,
       const struct compare_side *now, bool gauge, enum compare_by by)
{
	bool worked = by == COMPARE_BY_WORK && base->work > 0 && now->work > 0;
	bool as_is = gauge || by == COMPARE_BY_NONE;

	c->as_is = as_is;
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
	CLEANUP_STRINGS struct strings *names = strings_new();
	CLEANUP_FREE double *scratch = NULL;
	int rc = c && names ? find_functions(c, names, base, now, gauge)
	                    : -ENOMEM;

	if (rc)
		return rc;
	scratch = calloc(c->n + 1, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	c->enough = !c->rough && c->base_samples >= COMPARE_SAMPLES &&
	            c->now_samples >= COMPARE_SAMPLES;
	choose(c, base, now, gauge, by);
	compare_spread(c, base, now, scratch);
	c->captures = 1;
	if (base->nothers)
		rc = compare_others(c, names, base, gauge);
	if (rc)
		return rc;
	overall(c, base, now);
	if (c->enough)
		test_all(c, COMPARE_FDR, scratch);
	list_changes(c);
	c->verdict = c->enough ? judge(c) : COMPARE_INSUFFICIENT;
	if (c->verdict == COMPARE_INSUFFICIENT)
		c->wait_s = wait_of(c, now);
	*out = TAKE(c);
	return 0;
}

/* --- nodes of a call tree ------------------------------------------------- */

/* Tests the rows of a comparison whose functions are nodes. */
static int
test_nodes(struct comparison *of, const struct compare_side *base,
           const struct compare_side *now)
{
	CLEANUP_FREE double *scratch = calloc(of->n + 1, sizeof(*scratch));
	struct compare_side a = *base, b = *now;

	if (!scratch)
		return -ENOMEM;
	a.blocks = a.nodes;
	b.blocks = b.nodes;
	if (a.blocks && b.blocks)
		compare_spread(of, &a, &b, scratch);
	else
		compare_spread_evenly(of, of->dispersion);
	if (of->by != COMPARE_BY_SHARE)
		find_costs(of, (double)a.tree->total[0] / of->base_per);
	test_all(of, COMPARE_FDR, scratch);
	return 0;
}

int
compare_nodes(const struct comparison *c, const struct compare_side *base,
              const struct compare_side *now, const struct compare_node *nodes,
              size_t n, enum compare_change *out)
{
	CLEANUP_FREE struct compare_function *rows =
		calloc(n + 1, sizeof(*rows));
	struct comparison of = *c;
	int rc;

	if (!rows)
		return -ENOMEM;
	of.functions = rows;
	of.n = n;
	of.nregressions = of.nimprovements = 0;
	for (size_t i = 0; i < n; i++) {
		rows[i].base = cost_of(base, &nodes[i].base, false);
		rows[i].now = cost_of(now, &nodes[i].now, false);
		rows[i].delta = rows[i].now.pct - rows[i].base.pct;
		rows[i].p = 1;
	}
	rc = test_nodes(&of, base, now);
	for (size_t i = 0; i < n && !rc; i++)
		out[i] = rows[i].change;
	return rc;
}

/* --- totals of functions -------------------------------------------------- */

/* Returns a cost whose self value is the function's total. */
static struct compare_cost
total_of(const struct compare_cost *of, double samples)
{
	struct compare_cost cost = *of;

	cost.self = of->total;
	cost.pct = of->cumulative_pct;
	cost.samples = cost.pct / 100 * samples;
	return cost;
}

static struct compare_function
totals_of(const struct comparison *c, const struct compare_function *f)
{
	struct compare_function row = *f;

	row.base = total_of(&f->base, c->base_samples);
	row.now = total_of(&f->now, c->now_samples);
	row.delta = row.now.pct - row.base.pct;
	row.p = 1;
	row.change = COMPARE_UNCHANGED;
	return row;
}

/* Uses the least variance, that of independent samples. */
bool
compare_totals_decide(const struct comparison *c)
{
	const struct compare_spread least = {1, STAT_EXACT, 0};

	if (c->verdict == COMPARE_REGRESSED || !c->enough)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		struct compare_function row = totals_of(c, &c->functions[i]);
		struct result r;

		row.base.share = row.now.share = least;
		r = by_share(c, &row);
		if (row.delta >= COMPARE_POINTS &&
		    stat_two_sided(r.t, r.freedom) <= COMPARE_FDR)
			return true;
	}
	return false;
}

static double
total_delta(const struct compare_function *f)
{
	return f->now.cumulative_pct - f->base.cumulative_pct;
}

static int
by_total_delta(const void *a, const void *b)
{
	const struct compare_function *x = *(void *const *)a;
	const struct compare_function *y = *(void *const *)b;
	double dx = total_delta(x), dy = total_delta(y);

	return dx != dy ? dx < dy ? 1 : -1 : strcmp(x->name, y->name);
}

/* Sides with blocks of functions by their totals, if there are blocks of
 * nodes. */
struct total_sides {
	struct compare_side base, now;
	struct blocks *blocks[2];
};

static void
total_sides_done(struct total_sides *s)
{
	blocks_free(s->blocks[0]);
	blocks_free(s->blocks[1]);
}

static int
total_sides_init(struct total_sides *s)
{
	int rc = 0;

	if (s->base.nodes && s->now.nodes)
		rc = blocks_of_totals(s->base.tree, s->base.nodes,
		                      &s->blocks[0])
		             ?: blocks_of_totals(s->now.tree, s->now.nodes,
		                                 &s->blocks[1]);
	s->base.blocks = s->blocks[0];
	s->now.blocks = s->blocks[1];
	return rc;
}

/* Numbers the functions as compare_rows() does. */
static int
number_rows(const struct comparison *c, struct strings *names)
{
	uint32_t number;
	int rc = 0;

	for (size_t i = 0; i < c->n && !rc; i++)
		rc = strings_add(names, c->functions[i].name,
		                 strlen(c->functions[i].name) + 1, &number);
	return rc;
}

/* Tests a comparison whose functions are rows of totals. */
static int
test_totals(struct comparison *of, const struct compare_side *base,
            const struct compare_side *now)
{
	CLEANUP(total_sides_done)
	struct total_sides s = {.base = *base, .now = *now};
	CLEANUP_STRINGS struct strings *names = strings_new();
	CLEANUP_FREE double *scratch = calloc(of->n + 1, sizeof(*scratch));
	int rc = names && scratch ? number_rows(of, names) : -ENOMEM;

	rc = rc ?: total_sides_init(&s);
	if (rc)
		return rc;
	compare_spread(of, &s.base, &s.now, scratch);
	if (base->nothers)
		rc = compare_others(of, names, base, of->as_is);
	if (!rc)
		test_all(of, COMPARE_FDR, scratch);
	return rc;
}

int
compare_totals(struct comparison *c, const struct compare_side *base,
               const struct compare_side *now)
{
	CLEANUP_FREE struct compare_function *rows = NULL;
	CLEANUP_FREE const struct compare_function **risen = NULL;
	struct comparison of = *c;
	size_t n = 0;
	int rc;

	if (!compare_totals_decide(c))
		return 0;
	of.functions = rows = calloc(c->n + 1, sizeof(*rows));
	risen = calloc(c->n + 1, sizeof(*risen));
	if (!rows || !risen)
		return -ENOMEM;
	of.by = COMPARE_BY_SHARE;
	of.totals = true;
	for (size_t i = 0; i < c->n; i++)
		rows[i] = totals_of(c, &c->functions[i]);
	rc = test_totals(&of, base, now);
	if (rc)
		return rc;
	for (size_t i = 0; i < c->n; i++) {
		c->functions[i].total_p = rows[i].p;
		if (rows[i].change == COMPARE_REGRESSION &&
		    compare_moved(&of, &rows[i]))
			risen[n++] = &c->functions[i];
	}
	qsort(risen, n, sizeof(*risen), by_total_delta);
	free(c->risen);
	c->risen = TAKE(risen);
	c->nrisen = n;
	if (n)
		c->verdict = COMPARE_REGRESSED;
	return 0;
}
