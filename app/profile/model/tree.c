#include "profile/tree.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/table.h"
#include "tree_layout.h"
#include "tree_names.h"

#include <errno.h>
#include <string.h>

struct build {
	const struct profile *p;
	struct tree *t;
	uint32_t count_type;
	uint64_t frames;
	int64_t weight, count_weight; /* absolute values: no sum exceeds them */
	struct tree_names names;
	struct node *nodes;
	uint32_t n, cap;
	uint64_t key;
	struct table children;
};

void
tree_free(struct tree *t)
{
	if (!t)
		return;
	free(t->depth);
	free(t->end);
	free(t->name);
	free(t->self);
	free(t->total);
	free(t->samples);
	free(t->home);
	strings_free(t->names);
	strings_free(t->packages);
	strings_free(t->files);
	free(t);
}

static void
build_done(struct build *b)
{
	tree_free(b->t);
	tree_names_done(&b->names);
	free(b->nodes);
	table_done(&b->children);
}

static int
node_room(struct build *b)
{
	uint32_t cap = b->cap ? b->cap * 2 : 1024;
	struct node *p;

	if (b->n < b->cap)
		return 0;
	if (b->n >= TREE_MAX_NODES)
		return -E2BIG;
	p = realloc(b->nodes, cap * sizeof(*p));
	if (!p)
		return -ENOMEM;
	b->nodes = p;
	b->cap = cap;
	return 0;
}

static int
node_add(struct build *b, uint32_t parent, uint32_t name, uint32_t *out)
{
	int r = node_room(b);

	if (r)
		return r;
	b->nodes[b->n] = (struct node){.parent = parent, .name = name};
	*out = b->n++;
	return 0;
}

struct wanted {
	const struct build *b;
	uint32_t parent, name;
};

static bool
same_child(const void *key, uint32_t row)
{
	const struct wanted *w = key;
	const struct node *n = &w->b->nodes[row];

	return n->parent == w->parent && n->name == w->name;
}

static int
child(struct build *b, uint32_t parent, uint32_t name, uint32_t *out)
{
	uint64_t pair = (uint64_t)parent << 32 | name;
	uint64_t hash = hash_fold(pair ^ b->key, b->key | 1);
	struct wanted w = {b, parent, name};
	uint32_t at = table_find(&b->children, hash, same_child, &w);
	int r;

	if (at == TABLE_NONE) {
		r = table_room(&b->children);
		if (!r)
			r = node_add(b, parent, name, &at);
		if (r)
			return r;
		table_put(&b->children, hash, at);
	}
	*out = at;
	return 0;
}

/* Goes down from node at by the frames of one location, outermost first. */
static int
descend(struct build *b, uint32_t location, uint32_t *at)
{
	uint32_t frames = profile_frames(b->p, location), name;
	int r = 0;

	b->frames += frames;
	if (b->frames > TREE_MAX_FRAMES)
		return -E2BIG;
	for (uint32_t line = frames; !r && line-- > 0;) {
		r = tree_names_frame(&b->names, location, line, &name);
		if (!r)
			r = child(b, *at, name, at);
	}
	return r;
}

static int
weigh(int64_t *weight, int64_t v)
{
	if (v == INT64_MIN ||
	    __builtin_add_overflow(*weight, v < 0 ? -v : v, weight))
		return -EOVERFLOW;
	return 0;
}

static int
add_sample(struct build *b, uint32_t row)
{
	const struct sample *s = &b->p->samples[row];
	const int64_t *values = &b->p->values[(size_t)row * b->p->ntypes];
	int64_t v = values[b->t->type], count = values[b->count_type];
	uint32_t at = 0;
	int r;

	if (!v)
		return 0;
	r = weigh(&b->weight, v);
	if (!r)
		r = weigh(&b->count_weight, count);
	for (uint32_t i = s->nstack; !r && i-- > 0;)
		r = descend(b, b->p->stack[s->stack0 + i], &at);
	if (r)
		return r;
	b->nodes[at].self += v;
	b->nodes[at].samples += count;
	b->t->total_samples += count;
	return 0;
}

static uint32_t
count_type(const struct profile *p, uint32_t type)
{
	for (uint32_t i = type + 1; i-- > 0;)
		if (strcmp(strings_get(p->strings, p->types[i].unit, NULL),
		           "count") == 0)
			return i;
	return 0;
}

static int
build_init(struct build *b, uint32_t type)
{
	uint32_t all, root;
	int r;

	b->t = calloc(1, sizeof(*b->t));
	if (!b->t)
		return -ENOMEM;
	random_bytes(&b->key, sizeof(b->key));
	b->count_type = count_type(b->p, type);
	b->t->profile = b->p;
	b->t->type = type;
	r = tree_names_init(&b->names, b->p, b->t);
	if (!r)
		r = tree_names_add(&b->names, "all", 3, &all);
	return r ? r : node_add(b, 0, all, &root);
}

int
tree_new(const struct profile *p, uint32_t type, struct tree **out)
{
	CLEANUP(build_done) struct build b = {.p = p};
	int r;

	if (type >= p->ntypes)
		return -EINVAL;
	r = build_init(&b, type);
	for (uint32_t i = 0; !r && i < p->nsamples; i++)
		r = add_sample(&b, i);
	if (!r)
		r = tree_lay_out(b.t, b.nodes, b.n);
	if (!r)
		*out = TAKE(b.t);
	return r;
}
