#include "graph.h"

#include "base/hash.h"
#include "base/pairs.h"
#include "base/table.h"
#include "cli.h"
#include "profile/site.h"
#include "profile/summary.h"
#include "table.h"
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EPHEMERAL 32768 /* the kernel's first port of outgoing connections */
#define NEAR_MOST 5     /* names that an error lists */

void
graph_free(struct graph *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->nfunctions; i++)
		free(g->functions[i].name);
	free(g->functions);
	free(g->nodes);
	free(g->title);
	free(g->in);
	json_decref(g->reply);
	free(g);
}

/* --- reading -------------------------------------------------------------- */

static int64_t
number_at(const json_t *list, size_t i)
{
	return json_integer_value(json_array_get(list, i));
}

/* Returns a copy of a name, without the port of a peer, as in "[recvfrom
 * socket 10.0.0.3:50560]", if the kernel chose the port. */
static char *
fold_peer(const char *name)
{
	char *copy = strdup(name);
	char *colon = copy ? strrchr(copy, ':') : NULL, *end;
	unsigned long port;

	if (!colon || *name != '[' || !strstr(name, " socket "))
		return copy;
	port = strtoul(colon + 1, &end, 10);
	if (end > colon + 1 && !strcmp(end, "]") && port >= EPHEMERAL)
		strcpy(colon, "]");
	return copy;
}

struct naming {
	struct graph *g;
	struct table table;
	uint32_t *functions; /* by index in the reply */
};

static void
naming_done(struct naming *y)
{
	table_done(&y->table);
	free(y->functions);
}

static bool
is_function(const void *key, uint32_t row)
{
	const struct naming *y = key;
	const struct graph_function *all = y->g->functions,
				    *f = &all[y->g->nfunctions];

	return !strcmp(all[row].name, f->name) &&
	       !strcmp(all[row].package, f->package);
}

/* Looks up the function stored after the last one, and keeps it if it is
 * new. */
static int
add_function(struct naming *y, uint32_t *out)
{
	struct graph_function *f = &y->g->functions[y->g->nfunctions];
	uint64_t hash = hash_pair(hash_bytes(f->name, strlen(f->name)),
	                          hash_bytes(f->package, strlen(f->package)));
	int rc;

	*out = table_find(&y->table, hash, is_function, y);
	if (*out != TABLE_NONE) {
		free(TAKE(f->name));
		return 0;
	}
	rc = table_room(&y->table);
	if (rc)
		return rc;
	*out = y->g->nfunctions++;
	table_put(&y->table, hash, *out);
	return 0;
}

static int
read_functions(struct naming *y)
{
	struct graph *g = y->g;
	const json_t *names = json_object_get(g->reply, "names"),
		     *packages = json_object_get(g->reply, "packages"),
		     *files = json_object_get(g->reply, "files"),
		     *file = json_object_get(g->reply, "file"),
		     *line = json_object_get(g->reply, "line");
	size_t n = json_array_size(names);
	int rc = 0;

	g->functions = calloc(n + 1, sizeof(*g->functions));
	y->functions = calloc(n + 1, sizeof(*y->functions));
	if (!g->functions || !y->functions)
		return -ENOMEM;
	for (size_t i = 0; i < n && !rc; i++) {
		struct graph_function *f = &g->functions[g->nfunctions];

		*f = (struct graph_function){
			.name = fold_peer(json_item(names, i)),
			.package = json_item(packages, i),
			.file = json_item(files, (size_t)number_at(file, i)),
			.line = number_at(line, i),
		};
		rc = f->name ? add_function(y, &y->functions[i]) : -ENOMEM;
	}
	return rc;
}

