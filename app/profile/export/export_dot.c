/*
 * Writes the call graph of the largest functions for Graphviz: a box for each,
 * with edges weighted by the cost of the calls. An edge that skips functions is
 * dotted.
 *
 * Recursion counts once, in boxes and in edges: the numbers equal those in
 * topFunctions. Source: the layout of `go tool pprof -dot`.
 */
#include "exports.h"

#include "base/driving.h"
#include "base/hash.h"
#include "base/quantity.h"
#include "base/table.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

#define MAX_BOXES  80  /* pprof's default nodecount */
#define LEAST_BOX  200 /* functions below total / LEAST_BOX are left out */
#define LEAST_EDGE 1000
#define MAX_NAME   256 /* bytes shown of a name */
#define NO_BOX     UINT32_MAX

struct edge {
	uint32_t from, to; /* indexes of boxes */
	uint32_t end;      /* end of the outermost open node with this
	                      function */
	bool skips;        /* it skips functions */
	int64_t total;
};

struct graph {
	const struct tree *t;
	struct buf *out;
	const char *unit;
	struct top_entry *boxes;
	uint32_t nboxes;
	uint32_t *box; /* by name: its box, or NO_BOX */
	struct edge edges[MAX_BOXES * MAX_BOXES + 1]; /* the last is a sentinel
	                                                 for lookups */
	struct table index;
	uint32_t nedges;
};

static void
graph_free(struct graph *g)
{
	if (!g)
		return;
	free(g->boxes);
	free(g->box);
	table_done(&g->index);
	free(g);
}
DEFINE_CLEANUP(struct graph *, graph_free)

static int64_t
size_of(int64_t v)
{
	return v < 0 ? -v : v;
}

