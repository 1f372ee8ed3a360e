#include "compare_others.h"

#include "base/clock.h"
#include "compare_math.h"

#include <errno.h>
#include <math.h>
#include <string.h>

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
	double freedom = PRIOR + captures - 1, within = s->dispersion;
	double seen = within * all;

	if (own > 0)
		seen = (PRIOR * seen + (captures - 1) * own) / freedom;
	if (seen <= within)
		return;
	s->freedom = stat_welch(within, s->freedom, seen - within, freedom);
	s->dispersion = seen;
}

/* --- totals --------------------------------------------------------------- */

/* What a capture cost per second; 0: not known. */
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
		fmax(squares - within, 0),
		(double)(n - 1),
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