static int
read_nodes(struct naming *y)
{
	struct graph *g = y->g;
	const json_t *names = json_object_get(g->reply, "name"),
		     *depths = json_object_get(g->reply, "depth"),
		     *selfs = json_object_get(g->reply, "self"),
		     *totals = json_object_get(g->reply, "totals");
	size_t n = json_array_size(names),
	       nnames = json_array_size(json_object_get(g->reply, "names"));
	CLEANUP_FREE uint32_t *path = calloc(n + 1, sizeof(*path));
	int64_t most = 0; /* depth that the next node may have */

	g->nodes = calloc(n + 1, sizeof(*g->nodes));
	if (!path || !g->nodes)
		return -ENOMEM;
	for (; g->n < n; g->n++) {
		int64_t depth = number_at(depths, g->n),
			name = number_at(names, g->n);

		if (depth < (g->n ? 1 : 0) || depth > most || name < 0 ||
		    (size_t)name >= nnames)
			return -EBADMSG;
		g->nodes[g->n] = (struct graph_node){
			.parent = depth ? path[depth - 1] : 0,
			.function = y->functions[name],
			.self = number_at(selfs, g->n),
			.total = number_at(totals, g->n),
		};
		path[depth] = g->n;
		most = depth + 1;
	}
	return g->n ? 0 : -EBADMSG;
}

int
graph_new(json_t *reply, struct graph **out)
{
	CLEANUP_GRAPH struct graph *g = calloc(1, sizeof(*g));
	CLEANUP(naming_done) struct naming y = {.g = g};
	int rc;

	if (!g)
		return -ENOMEM;
	g->reply = json_incref(reply);
	rc = read_functions(&y);
	if (!rc)
		rc = read_nodes(&y);
	if (!rc)
		*out = TAKE(g);
	return rc;
}

/* --- allocators, locks and runtimes --------------------------------------- */

bool
graph_skips(const struct graph *g, uint32_t function)
{
	const struct graph_function *f = &g->functions[function];

	return site_skips(f->name, f->package);
}

/* The cost of a site in a skipped function. */
struct inside {
	uint32_t site, function;
	int64_t self;
};

static int
by_site(const void *a, const void *b)
{
	const struct inside *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

/* Sets, for each site, the skipped function that costs most. */
static void
set_in(struct inside *all, size_t n, uint32_t *in)
{
	int64_t most = 0;

	qsort(all, n, sizeof(*all), by_site);
	for (size_t i = 0, k; i < n; i = k) {
		int64_t self = 0;

		for (k = i; k < n && !by_site(&all[i], &all[k]); k++)
			self += all[k].self;
		if (!i || all[i].site != all[i - 1].site)
			most = 0;
		if (self > most) {
			most = self;
			in[all[i].site] = all[i].function;
		}
	}
}

/* State while frames are skipped. */
struct skipping {
	bool *skips;    /* by function */
	bool *inner;    /* by node: it is in an allocator or the like */
	uint32_t *of;   /* by node: its function */
	uint32_t *kept; /* by node: the kept node that is charged with it */
	struct inside *inside;
	size_t ninside;
};

static void
skipping_done(struct skipping *s)
{
	free(s->skips);
	free(s->inner);
	free(s->of);
	free(s->kept);
	free(s->inside);
}

static bool
is_part(const struct graph *g, uint32_t caller, uint32_t function)
{
	const struct graph_function *by = &g->functions[caller],
				    *f = &g->functions[function];

	return site_is_part(f->name, by->name) &&
	       !strcmp(f->package, by->package);
}

/* Moves a node to the next place, or adds its cost to its caller. */
static void
skip_node(struct graph *g, struct skipping *s, uint32_t i, uint32_t *n)
{
	struct graph_node x = g->nodes[i];
	uint32_t to = i ? s->kept[x.parent] : 0;

	s->of[i] = x.function;
	s->inner[i] = s->skips[x.function] ||
	              (i && s->inner[x.parent] &&
	               is_part(g, s->of[x.parent], x.function));
	if (!i || !s->inner[i] || (!to && x.self)) {
		s->kept[i] = *n;
		x.parent = to;
		g->nodes[(*n)++] = x;
		return;
	}
	s->kept[i] = to;
	g->nodes[to].self += x.self;
	if (to && x.self)
		s->inside[s->ninside++] = (struct inside){g->nodes[to].function,
		                                          x.function, x.self};
}

int
graph_skip(struct graph *g)
{
	CLEANUP(skipping_done)
	struct skipping s = {
		.skips = calloc(g->nfunctions, sizeof(*s.skips)),
		.inner = calloc(g->n, sizeof(*s.inner)),
		.of = calloc(g->n, sizeof(*s.of)),
		.kept = calloc(g->n, sizeof(*s.kept)),
		.inside = calloc(g->n, sizeof(*s.inside)),
	};
	uint32_t n = 0;

	g->in = malloc(g->nfunctions * sizeof(*g->in));
	if (!s.skips || !s.inner || !s.of || !s.kept || !s.inside || !g->in)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->nfunctions; i++) {
		s.skips[i] = graph_skips(g, i);
		g->in[i] = GRAPH_NONE;
	}
	for (uint32_t i = 0; i < g->n; i++)
		skip_node(g, &s, i, &n);
	g->n = n;
	set_in(s.inside, s.ninside, g->in);
	return 0;
}

