/*
 * Writes samples by function and line, as compilers read them: the text form of
 * LLVM's sample profiles, for clang -fprofile-sample-use=FILE.
 *
 *	main:12:5
 *	 3: 5
 *	 7: parse:7
 *	  1: 7
 *
 * A function has a line with all of its samples and how often it begins, then
 * one line for each line of its source, counted from the function's first, and
 * those of functions that were inlined there, indented by one more. Only the
 * innermost function of a stack is counted: its callers waited. Samples without
 * lines, or without the line at which their function begins, are left out.
 *
 * Source: SampleProfReader.h of LLVM; AutoFDO, Chen, Li and Moseley, CGO 2016.
 */
#include "exports.h"

#include "base/hash.h"
#include "base/rows.h"
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OFFSET 0xFFFF /* as LLVM cuts them */

/* A function, at the top or inlined into another, or a line of one. */
struct node {
	uint32_t parent;   /* PROFILE_NONE: a function at the top */
	uint32_t function; /* string: its name; 0: a line */
	uint32_t offset;   /* of the line in the parent */
	int64_t samples;
};

struct writer {
	const struct profile *p;
	struct node *nodes;
	uint32_t n, room;
	struct table found;
	int64_t kept, all;
};

static void
writer_done(struct writer *w)
{
	free(w->nodes);
	table_done(&w->found);
}

struct node_key {
	const struct writer *w;
	const struct node *node;
};

static bool
is_same(const void *key, uint32_t row)
{
	const struct node_key *k = key;
	const struct node *a = k->node, *b = &k->w->nodes[row];

	return a->parent == b->parent && a->function == b->function &&
	       a->offset == b->offset;
}

/* Adds samples to a node, which is found or made. */
static int
add(struct writer *w, uint32_t parent, uint32_t function, uint32_t offset,
    int64_t samples, uint32_t *out)
{
	const struct node node = {parent, function, offset, samples};
	const struct node_key key = {w, &node};
	uint64_t hash = hash_pair(hash_pair(parent, function), offset);
	uint32_t at = table_find(&w->found, hash, is_same, &key);
	int r;

	if (at != TABLE_NONE) {
		*out = at;
		return __builtin_add_overflow(w->nodes[at].samples, samples,
		                              &w->nodes[at].samples)
		               ? -E2BIG
		               : 0;
	}
	r = ROWS_ROOM(w->nodes, w->room, w->n, 1) ?: table_room(&w->found);
	if (r)
		return r;
	w->nodes[ *out = w->n++] = node;
	table_put(&w->found, hash, *out);
	return 0;
}

/* Returns the name in the symbol table, by which compilers know a function. */
static uint32_t
name_of(const struct profile *p, const struct line *l)
{
	const struct function *f = &p->functions[l->function];
	uint32_t id = f->system_name ? f->system_name : f->name;
	const char *name = profile_text(p, id);

	return strpbrk(name, " \t\n") ? 0 : id;
}

/* Finds the offset of a line in its function; false if it is not known. */
static bool
offset_of(const struct profile *p, const struct line *l, uint32_t *out)
{
	int64_t start = p->functions[l->function].start_line;

	if (start <= 0 || l->line < start || l->line - start > MOST_OFFSET ||
	    !name_of(p, l))
		return false;
	*out = (uint32_t)(l->line - start);
	return true;
}

static bool
is_known(const struct profile *p, const struct location *l)
{
	uint32_t offset;

	for (uint32_t i = 0; i < l->nlines; i++)
		if (!offset_of(p, &p->lines[l->line0 + i], &offset))
			return false;
	return l->nlines > 0;
}

static int
add_sample(struct writer *w, const struct sample *s, int64_t samples)
{
	const struct profile *p = w->p;
	const struct location *l;
	uint32_t node = PROFILE_NONE, offset = 0;
	int r = 0;

	w->all += samples;
	if (!s->nstack || samples <= 0)
		return 0;
	l = &p->locations[p->stack[s->stack0]];
	if (!is_known(p, l))
		return 0;
	w->kept += samples;
	for (uint32_t i = l->nlines; i-- && !r;) {
		const struct line *line = &p->lines[l->line0 + i];

		r = add(w, node, name_of(p, line), offset, samples, &node);
		(void)offset_of(p, line, &offset);
	}
	return r ? r : add(w, node, 0, offset, samples, &node);
}

