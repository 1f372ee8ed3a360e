/*
 * Nodes are compared as functions are: one row each of a comparison of their
 * own, whose costs are totals.
 */
#include "diff_sure.h"

#include "profile/compare/spread.h"
#include "profile/compare/compare_steps.h"

#include <errno.h>
#include <string.h>

/* Ways that listed functions in or below a node moved. */
#define MOVED_UP   1
#define MOVED_DOWN 2

struct certainty {
	struct diff *d;
	const struct diff_origin *from;
	const struct compare_side *base, *now;
	const struct comparison *c;
	uint32_t *parent;
	uint8_t *moved;                      /* MOVED_ bits */
	int64_t *base_samples, *now_samples; /* totals */
	uint32_t *row; /* of the comparison, plus 1; 0: not tested */
	struct comparison of;
};

static void
certainty_done(struct certainty *n)
{
	free(n->parent);
	free(n->moved);
	free(n->base_samples);
	free(n->now_samples);
	free(n->row);
	free(n->of.functions);
}

static int
certainty_init(struct certainty *n)
{
	uint32_t count = n->d->tree->n;

	n->parent = calloc(count, sizeof(*n->parent));
	n->moved = calloc(count, sizeof(*n->moved));
	n->base_samples = calloc(count, sizeof(*n->base_samples));
	n->now_samples = calloc(count, sizeof(*n->now_samples));
	n->row = calloc(count, sizeof(*n->row));
	return n->parent && n->moved && n->base_samples && n->now_samples &&
	                       n->row
	               ? 0
	               : -ENOMEM;
}

/* --- what listed functions did in a node ---------------------------------- */

/* By name, the way of those that are listed. */
static int
find_ways(const struct certainty *n, uint8_t *way, uint32_t nnames)
{
	const struct comparison *c = n->c;

	for (size_t i = 0; i < c->nregressions + c->nimprovements; i++) {
		const struct compare_function *f = &c->functions[i];
		uint32_t name;
		int rc = strings_add(n->d->tree->names, f->name,
		                     strlen(f->name), &name);

		if (rc)
			return rc;
		if (name < nnames)
			way[name] = f->change == COMPARE_REGRESSION
			                    ? MOVED_UP
			                    : MOVED_DOWN;
	}
	return 0;
}

/* The way that a listed function moved, if it did so in this node, too. */
static uint8_t
moved_in(const struct diff *d, uint32_t node, uint8_t way)
{
	double delta = (double)d->tree->self[node] -
	               (double)d->base_self[node] * d->scale;

	return delta > 0 ? way & MOVED_UP : delta < 0 ? way & MOVED_DOWN : 0;
}

/* From the last node on: children are done before their parents. */
static int
add_up(struct certainty *n)
{
	const struct tree *t = n->d->tree;
	uint32_t nnames = strings_count(t->names);
	CLEANUP_FREE uint8_t *way = calloc(nnames, sizeof(*way));
	int rc = way ? find_ways(n, way, nnames) : -ENOMEM;

	for (uint32_t i = t->n; i-- > 0 && !rc;) {
		n->moved[i] = moved_in(n->d, i, way[t->name[i]]);
		n->base_samples[i] = n->d->base_samples[i];
		n->now_samples[i] = t->samples[i];
		for (uint32_t k = i + 1; k < t->end[i]; k = t->end[k]) {
			n->parent[k] = i;
			n->moved[i] |= n->moved[k];
			n->base_samples[i] += n->base_samples[k];
			n->now_samples[i] += n->now_samples[k];
		}
	}
	return rc;
}

/* --- their comparison ----------------------------------------------------- */

/* A smaller node can't have moved by COMPARE_POINTS. */
static bool
is_large(const struct diff *d, uint32_t node)
{
	return diff_base(d, node) + (double)d->tree->total[node] >=
	       COMPARE_POINTS / 100 * diff_base(d, 0);
}

static bool
is_all_of_parent(const struct certainty *n, uint32_t node)
{
	const struct diff *d = n->d;
	uint32_t up = n->parent[node];

	return node && d->tree->total[node] == d->tree->total[up] &&
	       d->base_total[node] == d->base_total[up];
}

static void
number(struct certainty *n)
{
	for (uint32_t i = 0; i < n->d->tree->n; i++) {
		if (is_large(n->d, i))
			n->row[i] = is_all_of_parent(n, i)
			                    ? n->row[n->parent[i]]
			                    : (uint32_t)++n->of.n;
	}
}

static struct compare_cost
cost(const struct compare_side *side, uint32_t node, int64_t total,
     int64_t samples)
{
	const struct top_entry e = {node, total, total, samples};

	return node == DIFF_NONE ? (struct compare_cost){.name = node}
	                         : compare_cost(side, &e, false);
}

static void
fill(struct certainty *n)
{
	const struct diff *d = n->d;

	for (uint32_t i = 0; i < d->tree->n; i++) {
		struct compare_function *f;

		if (!n->row[i] || is_all_of_parent(n, i))
			continue;
		f = &n->of.functions[n->row[i] - 1];
		f->p = 1;
		f->base = cost(n->base, n->from->base[i], d->base_total[i],
		               n->base_samples[i]);
		f->now = cost(n->now, n->from->now[i], d->tree->total[i],
		              n->now_samples[i]);
		f->delta = f->now.pct - f->base.pct;
	}
}

static int
test(struct certainty *n)
{
	struct compare_side base = *n->base, now = *n->now;
	struct comparison *of = &n->of;
	CLEANUP_FREE double *scratch = calloc(of->n + 1, sizeof(*scratch));

	if (!scratch)
		return -ENOMEM;
	base.blocks = base.nodes;
	now.blocks = now.nodes;
	if (base.blocks && now.blocks)
		compare_spread(of, &base, &now, scratch);
	else
		compare_spread_evenly(of, of->dispersion);
	if (of->by != COMPARE_BY_SHARE)
		compare_costs(of, (double)base.tree->total[0] / of->base_per);
	compare_test(of, scratch);
	return 0;
}

static int
compare(struct certainty *n)
{
	n->of = *n->c;
	n->of.n = n->of.nregressions = n->of.nimprovements = 0;
	n->of.functions = NULL;
	number(n);
	n->of.functions = calloc(n->of.n + 1, sizeof(*n->of.functions));
	if (!n->of.functions)
		return -ENOMEM;
	fill(n);
	return test(n);
}

int
diff_sure(struct diff *d, const struct diff_origin *from,
          const struct compare_side *base, const struct compare_side *now,
          const struct comparison *c)
{
	CLEANUP(certainty_done)
	struct certainty n = {
		.d = d, .from = from, .base = base, .now = now, .c = c};
	static const uint8_t way[] = {
		[COMPARE_REGRESSION] = MOVED_UP,
		[COMPARE_IMPROVEMENT] = MOVED_DOWN,
	};
	int rc;

	if (!c->nregressions && !c->nimprovements)
		return 0;
	rc = certainty_init(&n) ?: add_up(&n) ?: compare(&n);
	for (uint32_t i = 0; i < d->tree->n && !rc; i++)
		d->sure[i] = n.row[i] &&
		             n.moved[i] &
		                     way[n.of.functions[n.row[i] - 1].change];
	return rc;
}
