#include "blocks_nodes.h"

#include "base/hash.h"
#include "base/id.h"

#include <errno.h>

/* A node with less of all cost is too small to tell anything of. */
#define LEAST_PART 1024
#define MAX_ROWS   (1u << 14) /* the least part doubles until then */
/* This bit of a place says that the stack has left the rows behind. */
#define BEYOND 0x80000000u

void
block_nodes_done(struct block_nodes *n)
{
	free(n->row);
	free(n->of);
	table_done(&n->children);
}

static uint64_t
child_hash(const struct block_nodes *n, uint32_t above, uint32_t name)
{
	uint64_t pair = (uint64_t)above << 32 | name;

	return hash_fold(pair ^ n->key, n->key | 1);
}

struct child_of {
	const struct block_nodes *n;
	uint32_t above, name;
};

static bool
same_child(const void *key, uint32_t row)
{
	const struct child_of *w = key;
	const struct block_node *of = &w->n->of[row];

	return of->above == w->above && w->n->t->name[of->node] == w->name;
}

/* The smallest total of a node that gets a row. */
static int64_t
choose_least(const struct tree *t)
{
	int64_t least = t->total[0] / LEAST_PART + 1;

	for (; least <= t->total[0] / 2; least *= 2) {
		uint32_t n = 1;

		for (uint32_t i = 0; i < t->n; i++)
			n += t->total[i] >= least;
		if (n <= MAX_ROWS)
			break;
	}
	return least;
}

static int
add_row(struct block_nodes *n, uint32_t node, uint32_t above)
{
	int rc = table_room(&n->children);

	if (rc)
		return rc;
	n->of[n->n] = (struct block_node){node, above};
	table_put(&n->children, child_hash(n, above, n->t->name[node]), n->n);
	n->row[node] = n->n++;
	return 0;
}

/* Numbers the big nodes. Where values are negative a big node may lie below
 * a small one, which ends its stacks: it gets no row. */
static int
add_rows(struct block_nodes *n, int64_t least)
{
	const struct tree *t = n->t;
	uint32_t last = 0; /* row */
	int rc = 0;

	n->n = 1;
	for (uint32_t i = 0; i < t->n && n->n < MAX_ROWS && !rc; i++) {
		if (t->total[i] < least)
			continue;
		while (last && t->depth[n->of[last].node] >= t->depth[i])
			last = n->of[last].above;
		if (i && t->depth[i] != t->depth[n->of[last].node] + 1)
			continue;
		rc = add_row(n, i, last);
		last = n->n - 1;
	}
	return rc;
}

int
block_nodes_init(const struct tree *t, struct block_nodes *out)
{
	CLEANUP(block_nodes_done) struct block_nodes n = {.t = t};
	int rc;

	if (t->total[0] <= 0)
		return -ENODATA;
	random_bytes(&n.key, sizeof(n.key));
	n.row = calloc(t->n, sizeof(*n.row));
	n.of = calloc(MAX_ROWS, sizeof(*n.of));
	if (!n.row || !n.of)
		return -ENOMEM;
	rc = add_rows(&n, choose_least(t));
	if (rc)
		return rc;
	*out = n;
	n = (struct block_nodes){0};
	return 0;
}

/* --- where stacks end ----------------------------------------------------- */

/* Names of frames in the tree, looked up once for each location. */
struct frame_names {
	const struct block_nodes *n;
	const struct profile *p;
	uint32_t *first; /* by location: of names, plus 1 */
	uint32_t *names; /* outermost frame first */
	uint32_t nnames, cap;
};

static void
frames_done(struct frame_names *f)
{
	free(f->first);
	free(f->names);
}

static int
frames_room(struct frame_names *f, uint32_t more)
{
	uint32_t cap = f->cap ? f->cap : 256;
	uint32_t *names;

	if (more <= f->cap - f->nnames)
		return 0;
	while (cap - f->nnames < more)
		cap *= 2;
	names = reallocarray(f->names, cap, sizeof(*names));
	if (!names)
		return -ENOMEM;
	f->names = names;
	f->cap = cap;
	return 0;
}

static int
name_frames(struct frame_names *f, uint32_t location)
{
	uint32_t n = profile_frames(f->p, location);
	int rc = frames_room(f, n);

	for (uint32_t line = n; line-- > 0 && !rc;) {
		CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);

		profile_frame_name(f->p, location, line, &text);
		rc = buf_err(&text)
		             ?: strings_add(
					f->n->t->names, buf_str(&text),
					text.len,
					&f->names[f->nnames + n - 1 - line]);
	}
	if (rc)
		return rc;
	f->first[location] = f->nnames + 1;
	f->nnames += n;
	return 0;
}

/* From a place one location further in. */
static int
step(struct frame_names *f, uint32_t location, uint32_t *at)
{
	uint32_t n = profile_frames(f->p, location);

	if (*at & BEYOND)
		return 0;
	if (!f->first[location]) {
		int rc = name_frames(f, location);

		if (rc)
			return rc;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t name = f->names[f->first[location] - 1 + i];
		const struct child_of w = {f->n, *at, name};
		uint32_t row = table_find(&f->n->children,
		                          child_hash(f->n, *at, name),
		                          same_child, &w);

		if (row == TABLE_NONE) {
			*at |= BEYOND;
			return 0;
		}
		*at = row;
	}
	return 0;
}

static int
place_nodes(struct frame_names *f, const struct packed *k, uint32_t root,
            uint32_t *row)
{
	CLEANUP_FREE uint32_t *at = calloc(k->nnodes, sizeof(*at));
	int rc = 0;

	if (!at)
		return -ENOMEM;
	at[0] = root;
	for (uint32_t i = 1; i < k->nnodes && !rc; i++) {
		at[i] = at[k->nodes[i].parent];
		rc = step(f, k->nodes[i].location, &at[i]);
	}
	for (uint32_t i = 0; i < k->p->nsamples; i++)
		row[i] = at[k->p->stack[k->p->samples[i].stack0]] & ~BEYOND;
	return rc;
}

static int
place_stacks(struct frame_names *f, uint32_t root, uint32_t *row)
{
	const struct profile *p = f->p;
	int rc = 0;

	for (uint32_t i = 0; i < p->nsamples && !rc; i++) {
		const struct sample *s = &p->samples[i];
		uint32_t at = root;

		for (uint32_t k = s->nstack; k-- > 0 && !rc;)
			rc = step(f, p->stack[s->stack0 + k], &at);
		row[i] = at & ~BEYOND;
	}
	return rc;
}

int
block_nodes_place(const struct block_nodes *n, const struct packed *k,
                  uint32_t *row)
{
	CLEANUP(frames_done) struct frame_names f = {.n = n, .p = k->p};
	uint32_t root = n->row[0];

	f.first = calloc((size_t)k->p->nlocations + 1, sizeof(*f.first));
	if (!f.first)
		return -ENOMEM;
	return k->nodes ? place_nodes(&f, k, root, row)
	                : place_stacks(&f, root, row);
}

void
block_nodes_add_up(const struct block_nodes *n, struct block_row *rows)
{
	for (uint32_t i = n->n; i-- > 1;) {
		const struct block_row *from = &rows[i];
		struct block_row *to = &rows[n->of[i].above];

		if (!n->of[i].above)
			continue;
		for (unsigned b = 0; b < BLOCKS; b++) {
			to->order[b] += from->order[b];
			to->time[b] += from->time[b];
		}
	}
}
