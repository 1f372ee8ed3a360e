/*
 * Because a parent comes before its children, everything is one loop over the
 * nodes: totals and sizes from the last to the first, places in preorder from
 * the first to the last.
 */
#include "tree_layout.h"

#include <errno.h>
#include <string.h>

/* The nodes and how many they are. */
struct layout {
	struct node *nodes;
	uint32_t n;
};

static void
sum_up(struct layout *l)
{
	for (uint32_t i = l->n; i-- > 0;) {
		struct node *n = &l->nodes[i];

		n->total += n->self;
		n->size++;
		if (i == 0)
			break;
		l->nodes[n->parent].total += n->total;
		l->nodes[n->parent].size += n->size;
	}
}

static int
by_text(const void *a, const void *b, void *names)
{
	size_t n, m;
	const char *s = strings_get(names, *(const uint32_t *)a, &n);
	const char *t = strings_get(names, *(const uint32_t *)b, &m);
	int r = memcmp(s, t, n < m ? n : m);

	return r ? r : (n > m) - (n < m);
}

/* Place of each name among all names in order of their text. */
static int
rank_names(struct strings *names, uint32_t **out)
{
	uint32_t n = strings_count(names);
	CLEANUP_FREE uint32_t *sorted = calloc(n, sizeof(*sorted));
	uint32_t *rank = calloc(n, sizeof(*rank));

	*out = rank;
	if (!sorted || !rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = i;
	qsort_r(sorted, n, sizeof(*sorted), by_text, names);
	for (uint32_t i = 0; i < n; i++)
		rank[sorted[i]] = i;
	return 0;
}

/* Bucket of a node: its name's rank in one pass, its parent in the other. */
static uint32_t
bucket(const struct layout *l, const uint32_t *rank, uint32_t node)
{
	return rank ? rank[l->nodes[node].name] : l->nodes[node].parent;
}

/* One pass of a radix sort: from in to out, stable, by buckets below n. */
static int
sort_pass(const struct layout *l, const uint32_t *rank, uint32_t n,
          const uint32_t *in, uint32_t *out)
{
	CLEANUP_FREE uint32_t *start = calloc((size_t)n + 1, sizeof(*start));

	if (!start)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n; i++)
		start[bucket(l, rank, i) + 1]++;
	for (uint32_t i = 0; i < n; i++)
		start[i + 1] += start[i];
	for (uint32_t i = 0; i < l->n; i++)
		out[start[bucket(l, rank, in[i])]++] = in[i];
	return 0;
}

/* All nodes, by parent and then by name; the root, its own parent, may stand
 * anywhere among its children. */
static int
sort_nodes(const struct layout *l, struct strings *names, uint32_t *order)
{
	CLEANUP_FREE uint32_t *rank = NULL;
	CLEANUP_FREE uint32_t *by_name = calloc(l->n, sizeof(*by_name));
	int r = rank_names(names, &rank);

	if (r || !by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n; i++)
		order[i] = i;
	r = sort_pass(l, rank, strings_count(names), order, by_name);
	return r ? r : sort_pass(l, NULL, l->n, by_name, order);
}

static void
place_nodes(struct layout *l, const uint32_t *order)
{
	l->nodes[0].next = 1;
	for (uint32_t i = 0; i < l->n; i++) {
		struct node *n = &l->nodes[order[i]];
		struct node *parent = &l->nodes[n->parent];

		if (n == parent)
			continue;
		n->place = parent->next;
		n->next = n->place + 1;
		n->depth = parent->depth + 1;
		parent->next += n->size;
	}
}

int
tree_columns(struct tree *t, size_t n)
{
	t->depth = calloc(n, sizeof(*t->depth));
	t->end = calloc(n, sizeof(*t->end));
	t->name = calloc(n, sizeof(*t->name));
	t->self = calloc(n, sizeof(*t->self));
	t->total = calloc(n, sizeof(*t->total));
	t->samples = calloc(n, sizeof(*t->samples));
	return t->depth && t->end && t->name && t->self && t->total &&
	                       t->samples
	               ? 0
	               : -ENOMEM;
}

static void
write_columns(const struct layout *l, struct tree *t)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct node *n = &l->nodes[i];

		t->depth[n->place] = n->depth;
		t->end[n->place] = n->place + n->size;
		t->name[n->place] = n->name;
		t->self[n->place] = n->self;
		t->total[n->place] = n->total;
		t->samples[n->place] = n->samples;
	}
}

int
tree_lay_out(struct tree *t, struct node *nodes, uint32_t n)
{
	CLEANUP_FREE uint32_t *order = calloc(n, sizeof(*order));
	struct layout l = {nodes, n};
	int r = order ? sort_nodes(&l, t->names, order) : -ENOMEM;

	if (!r)
		r = tree_columns(t, n);
	if (r)
		return r;
	t->n = n;
	sum_up(&l);
	place_nodes(&l, order);
	write_columns(&l, t);
	return 0;
}
