/*
 * Encodes packed files; functions appear in the order of the file. Rows of one
 * kind are written column by column if that compresses better. Locations are
 * ordered by address, nodes by level and samples by node. Each number is then
 * close to the one before, and files of one program are mostly in the same
 * order, which makes them quick to merge.
 */
#include "profile/packed.h"

#include "packed_fields.h"
#include "profile/gzip.h"
#include "wire.h"

#include <errno.h>

#define RAW_MAX ((size_t)1 << 30)

/* The row at each place in the file, and the place of each row. */
struct order {
	uint32_t *locations, *location_at;
	uint32_t *nodes, *node_at;
	uint32_t *samples;
};

static void
put(struct buf *out, uint64_t v)
{
	wire_put_varint(out, v);
}

static void
put_signed(struct buf *out, int64_t v)
{
	wire_put_varint(out, packed_zigzag(v));
}

static void
put_type(struct buf *out, struct value_type t)
{
	put(out, t.type);
	put(out, t.unit);
}

static void
put_counts(struct buf *out, const struct packed *k)
{
	const struct profile *p = k->p;
	const uint32_t n[PACKED_COUNTS] = {
		[PACKED_STRINGS] = strings_count(p->strings),
		[PACKED_TYPES] = p->ntypes,
		[PACKED_COMMENTS] = p->ncomments,
		[PACKED_MAPPINGS] = p->nmappings,
		[PACKED_FUNCTIONS] = p->nfunctions,
		[PACKED_LOCATIONS] = p->nlocations,
		[PACKED_LINES] = p->nlines,
		[PACKED_NODES] = k->nnodes,
		[PACKED_SAMPLES] = p->nsamples,
		[PACKED_LABELS] = p->nlabels,
	};

	for (unsigned i = 0; i < PACKED_COUNTS; i++)
		put(out, n[i]);
}

static void
put_strings(struct buf *out, const struct strings *s)
{
	size_t n;

	for (uint32_t i = 0; i < strings_count(s); i++) {
		strings_get(s, i, &n);
		put(out, n);
	}
	for (uint32_t i = 0; i < strings_count(s); i++) {
		const char *text = strings_get(s, i, &n);

		buf_add(out, text, n);
	}
}

static void
put_head(struct buf *out, const struct profile *p)
{
	put(out, p->default_type);
	put(out, p->drop_frames);
	put(out, p->keep_frames);
	put(out, p->doc_url);
	put_type(out, p->period_type);
	put_signed(out, p->period);
	put_signed(out, p->time_ns);
	put_signed(out, p->duration_ns);
	for (uint32_t i = 0; i < p->ntypes; i++)
		put_type(out, p->types[i]);
	for (uint32_t i = 0; i < p->ncomments; i++)
		put(out, p->comments[i]);
}

static void
put_mapping(struct buf *out, const struct mapping *m)
{
	put(out, m->start);
	put(out, m->limit);
	put(out, m->offset);
	put(out, m->file);
	put(out, m->build_id);
	put(out, m->has_functions | m->has_files << 1 | m->has_lines << 2 |
	                 m->has_inlines << 3);
}

static void
put_functions(struct buf *out, const struct profile *p)
{
	for (uint32_t i = 0; i < p->nfunctions; i++)
		put(out, p->functions[i].name);
	for (uint32_t i = 0; i < p->nfunctions; i++)
		put(out, p->functions[i].system_name);
	for (uint32_t i = 0; i < p->nfunctions; i++)
		put(out, p->functions[i].file);
	for (uint32_t i = 0; i < p->nfunctions; i++)
		put_signed(out, p->functions[i].start_line);
}

static void
put_lines(struct buf *out, const struct profile *p, const struct order *o)
{
	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *l = &p->locations[o->locations[i]];

		put(out, (uint64_t)l->nlines << 1 | l->folded);
	}
	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *l = &p->locations[o->locations[i]];

		for (uint32_t k = 0; k < l->nlines; k++)
			put(out, p->lines[l->line0 + k].function);
	}
	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *l = &p->locations[o->locations[i]];

		for (uint32_t k = 0; k < l->nlines; k++)
			put_signed(out, p->lines[l->line0 + k].line);
	}
}

