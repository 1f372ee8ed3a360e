/*
 * Decodes packed files. The counts at the start bound the memory; then each
 * column is read in the order of packed_encode.c. After an error every number
 * reads as 0, so that rows need not be checked one by one.
 */
#include "profile/packed.h"

#include "base/counted.h"
#include "packed_fields.h"
#include "profile/gzip.h"
#include "profile/pprof.h"
#include "wire.h"

/* Decoded rows may take this many times the caller's limit on bytes. */
#define MEMORY_RATIO 4

struct reader {
	struct wire w;
	uint64_t n[PACKED_COUNTS];
	struct packed k;
	bool bad;
};

static inline uint64_t
next(struct reader *r)
{
	uint64_t v = 0;

	if (wire_varint(&r->w, &v))
		r->bad = true;
	return v;
}

static inline int64_t
next_signed(struct reader *r)
{
	return packed_unzigzag(next(r));
}

static inline uint32_t
below(struct reader *r, uint64_t limit)
{
	uint64_t v = next(r);

	if (v < limit)
		return (uint32_t)v;
	r->bad = true;
	return 0;
}

static inline uint32_t
string(struct reader *r)
{
	return below(r, r->n[PACKED_STRINGS]);
}

/* --- sizes ---------------------------------------------------------------- */

/* The size of each kind of row: least bytes in the file, and
 * bytes in memory. */
static const struct {
	uint8_t file, memory;
} sizes[PACKED_COUNTS] = {
	[PACKED_STRINGS] = {1, 32},
	[PACKED_TYPES] = {2, sizeof(struct value_type)},
	[PACKED_COMMENTS] = {1, sizeof(uint32_t)},
	[PACKED_MAPPINGS] = {6, sizeof(struct mapping)},
	[PACKED_FUNCTIONS] = {4, sizeof(struct function)},
	[PACKED_LOCATIONS] = {3, sizeof(struct location)},
	[PACKED_LINES] = {2, sizeof(struct line)},
	[PACKED_NODES] = {1, sizeof(struct packed_node) + sizeof(uint16_t)},
	[PACKED_SAMPLES] = {2, sizeof(struct sample) + sizeof(uint32_t)},
	[PACKED_LABELS] = {4, sizeof(struct label)},
};

static int
read_counts(struct reader *r, size_t max_bytes)
{
	uint64_t left, file = 0, memory = 0;

	for (unsigned i = 0; i < PACKED_COUNTS; i++) {
		r->n[i] = below(r, PROFILE_MAX_ROWS);
		file += r->n[i] * sizes[i].file;
		memory += r->n[i] * sizes[i].memory;
	}
	file += r->n[PACKED_SAMPLES] * r->n[PACKED_TYPES];
	memory += r->n[PACKED_SAMPLES] * r->n[PACKED_TYPES] * sizeof(int64_t);
	left = (uint64_t)(r->w.end - r->w.p);
	/* the root, a node, is not in the file */
	if (r->bad || file > left + 1 || !r->n[PACKED_NODES] ||
	    !r->n[PACKED_STRINGS] || r->n[PACKED_TYPES] > PROFILE_MAX_TYPES)
		return -EBADMSG;
	return memory / MEMORY_RATIO > max_bytes ? -E2BIG : 0;
}

#define ALLOCATE(to, n) ((to) = calloc((size_t)(n) + 1, sizeof(*(to))))

static int
allocate(struct reader *r)
{
	struct profile *p = r->k.p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->strings = strings_new();
	return p->strings && ALLOCATE(p->comments, r->n[PACKED_COMMENTS]) &&
	                       ALLOCATE(p->mappings, r->n[PACKED_MAPPINGS]) &&
	                       ALLOCATE(p->functions, r->n[PACKED_FUNCTIONS]) &&
	                       ALLOCATE(p->locations, r->n[PACKED_LOCATIONS]) &&
	                       ALLOCATE(p->lines, r->n[PACKED_LINES]) &&
	                       ALLOCATE(p->samples, r->n[PACKED_SAMPLES]) &&
	                       ALLOCATE(p->stack, r->n[PACKED_SAMPLES]) &&
	                       ALLOCATE(p->values,
	                                r->n[PACKED_SAMPLES] *
	                                        r->n[PACKED_TYPES]) &&
	                       ALLOCATE(p->labels, r->n[PACKED_LABELS]) &&
	                       ALLOCATE(r->k.nodes, r->n[PACKED_NODES])
	               ? 0
	               : -ENOMEM;
}

/* --- rows ----------------------------------------------------------------- */