/* --- units and programs --------------------------------------------------- */

uint32_t
graph_title(const struct graph *g, uint32_t node)
{
	const struct graph_node *x = &g->nodes[node];

	return node && !x->parent &&
	                       !strcmp(g->functions[x->function].package,
	                               SUMMARY_PROGRAMS)
	               ? x->function
	               : GRAPH_NONE;
}

static bool
has_titles(const struct graph *g)
{
	for (uint32_t i = 1; i < g->n; i++)
		if (graph_title(g, i) != GRAPH_NONE)
			return true;
	return false;
}

/* Numbers the pairs of title and function that nodes have.
 *   Shape    titles[n], of[n] by node */
static int
pair_functions(const struct graph *g, struct pairs *pairs, uint32_t *titles,
               uint32_t *of)
{
	int rc = 0;

	for (uint32_t i = 0; i < g->n && !rc; i++) {
		const struct graph_node *x = &g->nodes[i];

		titles[i] = x->parent ? titles[x->parent] : graph_title(g, i);
		rc = pairs_intern(pairs, x->parent ? titles[i] : GRAPH_NONE,
		                  x->function, &of[i]);
	}
	return rc;
}

/* Replaces the functions by the pairs'. */
static int
split_functions(struct graph *g, const struct pairs *pairs)
{
	struct graph_function *all = calloc(pairs->n, sizeof(*all));
	uint32_t *title = calloc(pairs->n, sizeof(*title));
	uint32_t n = 0;

	for (; all && title && n < pairs->n; n++) {
		all[n] = g->functions[pairs->rows[n].b];
		all[n].name = strdup(all[n].name);
		if (!all[n].name)
			break;
		title[n] = pairs->rows[n].a;
	}
	if (n < pairs->n || !all || !title) {
		while (n)
			free(all[--n].name);
		free(all);
		free(title);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < g->nfunctions; i++)
		free(g->functions[i].name);
	free(g->functions);
	g->functions = all;
	g->nfunctions = n;
	g->title = title;
	return 0;
}

/* Rebuilds the titles from the new functions. */
static int
renumber(struct graph *g, struct pairs *pairs)
{
	int rc = 0;

	for (uint32_t i = 0; i < g->nfunctions && !rc; i++)
		if (g->title[i] != GRAPH_NONE)
			rc = pairs_intern(pairs, GRAPH_NONE, g->title[i],
			                  &g->title[i]);
	return rc;
}

int
graph_split(struct graph *g)
{
	CLEANUP(pairs_done) struct pairs pairs = {.max = PAIRS_MAX};
	CLEANUP_FREE uint32_t *titles = calloc(g->n, sizeof(*titles));
	CLEANUP_FREE uint32_t *of = calloc(g->n, sizeof(*of));
	int rc = titles && of ? 0 : -ENOMEM;

	if (rc || !has_titles(g))
		return rc;
	rc = pair_functions(g, &pairs, titles, of);
	if (!rc)
		rc = split_functions(g, &pairs);
	if (!rc)
		rc = renumber(g, &pairs);
	for (uint32_t i = 0; i < g->n && !rc; i++)
		g->nodes[i].function = of[i];
	return rc;
}

int
graph_find(const struct graph *g, const char *name, uint32_t *out)
{
	CLEANUP_BUF struct buf near = BUF_INIT(BUF_MAX_SMALL);
	uint32_t found = GRAPH_NONE;
	size_t n = 0;

	for (uint32_t i = 0; i < g->nfunctions; i++) {
		if (i == g->nodes[0].function) /* the root's function */
			continue;
		if (!strcmp(g->functions[i].name, name)) {
			*out = i;
			return LEAVE_OK;
		}
		if (!strstr(g->functions[i].name, name))
			continue;
		found = i;
		if (n++ < NEAR_MOST) {
			buf_puts(&near, "\n  ");
			safe_puts(&near, g->functions[i].name);
		}
	}
	if (!n)
		return failed("no function of the profile is called '%s'",
		              name);
	if (n > 1)
		return failed("several functions match '%s':%s", name,
		              buf_str(&near));
	*out = found;
	return LEAVE_OK;
}

