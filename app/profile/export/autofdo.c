#include "profile/autofdo.h"

#include "base/hash.h"
#include "base/rows.h"
#include "base/table.h"
#include "profile/profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scales counts, which are whole numbers: few samples fall on one byte. */
#define PER_BYTE  100.0
#define MAX_COUNT 1e15

/* A function, at the top or inlined into another, or a line of a function. */
struct node {
	uint32_t parent;                /* NONE: a function at the top */
	uint32_t function;              /* its name; 0: a line */
	uint32_t offset, discriminator; /* relative to the parent */
	int64_t samples;
	uint64_t size;
};
#define NONE UINT32_MAX

struct autofdo {
	struct strings *names;
	struct node *nodes;
	uint32_t n, room;
	struct table found;
	int64_t kept;
};

struct autofdo *
autofdo_new(void)
{
	struct autofdo *a = calloc(1, sizeof(*a));

	if (a && !(a->names = strings_new())) {
		free(a);
		return NULL;
	}
	return a;
}

void
autofdo_free(struct autofdo *a)
{
	if (!a)
		return;
	strings_free(a->names);
	free(a->nodes);
	table_done(&a->found);
	free(a);
}

struct node_key {
	const struct autofdo *a;
	const struct node *node;
};

static bool
is_same(const void *key, uint32_t row)
{
	const struct node_key *k = key;
	const struct node *a = k->node, *b = &k->a->nodes[row];

	return a->parent == b->parent && a->function == b->function &&
	       a->offset == b->offset && a->discriminator == b->discriminator;
}

/* Finds or makes a node. */
static int
find(struct autofdo *a, const struct node *node, uint32_t *out)
{
	const struct node_key key = {a, node};
	uint64_t hash = hash_pair(hash_pair(node->parent, node->function),
	                          hash_pair(node->offset, node->discriminator));
	uint32_t at = table_find(&a->found, hash, is_same, &key);
	int r = 0;

	if (at == TABLE_NONE) {
		r = ROWS_ROOM(a->nodes, a->room, a->n, 1)
		            ?: table_room(&a->found);
		if (r)
			return r;
		at = a->n++;
		a->nodes[at] = *node;
		table_put(&a->found, hash, at);
	}
	*out = at;
	return 0;
}

int
autofdo_add(struct autofdo *a, const struct autofdo_frame *frames, uint32_t n,
            int64_t samples, uint32_t copies, uint64_t size)
{
	struct node node = {.parent = NONE};
	uint32_t at;
	int64_t runs;
	int r = __builtin_mul_overflow(samples, copies, &runs) ? -E2BIG : 0;

	for (uint32_t i = 0; i < n && !r; i++) {
		const char *name = frames[i].function;

		r = strings_add(a->names, name, strlen(name), &node.function)
		            ?: find(a, &node, &node.parent);
		node.offset = frames[i].offset;
		node.discriminator = frames[i].discriminator;
	}
	node.function = 0;
	r = r ?: find(a, &node, &at);
	if (r)
		return r;
	a->nodes[at].size += size;
	return __builtin_add_overflow(a->nodes[at].samples, runs,
	                              &a->nodes[at].samples) ||
	                       __builtin_add_overflow(a->kept, samples,
	                                              &a->kept)
	               ? -E2BIG
	               : 0;
}

/* --- writing -------------------------------------------------------------- */

struct writer {
	const struct autofdo *a;
	int64_t *counts; /* by node, with those of its children */
	uint32_t *rows;  /* nodes, in order */
	uint32_t *first; /* by node: its first child in rows */
};

static void
writer_done(struct writer *w)
{
	free(w->counts);
	free(w->rows);
	free(w->first);
}

/* Returns how often a line ran, in proportion to others. */
static int64_t
count_of(const struct node *n)
{
	double count = (double)n->samples;

	if (n->size)
		count *= PER_BYTE / (double)n->size;
	return count < MAX_COUNT ? llround(count) : (int64_t)MAX_COUNT;
}

