#include "profile/blocks.h"

#include "blocks_nodes.h"

#include <errno.h>
#include <string.h>

struct cut {
	const struct tree *t;
	const struct timeline *line;
	uint32_t *row; /* by sample of the profile: of b->rows; 0: not known */
	struct blocks *b;
	uint64_t end_us;
};

void
blocks_free(struct blocks *b)
{
	if (!b)
		return;
	free(b->row);
	free(b->rows);
	free(b);
}

static void
cut_done(struct cut *c)
{
	free(c->row);
	blocks_free(c->b);
}

static bool
counts(const struct cut *c, const struct timeline_sample *s)
{
	const struct profile *p = c->t->profile;

	return p->values[(size_t)s->sample * p->ntypes + c->t->type] != 0;
}

/* The innermost function of a row; the tree has its name. */
static int
name_of(const struct cut *c, uint32_t sample, uint32_t *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	const struct profile *p = c->t->profile;
	const struct sample *s = &p->samples[sample];

	if (!s->nstack) {
		*out = c->t->name[0];
		return 0;
	}
	profile_frame_name(p, p->stack[s->stack0], 0, &text);
	return buf_err(&text)
	               ?: strings_add(c->t->names, buf_str(&text), text.len,
	                              out);
}

/* Numbers the functions that samples are in. */
static int
add_row(struct cut *c, uint32_t sample)
{
	struct blocks *b = c->b;
	uint32_t name;
	int rc;

	if (c->row[sample])
		return 0;
	rc = name_of(c, sample, &name);
	if (rc || name >= b->nrow)
		return rc ? rc : -EBADMSG;
	if (!b->row[name]) {
		if (b->nrows >= BLOCKS_ROWS)
			return -E2BIG;
		b->row[name] = b->nrows++;
	}
	c->row[sample] = b->row[name];
	return 0;
}

static int
add_rows(struct cut *c)
{
	int rc = 0;

	c->b->nrows = 1;
	c->b->nrow = strings_count(c->t->names);
	c->b->row = calloc(c->b->nrow, sizeof(*c->b->row));
	if (!c->b->row)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->line->nsamples && !rc; i++)
		if (counts(c, &c->line->samples[i]))
			rc = add_row(c, c->line->samples[i].sample);
	return rc;
}

/* Until when samples were kept: a block after that would look idle. */
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
fill(struct cut *c)
{
	struct blocks *b = c->b;
	uint64_t at = 0;

	b->norder = b->ntime = BLOCKS;
	for (unsigned i = 0; i < BLOCKS; i++)
		b->length[i] = 1;
	for (uint32_t i = 0; i < c->line->nsamples; i++) {
		const struct timeline_sample *s = &c->line->samples[i];
		uint64_t order = at * BLOCKS / b->samples;
		uint64_t time = s->time_us * BLOCKS / c->end_us;
		double weight = (double)(s->weight_ns ?: 1);

		if (!counts(c, s))
			continue;
		b->rows[0].order[order] += weight;
		b->rows[0].time[time] += weight;
		b->rows[c->row[s->sample]].order[order] += weight;
		b->rows[c->row[s->sample]].time[time] += weight;
		at++;
	}
}

static int
cut_begin(struct cut *c, const struct tree *t, const struct timeline *line)
{
	int rc = timeline_fits(line, t->profile);

	*c = (struct cut){.t = t, .line = line, .end_us = end_of(line)};
	if (rc)
		return rc;
	c->b = calloc(1, sizeof(*c->b));
	c->row = calloc((size_t)t->profile->nsamples + 1, sizeof(*c->row));
	if (!c->b || !c->row)
		return -ENOMEM;
	for (uint32_t i = 0; i < line->nsamples; i++)
		c->b->samples += counts(c, &line->samples[i]);
	return c->b->samples < BLOCKS_SAMPLES ? -ENODATA : 0;
}

/* Once it is known which samples are in which of so many rows. */
static int
cut_up(struct cut *c)
{
	c->b->rows = calloc(c->b->nrows, sizeof(*c->b->rows));
	if (!c->b->rows)
		return -ENOMEM;
	fill(c);
	return 0;
}

int
blocks_new(const struct tree *t, const struct timeline *line,
           struct blocks **out)
{
	CLEANUP(cut_done) struct cut c = {0};
	int rc = cut_begin(&c, t, line) ?: add_rows(&c) ?: cut_up(&c);

	if (!rc)
		*out = TAKE(c.b);
	return rc;
}

int
blocks_new_nodes(const struct tree *t, const struct timeline *line,
                 struct blocks **out)
{
	CLEANUP(cut_done) struct cut c = {0};
	CLEANUP(block_nodes_done) struct block_nodes nodes = {0};
	const struct packed k = {.p = (struct profile *)t->profile};
	int rc = cut_begin(&c, t, line)
	                 ?: block_nodes_init(t, &nodes)
	                 ?: block_nodes_place(&nodes, &k, c.row);

