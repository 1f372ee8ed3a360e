#include "profile/tree.h"

#include "base/hash.h"
#include "base/id.h"
#include "base/table.h"
#include "package.h"

#include <errno.h>
#include <string.h>

/* The names in the tree of each frame of a profile, so that each is looked up
 * once. */
struct tree_names {
	const struct profile *p;
	struct tree *t;
	uint32_t *by_string;   /* string of the profile -> name, or 0 */
	uint32_t *by_location; /* for frames without a function's name */
	uint32_t cap;          /* of t->home */
};

/* Nodes are stored in the order in which samples made them: a parent comes
 * before its children. */
struct node {
	uint32_t parent, name;
	int64_t self, samples;
	/* set by tree_lay_out(): */
	int64_t total;
	uint32_t size;         /* number of nodes below, and itself */
	uint32_t depth, place; /* place in preorder */
	uint32_t next;         /* next free place for a child */
};

static int
homes_room(struct tree_names *c, uint32_t name)
{
	uint32_t cap = c->cap ? c->cap : 256;
	struct tree_home *p;

	if (name < c->cap)
		return 0;
	while (cap <= name)
		cap *= 2;
	p = reallocarray(c->t->home, cap, sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + c->cap, 0, (cap - c->cap) * sizeof(*p));
	c->t->home = p;
	c->cap = cap;
	return 0;
}

/* Finds or adds the text in t->names; a new one gets the package "". */
static int
tree_names_add(struct tree_names *c, const char *text, size_t n, uint32_t *out)
{
	uint32_t id;
	int r = strings_add(c->t->names, text, n, &id);

	if (!r)
		r = homes_room(c, id);
	if (!r)
		*out = id;
	return r;
}

/* Fills names, packages and files of t with "" alone. Returns -ENOMEM. */
static int
tree_names_init(struct tree_names *c, const struct profile *p, struct tree *t)
{
	size_t nstrings = strings_count(p->strings);
	uint32_t none;

	*c = (struct tree_names){.p = p, .t = t};
	t->names = strings_new();
	t->packages = strings_new();
	t->files = strings_new();
	c->by_string = calloc(nstrings, sizeof(*c->by_string));
	c->by_location =
		calloc((size_t)p->nlocations + 1, sizeof(*c->by_location));
	if (!t->names || !t->packages || !t->files || !c->by_string ||
	    !c->by_location)
		return -ENOMEM;
	return tree_names_add(c, "", 0, &none);
}

static void
tree_names_done(struct tree_names *c)
{
	free(c->by_string);
	free(c->by_location);
}

static int
set_package(struct tree_names *c, uint32_t name, uint32_t location,
            const char *file)
{
	const char *text = tree_name(c->t, name, NULL);
	size_t n = package_len(text, file);

	if (!n) {
		text = profile_module(c->p, location);
		n = strlen(text);
	}
	return strings_add(c->t->packages, text, n, &c->t->home[name].package);
}

