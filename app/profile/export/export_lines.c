/*
 * Writes the cost of each source line, as go tool pprof does with -lines:
 *
 *	{..., "lines": [{"function": "parse", "file": "/src/parse.c",
 *	  "line": 42, "self": 20, "total": 30}], "leftOut": 0}
 *
 * A line belongs to the function whose code it is, which may be inlined in
 * others; line is 0 if it is not known. self and total are in the unit of the
 * type; recursion counts once. Lines of all functions are ordered by self, those
 * of one function by file and line. leftOut is the number of lines beyond
 * LINES_MOST, which are the cheapest. Frames without a source file have no line.
 */
#include "exports.h"
#include "json_tree.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/json_out.h"
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MOST 1000

struct source_line {
	uint32_t name, file; /* strings of the profile */
	int64_t line;
	int64_t self, total;
	uint32_t sample; /* last counted, plus 1 */
};

struct lines {
	const struct profile *p;
	const char *function; /* NULL: of all */
	uint64_t seed;
	struct source_line *rows;
	uint32_t n;
	uint32_t *row_of; /* by line of the profile; TABLE_NONE: not wanted */
	struct table table;
};

static void
lines_done(struct lines *l)
{
	free(l->rows);
	free(l->row_of);
	table_done(&l->table);
}

/* --- rows ----------------------------------------------------------------- */

struct looked_up {
	const struct lines *lines;
	struct source_line line;
};

static bool
is_same(const void *key, uint32_t row)
{
	const struct looked_up *k = key;
	const struct source_line *a = &k->line, *b = &k->lines->rows[row];

	return a->name == b->name && a->file == b->file && a->line == b->line;
}

static int
find_row(struct lines *l, const struct source_line *of, uint32_t *out)
{
	const struct looked_up key = {l, *of};
	const uint64_t words[] = {of->name, of->file, (uint64_t)of->line};
	uint64_t hash = hash_keyed(l->seed, words, sizeof(words));
	int rc = table_room(&l->table);

	if (rc)
		return rc;
	*out = table_find(&l->table, hash, is_same, &key);
	if (*out != TABLE_NONE)
		return 0;
	*out = l->n++;
	l->rows[*out] = *of;
	table_put(&l->table, hash, *out);
	return 0;
}

static bool
is_wanted(const struct lines *l, const struct source_line *of)
{
	return of->file && (!l->function ||
	                    !strcmp(strings_get(l->p->strings, of->name, NULL),
	                            l->function));
}

static int
make_rows(struct lines *l)
{
	const struct profile *p = l->p;
	int rc = 0;

	for (uint32_t i = 0; i < p->nlines && !rc; i++) {
		const struct function *f = &p->functions[p->lines[i].function];
		const struct source_line of = {
			.name = f->name ? f->name : f->system_name,
			.file = f->file,
			.line = p->lines[i].line,
		};

		l->row_of[i] = TABLE_NONE;
		if (is_wanted(l, &of))
			rc = find_row(l, &of, &l->row_of[i]);
	}
	return rc;
}

/* --- costs ---------------------------------------------------------------- */

/* Leaves out what would leave int64. */
static void
add(int64_t *sum, int64_t value)
{
	int64_t all;

	if (!__builtin_add_overflow(*sum, value, &all))
		*sum = all;
}

static void
count_line(struct lines *l, uint32_t line, uint32_t sample, int64_t value,
           bool is_leaf)
{
	struct source_line *row;

	if (l->row_of[line] == TABLE_NONE)
		return;
	row = &l->rows[l->row_of[line]];
	if (is_leaf)
		add(&row->self, value);
	if (row->sample != sample + 1)
		add(&row->total, value);
	row->sample = sample + 1;
}

static void
count_samples(struct lines *l, uint32_t type)
{
	const struct profile *p = l->p;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];
		int64_t value = p->values[(size_t)i * p->ntypes + type];

		for (uint32_t k = 0; value && k < s->nstack; k++) {
			uint32_t at = p->stack[s->stack0 + k];
			const struct location *of = &p->locations[at];

			for (uint32_t j = 0; j < of->nlines; j++)
				count_line(l, of->line0 + j, i, value,
				           !k && !j);
		}
	}
}

static uint64_t
size_of(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

static int
by_cost(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;
	uint64_t xs = size_of(x->self), ys = size_of(y->self);
	uint64_t xt = size_of(x->total), yt = size_of(y->total);

	return xs != ys ? (xs < ys) - (xs > ys) : (xt < yt) - (xt > yt);
}

static int
by_place(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return x->file != y->file ? (x->file > y->file) - (x->file < y->file)
	                          : (x->line > y->line) - (x->line < y->line);
}

/* --- the document --------------------------------------------------------- */

static void
put_row(struct buf *out, const struct strings *s, const struct source_line *r)
{
	json_open(out, NULL, '{');
	json_put_text(out, "function", strings_get(s, r->name, NULL));
	json_put_text(out, "file", strings_get(s, r->file, NULL));
	json_put_int(out, "line", r->line);
	json_put_int(out, "self", r->self);
	json_put_int(out, "total", r->total);
	json_close(out, '}');
}

static int
lines_init(struct lines *l, const struct tree *t,
           const struct export_meta *meta)
{
	l->p = t->profile;
	l->function = meta->function;
	random_bytes(&l->seed, sizeof(l->seed));
	l->rows = calloc((size_t)l->p->nlines + 1, sizeof(*l->rows));
	l->row_of = calloc((size_t)l->p->nlines + 1, sizeof(*l->row_of));
	return l->rows && l->row_of ? make_rows(l) : -ENOMEM;
}

int
export_lines(const struct tree *t, const struct export_meta *meta,
             struct buf *out)
{
	CLEANUP(lines_done) struct lines l = {0};
	uint32_t n = 0;
	int rc = lines_init(&l, t, meta);

	if (rc)
		return out->err = rc;
	count_samples(&l, t->type);
	for (uint32_t i = 0; i < l.n; i++)
		if (l.rows[i].sample)
			l.rows[n++] = l.rows[i];
	qsort(l.rows, n, sizeof(*l.rows), by_cost);
	l.n = n < LINES_MOST ? n : LINES_MOST;
	if (l.function)
		qsort(l.rows, l.n, sizeof(*l.rows), by_place);
	buf_putc(out, '{');
	json_tree_head(t, meta, out);
	json_open(out, "lines", '[');
	for (uint32_t i = 0; i < l.n; i++)
		put_row(out, l.p->strings, &l.rows[i]);
	json_close(out, ']');
	json_put_int(out, "leftOut", n - l.n);
	buf_puts(out, "}\n");
	return buf_err(out);
}
