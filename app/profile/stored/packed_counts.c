/*
 * Counted files: profiles as counts of the stacks of their sum. The rows of the
 * sum's samples are in their order in the file, each as its distance from the
 * one before; then come the values, type by type.
 */
#include "base/counted.h"
#include "packed_fields.h"
#include "profile/gzip.h"
#include "wire.h"

#include <errno.h>
#include <stdlib.h>

#define RAW_MAX ((size_t)1 << 30)

/* --- writing -------------------------------------------------------------- */

/* A sample of a part: its place in the file of the sum, and its row here. */
struct place {
	uint32_t at, row;
};

static int
by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static void
put_signed(struct buf *out, int64_t v)
{
	wire_put_varint(out, packed_zigzag(v));
}

static void
put_counts(struct buf *out, const struct packed_part *part, uint32_t ntypes,
           const struct place *places)
{
	uint32_t before = 0;

	wire_put_varint(out, part->n);
	wire_put_varint(out, ntypes);
	put_signed(out, part->time_ns);
	put_signed(out, part->duration_ns);
	put_signed(out, part->period);
	for (uint32_t i = 0; i < part->n; i++) {
		wire_put_varint(out, places[i].at - before);
		before = places[i].at;
	}
	for (uint32_t t = 0; t < ntypes; t++)
		for (uint32_t i = 0; i < part->n; i++)
			put_signed(out,
			           part->values[(size_t)places[i].row * ntypes +
			                        t]);
}

static int
put_part(const struct packed_part *part, uint32_t ntypes, const uint32_t *at,
         struct buf *out)
{
	CLEANUP_FREE struct place *places =
		calloc((size_t)part->n + 1, sizeof(*places));
	CLEANUP_BUF struct buf raw = BUF_INIT(RAW_MAX);

	if (!places)
		return out->err = -ENOMEM;
	for (uint32_t i = 0; i < part->n; i++)
		places[i] = (struct place){at[part->rows[i]], i};
	qsort(places, part->n, sizeof(*places), by_place);
	put_counts(&raw, part, ntypes, places);
	return buf_err(&raw) ? (out->err = buf_err(&raw))
	                     : gzip_deflate(raw.p, raw.len, out);
}

/* Appends a counted file whose base of that length began at `from`. */
static int
put_counted(const struct packed_part *part, uint32_t ntypes, const uint32_t *at,
            size_t from, uint32_t base, struct buf *out)
{
	CLEANUP_BUF struct buf counts = BUF_INIT(out->max);

	if (put_part(part, ntypes, at, &counts))
		return out->err = buf_err(&counts);
	buf_puts(out, COUNTED_MAGIC);
	counted_put(out, (uint32_t)(out->len - 4 - from));
	counted_put(out, base);
	counted_put(out, (uint32_t)counts.len);
	buf_add(out, counts.p, counts.len);
	return buf_err(out);
}

int
packed_encode_parts(const struct packed *k, const struct packed_part *parts,
                    uint32_t n, struct buf *out)
{
	CLEANUP_BUF struct buf lengths = BUF_INIT(RAW_MAX);
	CLEANUP_FREE uint32_t *at = NULL;
	size_t from = out->len, begin;
	int rc = packed_encode_at(k, out, &at);
	uint32_t base = (uint32_t)(out->len - from);

	for (uint32_t i = 0; i < n && !rc; i++) {
		begin = out->len;
		rc = put_counted(&parts[i], k->p->ntypes, at, from, base, out);
		counted_put(&lengths, (uint32_t)(out->len - begin));
	}
	if (rc || buf_err(&lengths))
		return out->err = rc ? rc : buf_err(&lengths);
	buf_add(out, buf_str(&lengths), lengths.len);
	counted_put(out, n);
	counted_put(out, base);
	return buf_err(out);
}

/* --- reading -------------------------------------------------------------- */

/* The samples of a part, as they are read. */
struct counts {
	struct wire w;
	const struct profile *of;
	struct sample *samples;
	uint32_t *stack;
	int64_t *values;
	uint32_t n;
};

static void
counts_done(struct counts *c)
{
	free(c->samples);
	free(c->stack);
	free(c->values);
}

static int
next_signed(struct counts *c, int64_t *out)
{
	uint64_t v;
	int rc = wire_varint(&c->w, &v);

	if (!rc)
		*out = packed_unzigzag(v);
	return rc;
}

