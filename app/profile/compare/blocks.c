#include "profile/blocks.h"

#include <errno.h>
#include <string.h>

/* Nodes below total / LEAST_PART have no row: they are too small to measure. */
#define LEAST_PART 1024
#define MAX_NODES  (1u << 14) /* the least total doubles until they fit */
/* Set in a row once the stack has left the nodes that have rows. */
#define BEYOND 0x80000000u

void
blocks_free(struct blocks *b)
{
	if (!b)
		return;
	free(b->row);
	free(b->rows);
	free(b);
}

/* --- the rows of a tree --------------------------------------------------- */

struct node_row {
	uint32_t node;        /* its number in the tree */
	uint32_t above;       /* row of the parent; 0 for the root */
	uint32_t child, next; /* rows of the first child and the next sibling */
};

/* The rows of a tree; row 0 is for all functions or nodes together. */
struct rows {
	const struct tree *t;
	enum blocks_what what;
	uint32_t *row; /* by name or by node; 0 if none */
	uint32_t nrow, n;
	struct node_row *of; /* by row, in preorder; NULL for functions */
};

static void
rows_done(struct rows *r)
{
	free(r->row);
	free(r->of);
}

static int
number_functions(struct rows *r)
{
	const struct tree *t = r->t;

	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t *row = &r->row[t->name[i]];

		if (*row || !(t->self[i] || t->samples[i]))
			continue;
		if (r->n == BLOCKS_ROWS)
			return -E2BIG;
		*row = r->n++;
	}
	return 0;
}

/* Returns the least total of a node that gets a row. */
static int64_t
choose_least(const struct tree *t)
{
	int64_t least = t->total[0] / LEAST_PART + 1;

	for (; least <= t->total[0] / 2; least *= 2) {
		uint32_t n = 1;

		for (uint32_t i = 0; i < t->n; i++)
			n += t->total[i] >= least;
		if (n <= MAX_NODES)
			break;
	}
	return least;
}

static void
add_node(struct rows *r, uint32_t node, uint32_t above)
{
	struct node_row *up = &r->of[above];

	r->of[r->n] = (struct node_row){node, above, 0, up->child};
	up->child = r->row[node] = r->n++;
}

/* Numbers the large nodes. With negative values, a large node may be below a
 * small one; it gets no row, because place() ends stacks at the small one. */
static int
number_nodes(struct rows *r)
{
	const struct tree *t = r->t;
	int64_t least = choose_least(t);
	uint32_t last = 0; /* row */

	if (t->total[0] <= 0)
		return -ENODATA;
	r->of = calloc(MAX_NODES, sizeof(*r->of));
	if (!r->of)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n && r->n < MAX_NODES; i++) {
		if (t->total[i] < least)
			continue;
		while (last && t->depth[r->of[last].node] >= t->depth[i])
			last = r->of[last].above;
		if (i && t->depth[i] != t->depth[r->of[last].node] + 1)
			continue;
		add_node(r, i, last);
		last = r->n - 1;
	}
	return 0;
}

static int
rows_init(struct rows *r, const struct tree *t, enum blocks_what what)
{
	r->t = t;
	r->what = what;
	r->n = 1;
	r->nrow = what == BLOCKS_OF_NODES ? t->n : strings_count(t->names);
	r->row = calloc((size_t)r->nrow + 1, sizeof(*r->row));
	if (!r->row)
		return -ENOMEM;
	return what == BLOCKS_OF_NODES ? number_nodes(r) : number_functions(r);
}

/* --- the row of a sample -------------------------------------------------- */

/* Names of a profile's frames in the tree; each is looked up once. */
struct frames {
	const struct rows *r;
	const struct profile *p;
	uint32_t *by_string;   /* by string of the profile: name + 1, or 0 */
	uint32_t *by_location; /* likewise, for frames whose function has no
	                          name */
};

static void
frames_done(struct frames *f)
{
	free(f->by_string);
	free(f->by_location);
}