/* --- functions ------------------------------------------------------------ */

/* Returns the outermost node with a node's function on the path to it. */
static uint32_t
outermost(const struct graph *g, uint32_t node)
{
	uint32_t best = node, function = g->nodes[node].function;

	for (uint32_t i = node; i; i = g->nodes[i].parent)
		if (g->nodes[i].function == function)
			best = i;
	return best;
}

static int
by_cost(const void *a, const void *b, void *view)
{
	const struct graph_row *x = a, *y = b;
	bool total = *(const enum graph_view *)view == GRAPH_TOTAL;
	int64_t dx = total ? x->total : x->self,
		dy = total ? y->total : y->self;

	if (dx == dy) {
		dx = total ? x->self : x->total;
		dy = total ? y->self : y->total;
	}
	if (dx != dy)
		return dx < dy ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

static int
rows_of_functions(const struct graph *g, enum graph_view view, size_t limit,
                  struct graph_row **out, size_t *n, size_t *left)
{
	CLEANUP_FREE struct graph_row *rows =
		calloc(g->nfunctions + 1, sizeof(*rows));
	size_t found = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 1; i < g->n; i++) {
		struct graph_row *r = &rows[g->nodes[i].function];

		r->self += g->nodes[i].self;
		if (outermost(g, i) == i)
			r->total += g->nodes[i].total;
	}
	for (uint32_t i = 0; i < g->nfunctions; i++) {
		struct graph_row r = rows[i];

		r.function = i;
		if (r.total)
			rows[found++] = r;
	}
	qsort_r(rows, found, sizeof(*rows), by_cost, &view);
	*n = found < limit ? found : limit;
	*left = found - *n;
	*out = TAKE(rows);
	return 0;
}

/* --- trees ---------------------------------------------------------------- */

#define MERGED_MAX (1u << 22)

/* Merged nodes, and how they are shown. */
struct branch {
	uint32_t parent, function;
	int64_t self, total;
	uint32_t first, next; /* shown child and sibling, or 0 */
	uint32_t depth, indent;
};

struct merged {
	struct branch *items; /* items[0] is the function, or the root */
	uint32_t n, cap;
	struct table table;
};

static void
merged_done(struct merged *m)
{
	free(m->items);
	table_done(&m->table);
}

struct child {
	const struct merged *m;
	uint32_t parent, function;
};

static bool
is_child(const void *key, uint32_t row)
{
	const struct child *c = key;

	return c->m->items[row].parent == c->parent &&
	       c->m->items[row].function == c->function;
}

/* Appends a node. */
static int
grow(struct merged *m, struct branch b)
{
	if (m->n == m->cap) {
		uint32_t cap = m->cap ? 2 * m->cap : 64;
		struct branch *items =
			m->cap < MERGED_MAX
				? realloc(m->items, cap * sizeof(*items))
				: NULL;

		if (!items)
			return m->cap < MERGED_MAX ? -ENOMEM : -E2BIG;
		m->items = items;
		m->cap = cap;
	}
	m->items[m->n++] = b;
	return 0;
}

/* Finds or adds a child. */
static int
child_of(struct merged *m, uint32_t parent, uint32_t function, uint32_t *out)
{
	struct child key = {m, parent, function};
	uint64_t hash = hash_pair(parent, function);
	int rc;

	*out = table_find(&m->table, hash, is_child, &key);
	if (*out != TABLE_NONE)
		return 0;
	*out = m->n;
	rc = table_room(&m->table);
	if (!rc)
		rc = grow(m, (struct branch){.parent = parent,
		                             .function = function});
	if (!rc)
		table_put(&m->table, hash, *out);
	return rc;
}

static void
add(struct branch *b, const struct graph_node *x)
{
	b->self += x->self;
	b->total += x->total;
}

/* Merges what is below the outermost frames of a function, or the whole
 * graph. */
