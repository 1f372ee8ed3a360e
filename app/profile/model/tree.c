#include "profile/tree.h"

#include "base/cleanup.h"
#include "order.h"
#include "package.h"
#include "profile/summary.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define LEAST_PERIOD_NS 10000 /* no sampler is faster */

/* Names of the profile's functions in the tree; each is looked up once. */
struct tree_names {
	const struct profile *p;
	struct tree *t;
	uint32_t *by_string; /* by string of the profile: its name, or 0 */
	uint32_t cap;        /* capacity of t->home */
	/* the last package and file, which neighbours mostly share */
	const char *package_text;
	size_t package_len;
	uint32_t package;
	uint32_t file_string, file;
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

/* Finds or adds text in t->names; a new name gets the package "". */
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

/* Makes names, packages and files of t, each with "" only. Returns 0 or
 * -ENOMEM. */
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
	if (!t->names || !t->packages || !t->files || !c->by_string)
		return -ENOMEM;
	return strings_reserve(t->names, p->nfunctions, 0)
	               ?: tree_names_add(c, "", 0, &none);
}

static int
set_package(struct tree_names *c, uint32_t name, uint32_t location,
            const char *file)
{
	size_t n;
	const char *text = package_of(c->p, location,
	                              tree_name(c->t, name, NULL), file, &n);
	int r = 0;

	if (text != c->package_text || n != c->package_len)
		r = strings_add(c->t->packages, text, n, &c->package);
	if (r)
		return r;
	c->package_text = text;
	c->package_len = n;
	c->t->home[name].package = c->package;
	return 0;
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
	int r = 0;

	if (!n)
		return 0;
	if (f->file != c->file_string)
		r = strings_add(c->t->files, file, n, &c->file);
	if (r)
		return r;
	c->file_string = f->file;
	home->file = c->file;
	home->line = clamp_line(f->start_line ? f->start_line : line->line);
	return 0;
}

/* Adds the name of a frame whose function has no name. */
static int
add_address(struct tree_names *c, uint32_t location, uint32_t line,
            uint32_t *out)
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
		*out = id;
	return r;
}

