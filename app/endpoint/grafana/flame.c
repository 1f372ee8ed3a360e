#include "flame.h"

#include "base/rows.h"
#include "messages.h"
#include "profile/stored/wire.h"
#include "profile/tree.h"

#include <errno.h>
#include <string.h>

#define OTHER UINT32_MAX /* stands for the name of nodes that were left out */

/* A depth: the values of its nodes, where the last of them ends, where its next
 * node begins, and the total that is missing below its last node. */
struct level {
	struct buf values;
	int64_t end, next, cut;
};

struct flame {
	const struct tree *tree;
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
put_node(struct flame *f, struct level *l, int64_t total, int64_t self,
         uint32_t place)
{
	wire_put_varint(&l->values, (uint64_t)(l->next - l->end));
	wire_put_varint(&l->values, (uint64_t)total);
	wire_put_varint(&l->values, (uint64_t)self);
	wire_put_varint(&l->values, place);
	l->next += total;
	l->end = l->next;
	if (self > f->max_self)
		f->max_self = self;
}

/* Ends the last node of a depth: what is missing below it comes last. */
static void
end_node(struct flame *f, uint32_t depth)
{
	struct level *l = &f->levels[depth];

	if (l->cut)
		put_node(f, l + 1, l->cut, l->cut, place_of(f, OTHER));
	l->cut = 0;
}

/* Returns the total of children that are left out. */
static int64_t
cut_below(const struct flame *f, uint32_t node)
{
	const struct tree *t = f->tree;
	int64_t cut = t->total[node] - t->self[node];

	for (uint32_t i = node + 1; i < t->end[node]; i = t->end[i])
		if (t->total[i] >= f->least)
			cut -= t->total[i];
	return cut;
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
		uint32_t depth = t->depth[i];
		struct level *l;

		next = t->total[i] < f->least ? t->end[i] : i + 1;
		if (t->total[i] < f->least)
			continue;
		while (open > depth)
			end_node(f, --open);
		rc = reach(f, depth);
		if (rc)
			break;
		l = &f->levels[depth];
		l[1].next = l->next + t->self[i];
		l->cut = cut_below(f, i);
		put_node(f, l, t->total[i], t->self[i],
		         i ? place_of(f, t->name[i]) : 0);
		open = depth + 1;
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

/* Moves the largest `most` of n numbers to the front, and returns the smallest
 * of these. */
static int64_t
nth_largest(int64_t *v, uint32_t n, uint32_t most)
{
	uint32_t lo = 0, hi = n;

	while (hi - lo > 1) {
		int64_t pivot = v[lo + (hi - lo) / 2];
		uint32_t above = lo, at = lo, below = hi;

		while (at < below) {
			int64_t x = v[at];

			if (x > pivot) {
				v[at++] = v[above];
				v[above++] = x;
			} else if (x < pivot) {
				v[at] = v[--below];
				v[below] = x;
			} else {
				at++;
			}
		}
		if (most <= above)
			hi = above;
		else if (most > below)
			lo = below;
		else
			return pivot;
	}
	return v[lo];
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
	memcpy(totals, t->total, t->n * sizeof(*totals));
	f->least = nth_largest(totals, t->n, most);
	return 0;
}

static int
put_tree(const struct tree *t, uint32_t most, struct buf *out)
{
	CLEANUP(flame_done)
	struct flame f = {
		.tree = t,
		.least = INT64_MIN,
		.nnames = 1,
		.places =
			calloc(strings_count(t->names) + 1, sizeof(*f.places)),
		.names = calloc(strings_count(t->names) + 2, sizeof(*f.names)),
	};
	int rc = f.places && f.names ? find_least(&f, most) ?: put_nodes(&f)
	                             : -ENOMEM;

	if (rc)
		return rc;
	put_names(&f, out);
	put_levels(&f, out);
	wire_put_number(out, F_FlameGraph_total, (uint64_t)t->total[0]);
	wire_put_number(out, F_FlameGraph_max_self, (uint64_t)f.max_self);
	return buf_err(out);
}

/* Nodes that a tree has for each that is shown: those to show are chosen among
 * them. */
#define CHOICE 16
#define ROOM   (1u << 16) /* at least */

int
flame_put(const struct profile *p, uint32_t most, struct buf *out)
{
	CLEANUP_TREE struct tree *functions = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	uint32_t room = most < TREE_MAX_NODES / CHOICE ? most * CHOICE
	                                               : TREE_MAX_NODES;
	int64_t left_out;
	int rc;

	room = room < ROOM ? ROOM : room;
	rc = tree_functions(p, profile_type_index(p, NULL), &functions)
	             ?: tree_visible(functions, room, &t, &left_out);

	return rc ?: put_tree(t, most, out);
}