static int
name_of(struct frames *f, uint32_t location, uint32_t line, uint32_t *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const struct location *l = &f->p->locations[location];
	uint32_t *known = &f->by_location[location];
	int rc = 0;

	if (line < l->nlines) {
		const struct function *at =
			&f->p->functions[f->p->lines[l->line0 + line].function];

		if (at->name || at->system_name)
			known = &f->by_string[at->name ?: at->system_name];
	}
	if (!*known) {
		profile_frame_name(f->p, location, line, &text);
		rc = buf_err(&text)
		             ?: strings_add(f->r->t->names, buf_str(&text),
		                            text.len, known);
		*known += !rc;
	}
	*out = *known - 1;
	return rc;
}

/* Finds the row of a function. A function for which a rollup had no room is
 * not in the tree, and has no row. */
static int
place_leaf(struct frames *f, uint32_t location, uint32_t *row)
{
	uint32_t name = f->r->t->name[0];
	int rc = location == PROFILE_NONE ? 0 : name_of(f, location, 0, &name);

	if (!rc && name < f->r->nrow)
		*row = f->r->row[name];
	return rc;
}

/* Moves *at from the row of a node to the row one location further in. Few
 * large nodes are below any one node, so that a linear search is short. */
static int
step(struct frames *f, uint32_t location, uint32_t *at)
{
	const struct node_row *of = f->r->of;
	uint32_t line = profile_frames(f->p, location), name;

	while (line-- > 0 && !(*at & BEYOND)) {
		uint32_t row = of[*at].child;
		int rc = name_of(f, location, line, &name);

		if (rc)
			return rc;
		while (row && f->r->t->name[of[row].node] != name)
			row = of[row].next;
		*at = row ? row : *at | BEYOND;
	}
	return 0;
}

/* Finds the row of each node of a packed profile. */
static int
place_nodes(struct frames *f, const struct packed *k, uint32_t *at)
{
	int rc = 0;

	for (uint32_t i = 1; i < k->nnodes && !rc; i++) {
		at[i] = at[k->nodes[i].parent];
		rc = step(f, k->nodes[i].location, &at[i]);
	}
	return rc;
}

/* Finds the rows of the samples of k with a value of the type. */
static int
place(const struct rows *r, const struct packed *k, uint32_t type,
      uint32_t *row)
{
	const struct profile *p = k->p;
	CLEANUP(frames_done) struct frames f = {.r = r, .p = p};
	CLEANUP_FREE uint32_t *at = calloc(k->nnodes + 1, sizeof(*at));
	bool packed = k->nodes && r->what == BLOCKS_OF_NODES;
	int rc = 0;

	f.by_string = calloc(strings_count(p->strings), sizeof(uint32_t));
	f.by_location = calloc((size_t)p->nlocations + 1, sizeof(uint32_t));
	if (!f.by_string || !f.by_location || !at)
		return -ENOMEM;
	at[0] = r->what == BLOCKS_OF_NODES ? r->row[0] : 0;
	if (packed)
		rc = place_nodes(&f, k, at);
	for (uint32_t i = 0; i < p->nsamples && !rc; i++) {
		const struct sample *s = &p->samples[i];

		if (!p->values[(size_t)i * p->ntypes + type])
			continue;
		row[i] = packed ? at[p->stack[s->stack0]] : at[0];
		if (r->what == BLOCKS_OF_FUNCTIONS)
			rc = place_leaf(&f, packed_leaf(k, s), &row[i]);
		for (uint32_t n = packed ? 0 : s->nstack;
		     r->what == BLOCKS_OF_NODES && n-- > 0 && !rc;)
			rc = step(&f, p->stack[s->stack0 + n], &row[i]);
		row[i] &= ~BEYOND;
	}
	return rc;
}

/* --- costs of rows -------------------------------------------------------- */

/* The blocks that a sample or a part is in. */
struct spot {
	uint8_t order, time;
};

static void
add_cost(struct blocks *b, uint32_t row, struct spot at, double cost)
{
	b->rows[0].order[at.order] += cost;
	b->rows[0].time[at.time] += cost;
	if (!row)
		return;
	b->rows[row].order[at.order] += cost;
	b->rows[row].time[at.time] += cost;
}