	if (rc)
		return rc;
	c.b->nrows = nodes.n;
	c.b->nrow = t->n;
	c.b->row = TAKE(nodes.row);
	rc = cut_up(&c);
	if (rc)
		return rc;
	block_nodes_add_up(&nodes, c.b->rows);
	*out = TAKE(c.b);
	return 0;
}

/* --- blocks of parts ------------------------------------------------------ */

/*
 * A stretch is what lies at one time: parts from one on, until as much time
 * has passed as the longest of them takes. Blocks are runs of stretches, cut
 * twice as timelines are, by samples and by time.
 */
#define ROWS_FIRST 256

/* Blocks that a part is in. */
struct place {
	uint8_t order, time;
};

struct blocks_sum {
	struct blocks *b;
	struct place *places; /* by part */
	struct strings *names;
	uint32_t *row; /* by name: of b->rows; 0: it has none */
	uint32_t row_cap, rows_cap;
	uint32_t none;            /* row of samples without a stack */
	struct block_nodes nodes; /* t NULL: rows are of functions */
};

/* Neighbouring stretches are summed until they make a block. */
struct stretch {
	double seconds, samples;
};

struct stretches {
	uint32_t *of;  /* by part */
	double *fresh; /* by part: seconds that none before it has */
	struct stretch *items;
	uint32_t n;
};

static void
stretches_done(struct stretches *s)
{
	free(s->of);
	free(s->fresh);
	free(s->items);
}

/* Time that several parts captured at once counts once. */
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

static int
stretches_fill(struct stretches *s, const struct blocks_part *parts, size_t n)
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
	CLEANUP(stretches_done) struct stretches s = {0};
	double sum = 0, squares = 0;

	if (stretches_fill(&s, parts, n))
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

/* --- which part is which block -------------------------------------------- */

static double
size_of(const struct stretch *s, bool by_time)
{
	return by_time ? s->seconds : s->samples;
}

/*
 * Numbers stretches by block, as many to each as BLOCKS of them take where
 * they are alike; the number of blocks.
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

		/* rounding errors of the sum */
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
place_all(struct blocks_sum *s, const struct stretches *all, size_t nparts)
{
	CLEANUP_FREE uint8_t *order = calloc(all->n, 1);
	CLEANUP_FREE uint8_t *time = calloc(all->n, 1);
	double samples[BLOCKS] = {0}, seconds[BLOCKS] = {0};

	if (!order || !time)
		return -ENOMEM;
	s->b->norder = cut(all, false, order, samples);
	s->b->ntime = cut(all, true, time, seconds);
	if (blocks_freedom(samples, s->b->norder, 1) < BLOCKS_FREEDOM ||
	    blocks_freedom(seconds, s->b->ntime, 1) < BLOCKS_FREEDOM)
		return -ENODATA;
	memcpy(s->b->length, seconds, sizeof(seconds));
	for (size_t i = 0; i < nparts; i++)
		s->places[i] =
			(struct place){order[all->of[i]], time[all->of[i]]};
	return 0;
}

/* Without rows. */
static int
sum_begin(const struct blocks_part *parts, size_t n, struct blocks_sum **out)
{
	CLEANUP(stretches_done) struct stretches all = {0};
	CLEANUP_BLOCKS_SUM struct blocks_sum *s = NULL;
	int rc = n ? stretches_fill(&all, parts, n) : -ENODATA;

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->b = calloc(1, sizeof(*s->b));
	s->places = calloc(n, sizeof(*s->places));
	s->names = strings_new();
	if (!s->b || !s->places || !s->names)
		return -ENOMEM;
	rc = place_all(s, &all, n);
	if (!rc)
		*out = TAKE(s);
	return rc;
}

static int
sum_rows(struct blocks_sum *s, uint32_t n)
{
	s->b->rows = calloc(n, sizeof(*s->b->rows));
	s->rows_cap = n;
	return s->b->rows ? 0 : -ENOMEM;
}

int
blocks_sum_new(const struct blocks_part *parts, size_t n,
               struct blocks_sum **out)
{
	CLEANUP_BLOCKS_SUM struct blocks_sum *s = NULL;
	int rc = sum_begin(parts, n, &s) ?: sum_rows(s, ROWS_FIRST);

	if (rc)
		return rc;
	s->b->nrows = 1;
	*out = TAKE(s);
	return 0;
}

int
blocks_sum_new_nodes(const struct blocks_part *parts, size_t n,
                     const struct tree *t, struct blocks_sum **out)
{
	CLEANUP_BLOCKS_SUM struct blocks_sum *s = NULL;
	int rc = sum_begin(parts, n, &s)
	                 ?: block_nodes_init(t, &s->nodes)
	                 ?: sum_rows(s, s->nodes.n);

	if (rc)
		return rc;
	s->b->nrows = s->nodes.n;
	*out = TAKE(s);
	return 0;
}

void
blocks_sum_free(struct blocks_sum *s)
{
	if (!s)
		return;
	blocks_free(s->b);
	free(s->places);
	strings_free(s->names);
	free(s->row);
	block_nodes_done(&s->nodes);
	free(s);
}

/* --- adding --------------------------------------------------------------- */

