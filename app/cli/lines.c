#include "lines.h"

#include "graph.h"
#include "table.h"
#include "text.h"
#include "values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct column columns[] = {
	{"SELF", "selfText", RIGHT, PLAIN},
	{"SELF %", "selfPct", RIGHT, PERCENT},
	{"TOTAL", "totalText", RIGHT, PLAIN},
	{"TOTAL %", "totalPct", RIGHT, PERCENT},
	{"LINE", "at", LEFT, MIDDLE},
	{"ADDRESS", "address", LEFT, PLAIN},
	{"CODE", "text", LEFT, PLAIN},
};

/* Appends the full name of the requested function. */
static int
name_asked(const struct cli *c, json_t *graph, struct buf *out)
{
	CLEANUP_GRAPH struct graph *g = NULL;
	uint32_t function;
	int rc;

	if (graph_new(graph, &g))
		return failed("the server sent no call tree");
	rc = graph_find(g, c->opt.list, &function);
	if (!rc)
		buf_puts(out, g->functions[function].name);
	return rc;
}

/* Replaces tabs, which a table would show as unknown characters. */
static void
set_text(json_t *row)
{
	const char *text = json_member(row, "text");
	CLEANUP_BUF struct buf out = BUF_INIT(CELL_MAX);

	for (; *text; text++)
		if (*text == '\t')
			buf_puts(&out, "    ");
		else
			buf_putc(&out, *text);
	json_object_set_new(row, "text", json_text(buf_str(&out)));
}

/* Sets the texts of a row in a table; a row that costs nothing has no
 * numbers. */
static void
set_row(json_t *row, double all, const char *unit)
{
	int64_t self = json_integer_value(json_object_get(row, "self"));
	int64_t total = json_integer_value(json_object_get(row, "total"));
	json_int_t line = json_integer_value(json_object_get(row, "line"));
	CLEANUP_BUF struct buf at = BUF_INIT(CELL_MAX);

	if (line)
		buf_addf(&at, "%s:%" JSON_INTEGER_FORMAT,
		         json_member(row, "file"), line);
	json_object_set_new(row, "at", json_text(buf_str(&at)));
	set_text(row);
	if (!self && !total)
		return;
	json_object_set_new(row, "selfPct",
	                    json_real(all > 0 ? 100 * (double)self / all : 0));
	json_object_set_new(row, "totalPct",
	                    json_real(all > 0 ? 100 * (double)total / all : 0));
	value_set(row, "selfText", self, unit);
	value_set(row, "totalText", total, unit);
}

/* Appends the rows of a list's members: rows of "lines" with their file, rows
 * of "code" unchanged. */
static json_t *
flatten(const json_t *parts, const char *list)
{
	CLEANUP_JSON json_t *rows = json_array();
	json_t *part, *row, *file;
	size_t i, k;

	json_array_foreach(parts, i, part) {
		file = json_object_get(part, "file");
		json_array_foreach(json_object_get(part, list), k, row)
			if ((file && json_object_set(row, "file", file)) ||
			    json_array_append(rows, row))
				return NULL;
	}
	return TAKE(rows);
}

static int
say_none(const struct cli *c, const char *name)
{
	return c->opt.disasm
	               ? failed("no instructions of '%s' are known: "
	                        "captures of CPU time keep those of the "
	                        "functions that cost most, if the service "
	                        "allows sourceCode",
	                        name)
	               : failed("no source lines of '%s' are known: a "
	                        "program needs debug information for that",
	                        name);
}

/* Fetches the document of format=listing. */
static int
ask_listing(struct cli *c, json_t *graph, const char *path, json_t **out,
            json_t **rows)
{
	CLEANUP_BUF struct buf at = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_REPLY struct http_reply r = REPLY_INIT;
	int rc = name_asked(c, graph, &name);

	if (rc)
		return rc;
	buf_puts(&at, path);
	query_add(&at, "format", "listing");
	query_add(&at, "function", buf_str(&name));
	query_add(&at, "sampleType", c->opt.sample_type);
	rc = ask(c, "GET", buf_str(&at), NULL, &r);
	if (rc)
		return rc;
	*rows = c->opt.disasm
	                ? flatten(json_object_get(r.json, "functions"), "code")
	                : flatten(json_object_get(r.json, "files"), "lines");
	if (!json_array_size(*rows))
		return say_none(c, buf_str(&name));
	*out = TAKE(r.json);
	return LEAVE_OK;
}

