#include "top.h"

#include "base/path.h"
#include "graph.h"
#include "labels.h"
#include "lines.h"
#include "name.h"
#include "service.h"
#include "table.h"
#include "text.h"
#include "values.h"

#include <inttypes.h>
#include <string.h>

#define STORED     100 /* functions of a ProfileResult */
#define NAME_MOST  56  /* columns of an indented name on a terminal */
#define NAME_LEAST 24

static const struct column by_self[] = {
	{"SELF", "selfText", RIGHT, PLAIN},
	{"SELF %", "selfPct", RIGHT, PERCENT},
	{"TOTAL", "totalText", RIGHT, PLAIN},
	{"UNIT OR PROGRAM", "program", LEFT, MIDDLE},
	{"PACKAGE", "package", LEFT, NAME},
	{"LINE", "at", LEFT, NAME},
	{"LEAF", "leaf", LEFT, NAME},
	{"FUNCTION", "funcName", LEFT, NAME},
};

static const struct column by_total[] = {
	{"TOTAL", "totalText", RIGHT, PLAIN},
	{"TOTAL %", "cumulativePct", RIGHT, PERCENT},
	{"SELF", "selfText", RIGHT, PLAIN},
	{"UNIT OR PROGRAM", "program", LEFT, MIDDLE},
	{"PACKAGE", "package", LEFT, NAME},
	{"LINE", "at", LEFT, NAME},
	{"LEAF", "leaf", LEFT, NAME},
	{"FUNCTION", "funcName", LEFT, NAME},
};

static const struct column of_titles[] = {
	{"TOTAL", "totalText", RIGHT, PLAIN},
	{"TOTAL %", "cumulativePct", RIGHT, PERCENT},
	{"UNIT OR PROGRAM", "funcName", LEFT, MIDDLE},
};

static const struct column of_tree[] = {
	{"TOTAL", "totalText", RIGHT, PLAIN},
	{"TOTAL %", "cumulativePct", RIGHT, PERCENT},
	{"SELF", "selfText", RIGHT, PLAIN},
	{"LINE", "at", LEFT, NAME},
	{"FUNCTION", "funcName", LEFT, PLAIN},
};

/* True if an option names a view of the flame graph. */
static bool
is_named(const struct options *o)
{
	return o->cum || o->callers || o->callees || o->tree || o->list ||
	       o->lines || o->runtime || o->sample_type;
}

bool
top_is_view(const struct options *o)
{
	return is_named(o) || o->limit > STORED;
}

/* The requested view of a graph. */
struct view {
	const struct options *o;
	const struct screen *screen; /* NULL for JSON */
	struct graph *graph;
	enum graph_view kind;
	uint32_t function;
	struct graph_row *rows;
	size_t limit, n, left;
	int64_t all;
	const char *unit;
};

static void
view_done(struct view *v)
{
	graph_free(v->graph);
	free(v->rows);
}

static bool
is_tree(const struct view *v)
{
	return v->kind == GRAPH_CALLERS || v->kind == GRAPH_CALLEES;
}

/* --- rows ----------------------------------------------------------------- */

static void
set_percent(json_t *row, const char *key, int64_t part, int64_t all)
{
	json_object_set_new(
		row, key,
		json_real(all ? 100 * (double)part / (double)all : 0));
}

/* Sets "at", the source line of a function without its folders. */
static void
set_line(json_t *row, const struct graph_function *f)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const char *slash = strrchr(f->file, '/');

	if (!*f->file)
		return;
	buf_puts(&text, slash ? slash + 1 : f->file);
	if (f->line)
		buf_addf(&text, ":%" PRId64, f->line);
	json_object_set_new(row, "at", json_text(buf_str(&text)));
}

/* Sets a name as a tree shows it. */
static void
set_branch(json_t *row, const struct graph_row *r, const char *name,
           const struct screen *s)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	size_t most = r->indent + NAME_LEAST < NAME_MOST ? NAME_MOST - r->indent
	                                                 : NAME_LEAST;

	text_pad(&text, r->indent - (r->branch ? 2 : 0));
	buf_puts(&text, r->branch ? "- " : "");
	if (s->width)
		name_fit(&text, name, most);
	else
		buf_puts(&text, name);
	json_object_set_new(row, "funcName", json_text(buf_str(&text)));
}