static int
by_total(const void *a, const void *b)
{
	const struct top_entry *x = a, *y = b;
	int64_t sx = size_of(x->total), sy = size_of(y->total);

	if (sx != sy)
		return sx < sy ? 1 : -1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static int
choose_boxes(struct graph *g)
{
	uint32_t n = 0, nnames = strings_count(g->t->names);
	int64_t least = size_of(g->t->total[0]) / LEAST_BOX;
	int r = tree_top(g->t, 0, &g->boxes, &n);

	if (r)
		return r;
	g->box = malloc(nnames * sizeof(*g->box));
	if (!g->box)
		return -ENOMEM;
	memset(g->box, 0xFF, nnames * sizeof(*g->box));
	qsort(g->boxes, n, sizeof(*g->boxes), by_total);
	while (g->nboxes < n && g->nboxes < MAX_BOXES &&
	       size_of(g->boxes[g->nboxes].total) >= least) {
		g->box[g->boxes[g->nboxes].name] = g->nboxes;
		g->nboxes++;
	}
	return 0;
}

static bool
same_edge(const void *key, uint32_t row)
{
	const struct graph *g = key;
	const struct edge *want = &g->edges[g->nedges];

	return want->from == g->edges[row].from && want->to == g->edges[row].to;
}

/* Finds the edge between two boxes, or adds it. */
static int
find_edge(struct graph *g, uint32_t from, uint32_t to, struct edge **out)
{
	uint64_t hash = hash_pair(from, to);
	uint32_t at;

	g->edges[g->nedges] = (struct edge){from, to, 0, true, 0};
	at = table_find(&g->index, hash, same_edge, g);
	if (at == TABLE_NONE) {
		int r = table_room(&g->index);

		if (r)
			return r;
		at = g->nedges++;
		table_put(&g->index, hash, at);
	}
	*out = &g->edges[at];
	return 0;
}

/* Counts the edge that ends at a node; its caller is the nearest open node
 * above that has a box. */
static int
add_edge(struct graph *g, uint32_t node, uint32_t from, bool skips)
{
	struct edge *e;
	int r = find_edge(g, from, g->box[g->t->name[node]], &e);

	if (r)
		return r;
	e->skips &= skips;
	if (node < e->end)
		return 0;
	e->end = g->t->end[node];
	e->total += g->t->total[node];
	return 0;
}

/* The open node at one depth of the path down to a node. */
struct open_node {
	uint32_t box; /* its box, or the nearest above it, or NO_BOX */
	bool own;
};

static int
walk(struct graph *g, struct open_node *path)
{
	const struct tree *t = g->t;
	int r = 0;

	path[0].box = NO_BOX;
	for (uint32_t i = 1; i < t->n && !r; i++) {
		const struct open_node *above = &path[t->depth[i] - 1];
		struct open_node *at = &path[t->depth[i]];

		at->box = g->box[t->name[i]];
		at->own = at->box != NO_BOX;
		if (!at->own)
			at->box = above->box;
		else if (above->box != NO_BOX)
			r = add_edge(g, i, above->box, !above->own);
	}
	return r;
}

static int
find_edges(struct graph *g)
{
	CLEANUP_FREE struct open_node *path = calloc(g->t->n, sizeof(*path));

	return path ? walk(g, path) : -ENOMEM;
}

static void
put_text(struct buf *out, const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s, *end;

	for (end = p + (n < MAX_NAME ? n : MAX_NAME); p < end;) {
		size_t len = utf8_len(p, (size_t)(end - p));

		if (len == 0 || driving(p, len))
			buf_putc(out, '?');
		else if (*p == '"' || *p == '\\')
			buf_putc(out, '\\'), buf_putc(out, (char)*p);
		else
			buf_add(out, p, len);
		p += len ? len : 1;
	}
}

static double
share(const struct graph *g, int64_t v)
{
	int64_t all = g->t->total[0];

	return all ? 100.0 * (double)v / (double)all : 0;
}

/* Writes a box: the font size shows the self value, the colour the total. */
static void
put_box(const struct graph *g, uint32_t i)
{
	const struct top_entry *e = &g->boxes[i];
	double self = share(g, size_of(e->self));
	double total = share(g, size_of(e->total));
	size_t n;
	const char *name = tree_name(g->t, e->name, &n);

	buf_addf(g->out, "\tN%u [label=\"", i);
	put_text(g->out, name, n);
	buf_puts(g->out, "\\n");
	if (e->self) {
		quantity(g->out, e->self, g->unit);
		buf_addf(g->out, " (%.2f%%)\\nof ", self);
	}
	quantity(g->out, e->total, g->unit);
	buf_addf(g->out,
	         " (%.2f%%)\" fontsize=%.0f style=filled "
	         "fillcolor=\"0.05 %.3f 1.0\"]\n",
	         total, 8 + 16 * self / 100, total / 100);
}

static void
put_edge(const struct graph *g, const struct edge *e)
{
	double part = share(g, size_of(e->total));

	if (part * LEAST_EDGE < 100)
		return;
	buf_addf(g->out, "\tN%u -> N%u [label=\"", e->from, e->to);
	quantity(g->out, e->total, g->unit);
	buf_addf(g->out, "\" weight=%.0f penwidth=%.1f%s]\n", 1 + part,
	         1 + part / 20, e->skips ? " style=dotted" : "");
}

static void
put_graph(const struct graph *g, const struct export_meta *meta)
{
	buf_puts(g->out, "digraph \"");
	put_text(g->out, meta->title, strlen(meta->title));
	buf_puts(g->out, "\" {\n\tlabel=\"");
	put_text(g->out, meta->title, strlen(meta->title));
	buf_puts(g->out, ": ");
	quantity(g->out, g->t->total[0], g->unit);
	buf_puts(g->out, "\"\n\tnode [shape=box fontname=\"sans-serif\"]\n"
	                 "\tedge [fontname=\"sans-serif\" fontsize=9]\n");
	for (uint32_t i = 0; i < g->nboxes; i++)
		put_box(g, i);
	for (uint32_t i = 0; i < g->nedges; i++)
		put_edge(g, &g->edges[i]);
	buf_puts(g->out, "}\n");
}

int
export_dot(const struct tree *t, const struct export_meta *meta,
           struct buf *out)
{
	const struct profile *p = t->profile;
	CLEANUP(graph_free_ptr) struct graph *g = calloc(1, sizeof(*g));
	int r = g ? 0 : -ENOMEM;

	if (!r) {
		g->t = t;
		g->out = out;
		g->unit = profile_text(p, p->types[t->type].unit);
		r = choose_boxes(g);
	}
	if (!r)
		r = find_edges(g);
	if (r)
		return out->err = r;
	put_graph(g, meta);
	return buf_err(out);
}
