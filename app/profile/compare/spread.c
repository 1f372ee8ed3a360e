#include "spread.h"

#include "base/clock.h"
#include "stat.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* The median of chi squared with one degree of freedom. */
#define MEDIAN_CHI2 0.454936
/* Fewer functions than this, or of fewer samples in both together, tell
 * nothing of the dispersion. */
#define DISPERSION_LEAST   8
#define DISPERSION_SAMPLES 20
#define DISPERSION_GUARD   1.0
/* Neighbours that resemble each other by more than this, by the root of the
 * number of blocks, are parts of one phase. One deviation is 1. */
#define NEIGHBOURS_ALIKE 0.3

/* Two ways to look at one row of blocks. */
enum view { SHARE, PACE };

/* One side, whose blocks are joined by so many each. */
struct sight {
	const struct blocks *b;
	double samples, whole; /* of the side; of all its blocks */
	bool is_base;
	unsigned each[PACE + 1];
};

/* How far blocks are off what their part of the whole would be: sums. */
struct stray {
	double sum, whole; /* of the row; of the sizes of blocks */
	double squares;    /* the variance of sum, if sizes are what they are */
	double scaled, neighbours; /* by the sizes of blocks */
};

static const double *
sizes(const struct blocks *b, enum view view, unsigned *n)
{
	*n = view == SHARE ? b->norder : b->ntime;
	return view == SHARE ? b->rows[0].order : b->length;
}

/*
 * A block's square is off what it would be by the part that the block has in
 * the sum that it is held against.
 *
 *   Source   variance of a ratio; Cochran, Sampling Techniques, 2.11 and
 *            6.4. Unequal blocks: Bell and McCaffrey, Survey Methodology 28,
 *            2002; equal ones have n - 1 for n
 */
static struct stray
stray(const double *x, const double *size, unsigned n, unsigned each)
{
	struct stray s = {0};
	double before = 0;

	for (unsigned i = 0; i < n; i++) {
		s.sum += x[i];
		s.whole += size[i];
	}
	for (unsigned b = 0; b < n; b += each) {
		double off = 0, part = 0;

		for (unsigned i = b; i < n && i < b + each; i++) {
			off += x[i] - s.sum / s.whole * size[i];
			part += size[i] / s.whole;
		}
		if (!(part > 0) || part >= 1)
			continue;
		s.squares += off * off / (1 - part);
		off /= sqrt(part);
		s.scaled += off * off;
		s.neighbours += off * before;
		before = off;
	}
	return s;
}

/* Measures how a row strays in one view; *unit times squares is relative to
 * independent samples. 0: the row says nothing. */
static struct stray
look(const struct sight *of, const struct block_row *r, enum view view,
     double *unit)
{
	unsigned n;
	const double *size = sizes(of->b, view, &n);
	struct stray s = stray(view == SHARE ? r->order : r->time, size, n,
	                       of->each[view]);

	*unit = view == PACE ? of->samples / (s.sum * of->whole)
	        : s.sum < of->whole
	                ? of->samples / (s.sum * (of->whole - s.sum))
	                : 0;
	if (!(s.sum > 0))
		*unit = 0;
	return s;
}

static struct sight
sight_of(const struct comparison *c, const struct compare_side *side,
         bool is_base)
{
	struct sight of = {
		.b = side->blocks,
		.samples = side->blocks->samples,
		.is_base = is_base,
		.each = {1, 1},
	};

	if (!side->blocks->samples)
		of.samples = is_base ? c->base_samples : c->now_samples;
	for (unsigned i = 0; i < of.b->norder; i++)
		of.whole += of.b->rows[0].order[i];
	return of;
}

static double
freedom(const struct sight *of, enum view view, unsigned each)
{
	unsigned n;
	const double *size = sizes(of->b, view, &n);

	return blocks_freedom(size, n, each);
}

static unsigned
joined(const struct sight *of, enum view view)
{
	unsigned n;

	(void)sizes(of->b, view, &n);
	return (n + of->each[view] - 1) / of->each[view];
}

/* --- how long blocks must be ---------------------------------------------- */

static const struct block_row *
row_of(const struct sight *of, const struct compare_cost *cost)
{
	return cost->samples > 0 ? blocks_row(of->b, cost->name) : NULL;
}