static int
merge_callees(const struct graph *g, uint32_t function, struct merged *m)
{
	CLEANUP_FREE uint32_t *at = malloc(g->n * sizeof(*at));
	int rc = 0;

	if (!at)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n && !rc; i++) {
		const struct graph_node *x = &g->nodes[i];

		at[i] = i ? at[x->parent] : GRAPH_NONE;
		if (at[i] != GRAPH_NONE)
			rc = child_of(m, at[i], x->function, &at[i]);
		else if (function == GRAPH_NONE || x->function == function)
			at[i] = 0;
		if (!rc && at[i] != GRAPH_NONE)
			add(&m->items[at[i]], x);
	}
	return rc;
}

static int
merge_callers(const struct graph *g, uint32_t function, struct merged *m)
{
	for (uint32_t i = 1; i < g->n; i++) {
		const struct graph_node *x = &g->nodes[i];
		uint32_t at = 0;

		if (x->function != function || outermost(g, i) != i)
			continue;
		add(&m->items[0], x);
		for (uint32_t p = x->parent; p; p = g->nodes[p].parent) {
			int rc = child_of(m, at, g->nodes[p].function, &at);

			if (rc)
				return rc;
			add(&m->items[at], x);
		}
	}
	return 0;
}

static int
by_total(const void *a, const void *b, void *merged)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct branch *items = ((const struct merged *)merged)->items;

	if (items[x].total != items[y].total)
		return items[x].total < items[y].total ? 1 : -1;
	return (x > y) - (x < y);
}

/*
 * Links the largest nodes to their parents, which are at least as large and
 * come first.
 */
static int
link_largest(struct merged *m, size_t limit)
{
	CLEANUP_FREE uint32_t *order = malloc(m->n * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n; i++)
		order[i] = i;
	qsort_r(order, m->n, sizeof(*order), by_total, m);
	for (size_t i = limit < m->n ? limit : m->n; i-- > 0;) {
		struct branch *b = &m->items[order[i]];

		if (!order[i])
			continue;
		b->next = m->items[b->parent].first;
		m->items[b->parent].first = order[i];
	}
	return 0;
}

/* Returns the row of a node. A chain stays in its column. */
static struct graph_row
row_of(const struct merged *m, uint32_t i)
{
	struct branch *b = &m->items[i];
	const struct branch *above = &m->items[b->parent];
	bool forked = i && m->items[above->first].next;

	b->indent = above->indent + (forked ? 2 : 0);
	b->depth = above->depth + (i ? 1 : 0);
	return (struct graph_row){.function = b->function,
	                          .depth = b->depth,
	                          .indent = b->indent,
	                          .branch = forked,
	                          .self = b->self,
	                          .total = b->total};
}

/* Makes a row for each linked node, in preorder; returns their number. */
static size_t
put_rows(const struct merged *m, struct graph_row *rows)
{
	uint32_t i = 0;
	size_t n = 0;

	for (;;) {
		rows[n++] = row_of(m, i);
		if (m->items[i].first) {
			i = m->items[i].first;
			continue;
		}
		while (i && !m->items[i].next)
			i = m->items[i].parent;
		if (!i)
			return n;
		i = m->items[i].next;
	}
}

static int
rows_of_tree(const struct graph *g, enum graph_view view, uint32_t function,
             size_t limit, struct graph_row **out, size_t *n, size_t *left)
{
	CLEANUP(merged_done) struct merged m = {0};
	CLEANUP_FREE struct graph_row *rows = NULL;
	int rc = grow(&m, (struct branch){.function = function});

	if (!rc)
		rc = view == GRAPH_CALLERS ? merge_callers(g, function, &m)
		                           : merge_callees(g, function, &m);
	if (!rc)
		rc = link_largest(&m, limit);
	if (rc)
		return rc;
	rows = calloc(m.n, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	*n = put_rows(&m, rows);
	*left = m.n - *n;
	*out = TAKE(rows);
	return 0;
}

int
graph_rows(const struct graph *g, enum graph_view view, uint32_t function,
           size_t limit, struct graph_row **out, size_t *n, size_t *left)
{
	return view == GRAPH_SELF || view == GRAPH_TOTAL
	               ? rows_of_functions(g, view, limit, out, n, left)
	               : rows_of_tree(g, view, function, limit, out, n, left);
}