/* Reads the strings, which must be distinct and begin with the empty one. */
static int
read_strings(struct reader *r)
{
	struct wire lengths = r->w;
	uint64_t bytes = 0, left = (uint64_t)(r->w.end - r->w.p), n = 0;
	uint32_t id;
	int rc;

	for (uint64_t i = 0; i < r->n[PACKED_STRINGS]; i++)
		bytes += below(r, left);
	if (r->bad || bytes > (uint64_t)(r->w.end - r->w.p))
		return -EBADMSG;
	rc = strings_reserve(r->k.p->strings, (uint32_t)r->n[PACKED_STRINGS],
	                     bytes);
	for (uint32_t i = 0; i < r->n[PACKED_STRINGS] && !rc; i++) {
		rc = wire_varint(&lengths, &n)
		             ?: strings_add_stored(r->k.p->strings,
		                                   (const char *)r->w.p, n,
		                                   &id);
		r->w.p += n;
		if (!rc && id != i)
			rc = -EBADMSG;
	}
	return rc;
}

static struct value_type
read_type(struct reader *r)
{
	uint32_t type = string(r);

	return (struct value_type){type, string(r)};
}

static void
read_head(struct reader *r)
{
	struct profile *p = r->k.p;

	p->default_type = string(r);
	p->drop_frames = string(r);
	p->keep_frames = string(r);
	p->doc_url = string(r);
	p->period_type = read_type(r);
	p->period = next_signed(r);
	p->time_ns = next_signed(r);
	p->duration_ns = next_signed(r);
	p->ntypes = (uint32_t)r->n[PACKED_TYPES];
	for (uint32_t i = 0; i < p->ntypes; i++)
		p->types[i] = read_type(r);
	p->ncomments = (uint32_t)r->n[PACKED_COMMENTS];
	for (uint32_t i = 0; i < p->ncomments; i++)
		p->comments[i] = string(r);
}

static void
read_mappings(struct reader *r)
{
	struct profile *p = r->k.p;

	p->nmappings = (uint32_t)r->n[PACKED_MAPPINGS];
	for (uint32_t i = 0; i < p->nmappings; i++) {
		struct mapping *m = &p->mappings[i];
		uint32_t has;

		m->start = next(r);
		m->limit = next(r);
		m->offset = next(r);
		m->file = string(r);
		m->build_id = string(r);
		has = below(r, 1 << 4);
		m->has_functions = has & 1;
		m->has_files = has >> 1 & 1;
		m->has_lines = has >> 2 & 1;
		m->has_inlines = has >> 3 & 1;
	}
}

static void
read_functions(struct reader *r)
{
	struct profile *p = r->k.p;

	p->nfunctions = (uint32_t)r->n[PACKED_FUNCTIONS];
	for (uint32_t i = 0; i < p->nfunctions; i++)
		p->functions[i].name = string(r);
	for (uint32_t i = 0; i < p->nfunctions; i++)
		p->functions[i].system_name = string(r);
	for (uint32_t i = 0; i < p->nfunctions; i++)
		p->functions[i].file = string(r);
	for (uint32_t i = 0; i < p->nfunctions; i++)
		p->functions[i].start_line = next_signed(r);
}

static void
read_lines(struct reader *r)
{
	struct profile *p = r->k.p;

	for (uint32_t i = 0; i < p->nlocations; i++) {
		struct location *l = &p->locations[i];
		uint32_t v = below(r, 2 * (PROFILE_MAX_LINES + 1));

		l->folded = v & 1;
		l->line0 = p->nlines;
		l->nlines = v >> 1;
		p->nlines += l->nlines;
	}
	if (p->nlines != r->n[PACKED_LINES]) {
		r->bad = true;
		return;
	}
	for (uint32_t i = 0; i < p->nlines; i++)
		p->lines[i].function = below(r, p->nfunctions);
	for (uint32_t i = 0; i < p->nlines; i++)
		p->lines[i].line = next_signed(r);
}

static void
read_locations(struct reader *r)
{
	struct profile *p = r->k.p;
	uint64_t address = 0;

	p->nlocations = (uint32_t)r->n[PACKED_LOCATIONS];
	for (uint32_t i = 0; i < p->nlocations; i++)
		p->locations[i].mapping = below(r, (uint64_t)p->nmappings + 1) -
		                          1;
	for (uint32_t i = 0; i < p->nlocations; i++) {
		address += (uint64_t)next_signed(r);
		p->locations[i].address = address;
	}
	read_lines(r);
}

static int
read_nodes(struct reader *r)
{
	struct packed *k = &r->k;
	CLEANUP_FREE uint16_t *depth = NULL;
	uint32_t parent = 0;

	k->nnodes = (uint32_t)r->n[PACKED_NODES];
	if (!ALLOCATE(depth, k->nnodes))
		return -ENOMEM;
	for (uint32_t i = 1; i < k->nnodes; i++) {
		parent += below(r, i - parent);
		k->nodes[i].parent = parent;
		depth[i] = depth[parent] + 1;
		if (depth[i] > PROFILE_MAX_FRAMES) {
			r->bad = true;
			return 0;
		}
	}
	for (uint32_t i = 1; i < k->nnodes; i++)
		k->nodes[i].location = below(r, k->p->nlocations);
	return 0;
}