static int
add_function(struct tree_names *c, uint32_t location, const struct line *line,
             uint32_t string)
{
	const struct function *f = &c->p->functions[line->function];
	size_t n;
	const char *text = strings_get(c->p->strings, string, &n);
	const char *file = profile_text(c->p, f->file);
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

/* Finds the id in t->names of a frame. */
static int
tree_names_frame(struct tree_names *c, uint32_t location, uint32_t line,
                 uint32_t *out)
{
	const struct location *l = &c->p->locations[location];
	const struct line *at = NULL;
	uint32_t string = 0;
	int r = 0;

	if (line < l->nlines) {
		const struct function *f;

		at = &c->p->lines[l->line0 + line];
		f = &c->p->functions[at->function];
		string = f->name ? f->name : f->system_name;
	}
	if (!string)
		return add_address(c, location, line, out);
	if (!c->by_string[string])
		r = add_function(c, location, at, string);
	if (!r)
		*out = c->by_string[string];
	return r;
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

/* A sample's progress from the root: the locations left of its stack, and the
 * frames left of the current location. */
struct way {
	uint32_t locations, frames;
};

/* The samples whose stacks lead through a node, sorted by the rank of the next
 * name. Samples before lo are done. */
struct group {
	uint32_t lo, hi; /* in order[] */
	uint32_t node;
};

/* Names of all frames, read once for the trees of one type, and then replaced
 * by their ranks if a tree needs its children in order. */
struct tree_ranks {
	uint32_t *by_location; /* of a location's only frame; 0 if no sample has
	                          it, SEVERAL: see by_line */
	uint32_t *by_line;     /* of the frames of the other locations */
	uint32_t *sorted; /* names by rank; NULL before frames have ranks */
	uint32_t all;     /* the name of the root */
	int64_t weight;   /* sum of absolute values, which bounds every sum */
};

#define SEVERAL UINT32_MAX

static void
ranks_free(struct tree_ranks *r)
{
	if (!r)
		return;
	free(r->by_location);
	free(r->by_line);
	free(r->sorted);
	free(r);
}

static struct tree_ranks *
ranks_new(const struct profile *p)
{
	struct tree_ranks *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->by_location =
		calloc((size_t)p->nlocations + 1, sizeof(*r->by_location));
	r->by_line = calloc((size_t)p->nlines + 1, sizeof(*r->by_line));
	if (r->by_location && r->by_line)
		return r;
	ranks_free(r);
	return NULL;
}

/* How samples are counted: by a value type, by the period of a type, or not at
 * all. */
struct counting {
	uint32_t type;  /* value type that is added up; PROFILE_NONE: unknown */
	int64_t period; /* its value of one sample; 0: it counts samples */
};

/*
 * The tree while it is built, in preorder. The samples of a node are sorted by
 * their next frame; each group of equal frames makes a child, which is finished
 * before the next one. Each frame of each sample is examined once, and nothing
 * but the nodes is kept.
 */
struct build {
	const struct profile *p;
	struct tree *t;
	const struct tree_ranks *ranks; /* of the tree that owns the names */
	struct counting counting;
	uint64_t *order; /* rank of the next name << 32 | sample's row */
	uint32_t norder;
	uint64_t *room;   /* for sorting */
	struct way *ways; /* by row */
	uint64_t frames;
	uint32_t most;      /* nodes */
	int64_t least;      /* total of a node; smaller ones are left out */
	uint32_t cap;       /* capacity of the columns */
	struct group *open; /* the current node and its ancestors */
	uint32_t nopen, open_cap;
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
	ranks_free(t->ranks);
	if (!t->named) {
		free(t->home);
		strings_free(t->names);
		strings_free(t->packages);
		strings_free(t->files);
	}
	free(t);
}

static void
build_done(struct build *b)
{
	tree_free(b->t);
	free(b->order);
	free(b->room);
	free(b->ways);
	free(b->open);
}

/* --- the frames of all samples, by name ----------------------------------- */

/* Finds the names of a location. */
static int
name_location(struct tree_names *c, uint32_t location)
{
	const struct location *l = &c->p->locations[location];
	struct tree_ranks *ranks = c->t->ranks;
	uint32_t line = profile_frames(c->p, location), name = 0;
	int r = 0;

	while (!r && line-- > 0) {
		r = tree_names_frame(c, location, line, &name);
		if (!r && l->nlines > 1)
			ranks->by_line[l->line0 + line] = name;
	}
	if (!r)
		ranks->by_location[location] = l->nlines > 1 ? SEVERAL : name;
	return r;
}

/* --- samples -------------------------------------------------------------- */

static bool
has_unit(const struct profile *p, const struct value_type *t, const char *unit)
{
	return !strcmp(profile_text(p, t->unit), unit);
}

/* True if the values of a type are counted in units of the profile's period.
 * Tools that have no period write 1, in the file's own unit of time. */
static bool
has_period(const struct profile *p, const struct value_type *t)
{
	bool time = has_unit(p, t, "nanoseconds");

	return t->unit == p->period_type.unit &&
	       p->period >= (time ? LEAST_PERIOD_NS : 2);
}

static struct counting
counting_of(const struct profile *p, uint32_t type)
{
	uint32_t samples = profile_type_index(p, "samples");

	for (uint32_t i = type + 1; i-- > 0;)
		if (has_unit(p, &p->types[i], "count"))
			return (struct counting){i, 0};
	if (samples != PROFILE_NONE && has_unit(p, &p->types[samples], "count"))
		return (struct counting){samples, 0};
	if (has_period(p, &p->types[type]))
		return (struct counting){type, p->period};
	return (struct counting){PROFILE_NONE, 0};
}

/* Returns the samples that add up to a sum. */
static int64_t
samples_in(const struct counting *c, int64_t sum)
{
	return c->period ? llround((double)sum / (double)c->period) : sum;
}

static int
weigh(int64_t *weight, int64_t v)
{
	if (v == INT64_MIN ||
	    __builtin_add_overflow(*weight, v < 0 ? -v : v, weight))
		return -EOVERFLOW;
	return 0;
}

/* The sums of a type's values and of the values that count samples, and of
 * their absolute values. */
struct weights {
	int64_t total, counted;
	int64_t weight, count_weight;
};

/* Adds the values of a sample: neither sum may leave int64. */
static int
weigh_sample(struct weights *w, const int64_t *values, uint32_t type,
             const struct counting *by)
{
	int r = weigh(&w->weight, values[type]);

	w->total += r ? 0 : values[type];
	if (r || by->type == PROFILE_NONE)
		return r;
	r = weigh(&w->count_weight, values[by->type]);
	w->counted += r ? 0 : values[by->type];
	return r;
}

int
tree_sums(const struct profile *p, uint32_t type, int64_t *out_total,
          int64_t *out_samples)
{
	struct weights w = {0};
	struct counting by;
	int r = 0;

	if (type >= p->ntypes)
		return -EINVAL;
	by = counting_of(p, type);
	for (uint32_t row = 0; !r && row < p->nsamples; row++) {
		const int64_t *values = &p->values[(size_t)row * p->ntypes];

		if (values[type])
			r = weigh_sample(&w, values, type, &by);
	}
	if (r)
		return r;
	*out_total = w.total;
	*out_samples = samples_in(&by, w.counted);
	return 0;
}

/* The total of a function. Totals have a separate array, so that many fit into
 * the CPU's cache: one is looked up for every frame of every sample. */
struct function_total {
	int64_t total;
	uint32_t seen; /* the last sample with the function, + 1; 0: none */
};

/* Sums by name; those at name 0, which no frame has, are the root's. */
struct function_sums {
	struct function_total *all;
	int64_t *self, *samples;
};

static int
sums_init(struct function_sums *of, size_t n)
{
	of->all = calloc(n, sizeof(*of->all));
	of->self = calloc(n, sizeof(*of->self));
	of->samples = calloc(n, sizeof(*of->samples));
	return of->all && of->self && of->samples ? 0 : -ENOMEM;
}

static void
sums_done(struct function_sums *of)
{
	free(of->all);
	free(of->self);
	free(of->samples);
}

static void
count_frame(struct function_total *f, uint32_t row, int64_t value)
{
	if (f->seen != row + 1)
		f->total += value;
	f->seen = row + 1;
}

/* Names the locations of all samples, in the order of their rows, so that the
 * parts of names are read in about their order in memory. */
static int
name_locations(struct tree_names *c)
{
	const struct profile *p = c->p;
	uint32_t *by_location = c->t->ranks->by_location;
	int r = 0;

	for (uint32_t row = 0; row < p->nsamples; row++) {
		const struct sample *s = &p->samples[row];
		const uint32_t *stack = &p->stack[s->stack0];

		if (!p->values[(size_t)row * p->ntypes + c->t->type])
			continue;
		for (uint32_t i = 0; i < s->nstack; i++)
			by_location[stack[i]] = SEVERAL;
	}
	for (uint32_t i = 0; !r && i < p->nlocations; i++)
		if (by_location[i])
			r = name_location(c, i);
	return r;
}

/* Adds a sample, whose frames have names, to the totals of its functions, and
 * to the self value of the innermost one. Returns the number of frames. */
static uint32_t
count_functions(const struct tree *t, const struct counting *by, uint32_t row,
                const struct function_sums *of)
{
	const struct profile *p = t->profile;
	const struct sample *s = &p->samples[row];
	const uint32_t *stack = &p->stack[s->stack0];
	const uint32_t *by_location = t->ranks->by_location;
	const int64_t *values = &p->values[(size_t)row * p->ntypes];
	struct function_total *all = of->all;
	int64_t v = values[t->type];
	uint32_t name = 0, frames = s->nstack;

	count_frame(&all[0], row, v);
	for (uint32_t i = s->nstack; i-- > 0;) {
		const struct location *l;

		name = by_location[stack[i]];
		if (name != SEVERAL) {
			count_frame(&all[name], row, v);
			continue;
		}
		l = &p->locations[stack[i]];
		frames += l->nlines - 1;
		for (uint32_t line = l->nlines; line-- > 0;) {
			name = t->ranks->by_line[l->line0 + line];
			count_frame(&all[name], row, v);
		}
	}
	of->self[name] += v;
	if (by->type != PROFILE_NONE)
		of->samples[name] += values[by->type];
	return frames;
}

/* Names the frames of all samples, and adds up the samples' values: in all and,
 * unless `of` is NULL, for each function. */
static int
name_samples(struct tree_names *c, const struct counting *by,
             const struct function_sums *of)
{
	const struct profile *p = c->p;
	struct weights w = {0};
	uint64_t frames = 0;
	int r = name_locations(c);

	for (uint32_t row = 0; !r && row < p->nsamples; row++) {
		const int64_t *values = &p->values[(size_t)row * p->ntypes];

		if (!values[c->t->type])
			continue;
		r = weigh_sample(&w, values, c->t->type, by);
		if (!r && of)
			frames += count_functions(c->t, by, row, of);
		if (frames > TREE_MAX_FRAMES)
			r = -E2BIG;
	}
	c->t->ranks->weight = w.weight;
	c->t->counted = by->type != PROFILE_NONE;
	c->t->total_samples = samples_in(by, w.counted);
	return r;
}

/* Replaces the names of frames by their ranks, unless that is done. */
static int
rank_frames(const struct tree *t)
{
	CLEANUP_FREE uint32_t *rank = NULL;
	const struct profile *p = t->profile;
	struct tree_ranks *ranks = t->ranks;
	int r;

	if (ranks->sorted)
		return 0;
	r = names_rank(t->names, &rank, &ranks->sorted);
	for (uint32_t i = 0; !r && i < p->nlines; i++)
		ranks->by_line[i] = rank[ranks->by_line[i]];
	for (uint32_t i = 0; !r && i < p->nlocations; i++)
		if (ranks->by_location[i] != SEVERAL)
			ranks->by_location[i] = rank[ranks->by_location[i]];
	return r;
}

/* Sets all samples to the root end of their stacks. */
static void
queue_samples(struct build *b)
{
	const struct profile *p = b->p;

	b->norder = 0;
	for (uint32_t row = 0; row < p->nsamples; row++) {
		if (!p->values[(size_t)row * p->ntypes + b->t->type])
			continue;
		b->ways[row] = (struct way){p->samples[row].nstack, 0};
		b->order[b->norder++] = row;
	}
}

/* Takes a sample's next frame. Returns false at the end of its stack. */
static bool
next_frame(struct build *b, uint32_t row, uint32_t *rank)
{
	const uint32_t *stack = &b->p->stack[b->p->samples[row].stack0];
	struct way *w = &b->ways[row];
	const struct location *l;

	if (!w->frames) {
		if (!w->locations)
			return false;
		w->locations--;
		*rank = b->ranks->by_location[stack[w->locations]];
		if (*rank != SEVERAL)
			return true;
		w->frames = profile_frames(b->p, stack[w->locations]);
	}
	l = &b->p->locations[stack[w->locations]];
	w->frames--;
	*rank = b->ranks->by_line[l->line0 + w->frames];
	return true;
}

/* --- nodes ---------------------------------------------------------------- */

static int
column_room(void *column, size_t cap, size_t size)
{
	void **p = column, *more = reallocarray(*p, cap, size);

	if (!more)
		return -ENOMEM;
	*p = more;
	return 0;
}

static int
columns_room(struct tree *t, size_t cap)
{
	return column_room(&t->depth, cap, sizeof(*t->depth))
	               ?: column_room(&t->end, cap, sizeof(*t->end))
	               ?: column_room(&t->name, cap, sizeof(*t->name))
	               ?: column_room(&t->self, cap, sizeof(*t->self))
	               ?: column_room(&t->total, cap, sizeof(*t->total))
	               ?: column_room(&t->samples, cap, sizeof(*t->samples));
}

static int
node_add(struct build *b, uint32_t depth, uint32_t name, uint32_t *out)
{
	struct tree *t = b->t;
	uint32_t cap = b->cap ? b->cap * 2 : 256;
	int r = 0;

	if (t->n >= b->most)
		return -E2BIG;
	if (t->n == b->cap)
		r = columns_room(t, cap);
	if (r)
		return r;
	if (t->n == b->cap)
		b->cap = cap;
	t->depth[t->n] = depth;
	t->name[t->n] = name;
	t->self[t->n] = t->total[t->n] = t->samples[t->n] = 0;
	*out = t->n++;
	return 0;
}

static void
count_sample(struct build *b, uint32_t node, uint32_t row)
{
	const int64_t *values = &b->p->values[(size_t)row * b->p->ntypes];

	b->t->self[node] += values[b->t->type];
	if (b->counting.type != PROFILE_NONE)
		b->t->samples[node] += values[b->counting.type];
}

/* Turns sums into numbers of samples, after all additions, so that each is
 * rounded once. */
static void
count_nodes(const struct counting *by, struct tree *t)
{
	for (uint32_t i = 0; i < t->n && by->period; i++)
		t->samples[i] = samples_in(by, t->samples[i]);
}

/* Counts the samples whose stacks end at a node, and moves the others to their
 * next frame. Returns the end of the latter. */
static uint32_t
take_frames(struct build *b, uint32_t node, uint32_t lo, uint32_t hi)
{
	uint32_t kept = lo, rank = 0;

	for (uint32_t i = lo; i < hi; i++) {
		uint32_t row = (uint32_t)b->order[i];

		if (next_frame(b, row, &rank))
			b->order[kept++] = (uint64_t)rank << 32 | row;
		else
			count_sample(b, node, row);
	}
	return kept;
}

/* Opens a node, to whose children these samples belong. */
static int
node_open(struct build *b, uint32_t node, uint32_t lo, uint32_t hi)
{
	b->frames += hi - lo;
	if (b->frames > TREE_MAX_FRAMES)
		return -E2BIG;
	words_sort(&b->order[lo], hi - lo, b->room);
	if (b->nopen == b->open_cap) {
		uint32_t cap = b->open_cap ? b->open_cap * 2 : 64;
		int r = column_room(&b->open, cap, sizeof(*b->open));

		if (r)
			return r;
		b->open_cap = cap;
	}
	b->open[b->nopen++] = (struct group){lo, hi, node};
	return 0;
}

static void
node_close(struct build *b)
{
	struct tree *t = b->t;
	uint32_t node = b->open[--b->nopen].node;

	t->end[node] = t->n;
	t->total[node] += t->self[node];
	if (b->nopen)
		t->total[b->open[b->nopen - 1].node] += t->total[node];
}

static int64_t
total_of(const struct build *b, uint32_t lo, uint32_t hi)
{
	const int64_t *values = &b->p->values[b->t->type];
	int64_t sum = 0;

	for (uint32_t i = lo; i < hi; i++)
		sum += values[(size_t)(uint32_t)b->order[i] * b->p->ntypes];
	return sum;
}

/* Makes nodes for all remaining frames of a sample that shares them with no
 * other sample, beginning with the name of that rank. */
static int
lone_way(struct build *b, uint32_t row, uint32_t rank)
{
	struct tree *t = b->t;
	uint32_t first = t->n, depth = b->nopen, node;
	int r;

	do {
		r = node_add(b, depth++, b->ranks->sorted[rank], &node);
	} while (!r && next_frame(b, row, &rank));
	b->frames += t->n - first - 1;
	if (r)
		return r;
	if (b->frames > TREE_MAX_FRAMES)
		return -E2BIG;
	count_sample(b, node, row);
	for (uint32_t i = first; i < t->n; i++) {
		t->total[i] = t->self[node];
		t->end[i] = t->n;
	}
	t->total[b->open[b->nopen - 1].node] += t->self[node];
	return 0;
}

/* Makes the next child of the current node, unless it is too small. */
static int
child(struct build *b, struct group *of)
{
	uint32_t rank = (uint32_t)(b->order[of->lo] >> 32);
	uint32_t lo = of->lo, node;
	int64_t total;
	int r;

	while (of->lo < of->hi && b->order[of->lo] >> 32 == rank)
		of->lo++;
	total = b->least ? total_of(b, lo, of->lo) : 0;
	if (llabs(total) < b->least) {
		b->t->total[of->node] += total;
		return 0;
	}
	if (of->lo - lo == 1)
		return lone_way(b, (uint32_t)b->order[lo], rank);
	r = node_add(b, b->nopen, b->ranks->sorted[rank], &node);
	return r ? r : node_open(b, node, lo, take_frames(b, node, lo, of->lo));
}

/* A child of the root, before its samples are sorted. */
struct first {
	int64_t total;
	uint32_t most; /* frames of its longest stack */
};

/*
 * Finds the children of the root, by rank. Refuses a tree with too many nodes
 * at once: it has at least the frames of the longest stack of each child. If
 * no value is negative, all frames of a sample as large as `least` are kept.
 */
static int
find_first(const struct build *b, uint32_t n, struct first *out)
{
	const struct profile *p = b->p;
	const int64_t *values = &p->values[b->t->type];
	uint64_t nodes = 1;
	bool negative = false;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = (uint32_t)b->order[i];
		uint32_t frames = p->samples[row].nstack;
		struct first *f = &out[b->order[i] >> 32];
		int64_t v = values[(size_t)row * p->ntypes];

		negative |= v < 0;
		f->total += v;
		if (v < b->least || frames <= f->most)
			continue;
		nodes += frames - f->most;
		f->most = frames;
	}
	return nodes > b->most && !negative ? -E2BIG : 0;
}

/* Leaves out the samples of children of the root that are too small, so that
 * they need not be sorted. Returns the end of the others. */
static uint32_t
drop_small(struct build *b, uint32_t n, const struct first *first)
{
	const int64_t *values = &b->p->values[b->t->type];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = (uint32_t)b->order[i];

		if (llabs(first[b->order[i] >> 32].total) >= b->least)
			b->order[kept++] = b->order[i];
		else
			b->t->total[0] += values[(size_t)row * b->p->ntypes];
	}
	return kept;
}