/* Nodes come after their parents. */
static void
count(struct writer *w)
{
	for (uint32_t i = w->a->n; i--;) {
		const struct node *n = &w->a->nodes[i];

		if (!n->function)
			w->counts[i] = count_of(n);
		if (n->parent != NONE)
			w->counts[n->parent] += w->counts[i];
	}
}

/* By parent; functions at the top by counts, most first; others by line, and
 * inlined functions after lines. */
static int
by_place(const void *x, const void *y, void *writer)
{
	const struct writer *w = writer;
	const uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	const struct node *a = &w->a->nodes[i], *b = &w->a->nodes[k];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->parent == NONE && w->counts[i] != w->counts[k])
		return w->counts[i] > w->counts[k] ? -1 : 1;
	if (!a->function != !b->function)
		return a->function ? 1 : -1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->discriminator != b->discriminator)
		return a->discriminator < b->discriminator ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

static int
order(struct writer *w)
{
	const uint32_t n = w->a->n;

	w->counts = calloc((size_t)n + 1, sizeof(*w->counts));
	w->rows = calloc((size_t)n + 1, sizeof(*w->rows));
	w->first = calloc((size_t)n + 1, sizeof(*w->first));
	if (!w->counts || !w->rows || !w->first)
		return -ENOMEM;
	count(w);
	for (uint32_t i = 0; i < n; i++) {
		w->rows[i] = i;
		w->first[i] = n;
	}
	qsort_r(w->rows, n, sizeof(*w->rows), by_place, w);
	for (uint32_t i = n; i--;)
		if (w->a->nodes[w->rows[i]].parent != NONE)
			w->first[w->a->nodes[w->rows[i]].parent] = i;
	return 0;
}

/*
 * Returns how often a function begins, estimated by its first line that has
 * counts, as LLVM does itself where functions are inlined. With 0, Clang 14
 * gives a function that is not inlined no counts at all. Source:
 * getHeadSamplesEstimate() in SampleProf.h of LLVM
 */
static int64_t
head_of(const struct writer *w, uint32_t at)
{
	const struct node *nodes = w->a->nodes;
	uint32_t first = NONE;

	for (uint32_t i = w->first[at];
	     i < w->a->n && nodes[w->rows[i]].parent == at; i++) {
		uint32_t row = w->rows[i];

		if (w->counts[row] &&
		    (first == NONE || nodes[row].offset < nodes[first].offset))
			first = row;
	}
	if (first == NONE)
		return 0;
	return nodes[first].function ? head_of(w, first) : w->counts[first];
}

static void
put_node(const struct writer *w, uint32_t at, unsigned depth, struct buf *out)
{
	const struct node *n = &w->a->nodes[at];
	const char *name = strings_get(w->a->names, n->function, NULL);
	const long long samples = w->counts[at];

	for (unsigned i = 0; i < depth; i++)
		buf_putc(out, ' ');
	if (depth)
		buf_addf(out, "%u", n->offset);
	if (depth && n->discriminator)
		buf_addf(out, ".%u", n->discriminator);
	if (!depth)
		buf_addf(out, "%s:%lld:%lld\n", name, samples,
		         (long long)head_of(w, at));
	else if (n->function)
		buf_addf(out, ": %s:%lld\n", name, samples);
	else
		buf_addf(out, ": %lld\n", samples);
	/* as deep as functions are inlined, PROFILE_MAX_LINES at most */
	for (uint32_t i = w->first[at];
	     n->function && i < w->a->n && w->a->nodes[w->rows[i]].parent == at;
	     i++)
		put_node(w, w->rows[i], depth + 1, out);
}

int
autofdo_write(const struct autofdo *a, int64_t all, struct buf *out)
{
	CLEANUP(writer_done) struct writer w = {.a = a};
	int r = order(&w);

	if (r)
		return out->err = r;
	buf_addf(out, "# %lld of %lld samples have lines\n", (long long)a->kept,
	         (long long)all);
	for (uint32_t i = 0; i < a->n; i++)
		if (a->nodes[w.rows[i]].parent == NONE && w.counts[w.rows[i]])
			put_node(&w, w.rows[i], 0, out);
	return buf_err(out);
}
