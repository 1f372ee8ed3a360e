#include "spread.h"

#include "base/clock.h"
#include "stat.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* The median of chi squared with one degree of freedom. */
#define MEDIAN_CHI2 0.454936
/* The dispersion is estimated from at least DISPERSION_LEAST functions, each
 * with at least DISPERSION_SAMPLES samples on both sides together. */
#define DISPERSION_LEAST   8
#define DISPERSION_SAMPLES 20
#define DISPERSION_GUARD   1.0
/* Blocks are parts of one phase if the correlation of neighbours exceeds this,
 * divided by the square root of their number; 1 would be one standard
 * deviation. */
#define NEIGHBOURS_ALIKE 0.3

/* The NUL is part of each text, so that no name is empty: "" has number 0. */
int
compare_rows(struct strings *names, const struct tree *t,
             const struct top_entry *list, uint32_t from, uint32_t n,
             uint32_t out[static STRINGS_AT_ONCE])
{
	struct string text[STRINGS_AT_ONCE] = {0};
	uint32_t count = 0;
	int rc;

	for (; count < STRINGS_AT_ONCE && from + count < n; count++) {
		struct string *s = &text[count];

		s->p = tree_name(t, list[from + count].name, &s->n);
		s->n++;
	}
	rc = strings_add_all(names, text, count, out);
	for (uint32_t i = 0; i < count; i++)
		out[i]--;
	return rc ? rc : (int)count;
}

/*
 * One of two views of a side's blocks. By order, blocks have about equal
 * numbers of samples, and show how shares vary; by time, they are about equally
 * long, and show how the load varies.
 */
struct lens {
	const struct blocks *b;
	const double *size; /* sizes of blocks */
	unsigned n;         /* blocks */
	unsigned each;      /* number of neighbours joined to one */
	double samples;     /* samples of the side */
	double whole;       /* the sum of size */
	bool by_time, is_base;
};

static struct lens
lens_of(const struct comparison *c, const struct compare_side *side,
        bool is_base, bool by_time)
{
	const struct blocks *b = side->blocks;
	struct lens l = {
		.b = b,
		.size = by_time ? b->length : b->rows[0].order,
		.n = by_time ? b->ntime : b->norder,
		.each = 1,
		.samples = b->samples ? b->samples
	                   : is_base  ? c->base_samples
	                              : c->now_samples,
		.by_time = by_time,
		.is_base = is_base,
	};

	for (unsigned i = 0; i < b->norder; i++)
		l.whole += b->rows[0].order[i];
	return l;
}

static unsigned
joined(const struct lens *l)
{
	return (l->n + l->each - 1) / l->each;
}

/* How far blocks deviate from their share of the whole, relative to independent
 * samples. */
struct stray {
	double variance;
	/* sums over blocks, each divided by its size: of squared deviations,
	 * and of products of neighbours' deviations */
	double squares, neighbours;
};

/*
 * A block is part of the sum that it is compared with, which lowers its squared
 * deviation; this is corrected for.
 *
 *   Source   variance of a ratio; Cochran, Sampling Techniques, 2.11 and 6.4.
 *            Unequal blocks: Bell and McCaffrey, Survey Methodology 28, 2002;
 *            equal ones have n - 1 for n
 */
static struct stray
look(const struct lens *l, const struct block_row *r)
{
	const double *x = l->by_time ? r->time : r->order;
	double sum = 0, size = 0, before = 0, rest, unit;
	struct stray s = {0};

	for (unsigned i = 0; i < l->n; i++) {
		sum += x[i];
		size += l->size[i];
	}
	rest = l->by_time ? l->whole : l->whole - sum;
	if (!(sum > 0) || !(rest > 0))
		return s;
	unit = l->samples / (sum * rest);
	for (unsigned b = 0; b < l->n; b += l->each) {
		double off = 0, part = 0;

		for (unsigned i = b; i < l->n && i < b + l->each; i++) {
			off += x[i] - sum / size * l->size[i];
			part += l->size[i] / size;
		}
		if (!(part > 0) || part >= 1)
			continue;
		s.variance += off * off / (1 - part) * unit;
		off *= sqrt(unit / part);
		s.squares += off * off;
		s.neighbours += off * before;
		before = off;
	}
	return s;
}