static int
read_head(struct counts *c, struct profile *p, size_t max_bytes)
{
	const size_t each = sizeof(*c->samples) + sizeof(*c->stack) +
	                    p->ntypes * sizeof(*c->values);
	uint64_t n = 0, ntypes = 0, left;
	int rc = wire_varint(&c->w, &n) ?: wire_varint(&c->w, &ntypes)
	                 ?: next_signed(c, &p->time_ns)
	                 ?: next_signed(c, &p->duration_ns)
	                 ?: next_signed(c, &p->period);

	left = (uint64_t)(c->w.end - c->w.p);
	if (rc || ntypes != p->ntypes || n > left / (ntypes + 1))
		return -EBADMSG;
	if (n * each / 4 > max_bytes)
		return -E2BIG;
	c->n = (uint32_t)n;
	c->samples = calloc(n + 1, sizeof(*c->samples));
	c->stack = calloc(n + 1, sizeof(*c->stack));
	c->values = calloc(n * ntypes + 1, sizeof(*c->values));
	return c->samples && c->stack && c->values ? 0 : -ENOMEM;
}

static int
read_samples(struct counts *c)
{
	const struct profile *p = c->of;
	uint64_t at = 0, step;

	for (uint32_t i = 0; i < c->n; i++) {
		if (wire_varint(&c->w, &step) || step >= p->nsamples - at)
			return -EBADMSG;
		at += step;
		c->samples[i] = p->samples[at];
		c->samples[i].stack0 = i;
		c->stack[i] = p->stack[p->samples[at].stack0];
	}
	for (uint32_t t = 0; t < p->ntypes; t++)
		for (uint32_t i = 0; i < c->n; i++)
			if (next_signed(c,
			                &c->values[(size_t)i * p->ntypes + t]))
				return -EBADMSG;
	return c->w.p == c->w.end ? 0 : -EBADMSG;
}

static void
take_samples(struct counts *c, struct profile *p)
{
	free(p->samples);
	free(p->stack);
	free(p->values);
	p->samples = TAKE(c->samples);
	p->stack = TAKE(c->stack);
	p->values = TAKE(c->values);
	p->nsamples = p->nstack = c->n;
}

/* Leaves out nodes that no sample is below. */
static int
drop_nodes(struct packed *k)
{
	CLEANUP_FREE uint32_t *now = calloc(k->nnodes, sizeof(*now));
	uint32_t n = 1;

	if (!now)
		return -ENOMEM;
	for (uint32_t i = 0; i < k->p->nstack; i++)
		now[k->p->stack[i]] = 1;
	for (uint32_t i = k->nnodes; i-- > 1;)
		if (now[i])
			now[k->nodes[i].parent] = 1;
	now[0] = 0;
	for (uint32_t i = 1; i < k->nnodes; i++) {
		if (!now[i])
			continue;
		k->nodes[n] = (struct packed_node){now[k->nodes[i].parent],
		                                   k->nodes[i].location};
		now[i] = n++;
	}
	k->nnodes = n;
	for (uint32_t i = 0; i < k->p->nstack; i++)
		k->p->stack[i] = now[k->p->stack[i]];
	return 0;
}

/* Leaves out locations that no node has, with their lines. */
static int
drop_locations(struct packed *k)
{
	struct profile *p = k->p;
	CLEANUP_FREE uint32_t *now =
		calloc((size_t)p->nlocations + 1, sizeof(*now));
	uint32_t n = 0, lines = 0;

	if (!now)
		return -ENOMEM;
	for (uint32_t i = 1; i < k->nnodes; i++)
		now[k->nodes[i].location] = 1;
	for (uint32_t i = 0; i < p->nlocations; i++) {
		struct location l = p->locations[i];

		if (!now[i])
			continue;
		memmove(&p->lines[lines], &p->lines[l.line0],
		        l.nlines * sizeof(*p->lines));
		l.line0 = lines;
		lines += l.nlines;
		p->locations[n] = l;
		now[i] = n++;
	}
	p->nlocations = n;
	p->nlines = lines;
	for (uint32_t i = 1; i < k->nnodes; i++)
		k->nodes[i].location = now[k->nodes[i].location];
	return 0;
}

/* Leaves out functions that no line has. */
static int
drop_functions(struct profile *p)
{
	CLEANUP_FREE uint32_t *now =
		calloc((size_t)p->nfunctions + 1, sizeof(*now));
	uint32_t n = 0;

	if (!now)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nlines; i++)
		now[p->lines[i].function] = 1;
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		if (!now[i])
			continue;
		p->functions[n] = p->functions[i];
		now[i] = n++;
	}
	p->nfunctions = n;
	for (uint32_t i = 0; i < p->nlines; i++)
		p->lines[i].function = now[p->lines[i].function];
	return 0;
}

int
counted_apply(const struct buf *raw, size_t max_bytes, struct packed *k)
{
	const uint8_t *from = (const uint8_t *)raw->p;
	CLEANUP(counts_done)
	struct counts c = {.w = {from, from + raw->len}, .of = k->p};
	int rc = read_head(&c, k->p, max_bytes) ?: read_samples(&c);

	if (rc)
		return rc;
	take_samples(&c, k->p);
	return drop_nodes(k) ?: drop_locations(k) ?: drop_functions(k->p);
}