/* Appends a line for each other capture from which texts come. */
static void
put_origins(const json_t *parts, struct buf *out)
{
	json_t *part, *from;
	size_t i, k;

	json_array_foreach(parts, i, part) {
		const char *id;

		from = json_object_get(part, "from");
		if (!from)
			continue;
		id = json_member(from, "id");
		for (k = 0; k < i; k++) {
			const json_t *other = json_object_get(
				json_array_get(parts, k), "from");

			if (other && !strcmp(json_member(other, "id"), id))
				break;
		}
		if (k == i)
			buf_addf(out, "text of the capture %s of %s%s\n", id,
			         json_member(from, "at"),
			         !strcmp(json_member(from, "build"), "same")
			                 ? ""
			                 : ", which may not be what ran");
	}
}

struct row_cost {
	size_t at; /* index in the rows */
	json_int_t self, total;
};

static int
by_place(const void *a, const void *b)
{
	const struct row_cost *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static int
by_cost(const void *a, const void *b)
{
	const struct row_cost *x = a, *y = b;

	if (x->self != y->self)
		return (x->self < y->self) - (x->self > y->self);
	if (x->total != y->total)
		return (x->total < y->total) - (x->total > y->total);
	return by_place(a, b);
}

/* Keeps the n rows that cost most, without reordering them. */
static int
keep_costliest(json_t **rows, size_t n)
{
	size_t all = json_array_size(*rows), i;
	CLEANUP_FREE struct row_cost *of = calloc(all + 1, sizeof(*of));
	CLEANUP_JSON json_t *kept = json_array();
	json_t *row;

	if (!of || !kept)
		return failed("out of memory");
	json_array_foreach(*rows, i, row)
		of[i] = (struct row_cost){
			i, json_integer_value(json_object_get(row, "self")),
			json_integer_value(json_object_get(row, "total"))};
	qsort(of, all, sizeof(*of), by_cost);
	qsort(of, n, sizeof(*of), by_place);
	for (i = 0; i < n; i++)
		if (json_array_append(kept, json_array_get(*rows, of[i].at)))
			return failed("out of memory");
	json_decref(*rows);
	*rows = TAKE(kept);
	return LEAVE_OK;
}

/* Sets *left to the number of rows left out. If origins is not NULL, it gets
 * lines about texts of other captures, and rows get the members of a table. */
static int
make_rows(struct cli *c, json_t *graph, const char *path, struct buf *origins,
          json_t **out, json_int_t *left)
{
	CLEANUP_JSON json_t *reply = NULL, *rows = NULL;
	json_t *row;
	double all;
	size_t i, n, limit = c->opt.limit < 0 ? SIZE_MAX : (size_t)c->opt.limit;
	int rc = ask_listing(c, graph, path, &reply, &rows);

	if (rc)
		return rc;
	all = json_number_value(json_object_get(reply, "total"));
	*left = c->opt.disasm
	                ? 0
	                : json_integer_value(json_object_get(reply, "leftOut"));
	n = json_array_size(rows);
	if (n > limit) {
		*left += (json_int_t)(n - limit);
		rc = keep_costliest(&rows, limit);
		if (rc)
			return rc;
	}
	json_array_foreach(rows, i, row)
		if (origins)
			set_row(row, all, json_member(reply, "unit"));
	if (origins)
		put_origins(json_object_get(reply, c->opt.disasm ? "functions"
		                                                 : "files"),
		            origins);
	*out = TAKE(rows);
	return LEAVE_OK;
}

int
lines_rows(struct cli *c, json_t *graph, const char *path, json_t **out)
{
	json_int_t left;

	return make_rows(c, graph, path, NULL, out, &left);
}

int
lines_table(struct cli *c, json_t *graph, const char *path, struct buf *out)
{
	CLEANUP_BUF struct buf origins = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *rows = NULL;
	json_int_t left;
	int rc = make_rows(c, graph, path, &origins, &rows, &left);

	if (rc)
		return rc;
	table_show_used(out, columns, ARRAY_LEN(columns), rows, &c->screen);
	if (left)
		buf_addf(out, "%" JSON_INTEGER_FORMAT " more %s\n", left,
		         c->opt.disasm ? "instructions" : "lines");
	buf_puts(out, buf_str(&origins));
	return LEAVE_OK;
}