static void
read_label_counts(struct reader *r)
{
	struct profile *p = r->k.p;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		struct sample *s = &p->samples[i];

		s->label0 = p->nlabels;
		s->nlabels = below(r, PROFILE_MAX_LABELS + 1);
		p->nlabels += s->nlabels;
	}
	if (p->nlabels != r->n[PACKED_LABELS])
		r->bad = true;
}

static void
read_samples(struct reader *r)
{
	struct profile *p = r->k.p;
	uint32_t at = 0;

	p->nstack = p->nsamples = (uint32_t)r->n[PACKED_SAMPLES];
	for (uint32_t i = 0; i < p->nsamples; i++) {
		p->samples[i].stack0 = i;
		p->samples[i].nstack = 1;
		at += below(r, r->k.nnodes - at);
		p->stack[i] = at;
	}
	read_label_counts(r);
	for (uint32_t t = 0; t < p->ntypes; t++)
		for (uint32_t i = 0; i < p->nsamples; i++)
			p->values[(size_t)i * p->ntypes + t] = next_signed(r);
}

static void
read_labels(struct reader *r)
{
	struct profile *p = r->k.p;

	for (uint32_t i = 0; i < r->n[PACKED_LABELS]; i++) {
		struct label *l = &p->labels[i];

		l->key = string(r);
		l->str = string(r);
		l->num = next_signed(r);
		l->unit = string(r);
	}
}

static int
read_all(struct reader *r, size_t max_bytes)
{
	int rc = read_counts(r, max_bytes) ?: allocate(r) ?: read_strings(r);

	if (rc)
		return rc;
	read_head(r);
	read_mappings(r);
	read_functions(r);
	read_locations(r);
	if (r->bad)
		return -EBADMSG;
	rc = read_nodes(r);
	if (rc)
		return rc;
	if (!r->bad)
		read_samples(r);
	if (!r->bad)
		read_labels(r);
	return r->bad || r->w.p != r->w.end ? -EBADMSG : 0;
}

static void
reader_done(struct reader *r)
{
	packed_done(&r->k);
}

static int
read_packed(struct wire w, size_t max_bytes, struct packed *out)
{
	CLEANUP(reader_done) struct reader r = {.w = w};
	int rc = read_all(&r, max_bytes);

	if (rc)
		return rc;
	*out = TAKE(r.k);
	return 0;
}

static bool
begins(const void *p, size_t n, const char *magic)
{
	return n >= strlen(magic) && !memcmp(p, magic, strlen(magic));
}

static int
decode(const void *p, size_t n, size_t max_bytes, struct packed *out)
{
	static const size_t magic = sizeof(PACKED_MAGIC) - 1;
	CLEANUP_BUF struct buf raw = BUF_INIT(max_bytes);
	int rc =
		begins(p, n, PACKED_MAGIC)
			? gzip_inflate((const char *)p + magic, n - magic, &raw)
			: -EBADMSG;
	const uint8_t *from = (const uint8_t *)raw.p;

	return rc ? rc
	          : read_packed((struct wire){from, from + raw.len}, max_bytes,
	                        out);
}

/* Decodes a counted file and the base that follows it. */
static int
decode_counted(const char *p, size_t n, size_t max_bytes, struct packed *out)
{
	CLEANUP(packed_part_done) struct packed_part part = {0};
	CLEANUP_PACKED struct packed k = {0};
	struct counted head;
	size_t file;
	int rc;

	if (!counted_head(p, n, &head) || head.counts > n - COUNTED_HEAD)
		return -EBADMSG;
	file = COUNTED_HEAD + (size_t)head.counts;
	rc = decode(p + file, n - file, max_bytes, &k)
	             ?: packed_part_read(p, file, max_bytes, k.p->nsamples,
	                                 k.p->ntypes, &part);
	if (rc)
		return rc;
	packed_counts_begin(&k);
	rc = packed_counts_add(&k, &part, 1) ?: packed_counts_end(&k);
	if (rc)
		return rc == -EOVERFLOW ? -EBADMSG : rc;
	*out = TAKE(k);
	return 0;
}

int
packed_decode(const void *p, size_t n, size_t max_bytes, struct packed *out,
              struct buf *why)
{
	struct packed k = {0};
	bool packed = begins(p, n, PACKED_MAGIC);
	int rc;

	if (packed || begins(p, n, COUNTED_MAGIC)) {
		rc = packed ? decode(p, n, max_bytes, &k)
		            : decode_counted(p, n, max_bytes, &k);
		if (rc)
			buf_puts(why, rc == -EBADMSG ? "damaged"
			              : rc == -E2BIG ? "too large"
			                             : "out of memory");
	} else {
		rc = pprof_decode(p, n, max_bytes, &k.p, why);
	}
	if (!rc)
		*out = k;
	return rc;
}