static struct stray
resemble(const struct comparison *c, const struct sight *of, enum view view)
{
	struct stray sum = {0};

	for (size_t i = 0; i < c->n; i++) {
		const struct compare_function *f = &c->functions[i];
		const struct compare_cost *cost = of->is_base ? &f->base
		                                              : &f->now;
		const struct block_row *r = row_of(of, cost);
		struct stray s;
		double unit;

		if (!r || cost->samples < DISPERSION_SAMPLES)
			continue;
		s = look(of, r, view, &unit);
		sum.scaled += s.scaled * unit;
		sum.neighbours += s.neighbours * unit;
	}
	return sum;
}

/*
 * Joins blocks until they have nothing to do with their neighbours, or are
 * too few. Each side by itself: blocks of a minute and of an hour are not of
 * one length.
 *
 *   Source   doubling of batches until they pass a test of independence;
 *            Fishman and Yarberry, INFORMS J. Computing 9, 1997
 */
static void
join(const struct comparison *c, struct sight *of, enum view view)
{
	unsigned *each = &of->each[view];

	while (freedom(of, view, 2 * *each) >= BLOCKS_FREEDOM) {
		struct stray sum = resemble(c, of, view);

		if (!(sum.scaled > 0) ||
		    sum.neighbours / sum.scaled <=
		            NEIGHBOURS_ALIKE / sqrt(joined(of, view)))
			break;
		*each *= 2;
	}
}

/* --- what they tell ------------------------------------------------------- */

static struct compare_spread
spread_of(const struct sight *of, const struct block_row *r, enum view view)
{
	double unit;
	struct stray s = look(of, r, view, &unit);

	return (struct compare_spread){
		.dispersion = s.squares * unit,
		.freedom = fmax(freedom(of, view, of->each[view]), 1),
	};
}

/* Regular code has less than independent samples; none is trusted with it,
 * since the next capture may begin at another point of its period. */
static void
measure(const struct sight *of, struct compare_cost *cost)
{
	const struct block_row *r = row_of(of, cost);

	if (!r)
		return;
	cost->share = spread_of(of, r, SHARE);
	cost->share.dispersion = fmax(cost->share.dispersion, 1);
	cost->pace = spread_of(of, r, PACE);
	cost->pace.dispersion =
		fmax(cost->pace.dispersion, 1 - cost->pct / 100);
}

/* --- what functions tell of each other ------------------------------------ */

/* True when it tells something of the dispersion. */
static bool
is_common(const struct compare_function *f)
{
	return f->base.samples > 0 && f->now.samples > 0 &&
	       f->base.samples + f->now.samples >= DISPERSION_SAMPLES;
}

/* The part of a common function's samples that is on the other side, as the
 * median has it: a change of one function moves the shares of all, but not
 * how the others stand to each other. */
static double
usual_part(const struct comparison *c, double *scratch, size_t *n)
{
	*n = 0;
	for (size_t i = 0; i < c->n; i++) {
		const struct compare_function *f = &c->functions[i];

		if (is_common(f))
			scratch[(*n)++] = f->now.samples /
			                  (f->base.samples + f->now.samples);
	}
	return *n ? stat_median(scratch, *n) : 0;
}

/*
 * How many times the binomial variance the functions common to both sides
 * show; scratch has room for all. A median of n squares is off by 2.3 /
 * sqrt(n) of itself: taken for high by most of that.
 */
static double
seen_between(const struct comparison *c, double *scratch)
{
	size_t n, k = 0;
	double part = usual_part(c, scratch, &n), seen;

	if (n < DISPERSION_LEAST)
		return COMPARE_DISPERSION;
	for (size_t i = 0; i < c->n; i++) {
		const struct compare_function *f = &c->functions[i];
		double all = f->base.samples + f->now.samples;
		double off = f->now.samples - part * all;

		if (is_common(f))
			scratch[k++] = off * off / (all * part * (1 - part));
	}
	seen = stat_median(scratch, n) / MEDIAN_CHI2;
	seen *= 1 + DISPERSION_GUARD / sqrt((double)n);
	return fmin(fmax(seen, COMPARE_DISPERSION_LEAST),
	            COMPARE_DISPERSION_MAX);
}

/* --- all of it ------------------------------------------------------------ */