static int
root_open(struct build *b)
{
	CLEANUP_FREE struct first *first =
		calloc(strings_count(b->t->names), sizeof(*first));
	uint32_t n = take_frames(b, 0, 0, b->norder);
	int r = first ? find_first(b, n, first) : -ENOMEM;

	if (r)
		return r;
	if (b->least)
		n = drop_small(b, n, first);
	return node_open(b, 0, 0, n);
}

static int
make_nodes(struct build *b)
{
	uint32_t root;
	int r;

	queue_samples(b);
	b->t->n = b->nopen = 0;
	b->frames = 0;
	r = node_add(b, 0, b->ranks->all, &root);
	if (!r)
		r = root_open(b);
	while (!r && b->nopen) {
		struct group *last = &b->open[b->nopen - 1];

		if (last->lo < last->hi)
			r = child(b, last);
		else
			node_close(b);
	}
	count_nodes(&b->counting, b->t);
	return r ? r : columns_room(b->t, b->t->n);
}

/* Makes a tree that has the names of all samples, but no nodes; `of` is as in
 * name_samples(). */
static int
tree_of_names(const struct profile *p, uint32_t type,
              const struct function_sums *of, struct tree **out)
{
	CLEANUP_TREE struct tree *t = NULL;
	struct counting by;
	struct tree_names names;
	int r;

	if (type >= p->ntypes)
		return -EINVAL;
	by = counting_of(p, type);
	t = calloc(1, sizeof(*t));
	if (!t || !(t->ranks = ranks_new(p)))
		return -ENOMEM;
	t->profile = p;
	t->type = type;
	r = tree_names_init(&names, p, t)
	            ?: tree_names_add(&names, "all", 3, &t->ranks->all)
	            ?: name_samples(&names, &by, of);
	free(names.by_string);
	if (!r)
		*out = TAKE(t);
	return r;
}

