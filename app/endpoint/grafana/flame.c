#include "flame.h"

#include "base/rows.h"
#include "messages.h"
#include "profile/diff.h"
#include "profile/stored/wire.h"
#include "profile/tree.h"
#include "shown.h"

#include <errno.h>
#include <string.h>

#define OTHER UINT32_MAX /* name of the node for what was left out */

/* A depth: the values of its nodes and, on each side, where the last of them
 * ends, where its next node begins, and the total that is missing below its
 * last node. */
struct level {
	struct buf values;
	struct {
		int64_t end, next, cut;
	} sides[2];
};

/* A graph has one side, a difference two. */
struct flame {
	const struct tree *tree;
	uint32_t nsides;
	const int64_t *totals[2], *selfs[2]; /* by node */
	int64_t least; /* total of a node that is not left out */
	struct level *levels;
	uint32_t n, cap;
	uint32_t *places; /* by id in the tree's names: place, 0: none yet */
	uint32_t other;   /* place of OTHER, 0: none yet */
	uint32_t *names;  /* ids by place; the first is the root's */
	uint32_t nnames;
	int64_t max_self;
};

static void
flame_done(struct flame *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		buf_done(&f->levels[i].values);
	free(f->levels);
	free(f->places);
	free(f->names);
}

/* --- nodes ---------------------------------------------------------------- */

static uint32_t
place_of(struct flame *f, uint32_t name)
{
	uint32_t *place = name == OTHER ? &f->other : &f->places[name];

	if (!*place) {
		*place = f->nnames;
		f->names[f->nnames++] = name;
	}
	return *place;
}

/* Makes room for the levels down to one below a depth. */
static int
reach(struct flame *f, uint32_t depth)
{
	int rc = 0;

	while (!rc && f->n <= depth + 1) {
		rc = ROWS_ROOM(f->levels, f->cap, f->n, 1);
		if (!rc)
			f->levels[f->n++] = (struct level){
				.values = BUF_INIT(BUF_MAX_REPLY)};
	}
	return rc;
}

static void
put_node(struct flame *f, struct level *l, const int64_t total[static 2],
         const int64_t self[static 2], uint32_t place)
{
	for (uint32_t i = 0; i < f->nsides; i++) {
		wire_put_varint(&l->values,
		                (uint64_t)(l->sides[i].next - l->sides[i].end));
		wire_put_varint(&l->values, (uint64_t)total[i]);
		wire_put_varint(&l->values, (uint64_t)self[i]);
		l->sides[i].next += total[i];
		l->sides[i].end = l->sides[i].next;
		if (self[i] > f->max_self)
			f->max_self = self[i];
	}
	wire_put_varint(&l->values, place);
}

/*
 * Ends the last node of a depth; the total that is missing below it comes last.
 */
static void
end_node(struct flame *f, uint32_t depth)
{
	struct level *l = &f->levels[depth];
	const int64_t cut[] = {l->sides[0].cut, l->sides[1].cut};

	if (cut[0] || cut[1])
		put_node(f, l + 1, cut, cut, place_of(f, OTHER));
	l->sides[0].cut = l->sides[1].cut = 0;
}

/* Returns the total of a node on all sides. */
static int64_t
total_of(const struct flame *f, uint32_t node)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < f->nsides; i++)
		sum += f->totals[i][node];
	return sum;
}

/* Returns the total of a side's children that are left out. */
static int64_t
cut_below(const struct flame *f, uint32_t node, uint32_t side)
{
	const struct tree *t = f->tree;
	int64_t cut = f->totals[side][node] - f->selfs[side][node];

	for (uint32_t i = node + 1; i < t->end[node]; i = t->end[i])
		if (total_of(f, i) >= f->least)
			cut -= f->totals[side][i];
	return cut;
}

static void
begin_node(struct flame *f, uint32_t node)
{
	struct level *l = &f->levels[f->tree->depth[node]];
	int64_t total[2] = {0}, self[2] = {0};

	for (uint32_t i = 0; i < f->nsides; i++) {
		total[i] = f->totals[i][node];
		self[i] = f->selfs[i][node];
		l[1].sides[i].next = l->sides[i].next + self[i];
		l->sides[i].cut = cut_below(f, node, i);
	}
	put_node(f, l, total, self,
	         node ? place_of(f, f->tree->name[node]) : 0);
}

/* Writes all nodes. They come in preorder: a child begins where the one before
 * it ended. */
static int
put_nodes(struct flame *f)
{
	const struct tree *t = f->tree;
	uint32_t open = 0; /* depths with a node that has not ended */
	int rc = 0;

	for (uint32_t i = 0, next; i < t->n && !rc; i = next) {
		next = t->end[i];
		if (total_of(f, i) < f->least)
			continue;
		next = i + 1;
		while (open > t->depth[i])
			end_node(f, --open);
		rc = reach(f, t->depth[i]);
		if (!rc)
			begin_node(f, i);
		open = t->depth[i] + 1;
	}
	while (open && !rc)
		end_node(f, --open);
	return rc;
}