/* Writes locations. A mapping is written as its index plus 1; 0 stands for
 * none. */
static void
put_locations(struct buf *out, const struct profile *p, const struct order *o)
{
	uint64_t before = 0;

	for (uint32_t i = 0; i < p->nlocations; i++)
		put(out, (uint32_t)(p->locations[o->locations[i]].mapping + 1));
	for (uint32_t i = 0; i < p->nlocations; i++) {
		uint64_t address = p->locations[o->locations[i]].address;

		put_signed(out, (int64_t)(address - before));
		before = address;
	}
	put_lines(out, p, o);
}

static void
put_nodes(struct buf *out, const struct packed *k, const struct order *o)
{
	uint32_t before = 0;

	for (uint32_t i = 1; i < k->nnodes; i++) {
		uint32_t parent = o->node_at[k->nodes[o->nodes[i]].parent];

		put(out, parent - before);
		before = parent;
	}
	for (uint32_t i = 1; i < k->nnodes; i++)
		put(out, o->location_at[k->nodes[o->nodes[i]].location]);
}

static void
put_samples(struct buf *out, const struct profile *p, const struct order *o)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[o->samples[i]];
		uint32_t at = o->node_at[p->stack[s->stack0]];

		put(out, at - before);
		before = at;
	}
	for (uint32_t i = 0; i < p->nsamples; i++)
		put(out, p->samples[o->samples[i]].nlabels);
	for (uint32_t t = 0; t < p->ntypes; t++)
		for (uint32_t i = 0; i < p->nsamples; i++) {
			size_t row = (size_t)o->samples[i] * p->ntypes;

			put_signed(out, p->values[row + t]);
		}
}

static void
put_labels(struct buf *out, const struct profile *p, const struct order *o)
{
	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[o->samples[i]];

		for (uint32_t k = 0; k < s->nlabels; k++) {
			const struct label *l = &p->labels[s->label0 + k];

			put(out, l->key);
			put(out, l->str);
			put_signed(out, l->num);
			put(out, l->unit);
		}
	}
}

/* --- the order ------------------------------------------------------------ */

/* Rows grouped by owner, as linked lists: first is by owner, next by row;
 * UINT32_MAX ends a list. */
struct lists {
	uint32_t *first, *next;
};

static void
lists_done(struct lists *l)
{
	free(l->first);
	free(l->next);
}

static int
lists_init(struct lists *l, uint32_t owners, uint32_t rows)
{
	l->first = malloc(((size_t)owners + 1) * sizeof(*l->first));
	l->next = malloc(((size_t)rows + 1) * sizeof(*l->next));
	if (!l->first || !l->next)
		return -ENOMEM;
	memset(l->first, 0xFF, owners * sizeof(*l->first));
	return 0;
}

/* Builds the lists from the last row to the first. */
static void
list(struct lists *l, uint32_t owner, uint32_t row)
{
	l->next[row] = l->first[owner];
	l->first[owner] = row;
}

/* Orders nodes by location, each below its parent. */
static int
list_below(const struct packed *k, const struct order *o, struct lists *below)
{
	CLEANUP(lists_done) struct lists of = {0};

	if (lists_init(&of, k->p->nlocations, k->nnodes) ||
	    lists_init(below, k->nnodes, k->nnodes))
		return -ENOMEM;
	for (uint32_t i = 1; i < k->nnodes; i++)
		list(&of, k->nodes[i].location, i);
	for (uint32_t i = k->p->nlocations; i-- > 0;)
		for (uint32_t n = of.first[o->locations[i]]; n != UINT32_MAX;
		     n = of.next[n])
			list(below, k->nodes[n].parent, n);
	return 0;
}