/* Builds t, which has no nodes yet, with the names of another tree or its
 * own. */
static int
build(struct build *b, struct tree *t, const struct tree *named)
{
	const struct profile *p = t->profile;

	b->p = p;
	b->t = t;
	b->ranks = named->ranks;
	b->counting = counting_of(p, t->type);
	b->order = calloc((size_t)p->nsamples + 1, sizeof(*b->order));
	b->room = malloc(((size_t)p->nsamples + 1) * sizeof(*b->room));
	b->ways = calloc((size_t)p->nsamples + 1, sizeof(*b->ways));
	if (!b->order || !b->room || !b->ways)
		return -ENOMEM;
	return rank_frames(named) ?: make_nodes(b);
}

int
tree_new(const struct profile *p, uint32_t type, struct tree **out)
{
	CLEANUP(build_done)
	struct build b = {.most = TREE_MAX_NODES};
	struct tree *t;
	int r = tree_of_names(p, type, NULL, &t) ?: build(&b, t, t);

	if (r)
		return r;
	ranks_free(TAKE(b.t->ranks));
	*out = TAKE(b.t);
	return 0;
}

static struct tree *
tree_named(const struct tree *of)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (t)
		*t = (struct tree){
			.profile = of->profile,
			.type = of->type,
			.total_samples = of->total_samples,
			.counted = of->counted,
			.named = of,
			.names = of->names,
			.packages = of->packages,
			.files = of->files,
			.home = of->home,
		};
	return t;
}