static void
add_row(struct block_row *to, const struct block_row *row)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		to->order[i] += row->order[i];
		to->time[i] += row->time[i];
	}
}

/* Adds the costs of nodes to their ancestors. */
static void
add_up(const struct rows *r, struct block_row *rows)
{
	for (uint32_t i = r->n; i-- > 1;)
		if (r->of[i].above)
			add_row(&rows[r->of[i].above], &rows[i]);
}

static int
blocks_begin(const struct rows *r, struct blocks *b)
{
	b->rows = calloc(r->n, sizeof(*b->rows));
	return b->rows ? 0 : -ENOMEM;
}

/* Moves the row numbers to b, with 0 in place of empty rows. */
static void
blocks_end(struct rows *r, struct blocks *b)
{
	if (r->what == BLOCKS_OF_NODES)
		add_up(r, b->rows);
	b->nrow = r->nrow;
	b->row = TAKE(r->row);
	for (uint32_t i = 0; i < b->nrow; i++) {
		const double *order = b->rows[b->row[i]].order;
		double sum = 0;

		for (unsigned k = 0; b->row[i] && k < BLOCKS; k++)
			sum += order[k];
		b->row[i] = sum > 0 ? b->row[i] : 0;
	}
}

/* --- blocks of a timeline ------------------------------------------------- */

static bool
counts(const struct tree *t, const struct timeline_sample *s)
{
	const struct profile *p = t->profile;

	return p->values[(size_t)s->sample * p->ntypes + t->type] != 0;
}

/* Returns the time until which samples were kept; later blocks would look
 * idle. */
static uint64_t
end_of(const struct timeline *t)
{
	uint64_t end = t->duration_us;

	for (uint32_t i = 0; i < t->nevents; i++)
		if (t->events[i].kind == TIMELINE_FULL)
			end = t->events[i].time_us;
	if (t->nsamples && t->samples[t->nsamples - 1].time_us >= end)
		end = t->samples[t->nsamples - 1].time_us + 1;
	return end;
}

static void
fill(struct blocks *b, const struct tree *t, const struct timeline *line,
     const uint32_t *row)
{
	uint64_t end_us = end_of(line), at = 0;

	b->norder = b->ntime = BLOCKS;
	for (unsigned i = 0; i < BLOCKS; i++)
		b->length[i] = 1;
	for (uint32_t i = 0; i < line->nsamples; i++) {
		const struct timeline_sample *s = &line->samples[i];

		if (!counts(t, s))
			continue;
		add_cost(b, row[s->sample],
		         (struct spot){(uint8_t)(at++ * BLOCKS / b->samples),
		                       (uint8_t)(s->time_us * BLOCKS / end_us)},
		         (double)(s->weight_ns ?: 1));
	}
}

int
blocks_of_timeline(const struct tree *t, const struct timeline *line,
                   enum blocks_what what, struct blocks **out)
{
	const struct packed k = {.p = (struct profile *)t->profile};
	CLEANUP(rows_done) struct rows r = {0};
	CLEANUP_BLOCKS struct blocks *b = calloc(1, sizeof(*b));
	CLEANUP_FREE uint32_t *row =
		calloc((size_t)k.p->nsamples + 1, sizeof(*row));
	int rc = b && row ? timeline_fits(line, k.p) : -ENOMEM;

	if (rc)
		return rc;
	for (uint32_t i = 0; i < line->nsamples; i++)
		b->samples += counts(t, &line->samples[i]);
	if (b->samples < BLOCKS_SAMPLES)
		return -ENODATA;
	rc = rows_init(&r, t, what) ?: place(&r, &k, t->type, row)
	                            ?: blocks_begin(&r, b);
	if (rc)
		return rc;
	fill(b, t, line, row);
	blocks_end(&r, b);
	*out = TAKE(b);
	return 0;
}

/* --- blocks of totals ----------------------------------------------------- */