static uint32_t
clamp_line(int64_t line)
{
	return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

static int
set_source(struct tree_names *c, uint32_t name, const struct function *f,
           const struct line *line)
{
	struct tree_home *home = &c->t->home[name];
	size_t n;
	const char *file = strings_get(c->p->strings, f->file, &n);

	if (!n)
		return 0;
	home->line = clamp_line(f->start_line ? f->start_line : line->line);
	return strings_add(c->t->files, file, n, &home->file);
}

/* Adds the name of a frame; called once per frame, since later samples find
 * the name in by_string or by_location. */
static int
add_address(struct tree_names *c, uint32_t location, uint32_t line)
{
	CLEANUP_BUF struct buf b = BUF_INIT(BUF_MAX_SMALL);
	uint32_t id;
	int r;

	profile_frame_name(c->p, location, line, &b);
	r = buf_err(&b);
	if (!r)
		r = tree_names_add(c, buf_str(&b), b.len, &id);
	if (!r)
		r = set_package(c, id, location, "");
	if (!r)
		c->by_location[location] = id;
	return r;
}

static int
add_function(struct tree_names *c, uint32_t location, const struct line *line,
             uint32_t string)
{
	const struct function *f = &c->p->functions[line->function];
	size_t n;
	const char *text = strings_get(c->p->strings, string, &n);
	const char *file = strings_get(c->p->strings, f->file, NULL);
	uint32_t id;
	int r = tree_names_add(c, text, n, &id);

	if (!r)
		r = set_package(c, id, location, file);
	if (!r)
		r = set_source(c, id, f, line);
	if (!r)
		c->by_string[string] = id;
	return r;
}

/* Finds the id in t->names of one frame. */
static int
tree_names_frame(struct tree_names *c, uint32_t location, uint32_t line,
                 uint32_t *out)
{
	const struct location *l = &c->p->locations[location];
	const struct line *at = NULL;
	uint32_t string = 0, *known;
	int r = 0;

	if (line < l->nlines) {
		const struct function *f;

		at = &c->p->lines[l->line0 + line];
		f = &c->p->functions[at->function];
		string = f->name ? f->name : f->system_name;
	}
	known = string ? &c->by_string[string] : &c->by_location[location];
	if (!*known)
		r = string ? add_function(c, location, at, string)
		           : add_address(c, location, line);
	if (!r)
		*out = *known;
	return r;
}

/*
 * The nodes while they are sorted into preorder. Because a parent comes before
 * its children, each step is one loop: totals and sizes are summed from the
 * last node to the first, places are assigned from the first to the last.
 */
struct layout {
	struct node *nodes;
	uint32_t n;
};

static void
sum_up(struct layout *l)
{
	for (uint32_t i = l->n; i-- > 0;) {
		struct node *n = &l->nodes[i];

		n->total += n->self;
		n->size++;
		if (i == 0)
			break;
		l->nodes[n->parent].total += n->total;
		l->nodes[n->parent].size += n->size;
	}
}

static int
by_text(const void *a, const void *b, void *names)
{
	size_t n, m;
	const char *s = strings_get(names, *(const uint32_t *)a, &n);
	const char *t = strings_get(names, *(const uint32_t *)b, &m);
	int r = memcmp(s, t, n < m ? n : m);

	return r ? r : (n > m) - (n < m);
}

/* Ranks all names in the order of their text. */
static int
rank_names(struct strings *names, uint32_t **out)
{
	uint32_t n = strings_count(names);
	CLEANUP_FREE uint32_t *sorted = calloc(n, sizeof(*sorted));
	uint32_t *rank = calloc(n, sizeof(*rank));

	*out = rank;
	if (!sorted || !rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = i;
	qsort_r(sorted, n, sizeof(*sorted), by_text, names);
	for (uint32_t i = 0; i < n; i++)
		rank[sorted[i]] = i;
	return 0;
}

/* Returns a node's bucket: the rank of its name in one pass, its parent in the
 * other. */
static uint32_t
bucket(const struct layout *l, const uint32_t *rank, uint32_t node)
{
	return rank ? rank[l->nodes[node].name] : l->nodes[node].parent;
}

/* Sorts in to out by buckets below n: one stable pass of a radix sort. */
static int
sort_pass(const struct layout *l, const uint32_t *rank, uint32_t n,
          const uint32_t *in, uint32_t *out)
{
	CLEANUP_FREE uint32_t *start = calloc((size_t)n + 1, sizeof(*start));

	if (!start)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n; i++)
		start[bucket(l, rank, i) + 1]++;
	for (uint32_t i = 0; i < n; i++)
		start[i + 1] += start[i];
	for (uint32_t i = 0; i < l->n; i++)
		out[start[bucket(l, rank, in[i])]++] = in[i];
	return 0;
}

/* Sorts all nodes by parent and then by name. The root, which is its own
 * parent, may come anywhere among its children. */
static int
sort_nodes(const struct layout *l, struct strings *names, uint32_t *order)
{
	CLEANUP_FREE uint32_t *rank = NULL;
	CLEANUP_FREE uint32_t *by_name = calloc(l->n, sizeof(*by_name));
	int r = rank_names(names, &rank);

	if (r || !by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n; i++)
		order[i] = i;
	r = sort_pass(l, rank, strings_count(names), order, by_name);
	return r ? r : sort_pass(l, NULL, l->n, by_name, order);
}

static void
place_nodes(struct layout *l, const uint32_t *order)
{
	l->nodes[0].next = 1;
	for (uint32_t i = 0; i < l->n; i++) {
		struct node *n = &l->nodes[order[i]];
		struct node *parent = &l->nodes[n->parent];

		if (n == parent)
			continue;
		n->place = parent->next;
		n->next = n->place + 1;
		n->depth = parent->depth + 1;
		parent->next += n->size;
	}
}

int
tree_columns(struct tree *t, size_t n)
{
	t->depth = calloc(n, sizeof(*t->depth));
	t->end = calloc(n, sizeof(*t->end));
	t->name = calloc(n, sizeof(*t->name));
	t->self = calloc(n, sizeof(*t->self));
	t->total = calloc(n, sizeof(*t->total));
	t->samples = calloc(n, sizeof(*t->samples));
	return t->depth && t->end && t->name && t->self && t->total &&
	                       t->samples
	               ? 0
	               : -ENOMEM;
}

static void
write_columns(const struct layout *l, struct tree *t)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct node *n = &l->nodes[i];

		t->depth[n->place] = n->depth;
		t->end[n->place] = n->place + n->size;
		t->name[n->place] = n->name;
		t->self[n->place] = n->self;
		t->total[n->place] = n->total;
		t->samples[n->place] = n->samples;
	}
}

/* Fills the columns of t. Returns -ENOMEM. */
static int
tree_lay_out(struct tree *t, struct node *nodes, uint32_t n)
{
	CLEANUP_FREE uint32_t *order = calloc(n, sizeof(*order));
	struct layout l = {nodes, n};
	int r = order ? sort_nodes(&l, t->names, order) : -ENOMEM;

	if (!r)
		r = tree_columns(t, n);
	if (r)
		return r;
	t->n = n;
	sum_up(&l);
	place_nodes(&l, order);
	write_columns(&l, t);
	return 0;
}

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

/* Descends from node at along the frames of one location, outermost first. */
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