static int
row_new(struct blocks_sum *s, uint32_t *out)
{
	struct blocks *b = s->b;

	if (b->nrows >= BLOCKS_ROWS)
		return -E2BIG;
	if (b->nrows == s->rows_cap) {
		struct block_row *rows = reallocarray(
			b->rows, (size_t)s->rows_cap * 2, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		memset(rows + s->rows_cap, 0, s->rows_cap * sizeof(*rows));
		b->rows = rows;
		s->rows_cap *= 2;
	}
	*out = b->nrows++;
	return 0;
}

static int
names_room(struct blocks_sum *s, uint32_t name)
{
	uint32_t cap = s->row_cap ? s->row_cap : ROWS_FIRST;
	uint32_t *row;

	if (name < s->row_cap)
		return 0;
	while (cap <= name)
		cap *= 2;
	row = reallocarray(s->row, cap, sizeof(*row));
	if (!row)
		return -ENOMEM;
	memset(row + s->row_cap, 0, (cap - s->row_cap) * sizeof(*row));
	s->row = row;
	s->row_cap = cap;
	return 0;
}

/* Finds the row of the function at the inner end of a stack. */
static int
row_of(struct blocks_sum *s, const struct profile *p, uint32_t location,
       uint32_t *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	uint32_t name;
	int rc;

	profile_frame_name(p, location, 0, &text);
	rc = buf_err(&text)
	             ?: strings_add(s->names, buf_str(&text), text.len, &name);
	if (!rc)
		rc = names_room(s, name);
	if (!rc && !s->row[name])
		rc = row_new(s, &s->row[name]);
	if (!rc)
		*out = s->row[name];
	return rc;
}

static void
add_cost(struct blocks *b, uint32_t row, struct place at, double cost)
{
	b->rows[0].order[at.order] += cost;
	b->rows[0].time[at.time] += cost;
	b->rows[row].order[at.order] += cost;
	b->rows[row].time[at.time] += cost;
}

/* By sample, its row; 0 of those that are of no value. */
static int
rows_of_functions(struct blocks_sum *s, const struct packed *k, uint32_t type,
                  uint32_t *row)
{
	const struct profile *p = k->p;
	CLEANUP_FREE uint32_t *known =
		calloc((size_t)p->nlocations + 1, sizeof(*known));
	int rc = known ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < p->nsamples && !rc; i++) {
		uint32_t leaf = packed_leaf(k, &p->samples[i]), *at = &s->none;

		if (!p->values[(size_t)i * p->ntypes + type])
			continue;
		if (leaf != PROFILE_NONE)
			at = &known[leaf];
		if (!*at)
			rc = leaf == PROFILE_NONE ? row_new(s, at)
			                          : row_of(s, p, leaf, at);
		row[i] = *at;
	}
	return rc;
}

int
blocks_sum_add(struct blocks_sum *s, size_t part, const struct packed *k,
               double each)
{
	const struct profile *p = k->p;
	CLEANUP_FREE uint32_t *row =
		calloc((size_t)p->nsamples + 1, sizeof(*row));
	uint32_t type = profile_type_index(p, NULL);
	int rc;

	if (!row)
		return -ENOMEM;
	if (type == PROFILE_NONE)
		return -EINVAL;
	rc = s->nodes.t ? block_nodes_place(&s->nodes, k, row)
	                : rows_of_functions(s, k, type, row);
	for (uint32_t i = 0; i < p->nsamples && !rc; i++) {
		int64_t value = p->values[(size_t)i * p->ntypes + type];

		if (value)
			add_cost(s->b, row[i], s->places[part],
			         each * (double)value);
	}
	return rc;
}

/* --- what was added ------------------------------------------------------- */

static int
name_rows(struct blocks_sum *s, const struct tree *t)
{
	struct blocks *b = s->b;
	uint32_t n = strings_count(s->names);

	b->nrow = strings_count(t->names);
	b->row = calloc(b->nrow, sizeof(*b->row));
	if (!b->row)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && i < s->row_cap; i++) {
		uint32_t name;
		size_t len;
		const char *text = strings_get(s->names, i, &len);
		int rc = strings_add(t->names, text, len, &name);

		if (rc)
			return rc;
		/* what a rollup had no room for has no name in the tree */
		if (name < b->nrow && s->row[i])
			b->row[name] = s->row[i];
	}
	if (s->none)
		b->row[t->name[0]] = s->none;
	return 0;
}

static void
nodes_end(struct blocks_sum *s)
{
	block_nodes_add_up(&s->nodes, s->b->rows);
	s->b->nrow = s->nodes.t->n;
	s->b->row = TAKE(s->nodes.row);
}

int
blocks_sum_end(struct blocks_sum *s, const struct tree *t, struct blocks **out)
{
	struct blocks *b = s->b;
	int rc = 0;

	if (blocks_freedom(b->rows[0].order, b->norder, 1) < BLOCKS_FREEDOM)
		return -ENODATA;
	if (s->nodes.t)
		nodes_end(s);
	else
		rc = name_rows(s, t);
	if (rc)
		return rc;
	*out = TAKE(s->b);
	return 0;
}
