#include "profile/source_lines.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct lines {
	const struct profile *p;
	const char *function; /* NULL: all */
	uint64_t seed;
	struct source_line *rows;
	uint32_t n;
	uint32_t *row_of; /* by line of the profile; TABLE_NONE: not wanted */
	struct table table;
};

void
source_lines_done(struct source_lines *l)
{
	free(l->items);
}

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
	                    !strcmp(profile_text(l->p, of->name), l->function));
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

static void
count_line(struct lines *l, uint32_t line, uint32_t sample, int64_t value,
           bool is_leaf)
{
	struct source_line *row;

	if (l->row_of[line] == TABLE_NONE)
		return;
	row = &l->rows[l->row_of[line]];
	if (is_leaf)
		profile_add(&row->self, value);
	if (row->sample != sample + 1)
		profile_add(&row->total, value);
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

int
source_lines_find(const struct profile *p, uint32_t type, const char *function,
                  struct source_lines *out)
{
	CLEANUP(lines_done)
	struct lines l = {
		.p = p,
		.function = function,
		.rows = calloc((size_t)p->nlines + 1, sizeof(*l.rows)),
		.row_of = calloc((size_t)p->nlines + 1, sizeof(*l.row_of)),
	};
	uint32_t n = 0;
	int rc = l.rows && l.row_of ? 0 : -ENOMEM;

	random_bytes(&l.seed, sizeof(l.seed));
	rc = rc ?: make_rows(&l);
	if (rc)
		return rc;
	count_samples(&l, type);
	for (uint32_t i = 0; i < l.n; i++)
		if (l.rows[i].sample)
			l.rows[n++] = l.rows[i];
	qsort(l.rows, n, sizeof(*l.rows), by_cost);
	*out = (struct source_lines){TAKE(l.rows), n};
	return 0;
}

int
source_line_by_place(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return x->file != y->file ? (x->file > y->file) - (x->file < y->file)
	                          : (x->line > y->line) - (x->line < y->line);
}