int
blocks_of_totals(const struct tree *t, const struct blocks *nodes,
                 struct blocks **out)
{
	uint32_t nnames = strings_count(t->names), n = 1;
	CLEANUP_BLOCKS struct blocks *b = calloc(1, sizeof(*b));
	/* by name: end of the outermost open node with that name */
	CLEANUP_FREE uint32_t *end = calloc(nnames + 1, sizeof(*end));

	if (!b || !end)
		return -ENOMEM;
	*b = *nodes;
	b->nrow = nnames;
	b->row = calloc(nnames + 1, sizeof(*b->row));
	b->rows = calloc((size_t)t->n + 1, sizeof(*b->rows));
	if (!b->row || !b->rows)
		return -ENOMEM;
	b->rows[0] = nodes->rows[0];
	for (uint32_t i = 0; i < t->n; i++) {
		const struct block_row *row = blocks_row(nodes, i);
		uint32_t name = t->name[i];

		if (!row || i < end[name])
			continue;
		end[name] = t->end[i];
		if (!b->row[name])
			b->row[name] = n++;
		add_row(&b->rows[b->row[name]], row);
	}
	*out = TAKE(b);
	return 0;
}

/* --- blocks of parts ------------------------------------------------------ */

/* Blocks are runs of stretches, cut twice, as timelines are: by samples and by
 * time. */

void
stretches_done(struct stretches *s)
{
	free(s->of);
	free(s->fresh);
	free(s->items);
}

/* Returns the seconds of a part that no earlier part covers: time captured by
 * several parts counts once. */
static double
fresh_of(const struct blocks_part *p, int64_t *reach)
{
	int64_t from = p->start_ms > *reach ? p->start_ms : *reach;
	double span = (double)(p->end_ms - p->start_ms);
	double part = span > 0 && p->end_ms > from
	                      ? (double)(p->end_ms - from) / span
	                      : 0;

	*reach = p->end_ms > *reach ? p->end_ms : *reach;
	return p->seconds * part;
}

int
stretches_init(struct stretches *s, const struct blocks_part *parts, size_t n)
{
	int64_t reach = INT64_MIN, start = 0, longest = 0;

	s->of = calloc(n + 1, sizeof(*s->of));
	s->fresh = calloc(n + 1, sizeof(*s->fresh));
	s->items = calloc(n + 1, sizeof(*s->items));
	if (!s->of || !s->fresh || !s->items)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct blocks_part *p = &parts[i];
		struct stretch *at;

		if (!s->n || p->start_ms - start >= longest) {
			s->n++;
			start = p->start_ms;
			longest = 0;
		}
		if (p->end_ms - p->start_ms > longest)
			longest = p->end_ms - p->start_ms;
		at = &s->items[s->n - 1];
		s->of[i] = s->n - 1;
		s->fresh[i] = fresh_of(p, &reach);
		at->seconds += s->fresh[i];
		at->samples += p->samples;
	}
	return 0;
}

double
blocks_worth(const struct blocks_part *parts, size_t n)
{
	CLEANUP_STRETCHES struct stretches s = {0};
	double sum = 0, squares = 0;

	if (stretches_init(&s, parts, n))
		return 0;
	for (uint32_t i = 0; i < s.n; i++) {
		sum += s.items[i].seconds;
		squares += s.items[i].seconds * s.items[i].seconds;
	}
	return squares > 0 ? sum * sum / squares : 0;
}

double
blocks_freedom(const double *size, unsigned n, unsigned each)
{
	double whole = 0, squares = 0, g = 0, g_squares = 0;

	for (unsigned i = 0; i < n; i++)
		whole += size[i];
	if (!(whole > 0))
		return 0;
	for (unsigned b = 0; b < n; b += each) {
		double part = 0, of;

		for (unsigned i = b; i < n && i < b + each; i++)
			part += size[i] / whole;
		if (part >= 1)
			return 0;
		of = part * part / (1 - part);
		squares += part * part;
		g += of;
		g_squares += of * of;
	}
	return 1 / (squares + g * g - g_squares);
}

static double
size_of(const struct stretch *s, bool by_time)
{
	return by_time ? s->seconds : s->samples;
}

