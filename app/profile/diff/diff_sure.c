#include "diff_sure.h"

#include <errno.h>
#include <string.h>

/* Directions in which listed functions, at or below a node, moved; TOTAL_UP:
 * their total did, because of their callees. */
#define MOVED_UP   1
#define MOVED_DOWN 2
#define TOTAL_UP   4

struct certainty {
	struct diff *d;
	const struct diff_origin *from;
	const struct compare_side *base, *now;
	const struct comparison *c;
	uint32_t *parent;
	uint8_t *moved;                      /* MOVED_ bits */
	int64_t *base_samples, *now_samples; /* totals */
	uint32_t *test; /* by node: number of its test + 1; 0 if not tested */
	struct compare_node *tests;  /* the nodes of tests */
	enum compare_change *change; /* by test */
};

static void
certainty_done(struct certainty *n)
{
	free(n->parent);
	free(n->moved);
	free(n->base_samples);
	free(n->now_samples);
	free(n->test);
	free(n->tests);
	free(n->change);
}

static int
certainty_init(struct certainty *n)
{
	uint32_t count = n->d->tree->n;

	n->parent = calloc(count, sizeof(*n->parent));
	n->moved = calloc(count, sizeof(*n->moved));
	n->base_samples = calloc(count, sizeof(*n->base_samples));
	n->now_samples = calloc(count, sizeof(*n->now_samples));
	n->test = calloc(count, sizeof(*n->test));
	n->tests = calloc(count, sizeof(*n->tests));
	n->change = calloc(count, sizeof(*n->change));
	return n->parent && n->moved && n->base_samples && n->now_samples &&
	                       n->test && n->tests && n->change
	               ? 0
	               : -ENOMEM;
}

/* --- how listed functions moved in a node --------------------------------- */

static int
add_way(const struct certainty *n, const struct compare_function *f, uint8_t to,
        uint8_t *way, uint32_t nnames)
{
	uint32_t name;
	int rc =
		strings_add(n->d->tree->names, f->name, strlen(f->name), &name);

	if (!rc && name < nnames)
		way[name] |= to;
	return rc;
}

/* Finds the directions of listed functions, by name. */
static int
find_ways(const struct certainty *n, uint8_t *way, uint32_t nnames)
{
	const struct comparison *c = n->c;
	int rc = 0;

	for (size_t i = 0; i < c->nregressions + c->nimprovements && !rc; i++)
		rc = add_way(n, &c->functions[i],
		             c->functions[i].change == COMPARE_REGRESSION
		                     ? MOVED_UP
		                     : MOVED_DOWN,
		             way, nnames);
	for (size_t i = 0; i < c->nrisen && !rc; i++)
		rc = add_way(n, c->risen[i], TOTAL_UP, way, nnames);
	return rc;
}

/* Returns the direction in which a listed function moved, if it moved the same
 * way at this node. */
static uint8_t
moved_in(const struct diff *d, uint32_t node, uint8_t way)
{
	double self = (double)d->tree->self[node] -
	              (double)d->base_self[node] * d->scale;
	double total = (double)d->tree->total[node] - diff_base(d, node);

	return (uint8_t)((self > 0   ? way & MOVED_UP
	                  : self < 0 ? way & MOVED_DOWN
	                             : 0) |
	                 (way & TOTAL_UP && total > 0 ? MOVED_UP : 0));
}

/* Goes backwards, so that children are done before their parents. */
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

/* --- tests of nodes ------------------------------------------------------- */

/* False for a node too small to have moved by COMPARE_POINTS. */
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

static int
compare(struct certainty *n)
{
	const struct diff *d = n->d;
	size_t ntests = 0;

	for (uint32_t i = 0; i < d->tree->n; i++) {
		int64_t base = d->base_total[i], now = d->tree->total[i];

		if (!is_large(d, i))
			continue;
		if (is_all_of_parent(n, i)) {
			n->test[i] = n->test[n->parent[i]];
			continue;
		}
		n->tests[ntests] = (struct compare_node){
			{n->from->base[i], base, base, n->base_samples[i]},
			{n->from->now[i], now, now, n->now_samples[i]},
		};
		n->test[i] = (uint32_t)++ntests;
	}
	return compare_nodes(n->c, n->base, n->now, n->tests, ntests,
	                     n->change);
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

	if (!c->nregressions && !c->nimprovements && !c->nrisen)
		return 0;
	rc = certainty_init(&n) ?: add_up(&n) ?: compare(&n);
	for (uint32_t i = 0; i < d->tree->n && !rc; i++)
		d->sure[i] = n.test[i] &&
		             n.moved[i] & way[n.change[n.test[i] - 1]];
	return rc;
}
