#include "merge_private.h"

#include "profile/model/build.h"

#include <errno.h>
#include <string.h>

static int
add_nodes(struct input_rows *r)
{
	const struct packed *k = r->packed;
	int rc = 0;

	for (uint32_t i = 1; i < k->nnodes && !rc; i++)
		rc = nodes_child(&r->m->nodes, r->nodes[k->nodes[i].parent],
		                 r->locations[k->nodes[i].location],
		                 &r->nodes[i]);
	return rc;
}

/* Down from where the stack leaves the one before. */
static int
walk(struct input_rows *r, const uint32_t *stack, uint32_t n, uint32_t *out)
{
	struct path *path = &r->path;
	uint32_t at = 0, depth = 0;
	int rc = 0;

	while (depth < n && depth < path->n &&
	       path->steps[depth].location == stack[n - 1 - depth])
		at = path->steps[depth++].node;
	for (; depth < n && !rc; depth++) {
		uint32_t location = stack[n - 1 - depth];

		rc = nodes_child(&r->m->nodes, at, r->locations[location], &at);
		path->steps[depth] = (struct step){location, at};
	}
	path->n = n;
	*out = at;
	return rc;
}

static int
add_labels(struct input_rows *r, const struct sample *s,
           struct label out[static PROFILE_MAX_LABELS + 1], uint32_t *n)
{
	int rc = 0;

	for (*n = 0; *n < s->nlabels && !rc; ++*n) {
		struct label *l = &out[*n];

		*l = r->p->labels[s->label0 + *n];
		rc = merge_text(r, l->key, &l->key) ?: merge_text(r, l->str, &l->str)
		             ?: merge_text(r, l->unit, &l->unit);
	}
	if (r->m->label.key)
		out[(*n)++] = r->m->label;
	return rc;
}

/* Where the row of a node's sample is kept. */
static int
row_of(struct merge *m, uint32_t node, uint32_t **out)
{
	struct node_rows *r = &m->rows;
	int rc = 0;

	if (node >= r->n) {
		rc = rows_room(&r->items, &r->cap, r->n, m->nodes.n - r->n,
		               sizeof(*r->items));
		if (rc)
			return rc;
		memset(r->items + r->n, 0,
		       (m->nodes.n - r->n) * sizeof(*r->items));
		r->n = m->nodes.n;
	}
	*out = &r->items[node];
	return 0;
}

/* Most samples have no labels: their node alone tells which they are. */
static int
put_sample(struct merge *m, uint32_t node, const struct label *labels,
           uint32_t n, const int64_t *values)
{
	uint32_t *row, made;
	int rc;

	if (n)
		return rows_sample(m->p, &node, 1, labels, n, values, &made);
	rc = row_of(m, node, &row);
	if (rc || *row)
		return rc ?: rows_sum(m->p, *row - 1, values);
	rc = rows_sample(m->p, &node, 1, NULL, 0, values, &made);
	if (!rc)
		*row = made + 1;
	return rc;
}

static int
add_sample(struct input_rows *r, uint32_t at)
{
	const struct sample *s = &r->p->samples[at];
	const uint32_t *stack = r->p->stack + s->stack0;
	struct label labels[PROFILE_MAX_LABELS + 1];
	uint32_t n, node = 0;
	int rc = 0;

	if (r->packed->nodes)
		node = r->nodes[*stack];
	else
		rc = walk(r, stack, s->nstack, &node);
	if (!rc)
		rc = add_labels(r, s, labels, &n);
	return rc ? rc
	          : put_sample(r->m, node, labels, n,
	                       &r->p->values[(size_t)at * r->p->ntypes]);
}

size_t
merge_memory(const struct merge *m)
{
	const struct profile *p = m->p;

	return (size_t)m->nodes.n * (sizeof(*m->nodes.items) + 16) +
	       (size_t)p->nsamples * (sizeof(*p->samples) + 16 +
	                              p->ntypes * sizeof(*p->values)) +
	       (size_t)p->nstack * sizeof(*p->stack) +
	       (size_t)p->nlabels * sizeof(*p->labels) +
	       (size_t)p->nlines * sizeof(*p->lines) +
	       (size_t)p->nlocations * (sizeof(*p->locations) + 16) +
	       (size_t)p->nfunctions * (sizeof(*p->functions) + 16) +
	       (size_t)strings_count(p->strings) * 64;
}

#define CHECK_EVERY 4096 /* samples between two looks at the memory */

static int
add_samples(struct input_rows *r)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->p->nsamples && !rc; i++) {
		rc = add_sample(r, i);
		if (!rc && i % CHECK_EVERY == 0 &&
		    merge_memory(r->m) > r->m->max_bytes)
			rc = -E2BIG;
	}
	if (!rc && merge_memory(r->m) > r->m->max_bytes)
		rc = -E2BIG;
	return rc;
}

int
merge_stacks(struct input_rows *r)
{
	return add_nodes(r) ?: add_samples(r);
}