/*
 * Assigns stretches to at most BLOCKS blocks of about equal size. Returns the
 * number of blocks.
 */
static unsigned
cut(const struct stretches *s, bool by_time, uint8_t *block, double *sizes)
{
	uint32_t each = (s->n + BLOCKS - 1) / BLOCKS;
	uint32_t want = (s->n + each - 1) / each;
	uint32_t last = UINT32_MAX;
	double whole = 0, at = 0;
	unsigned n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		whole += size_of(&s->items[i], by_time);
	for (uint32_t i = 0; i < s->n && whole > 0; i++) {
		double size = size_of(&s->items[i], by_time);
		uint32_t to = (uint32_t)((at + size / 2) / whole * want);

		/* the sum may be off by rounding errors */
		to = to < want ? to : want - 1;
		n += to != last;
		last = to;
		block[i] = (uint8_t)(n - 1);
		sizes[n - 1] += size;
		at += size;
	}
	return n;
}

static int
place_parts(struct blocks *b, const struct stretches *all, size_t nparts,
            struct spot *spots)
{
	CLEANUP_FREE uint8_t *order = calloc(all->n, 1);
	CLEANUP_FREE uint8_t *time = calloc(all->n, 1);
	double samples[BLOCKS] = {0};

	if (!order || !time)
		return -ENOMEM;
	b->norder = cut(all, false, order, samples);
	b->ntime = cut(all, true, time, b->length);
	if (blocks_freedom(samples, b->norder, 1) < BLOCKS_FREEDOM ||
	    blocks_freedom(b->length, b->ntime, 1) < BLOCKS_FREEDOM)
		return -ENODATA;
	for (size_t i = 0; i < nparts; i++)
		spots[i] = (struct spot){order[all->of[i]], time[all->of[i]]};
	return 0;
}

static int
add_part(const struct rows *r, const struct packed *k, double each,
         struct spot at, struct blocks *b)
{
	CLEANUP_FREE uint32_t *row = NULL;
	uint32_t type;
	int rc;

	if (!k->p)
		return 0;
	type = profile_type_index(k->p, NULL);
	if (type == PROFILE_NONE)
		return -EINVAL;
	row = calloc((size_t)k->p->nsamples + 1, sizeof(*row));
	rc = row ? place(r, k, type, row) : -ENOMEM;
	for (uint32_t s = 0; s < k->p->nsamples && !rc; s++) {
		int64_t value = k->p->values[(size_t)s * k->p->ntypes + type];

		if (value)
			add_cost(b, row[s], at, each * (double)value);
	}
	return rc;
}

static int
add_parts(const struct rows *r, const struct blocks_parts *of,
          const struct spot *spots, struct blocks *b)
{
	const struct packed *k;
	size_t i;
	int rc;

	while (!(rc = of->next(of->arg, &i, &k))) {
		rc = add_part(r, k, of->parts[i].each, spots[i], b);
		if (rc)
			return rc;
	}
	return rc == -ENODATA ? 0 : rc;
}

int
blocks_of_parts(const struct tree *t, const struct blocks_parts *of,
                enum blocks_what what, struct blocks **out)
{
	CLEANUP_STRETCHES struct stretches all = {0};
	CLEANUP(rows_done) struct rows r = {0};
	CLEANUP_BLOCKS struct blocks *b = calloc(1, sizeof(*b));
	CLEANUP_FREE struct spot *spots = calloc(of->n, sizeof(*spots));
	int rc = !of->n         ? -ENODATA
	         : !b || !spots ? -ENOMEM
	                        : stretches_init(&all, of->parts, of->n);

	rc = rc ?: place_parts(b, &all, of->n, spots)
	                 ?: rows_init(&r, t, what) ?: blocks_begin(&r, b);
	rc = rc ?: add_parts(&r, of, spots, b);
	if (rc)
		return rc;
	/* the weight of a part is known only after reading it */
	if (blocks_freedom(b->rows[0].order, b->norder, 1) < BLOCKS_FREEDOM)
		return -ENODATA;
	blocks_end(&r, b);
	*out = TAKE(b);
	return 0;
}