#define VISIBLE_STEP 16 /* factor of the least total from try to try */

int
tree_visible(const struct tree *of, uint32_t most, struct tree **out,
             int64_t *left_out)
{
	CLEANUP(build_done)
	struct build b = {.most = most};
	int64_t least = of->ranks->weight / most + 1;
	struct tree *t = tree_named(of);
	int r = t ? build(&b, t, of) : -ENOMEM;

	while (r == -E2BIG && least <= of->ranks->weight / VISIBLE_STEP) {
		b.least = least *= VISIBLE_STEP;
		r = make_nodes(&b);
	}
	if (r)
		return r;
	*left_out = b.least;
	*out = TAKE(b.t);
	return 0;
}

/* --- functions alone ------------------------------------------------------ */

/* Makes the root and its children, the functions in the order of their names'
 * ids. */
static int
list_functions(struct tree *t, const struct function_sums *of)
{
	uint32_t names = strings_count(t->names), n = 1;

	for (uint32_t i = 1; i < names; i++)
		n += of->all[i].seen != 0;
	if (n > TREE_MAX_NODES)
		return -E2BIG;
	if (tree_columns(t, n))
		return -ENOMEM;
	for (uint32_t i = 0; i < names; i++) {
		uint32_t at = t->n;

		if (i && !of->all[i].seen)
			continue;
		t->depth[at] = i != 0;
		t->end[at] = i ? at + 1 : n;
		t->name[at] = i ? i : t->ranks->all;
		t->self[at] = of->self[i];
		t->total[at] = of->all[i].total;
		t->samples[at] = of->samples[i];
		t->n++;
	}
	return 0;
}

int
tree_functions(const struct profile *p, uint32_t type, struct tree **out)
{
	/* no frame has more than one name */
	size_t most = (size_t)p->nlocations + p->nlines + 2;
	CLEANUP(sums_done)
	struct function_sums of = {0};
	CLEANUP_TREE struct tree *t = NULL;
	struct counting by;
	int r = sums_init(&of, most) ?: tree_of_names(p, type, &of, &t)
	                             ?: list_functions(t, &of);

	if (r)
		return r;
	by = counting_of(p, type);
	count_nodes(&by, t);
	*out = TAKE(t);
	return 0;
}