/* Sets the unit or program of a row, in a profile of several. */
static void
set_title(const struct view *v, const struct graph_row *r, json_t *row)
{
	const struct graph *g = v->graph;
	uint32_t title = g->title ? g->title[r->function] : GRAPH_NONE;
	const char *name;

	if (title == GRAPH_NONE)
		return;
	name = g->functions[title].name;
	if (v->screen && v->screen->width)
		name = path_name(name);
	json_object_set_new(row, "program", json_text(name));
}

/* Adds the texts that are shown to a row. */
static void
set_texts(const struct view *v, const struct graph_row *r, json_t *row)
{
	const struct graph *g = v->graph;
	const struct graph_function *f = &g->functions[r->function];

	value_set(row, "selfText", r->self, v->unit);
	value_set(row, "totalText", r->total, v->unit);
	if (v->o->lines)
		set_line(row, f);
	if (v->o->lines || g->in || (g->title && v->screen->width))
		json_object_del(row, "package");
	/* there is no room for three columns beside the program */
	if (v->screen->width && json_object_get(row, "program"))
		json_object_del(row, v->kind == GRAPH_SELF ? "totalText"
		                                           : "selfText");
	if (is_tree(v))
		set_branch(row, r, f->name, v->screen);
	else if (g->in && g->in[r->function] != GRAPH_NONE)
		json_object_set_new(
			row, "leaf",
			json_text(g->functions[g->in[r->function]].name));
}

static json_t *
row_of(const struct view *v, const struct graph_row *r)
{
	const struct graph_function *f = &v->graph->functions[r->function];
	json_t *row = json_object();

	json_object_set_new(row, "funcName", json_text(f->name));
	json_object_set_new(row, "package", json_text(f->package));
	set_title(v, r, row);
	set_percent(row, "selfPct", r->self, v->all);
	set_percent(row, "cumulativePct", r->total, v->all);
	if (v->screen) {
		set_texts(v, r, row);
		return row;
	}
	json_object_set_new(row, "file", json_text(f->file));
	number_set(row, "line", f->line);
	number_set(row, "self", r->self);
	number_set(row, "total", r->total);
	if (is_tree(v))
		number_set(row, "depth", r->depth);
	return row;
}

/* Leaves out the root of the call tree: its cost is the total. */
static json_t *
rows_of(const struct view *v)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < v->n; i++)
		if (v->rows[i].function != GRAPH_NONE)
			json_array_append_new(rows, row_of(v, &v->rows[i]));
	return rows;
}

/* --- the request ---------------------------------------------------------- */

static const char *
function_asked(const struct options *o)
{
	return o->callers ? o->callers : o->callees;
}

/* Sets the graph, the function and the rows to show. */
static int
view_init(struct view *v, json_t *graph, const char *type)
{
	const struct options *o = v->o;
	int rc = graph_new(graph, &v->graph);

	if (rc)
		return failed("the server sent no call tree");
	v->function = GRAPH_NONE;
	v->all = v->graph->nodes[0].total;
	v->unit = json_member(graph, "unit");
	v->kind = o->callers              ? GRAPH_CALLERS
	          : o->callees || o->tree ? GRAPH_CALLEES
	          : o->cum                ? GRAPH_TOTAL
	                                  : GRAPH_SELF;
	if (function_asked(o))
		rc = graph_find(v->graph, function_asked(o), &v->function);
	if (!rc && !o->runtime && values_have_sites(type) &&
	    (v->function == GRAPH_NONE || !graph_skips(v->graph, v->function)))
		rc = graph_skip(v->graph) ? failed("out of memory") : rc;
	if (!rc && !is_tree(v))
		rc = graph_split(v->graph) ? failed("out of memory") : rc;
	return rc;
}

static int
make_rows(struct view *v)
{
	int rc;

	v->limit = v->o->limit < 0 ? TOP_ROWS : (size_t)v->o->limit;
	/* the root is not a row of the table */
	v->limit += is_tree(v) && v->function == GRAPH_NONE;
	rc = graph_rows(v->graph, v->kind, v->function, v->limit, &v->rows,
	                &v->n, &v->left);
	return rc ? failed("the profile is too large: %s", strerror(-rc))
	          : LEAVE_OK;
}

int
top_json(json_t *graph, const char *type, const struct options *o, json_t **out)
{
	CLEANUP(view_done) struct view v = {.o = o};
	int rc = view_init(&v, graph, type);

	if (!rc)
		rc = make_rows(&v);
	if (!rc)
		*out = rows_of(&v);
	return rc;
}

