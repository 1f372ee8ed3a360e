#include "compare_spread.h"

#include "compare_math.h"

#include <math.h>

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
#define BLOCKS_LEAST     4

/* Two ways to look at one row of blocks. */
enum view { SHARE, PACE };

/* How far blocks are off what their part of the whole would be. */
struct stray {
	double squares, neighbours; /* sums */
	double sum, whole;
};

/* all NULL: of equal parts. */
static struct stray
stray(const float *x, const float *all, unsigned n)
{
	const unsigned each = BLOCKS / n;
	struct stray s = {0};
	double before = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		s.sum += (double)x[i];
		s.whole += all ? (double)all[i] : 1;
	}
	for (unsigned b = 0; b < n; b++) {
		double off = 0;

		for (unsigned i = b * each; i < (b + 1) * each; i++)
			off += (double)x[i] -
			       s.sum / s.whole * (all ? (double)all[i] : 1);
		s.squares += off * off;
		s.neighbours += off * before;
		before = off;
	}
	return s;
}

/* Of a row in one view; *unit times squares is by what independent samples
 * have. 0: the row says nothing. */
static struct stray
look(const struct blocks *b, const struct block_row *r, enum view view,
     unsigned n, double *unit)
{
	const float *all = b->rows[0].order;
	struct stray s = view == SHARE ? stray(r->order, all, n)
	                               : stray(r->time, NULL, n);
	double whole = 0;

	for (unsigned i = 0; i < BLOCKS; i++)
		whole += (double)all[i];
	*unit = view == PACE      ? b->samples / (s.sum * whole)
	        : s.sum < s.whole ? b->samples / (s.sum * (whole - s.sum))
	                          : 0;
	if (!(s.sum > 0))
		*unit = 0;
	return s;
}

/* --- how long blocks must be ---------------------------------------------- */

static const struct block_row *
row_of(const struct compare_side *side, const struct compare_cost *cost)
{
	return cost->samples > 0 ? blocks_of(side->blocks, cost->name) : NULL;
}

static void
resemble(const struct comparison *c, const struct compare_side *side,
         bool is_base, enum view view, unsigned n, struct stray *sum)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct compare_cost *cost =
			is_base ? &c->functions[i].base : &c->functions[i].now;
		const struct block_row *r = row_of(side, cost);
		struct stray s;
		double unit;

		if (!r || cost->samples < DISPERSION_SAMPLES)
			continue;
		s = look(side->blocks, r, view, n, &unit);
		sum->squares += s.squares * unit;
		sum->neighbours += s.neighbours * unit;
	}
}

/*
 * As many blocks as have nothing to do with their neighbours.
 *
 *   Source   doubling of batches until they pass a test of independence;
 *            Fishman and Yarberry, INFORMS J. Computing 9, 1997
 */
static unsigned
blocks_apart(const struct comparison *c, const struct compare_side *base,
             const struct compare_side *now, enum view view)
{
	unsigned n = BLOCKS;

	for (; n > BLOCKS_LEAST; n /= 2) {
		struct stray sum = {0};

		resemble(c, base, true, view, n, &sum);
		resemble(c, now, false, view, n, &sum);
		if (!(sum.squares > 0) ||
		    sum.neighbours / sum.squares <= NEIGHBOURS_ALIKE / sqrt(n))
			break;
	}
	return n;
}

/* --- what they tell ------------------------------------------------------- */

static struct compare_spread
spread_of(const struct blocks *b, const struct block_row *r, enum view view,
          unsigned n)
{
	double unit;
	struct stray s = look(b, r, view, n, &unit);

	return (struct compare_spread){
		s.squares * unit * n / (n - 1),
		n - 1,
	};
}

/* Regular code has less than independent samples; none is trusted with it,
 * since the next capture may begin at another point of its period. */
static void
measure(const struct comparison *c, const struct compare_side *side,
        struct compare_cost *cost)
{
	const struct block_row *r = row_of(side, cost);

	if (!r)
		return;
	cost->share = spread_of(side->blocks, r, SHARE, c->blocks);
	cost->share.dispersion = fmax(cost->share.dispersion, 1);
	cost->pace = spread_of(side->blocks, r, PACE, c->blocks_pace);
	cost->pace.dispersion =
		fmax(cost->pace.dispersion, 1 - cost->pct / 100);
}

struct compare_spread
compare_spread_total(const struct comparison *c,
                     const struct compare_side *side)
{
	const struct blocks *b = side->blocks;
	struct compare_spread s = {c->dispersion, STAT_EXACT};
	double n = (double)side->tree->total_samples;

	if (c->method == COMPARE_FROM_BLOCKS)
		s = spread_of(b, &b->rows[0], PACE, c->blocks_pace);
	/* a sample may fall on either side of a capture's end */
	s.dispersion = fmax(s.dispersion, n > 0 ? 1 / n : 0);
	return s;
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

static void
spread_evenly(struct comparison *c, double dispersion)
{
	const struct compare_spread s = {dispersion, STAT_EXACT};

	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		f->base.share = f->base.pace = s;
		f->now.share = f->now.pace = s;
	}
}

/* A function is as restless where it was not seen as where it was. */
static void
take_over(struct compare_cost *to, const struct compare_cost *from)
{
	if (to->samples > 0 || from->samples <= 0)
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

static void
spread_by_blocks(struct comparison *c, const struct compare_side *base,
                 const struct compare_side *now)
{
	c->method = COMPARE_FROM_BLOCKS;
	c->blocks = blocks_apart(c, base, now, SHARE);
	c->blocks_pace = blocks_apart(c, base, now, PACE);
	spread_evenly(c, 1);
	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		measure(c, base, &f->base);
		measure(c, now, &f->now);
		take_over(&f->base, &f->now);
		take_over(&f->now, &f->base);
	}
	c->dispersion = overall(c);
}

void
compare_spread(struct comparison *c, const struct compare_side *base,
               const struct compare_side *now, double *scratch)
{
	if (base->blocks && now->blocks) {
		spread_by_blocks(c, base, now);
		return;
	}
	c->method = COMPARE_FROM_FUNCTIONS;
	c->dispersion = seen_between(c, scratch);
	spread_evenly(c, c->dispersion);
}
