#include "profile/blocks.h"

#include "blocks_nodes.h"

#include <errno.h>

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