void
compare_spread_evenly(struct comparison *c, double dispersion)
{
	const struct compare_spread s = {dispersion, STAT_EXACT, 0};

	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		f->base.share = f->base.pace = s;
		f->now.share = f->now.pace = s;
	}
}

/* A function is as restless where it was not seen, or too small to be
 * measured, as where it was. */
static void
take_over(struct compare_cost *to, const struct compare_cost *from)
{
	if (to->share.freedom > 0)
		return;
	to->share = from->share;
	to->pace = from->pace;
}

/* One figure for all of them: each by its variance. */
static double
overall(const struct comparison *c)
{
	double sum = 0, weights = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct compare_function *f = &c->functions[i];
		double p = (f->base.pct + f->now.pct) / 200;
		double each =
			(f->base.share.dispersion + f->now.share.dispersion) /
			2;

		sum += p * (1 - p) * each;
		weights += p * (1 - p);
	}
	return weights > 0 ? sum / weights : 1;
}

static unsigned
fewer(const struct sight *a, const struct sight *b, enum view view)
{
	unsigned n = joined(a, view), m = joined(b, view);

	return n < m ? n : m;
}

static void
spread_by_blocks(struct comparison *c, const struct compare_side *base,
                 const struct compare_side *now)
{
	struct sight a = sight_of(c, base, true), b = sight_of(c, now, false);
	struct sight *of[] = {&a, &b};

	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		join(c, of[i], SHARE);
		join(c, of[i], PACE);
	}
	c->method = COMPARE_FROM_BLOCKS;
	c->blocks = fewer(&a, &b, SHARE);
	c->blocks_pace = fewer(&a, &b, PACE);
	c->base_total = spread_of(&a, &base->blocks->rows[0], PACE);
	c->now_total = spread_of(&b, &now->blocks->rows[0], PACE);
	compare_spread_evenly(c, 1);
	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		measure(&a, &f->base);
		measure(&b, &f->now);
		take_over(&f->base, &f->now);
		take_over(&f->now, &f->base);
	}
	c->dispersion = overall(c);
}

/* A sample may fall on either side of a capture's end. */
static void
floor_total(struct compare_spread *s, const struct compare_side *side)
{
	double n = (double)side->tree->total_samples;

	s->dispersion = fmax(s->dispersion, n > 0 ? 1 / n : 0);
}

void
compare_spread(struct comparison *c, const struct compare_side *base,
               const struct compare_side *now, double *scratch)
{
	if (base->blocks && now->blocks) {
		spread_by_blocks(c, base, now);
	} else {
		c->method = COMPARE_FROM_FUNCTIONS;
		c->dispersion = seen_between(c, scratch);
		c->base_total = c->now_total =
			(struct compare_spread){c->dispersion, STAT_EXACT, 0};
		compare_spread_evenly(c, c->dispersion);
	}
	floor_total(&c->base_total, base);
	floor_total(&c->now_total, now);
}

/* A function's own few captures are weighed with what all functions tell, as
 * if that were this many more of its own. Source: moderated variances; Smyth,
 * Stat. Appl. Genet. Mol. Biol. 3, 2004, who estimates it. */
#define PRIOR 6.0
/* Functions with fewer samples in all captures tell nothing. */
#define LEAST 20

/* Own cost by name of one tree. */
struct column {
	const struct tree *t;
	double *self;
	uint32_t nnames;
};

struct columns {
	struct column *of;
	size_t n;
};

static void
columns_done(struct columns *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->of[i].self);
	free(c->of);
}

static int
column_fill(struct column *c, const struct tree *t)
{
	c->t = t;
	c->nnames = strings_count(t->names);
	c->self = calloc(c->nnames, sizeof(*c->self));
	if (!c->self)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++)
		c->self[t->name[i]] += (double)t->self[i];
	return 0;
}

static int
columns_new(const struct compare_side *base, struct columns *out)
{
	int rc = 0;

	out->of = calloc(base->nothers + 1, sizeof(*out->of));
	if (!out->of)
		return -ENOMEM;
	for (; !rc && out->n <= base->nothers; out->n++)
		rc = column_fill(&out->of[out->n],
		                 out->n ? base->others[out->n - 1]
		                        : base->tree);
	return rc;
}

