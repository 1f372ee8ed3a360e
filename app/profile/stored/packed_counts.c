/*
 * Counted files: profiles as counts of the stacks of their sum. Samples are
 * listed by their row in the file of the sum, ascending, each as the
 * difference from the one before; then come the values, type by type.
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

/* Appends a counted file; its base, of `base` bytes, began at `from`. */
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

void
packed_part_done(struct packed_part *part)
{
	free(part->rows);
	free(part->values);
	*part = (struct packed_part){0};
}

static int
next_signed(struct wire *w, int64_t *out)
{
	uint64_t v;
	int rc = wire_varint(w, &v);

	if (!rc)
		*out = packed_unzigzag(v);
	return rc;
}

static int
read_head(struct wire *w, uint32_t ntypes, size_t max_bytes,
          struct packed_part *part)
{
	const size_t each = sizeof(*part->rows) +
	                    ntypes * sizeof(*part->values);
	uint64_t n = 0, types = 0;
	int rc = wire_varint(w, &n) ?: wire_varint(w, &types)
	                 ?: next_signed(w, &part->time_ns)
	                 ?: next_signed(w, &part->duration_ns)
	                 ?: next_signed(w, &part->period);

	if (rc || types != ntypes ||
	    n > (uint64_t)(w->end - w->p) / (types + 1))
		return -EBADMSG;
	if (n * each / 4 > max_bytes)
		return -E2BIG;
	part->n = (uint32_t)n;
	part->rows = malloc((n + 1) * sizeof(*part->rows));
	part->values = malloc((n * types + 1) * sizeof(*part->values));
	return part->rows && part->values ? 0 : -ENOMEM;
}

static int
read_counts(struct wire *w, uint32_t nrows, uint32_t ntypes,
            struct packed_part *part)
{
	uint64_t at = 0, step;

	for (uint32_t i = 0; i < part->n; i++) {
		if (wire_varint(w, &step) || step >= nrows - at)
			return -EBADMSG;
		part->rows[i] = (uint32_t)(at += step);
	}
	for (uint32_t t = 0; t < ntypes; t++)
		for (uint32_t i = 0; i < part->n; i++)
			if (next_signed(w,
			                &part->values[(size_t)i * ntypes + t]))
				return -EBADMSG;
	return w->p == w->end ? 0 : -EBADMSG;
}

int
packed_part_read(const void *p, size_t n, size_t max_bytes, uint32_t nrows,
                 uint32_t ntypes, struct packed_part *out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(max_bytes);
	CLEANUP(packed_part_done) struct packed_part part = {0};
	struct counted head;
	struct wire w;
	int rc;

	if (!counted_head(p, n, &head) || head.counts > n - COUNTED_HEAD)
		return -EBADMSG;
	rc = gzip_inflate((const char *)p + COUNTED_HEAD, head.counts, &raw);
	w.p = (const uint8_t *)raw.p;
	w.end = w.p + raw.len;
	rc = rc ?: read_head(&w, ntypes, max_bytes, &part)
	             ?: read_counts(&w, nrows, ntypes, &part);
	if (rc)
		return rc;
	*out = TAKE(part);
	return 0;
}

/* --- sums of counts ------------------------------------------------------- */

/* Until packed_counts_end(), a sample without a stack occurs in no part. */
void
packed_counts_begin(struct packed *k)
{
	struct profile *p = k->p;

	memset(p->values, 0,
	       (size_t)p->nsamples * p->ntypes * sizeof(*p->values));
	for (uint32_t i = 0; i < p->nsamples; i++)
		p->samples[i].nstack = 0;
	p->time_ns = p->duration_ns = p->period = 0;
}

int
packed_counts_add(struct packed *k, const struct packed_part *part,
                  int64_t weight)
{
	struct profile *p = k->p;
	int64_t v;

	for (uint32_t i = 0; i < part->n; i++) {
		const int64_t *from = &part->values[(size_t)i * p->ntypes];
		int64_t *to = &p->values[(size_t)part->rows[i] * p->ntypes];

		p->samples[part->rows[i]].nstack = 1;
		for (uint32_t t = 0; t < p->ntypes; t++)
			if (__builtin_mul_overflow(from[t], weight, &v) ||
			    __builtin_add_overflow(to[t], v, &to[t]))
				return -EOVERFLOW;
	}
	if (part->time_ns && (!p->time_ns || part->time_ns < p->time_ns))
		p->time_ns = part->time_ns;
	if (part->period > p->period)
		p->period = part->period;
	return __builtin_add_overflow(p->duration_ns, part->duration_ns,
	                              &p->duration_ns)
	               ? -EOVERFLOW
	               : 0;
}

static void
drop_samples(struct profile *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		struct sample s = p->samples[i];

		if (!s.nstack)
			continue;
		p->stack[n] = p->stack[s.stack0];
		memmove(&p->values[(size_t)n * p->ntypes],
		        &p->values[(size_t)i * p->ntypes],
		        p->ntypes * sizeof(*p->values));
		s.stack0 = n;
		p->samples[n++] = s;
	}
	p->nsamples = p->nstack = n;
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
packed_counts_end(struct packed *k)
{
	drop_samples(k->p);
	return drop_nodes(k) ?: drop_locations(k) ?: drop_functions(k->p);
}