static int
by_cost(const void *a, const void *b)
{
	const struct graph_row *x = a, *y = b;

	return (x->total < y->total) - (x->total > y->total);
}

/* Shows the units and programs of a profile of a whole host, the costliest
 * first. */
static void
show_titles(const struct view *v, struct buf *out)
{
	const struct graph *g = v->graph;
	CLEANUP_FREE struct graph_row *all = calloc(g->n, sizeof(*all));
	CLEANUP_JSON json_t *rows = json_array();
	size_t n = 0, limit = v->limit / 2 + 1;

	for (uint32_t i = 1; all && i < g->n; i++)
		if (graph_title(g, i) != GRAPH_NONE)
			all[n++] = (struct graph_row){
				.function = g->nodes[i].function,
				.total = g->nodes[i].total};
	if (!n)
		return;
	qsort(all, n, sizeof(*all), by_cost);
	for (size_t i = 0; i < n && i < limit; i++)
		json_array_append_new(rows, row_of(v, &all[i]));
	table_show(out, of_titles, ARRAY_LEN(of_titles), rows, v->screen);
	if (n > limit)
		buf_addf(out, "%zu more with --limit\n", n - limit);
	buf_putc(out, '\n');
}

static void
show_rows(const struct view *v, struct buf *out)
{
	CLEANUP_JSON json_t *rows = rows_of(v);

	if (v->graph->title)
		show_titles(v, out);
	if (!json_array_size(rows))
		buf_puts(out, "no samples\n");
	else if (is_tree(v))
		table_show_used(out, of_tree, ARRAY_LEN(of_tree), rows,
		                v->screen);
	else if (v->kind == GRAPH_TOTAL)
		table_show_used(out, by_total, ARRAY_LEN(by_total), rows,
		                v->screen);
	else
		table_show_used(out, by_self, ARRAY_LEN(by_self), rows,
		                v->screen);
	if (v->left && is_tree(v))
		buf_addf(out, "%zu more with --limit\n", v->left);
}

int
top_table(json_t *graph, const char *type, const struct options *o,
          const struct screen *s, struct buf *out)
{
	CLEANUP(view_done) struct view v = {.o = o, .screen = s};
	int rc = view_init(&v, graph, type);

	if (!rc)
		rc = make_rows(&v);
	if (!rc)
		show_rows(&v, out);
	return rc;
}

/* --- a ProfileResult ------------------------------------------------------ */

/* Appends the path of the call tree for the path of a flame graph. */
static void
tree_path(const struct cli *c, const char *path, struct buf *out)
{
	buf_puts(out, path);
	query_add(out, "format", "json");
	query_add(out, "sampleType", c->opt.sample_type);
}

/* True for a service of all programs of a host, whose functions are shown with
 * the unit or program of each. */
static bool
is_of_all(struct cli *c, const json_t *result)
{
	CLEANUP_BUF struct buf path = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *service = NULL;

	service_path(&path, json_member(result, "service"));
	service = ask_quietly(c, buf_str(&path));
	return service_is_of_all(service);
}

json_t *
top_graph(struct cli *c, const json_t *result, const char *path)
{
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);

	if (!top_is_view(&c->opt) &&
	    !values_wanted(json_member(result, "profileType")) &&
	    !is_of_all(c, result))
		return NULL;
	tree_path(c, path, &at);
	return ask_quietly(c, buf_str(&at));
}

int
top_of(struct cli *c, const json_t *result, const char *path, json_t *graph,
       struct buf *out)
{
	if (graph && c->opt.list)
		return lines_table(c, graph, path, out);
	if (graph)
		return top_table(graph, json_member(result, "profileType"),
		                 &c->opt, &c->screen, out);
	if (top_is_view(&c->opt))
		return failed("the server sent no call tree");
	top_show(out, result, c->opt.limit, &c->screen);
	return LEAVE_OK;
}

int
top_print_json(struct cli *c, const json_t *result, const json_t *plain,
               const char *path)
{
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	CLEANUP_JSON json_t *rows = NULL;
	int rc;

	if (!is_named(&c->opt) &&
	    (json_is_object(plain) || !top_is_view(&c->opt)))
		return print_json(plain);
	tree_path(c, path, &at);
	rc = ask(c, "GET", buf_str(&at), NULL, &r);
	if (rc)
		return rc;
	rc = c->opt.list ? lines_rows(c, r.json, path, &rows)
	                 : top_json(r.json, json_member(result, "profileType"),
	                            &c->opt, &rows);
	return rc ? rc : print_json(rows);
}