static const struct block_row *
row_of(const struct lens *l, const struct compare_cost *cost)
{
	return cost->samples > 0 ? blocks_row(l->b, cost->name) : NULL;
}

/* --- how long blocks must be ---------------------------------------------- */

/* Returns the correlation of blocks with their neighbours, over all functions;
 * 0 if they are independent. */
static double
resemble(const struct comparison *c, const struct lens *l)
{
	double squares = 0, neighbours = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct compare_function *f = &c->functions[i];
		const struct compare_cost *cost = l->is_base ? &f->base
		                                             : &f->now;
		const struct block_row *r = row_of(l, cost);
		struct stray s;

		if (!r || cost->samples < DISPERSION_SAMPLES)
			continue;
		s = look(l, r);
		squares += s.squares;
		neighbours += s.neighbours;
	}
	return squares > 0 ? neighbours / squares : 0;
}

/*
 * Joins blocks until neighbours are independent, or until joining more would
 * leave too few. Each side is joined separately: blocks of a minute and of an
 * hour differ in length.
 *
 *   Source   doubling of batches until they pass a test of independence;
 *            Fishman and Yarberry, INFORMS J. Computing 9, 1997
 */
static void
join(const struct comparison *c, struct lens *l)
{
	while (blocks_freedom(l->size, l->n, 2 * l->each) >= BLOCKS_FREEDOM &&
	       resemble(c, l) > NEIGHBOURS_ALIKE / sqrt(joined(l)))
		l->each *= 2;
}

/* --- what they show ------------------------------------------------------- */

static struct compare_spread
spread_of(const struct lens *l, const struct block_row *r, double least)
{
	return (struct compare_spread){
		.dispersion = fmax(look(l, r).variance, least),
		.freedom = fmax(blocks_freedom(l->size, l->n, l->each), 1),
	};
}

/* Sets the spreads of a cost. Code that repeats regularly shows less variance
 * than independent samples; this is not relied on, because the next capture may
 * begin at another point of the period. */
static void
measure(const struct lens *share, const struct lens *pace,
        struct compare_cost *cost)
{
	const struct block_row *r = row_of(share, cost);

	if (!r)
		return;
	cost->share = spread_of(share, r, 1);
	cost->pace = spread_of(pace, r, 1 - cost->pct / 100);
}

/* --- how functions compare with each other -------------------------------- */

/* True if the function can be used to estimate the dispersion. */
static bool
is_common(const struct compare_function *f)
{
	return f->base.samples > 0 && f->now.samples > 0 &&
	       f->base.samples + f->now.samples >= DISPERSION_SAMPLES;
}

/* Returns the median, over common functions, of the part of a function's
 * samples that is on the second side. A change of one function moves the shares
 * of all, but not the ratios between the others. */
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
 * Estimates the dispersion from the functions common to both sides; scratch has
 * room for all. A median of n squares has a relative error of 2.3 / sqrt(n);
 * the estimate is raised by most of that.
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

/* --- all steps ------------------------------------------------------------ */

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

/* If one side has too few samples, use the other side's dispersion. */
static void
take_over(struct compare_cost *to, const struct compare_cost *from)
{
	if (to->share.freedom > 0)
		return;
	to->share = from->share;
	to->pace = from->pace;
}

/* Returns one dispersion for all functions, weighted by their variances. */
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
fewer(const struct lens *a, const struct lens *b)
{
	return joined(a) < joined(b) ? joined(a) : joined(b);
}

static void
spread_by_blocks(struct comparison *c, const struct compare_side *base,
                 const struct compare_side *now)
{
	struct lens share[] = {lens_of(c, base, true, false),
	                       lens_of(c, now, false, false)};
	struct lens pace[] = {lens_of(c, base, true, true),
	                      lens_of(c, now, false, true)};

	for (size_t i = 0; i < ARRAY_LEN(share); i++) {
		join(c, &share[i]);
		join(c, &pace[i]);
	}
	c->method = COMPARE_FROM_BLOCKS;
	c->blocks = fewer(&share[0], &share[1]);
	c->base_total = spread_of(&pace[0], &base->blocks->rows[0], 0);
	c->now_total = spread_of(&pace[1], &now->blocks->rows[0], 0);
	compare_spread_evenly(c, 1);
	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		measure(&share[0], &pace[0], &f->base);
		measure(&share[1], &pace[1], &f->now);
		take_over(&f->base, &f->now);
		take_over(&f->now, &f->base);
	}
	c->dispersion = overall(c);
}

