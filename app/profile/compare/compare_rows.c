#include "compare_rows.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/table.h"

#include <errno.h>
#include <string.h>

/* Value of one sample where samples are no rows of their own: memory. 0: the
 * tree counts them. Source: runtime.MemProfileRate; period of pprof files. */
static double
sample_weight(const struct tree *t)
{
	const struct profile *p = t->profile;
	const char *unit =
		strings_get(p->strings, p->types[t->type].unit, NULL);
	const char *period = strings_get(p->strings, p->period_type.unit, NULL);

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

struct compare_cost
compare_cost(const struct compare_side *side, const struct top_entry *e,
             bool gauge)
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

struct rows {
	struct comparison *c;
	struct table by_name;
	uint64_t key;
};

struct wanted {
	const struct comparison *c;
	const char *name;
};

static bool
same_name(const void *key, uint32_t row)
{
	const struct wanted *w = key;

	return !strcmp(w->c->functions[row].name, w->name);
}

/* The row of a function, added when it is new; room is there. */
static struct compare_function *
row_of(struct rows *r, const struct tree *t, uint32_t name)
{
	size_t len;
	const char *text = tree_name(t, name, &len);
	uint64_t hash = hash_keyed(r->key, text, len);
	struct wanted w = {r->c, text};
	uint32_t at = table_find(&r->by_name, hash, same_name, &w);

	if (at != TABLE_NONE)
		return &r->c->functions[at];
	at = (uint32_t)r->c->n++;
	table_put(&r->by_name, hash, at);
	r->c->functions[at] = (struct compare_function){
		.name = text,
		.package = tree_package(t, name, NULL),
		.p = 1,
	};
	return &r->c->functions[at];
}

static int
add_side(struct rows *r, const struct compare_side *side,
         const struct top_entry *top, uint32_t n, bool gauge, bool is_base)
{
	for (uint32_t i = 0; i < n; i++) {
		struct compare_function *f;
		int rc = table_room(&r->by_name);

		if (rc)
			return rc;
		f = row_of(r, side->tree, top[i].name);
		*(is_base ? &f->base : &f->now) =
			compare_cost(side, &top[i], gauge);
	}
	return 0;
}

int
compare_rows(struct comparison *c, const struct compare_side *base,
             const struct compare_side *now, bool gauge)
{
	CLEANUP_FREE struct top_entry *a = NULL;
	CLEANUP_FREE struct top_entry *b = NULL;
	struct rows r = {.c = c};
	uint32_t na, nb;
	int rc = tree_top(base->tree, 0, &a, &na);

	if (!rc)
		rc = tree_top(now->tree, 0, &b, &nb);
	if (rc)
		return rc;
	c->functions = calloc((size_t)na + nb + 1, sizeof(*c->functions));
	if (!c->functions)
		return -ENOMEM;
	random_bytes(&r.key, sizeof(r.key));
	rc = add_side(&r, base, a, na, gauge, true);
	if (!rc)
		rc = add_side(&r, now, b, nb, gauge, false);
	table_done(&r.by_name);
	for (size_t i = 0; i < c->n; i++)
		c->functions[i].delta = c->functions[i].now.pct -
		                        c->functions[i].base.pct;
	c->base_samples = samples_of(base->tree, base->tree->total_samples,
	                             base->tree->total[0]);
	c->now_samples = samples_of(now->tree, now->tree->total_samples,
	                            now->tree->total[0]);
	return rc;
}

void
compare_costs(struct comparison *c, double before)
{
	for (size_t i = 0; i < c->n; i++) {
		struct compare_function *f = &c->functions[i];

		f->cost = 100 *
		          ((double)f->now.self / c->now_per -
		           (double)f->base.self / c->base_per) /
		          before;
	}
}