/* --- the message ---------------------------------------------------------- */

static void
put_names(const struct flame *f, struct buf *out)
{
	for (uint32_t i = 0; i < f->nnames; i++) {
		size_t n = strlen("total");
		const char *text = "total";

		if (i && f->names[i] != OTHER)
			text = tree_name(f->tree, f->names[i], &n);
		else if (i)
			text = "other";
		wire_put_bytes(out, F_FlameGraph_names, text, n);
	}
}

static void
put_levels(const struct flame *f, struct buf *out)
{
	for (uint32_t i = 0; i < f->n; i++) {
		const struct buf *values = &f->levels[i].values;
		size_t place;

		if (buf_err(values))
			out->err = buf_err(values);
		if (!values->len)
			continue;
		place = wire_open(out, F_FlameGraph_levels);
		wire_put_bytes(out, F_Level_values, values->p, values->len);
		wire_close(out, place);
	}
}

/* Finds the least total that a node must have. */
static int
find_least(struct flame *f, uint32_t most)
{
	const struct tree *t = f->tree;
	CLEANUP_FREE int64_t *totals = NULL;

	if (t->n <= most)
		return 0;
	totals = malloc(t->n * sizeof(*totals));
	if (!totals)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++)
		totals[i] = total_of(f, i);
	f->least = shown_least(totals, t->n, most);
	return 0;
}

/* Writes names and levels, which a FlameGraph and a FlameGraphDiff have under
 * the same numbers. */
static int
put_tree(struct flame *f, uint32_t most, struct buf *out)
{
	int64_t total = 0;
	int rc;

	f->least = INT64_MIN;
	f->nnames = 1;
	f->places =
		calloc(strings_count(f->tree->names) + 1, sizeof(*f->places));
	f->names = calloc(strings_count(f->tree->names) + 2, sizeof(*f->names));
	rc = f->places && f->names ? find_least(f, most) ?: put_nodes(f)
	                           : -ENOMEM;
	if (rc)
		return rc;
	total = total_of(f, 0);
	put_names(f, out);
	put_levels(f, out);
	wire_put_number(out, F_FlameGraph_total, (uint64_t)total);
	wire_put_number(out, F_FlameGraph_max_self, (uint64_t)f->max_self);
	return buf_err(out);
}

int
flame_put(const struct profile *p, uint32_t most, struct buf *out)
{
	CLEANUP(flame_done) struct flame f = {.nsides = 1};
	CLEANUP_TREE struct tree *functions = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	int64_t left_out;
	int rc = tree_functions(p, profile_type_index(p, NULL), &functions)
	                 ?: tree_visible(functions, shown_room(most), &t,
	                                 &left_out);

	if (rc)
		return rc;
	f.tree = t;
	f.totals[0] = t->total;
	f.selfs[0] = t->self;
	return put_tree(&f, most, out);
}

/* --- differences ---------------------------------------------------------- */

/* Two trees and their sources. */
struct pair {
	struct tree *functions[2], *trees[2];
	struct compare_side sides[2];
};

static void
pair_done(struct pair *p)
{
	for (size_t i = 0; i < 2; i++) {
		tree_free(p->trees[i]);
		tree_free(p->functions[i]);
	}
}

static int
pair_diff(struct pair *x, uint32_t most, struct diff **out)
{
	CLEANUP_COMPARISON struct comparison *c = NULL;
	int rc = compare_new(&x->sides[0], &x->sides[1], true, COMPARE_BY_NONE,
	                     &c);

	for (size_t i = 0; i < 2 && !rc; i++) {
		int64_t left_out;

		rc = tree_visible(x->functions[i], shown_room(most),
		                  &x->trees[i], &left_out);
		x->sides[i].tree = x->trees[i];
	}
	return rc ?: diff_new(&x->sides[0], &x->sides[1], c, out);
}

int
flame_put_diff(const struct profile *const p[static 2], uint32_t most,
               struct buf *out)
{
	CLEANUP(flame_done) struct flame f = {.nsides = 2};
	CLEANUP(pair_done) struct pair x = {0};
	CLEANUP_DIFF struct diff *d = NULL;
	int rc = 0;

	for (size_t i = 0; i < 2 && !rc; i++) {
		rc = tree_functions(p[i], profile_type_index(p[i], NULL),
		                    &x.functions[i]);
		x.sides[i].tree = x.functions[i];
	}
	rc = rc ?: pair_diff(&x, most, &d);
	if (rc)
		return rc;
	f.tree = d->tree;
	f.totals[0] = d->base_total;
	f.selfs[0] = d->base_self;
	f.totals[1] = d->tree->total;
	f.selfs[1] = d->tree->self;
	rc = put_tree(&f, most, out);
	wire_put_number(out, F_FlameGraphDiff_leftTicks,
	                (uint64_t)d->base_total[0]);
	wire_put_number(out, F_FlameGraphDiff_rightTicks,
	                (uint64_t)d->tree->total[0]);
	return rc ?: buf_err(out);
}