/* 0 where the tree has no such function. */
static int
share_in(const struct column *c, const char *name, double *out)
{
	double all = (double)c->t->total[0];
	uint32_t id;
	int rc = strings_add(c->t->names, name, strlen(name), &id);

	if (!rc)
		*out = id < c->nnames && all > 0 ? c->self[id] / all : 0;
	return rc;
}

/* Variance of a function's share from capture to capture, by that of
 * independent samples; 0 when it tells nothing. */
static int
between(const struct columns *c, const char *name, double *share, double *out)
{
	double n = 0, sum = 0, squares = 0, p;
	int rc = 0;

	for (size_t i = 0; !rc && i < c->n; i++) {
		double m = (double)c->of[i].t->total_samples;

		rc = share_in(&c->of[i], name, &p);
		if (rc)
			return rc;
		n += m;
		sum += m * p;
		squares += m * p * p;
	}
	p = n > 0 ? sum / n : 0;
	*share = p;
	*out = sum < LEAST || p >= 1 ? 0
	                             : (squares - n * p * p) / (p * (1 - p)) /
	                                       (double)(c->n - 1);
	return 0;
}

/* Weighs what one function tells with what all do; never below what was
 * measured within. */
static void
raise_to(struct compare_spread *s, double own, double all, double captures)
{
	double seen = s->dispersion * all;

	if (own > 0)
		seen = (PRIOR * seen + (captures - 1) * own) /
		       (PRIOR + captures - 1);
	s->between = fmax(seen - s->dispersion, 0);
	s->dispersion += s->between;
}

/* --- totals --------------------------------------------------------------- */

/* Cost of a capture per second; 0: not known. */
static double
pace_of(const struct tree *t, double seconds, bool gauge)
{
	double per = gauge ? 1 : seconds;

	return per > 0 && t->total[0] > 0 ? (double)t->total[0] / per : 0;
}

/*
 * What totals differ by beyond what is expected within each capture, which is
 * taken for the base's: one random effect.
 *   Source   analysis of variance; Searle, Casella and McCulloch, Variance
 *            Components, 3.6, 1992
 */
static void
spread_totals(struct comparison *c, const struct compare_side *base, bool gauge)
{
	double sum = 0, squares = 0, within;
	size_t n = 0;

	for (size_t i = 0; i <= base->nothers; i++) {
		const struct tree *t = i ? base->others[i - 1] : base->tree;
		double seconds = i ? (double)t->profile->duration_ns /
		                                 (double)NS_PER_S
		                   : base->seconds;
		double pace = pace_of(t, seconds, gauge);

		if (!(pace > 0))
			continue;
		sum += log(pace);
		squares += log(pace) * log(pace);
		n++;
	}
	if (n < 2 || !(c->base_samples > 0))
		return;
	within = c->base_total.dispersion / c->base_samples;
	squares = (squares - sum * sum / (double)n) / (double)(n - 1);
	c->between = (struct compare_spread){
		.dispersion = fmax(squares - within, 0),
		.freedom = (double)(n - 1),
	};
}

int
compare_others(struct comparison *c, const struct compare_side *base,
               bool gauge)
{
	CLEANUP(columns_done) struct columns columns = {0};
	CLEANUP_FREE double *seen = calloc(c->n + 1, sizeof(*seen));
	double within = 0, sum = 0, share, captures, all;
	int rc = seen ? columns_new(base, &columns) : -ENOMEM;

	for (size_t i = 0; !rc && i < c->n; i++) {
		const struct compare_function *f = &c->functions[i];

		rc = between(&columns, f->name, &share, &seen[i]);
		if (!(seen[i] > 0))
			continue;
		sum += share * (1 - share) * seen[i];
		within += share * (1 - share) * f->base.share.dispersion;
	}
	if (rc)
		return rc;
	captures = (double)columns.n;
	c->between_freedom = PRIOR + captures - 1;
	all = within > 0 ? fmax(sum / within, 1) : 1;
	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		raise_to(&f->base.share, seen[i], all, captures);
		raise_to(&f->base.pace, seen[i], all, captures);
		raise_to(&f->now.share, seen[i], all, captures);
		raise_to(&f->now.pace, seen[i], all, captures);
	}
	c->captures = columns.n;
	spread_totals(c, base, gauge);
	return 0;
}