static int
order_nodes(const struct packed *k, struct order *o)
{
	CLEANUP(lists_done) struct lists below = {0};
	uint32_t n = 1;

	if (list_below(k, o, &below))
		return -ENOMEM;
	o->nodes[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		o->node_at[o->nodes[i]] = i;
		for (uint32_t c = below.first[o->nodes[i]]; c != UINT32_MAX;
		     c = below.next[c])
			o->nodes[n++] = c;
	}
	return 0;
}

static int
by_address(const void *a, const void *b, void *of)
{
	const struct profile *p = of;
	const struct location *x = &p->locations[*(const uint32_t *)a];
	const struct location *y = &p->locations[*(const uint32_t *)b];

	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static void
order_locations(struct profile *p, struct order *o)
{
	for (uint32_t i = 0; i < p->nlocations; i++)
		o->locations[i] = i;
	qsort_r(o->locations, p->nlocations, sizeof(*o->locations), by_address,
	        p);
	for (uint32_t i = 0; i < p->nlocations; i++)
		o->location_at[o->locations[i]] = i;
}

static int
order_samples(const struct packed *k, struct order *o)
{
	CLEANUP(lists_done) struct lists of = {0};
	const struct profile *p = k->p;
	uint32_t n = 0;

	if (lists_init(&of, k->nnodes, p->nsamples))
		return -ENOMEM;
	for (uint32_t i = p->nsamples; i-- > 0;)
		list(&of, p->stack[p->samples[i].stack0], i);
	for (uint32_t i = 0; i < k->nnodes; i++)
		for (uint32_t s = of.first[o->nodes[i]]; s != UINT32_MAX;
		     s = of.next[s])
			o->samples[n++] = s;
	return 0;
}

static void
order_done(struct order *o)
{
	free(o->locations);
	free(o->location_at);
	free(o->nodes);
	free(o->node_at);
	free(o->samples);
}

static uint32_t *
places(uint32_t n)
{
	return malloc(((size_t)n + 1) * sizeof(uint32_t));
}

static int
order_init(struct order *o, const struct packed *k)
{
	o->locations = places(k->p->nlocations);
	o->location_at = places(k->p->nlocations);
	o->nodes = places(k->nnodes);
	o->node_at = places(k->nnodes);
	o->samples = places(k->p->nsamples);
	if (!o->locations || !o->location_at || !o->nodes || !o->node_at ||
	    !o->samples)
		return -ENOMEM;
	order_locations(k->p, o);
	return order_nodes(k, o) ?: order_samples(k, o);
}

/* Returns the place in the file of each row of samples; NULL when out of
 * memory. */
static uint32_t *
sample_places(const struct packed *k, const struct order *o)
{
	uint32_t *at = places(k->p->nsamples);

	for (uint32_t i = 0; at && i < k->p->nsamples; i++)
		at[o->samples[i]] = i;
	return at;
}

int
packed_encode_at(const struct packed *k, struct buf *out, uint32_t **out_at)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(RAW_MAX);
	CLEANUP(order_done) struct order o = {0};

	if (order_init(&o, k))
		return out->err = -ENOMEM;
	put_counts(&raw, k);
	put_strings(&raw, k->p->strings);
	put_head(&raw, k->p);
	for (uint32_t i = 0; i < k->p->nmappings; i++)
		put_mapping(&raw, &k->p->mappings[i]);
	put_functions(&raw, k->p);
	put_locations(&raw, k->p, &o);
	put_nodes(&raw, k, &o);
	put_samples(&raw, k->p, &o);
	put_labels(&raw, k->p, &o);
	if (buf_err(&raw))
		return out->err = buf_err(&raw);
	buf_puts(out, PACKED_MAGIC);
	if (gzip_deflate(raw.p, raw.len, out))
		return buf_err(out);
	if (out_at)
		*out_at = sample_places(k, &o);
	return out_at && !*out_at ? (out->err = -ENOMEM) : 0;
}

int
packed_encode(const struct packed *k, struct buf *out)
{
	return packed_encode_at(k, out, NULL);
}