/* Raises the dispersion of a total to at least that of one sample, which may
 * fall on either side of the capture's end. */
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

/* --- from capture to capture ---------------------------------------------- */

/* The estimate from a function's own few captures is averaged with that of all
 * functions, which counts as this many more captures. Source: moderated
 * variances; Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004, who estimates it. */
#define PRIOR 6.0
/* Functions with fewer samples in all captures are not used. */
#define LEAST 20

/* First, sums over captures of a function's share, weighted by their samples;
 * then the variance of that share, relative to independent samples. */
struct shares {
	double sum, squares;
	double share, seen; /* seen is 0 if not measured */
};

static int
add_capture(struct shares *of, struct comparison *c, struct strings *names,
            const struct tree *t)
{
	CLEANUP_FREE struct top_entry *top = NULL;
	double samples = (double)t->total_samples, all = (double)t->total[0];
	uint32_t rows[STRINGS_AT_ONCE], n = 0, at = 0;
	int rc = tree_costs(t, &top, &n);

	while (!rc && at < n && all > 0) {
		int count = compare_rows(names, t, top, at, n, rows);

		rc = count < 0 ? count : 0;
		for (int i = 0; i < count; i++) {
			const struct top_entry *e = &top[at++];
			double p = (double)(c->totals ? e->total : e->self) /
			           all;

			if (rows[i] >= c->n)
				continue; /* neither side has the function */
			of[rows[i]].sum += samples * p;
			of[rows[i]].squares += samples * p * p;
		}
	}
	return rc;
}

static int
find_shares(struct shares *of, struct comparison *c, struct strings *names,
            const struct compare_side *base)
{
	double samples = (double)base->tree->total_samples;
	int rc = add_capture(of, c, names, base->tree);

	for (size_t i = 0; i < base->nothers && !rc; i++) {
		samples += (double)base->others[i]->total_samples;
		rc = add_capture(of, c, names, base->others[i]);
	}
	for (size_t i = 0; i < c->n; i++) {
		double p = samples > 0 ? of[i].sum / samples : 0;

		of[i].share = p;
		if (of[i].sum >= LEAST && p < 1)
			of[i].seen = (of[i].squares - samples * p * p) /
			             (p * (1 - p)) / (double)base->nothers;
	}
	return rc;
}

/* Averages the estimate of one function with that of all; never lowers a spread
 * below that measured within captures. */
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

/* Returns the cost per second of a capture; 0 if unknown. */
static double
pace_of(const struct tree *t, double seconds, bool gauge)
{
	double per = gauge ? 1 : seconds;

	return per > 0 && t->total[0] > 0 ? (double)t->total[0] / per : 0;
}

/*
 * Estimates how far totals differ between captures, beyond the variance within
 * a capture, which is taken to be that of the base (one random effect).
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
compare_others(struct comparison *c, struct strings *names,
               const struct compare_side *base, bool gauge)
{
	CLEANUP_FREE struct shares *of = calloc(c->n + 1, sizeof(*of));
	double within = 0, sum = 0, captures = (double)base->nothers + 1, all;
	int rc = of ? find_shares(of, c, names, base) : -ENOMEM;

	if (rc)
		return rc;
	for (size_t i = 0; i < c->n; i++) {
		double each = of[i].share * (1 - of[i].share);

		if (!(of[i].seen > 0))
			continue;
		sum += each * of[i].seen;
		within += each * c->functions[i].base.share.dispersion;
	}
	all = within > 0 ? fmax(sum / within, 1) : 1;
	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		raise_to(&f->base.share, of[i].seen, all, captures);
		raise_to(&f->base.pace, of[i].seen, all, captures);
		raise_to(&f->now.share, of[i].seen, all, captures);
		raise_to(&f->now.pace, of[i].seen, all, captures);
	}
	c->captures = base->nothers + 1;
	c->between_freedom = PRIOR + captures - 1;
	spread_totals(c, base, gauge);
	return 0;
}