/* --- writing -------------------------------------------------------------- */

/* By parent; functions at the top by samples, most first; others by line, and
 * inlined functions after lines. */
static int
by_place(const void *x, const void *y, void *writer)
{
	const struct writer *w = writer;
	const struct node *a = &w->nodes[*(const uint32_t *)x];
	const struct node *b = &w->nodes[*(const uint32_t *)y];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->parent == PROFILE_NONE && a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	if (!a->function != !b->function)
		return a->function ? 1 : -1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

struct order {
	uint32_t *rows;  /* nodes, in order */
	uint32_t *first; /* of a node's children in rows */
};

static void
order_done(struct order *o)
{
	free(o->rows);
	free(o->first);
}

static int
order(struct writer *w, struct order *o)
{
	o->rows = calloc((size_t)w->n + 1, sizeof(*o->rows));
	o->first = calloc((size_t)w->n + 1, sizeof(*o->first));
	if (!o->rows || !o->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->n; i++) {
		o->rows[i] = i;
		o->first[i] = w->n;
	}
	qsort_r(o->rows, w->n, sizeof(*o->rows), by_place, w);
	for (uint32_t i = w->n; i--;)
		if (w->nodes[o->rows[i]].parent != PROFILE_NONE)
			o->first[w->nodes[o->rows[i]].parent] = i;
	return 0;
}

/* Returns how often a function begins, estimated by its first line with
 * samples, as LLVM does itself where functions are inlined. With 0, Clang 14
 * gives a function that is not inlined no counts at all. Source:
 * getHeadSamplesEstimate() in SampleProf.h of LLVM */
static int64_t
head_of(const struct writer *w, const struct order *o, uint32_t at)
{
	const struct node *first = NULL;
	uint32_t row = 0;

	for (uint32_t i = o->first[at];
	     i < w->n && w->nodes[o->rows[i]].parent == at; i++) {
		const struct node *n = &w->nodes[o->rows[i]];

		if (first && first->offset <= n->offset)
			continue;
		first = n;
		row = o->rows[i];
	}
	if (!first)
		return 0;
	return first->function ? head_of(w, o, row) : first->samples;
}

static void
put_node(const struct writer *w, const struct order *o, uint32_t at,
         unsigned depth, struct buf *out)
{
	const struct node *n = &w->nodes[at];
	const char *name = profile_text(w->p, n->function);

	for (unsigned i = 0; i < depth; i++)
		buf_putc(out, ' ');
	if (!depth)
		buf_addf(out, "%s:%lld:%lld\n", name, (long long)n->samples,
		         (long long)head_of(w, o, at));
	else if (n->function)
		buf_addf(out, "%u: %s:%lld\n", n->offset, name,
		         (long long)n->samples);
	else
		buf_addf(out, "%u: %lld\n", n->offset, (long long)n->samples);
	/* as deep as functions are inlined, PROFILE_MAX_LINES at most */
	for (uint32_t i = o->first[at];
	     n->function && i < w->n && w->nodes[o->rows[i]].parent == at; i++)
		put_node(w, o, o->rows[i], depth + 1, out);
}

/* Returns the column that counts samples, or else that of the tree. */
static uint32_t
counted(const struct tree *t)
{
	const struct profile *p = t->profile;
	uint32_t at = profile_type_index(p, "samples");

	return at != PROFILE_NONE ? at : t->type;
}

int
export_autofdo(const struct tree *t, const struct export_meta *meta,
               struct buf *out)
{
	CLEANUP(writer_done) struct writer w = {.p = t->profile};
	CLEANUP(order_done) struct order o = {0};
	uint32_t column = counted(t);
	int r = 0;

	(void)meta;
	for (uint32_t i = 0; i < w.p->nsamples && !r; i++)
		r = add_sample(&w, &w.p->samples[i],
		               w.p->values[(size_t)i * w.p->ntypes + column]);
	if (!r)
		r = order(&w, &o);
	buf_addf(out, "# %lld of %lld samples have lines\n", (long long)w.kept,
	         (long long)w.all);
	for (uint32_t i = 0; i < w.n && !r; i++)
		if (w.nodes[o.rows[i]].parent == PROFILE_NONE)
			put_node(&w, &o, o.rows[i], 0, out);
	return r ? (out->err = r) : buf_err(out);
}
