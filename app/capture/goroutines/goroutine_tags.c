#include "goroutine_tags.h"

#include <errno.h>
#include <string.h>

#define SLICE      1024u /* sets read together */
#define MAX_NODES  (1u << 20)
#define MAX_SLOTS  ((size_t)8 << 20) /* bytes of the slots of a slice */
#define FIRST_LIST 24                /* from 1.24 on labels are a list */

/* Source: runtime/map.go of Go 1.23, hmap and bmap */
enum {
	HMAP_BYTES = 48,
	HMAP_B = 9,
	HMAP_BUCKETS = 16,
	BUCKET_SLOTS = 8,
	BUCKET_KEYS = 8,
	BUCKET_VALUES = BUCKET_KEYS + 16 * BUCKET_SLOTS,
	BUCKET_BYTES = BUCKET_VALUES + 16 * BUCKET_SLOTS + 8,
	BUCKET_FULL = 5, /* least tophash of a slot in use */
};

struct go_string {
	uint64_t p, n;
};

/* A label whose texts have not been read yet. */
struct slot {
	uint64_t set; /* index in the slice */
	struct go_string key, value;
};

/* Sets that are read together. */
struct slice {
	struct memory_piece pieces[SLICE];
	uint32_t index[SLICE]; /* in go_tags.ptrs */
	uint32_t n;
	struct buf slots; /* struct slot */
};

int
go_tags_init(struct go_tags *t, const struct go_runtime *r, struct profile *p)
{
	uint32_t root;

	*t = (struct go_tags){
		.r = r,
		.p = p,
		.ptrs = {.max = GO_MAX_TAG_SETS},
		.sets = calloc(GO_MAX_TAG_SETS, sizeof(*t->sets)),
		.nodes = {.max = MAX_NODES},
	};
	if (!t->sets)
		return -ENOMEM;
	return pairs_intern(&t->nodes, UINT32_MAX, UINT64_MAX, &root);
}

void
go_tags_done(struct go_tags *t)
{
	pairs_done(&t->ptrs);
	pairs_done(&t->nodes);
	free(t->sets);
}

/* --- where labels are ----------------------------------------------------- */

static void
add_slot(struct slice *s, uint64_t set, const uint8_t *key,
         const uint8_t *value)
{
	struct slot row = {.set = set};

	memcpy(&row.key, key, sizeof(row.key));
	memcpy(&row.value, value, sizeof(row.value));
	if (row.key.n && row.key.n <= GO_MAX_TAG && row.value.n <= GO_MAX_TAG)
		buf_add(&s->slots, &row, sizeof(row));
}

/* Replaces each piece by len bytes at the address that it holds at `at`. */
static int
follow(struct go_tags *t, struct slice *s, struct memory_batch *b, size_t at,
       uint32_t len)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct memory_piece *p = &s->pieces[i];
		uint64_t addr = 0;

		if (p->got == p->len && p->len)
			memcpy(&addr, p->p + at, sizeof(addr));
		*p = (struct memory_piece){.addr = addr, .len = addr ? len : 0};
	}
	return memory_read(t->r->mem, s->pieces, s->n, b);
}

/* Reads lists: pointer, length and capacity of pairs of strings. */
static int
read_lists(struct go_tags *t, struct slice *s, struct memory_batch *b)
{
	int rc = memory_read(t->r->mem, s->pieces, s->n, b);

	for (uint32_t i = 0; i < s->n && !rc; i++) {
		struct memory_piece *p = &s->pieces[i];
		uint64_t list[2] = {0};

		if (p->got == p->len)
			memcpy(list, p->p, sizeof(list));
		if (list[1] > GO_MAX_TAGS)
			list[1] = 0;
		*p = (struct memory_piece){.addr = list[0],
		                           .len = (uint32_t)list[1] * 32};
	}
	if (!rc)
		rc = memory_read(t->r->mem, s->pieces, s->n, b);
	for (uint32_t i = 0; i < s->n && !rc; i++) {
		const struct memory_piece *p = &s->pieces[i];

		for (uint32_t at = 0; at + 32 <= p->got; at += 32)
			add_slot(s, i, p->p + at, p->p + at + 16);
	}
	return rc;
}

static void
take_bucket(struct slice *s, uint32_t set, const uint8_t *bucket)
{
	for (int i = 0; i < BUCKET_SLOTS; i++)
		if (bucket[i] >= BUCKET_FULL)
			add_slot(s, set,
			         bucket + BUCKET_KEYS + (ptrdiff_t)16 * i,
			         bucket + BUCKET_VALUES + (ptrdiff_t)16 * i);
}

/* Reads maps: each is a pointer to an hmap, which points to its buckets. A map
 * whose buckets overflow, or that is growing, is read in part. */
static int
read_maps(struct go_tags *t, struct slice *s, struct memory_batch *b)
{
	int rc = memory_read(t->r->mem, s->pieces, s->n, b);

	if (!rc)
		rc = follow(t, s, b, 0, HMAP_BYTES);
	for (uint32_t i = 0; i < s->n && !rc; i++) {
		struct memory_piece *p = &s->pieces[i];
		unsigned log2 = p->got == HMAP_BYTES ? p->p[HMAP_B] : 8;
		uint64_t buckets = 0;

		if (log2 <= 3)
			memcpy(&buckets, p->p + HMAP_BUCKETS, 8);
		*p = (struct memory_piece){.addr = buckets,
		                           .len = buckets ? BUCKET_BYTES << log2
		                                          : 0};
	}
	if (!rc)
		rc = memory_read(t->r->mem, s->pieces, s->n, b);
	for (uint32_t i = 0; i < s->n && !rc; i++) {
		const struct memory_piece *p = &s->pieces[i];

		for (uint32_t at = 0; at + BUCKET_BYTES <= p->got;
		     at += BUCKET_BYTES)
			take_bucket(s, i, p->p + at);
	}
	return rc;
}

/* --- texts and sets ------------------------------------------------------- */

static int
text_of(struct go_tags *t, const struct memory_piece *p, uint32_t *out)
{
	*out = 0;
	return p->got == p->len
	               ? profile_string(t->p, (const char *)p->p, p->len, out)
	               : 0;
}

/* Inserts a label into a set that is ordered by key, so that equal sets are one
 * node in whatever order a map had them. */
static int
add_label(struct go_tags *t, uint32_t *set, uint32_t key, uint32_t value)
{
	const struct pair *top = &t->nodes.rows[*set];
	uint64_t label = (uint64_t)key << 32 | value;
	uint32_t rest;
	int rc;

	if (!*set || top->b < label)
		return pairs_intern(&t->nodes, *set, label, set);
	if (top->b == label)
		return 0;
	label = top->b;
	rest = top->a;
	rc = add_label(t, &rest, key, value);
	return rc ? rc : pairs_intern(&t->nodes, rest, label, set);
}

static int
take_texts(struct go_tags *t, const struct slice *s,
           const struct memory_piece *texts, size_t n)
{
	const struct slot *slots = (const void *)s->slots.p;
	uint8_t counts[SLICE] = {0};
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		uint64_t k = slots[i].set;
		uint32_t key, value;

		if (counts[k]++ >= GO_MAX_TAGS)
			continue;
		rc = text_of(t, &texts[2 * i], &key);
		if (!rc)
			rc = text_of(t, &texts[2 * i + 1], &value);
		if (!rc && key && value)
			rc = add_label(t, &t->sets[s->index[k]], key, value);
	}
	return rc == -E2BIG ? 0 : rc; /* as many as there is room for */
}

static int
read_texts(struct go_tags *t, const struct slice *s, struct memory_batch *b)
{
	const struct slot *slots = (const void *)s->slots.p;
	size_t n = s->slots.len / sizeof(*slots);
	CLEANUP_FREE struct memory_piece *texts = calloc(n, 2 * sizeof(*texts));
	int rc;

	if (!texts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		texts[2 * i].addr = slots[i].key.p;
		texts[2 * i].len = (uint32_t)slots[i].key.n;
		texts[2 * i + 1].addr = slots[i].value.p;
		texts[2 * i + 1].len = (uint32_t)slots[i].value.n;
	}
	rc = memory_read(t->r->mem, texts, 2 * n, b);
	return rc ? rc : take_texts(t, s, texts, n);
}

static int
read_slice(struct go_tags *t, struct slice *s)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	int rc;

	if (!s->n)
		return 0;
	buf_clear(&s->slots);
	rc = t->r->minor >= FIRST_LIST ? read_lists(t, s, &b)
	                               : read_maps(t, s, &b);
	if (!rc)
		rc = buf_err(&s->slots);
	if (!rc)
		rc = read_texts(t, s, &b);
	s->n = 0;
	return rc;
}

static void
slice_free(struct slice *s)
{
	if (s)
		buf_done(&s->slots);
	free(s);
}
DEFINE_CLEANUP(struct slice *, slice_free)

int
go_tags_learn(struct go_tags *t, const struct go_g *g, size_t n)
{
	CLEANUP(slice_free_ptr) struct slice *s = calloc(1, sizeof(*s));
	int rc = s ? 0 : -ENOMEM;

	if (s)
		s->slots = BUF_INIT(MAX_SLOTS);
	for (size_t i = 0; i < n && !rc; i++) {
		uint32_t before = t->ptrs.n, index;

		if (!g[i].labels ||
		    pairs_intern(&t->ptrs, 0, g[i].labels, &index) ||
		    index < before)
			continue;
		s->index[s->n] = index;
		s->pieces[s->n++] =
			(struct memory_piece){.addr = g[i].labels, .len = 16};
		if (s->n == SLICE)
			rc = read_slice(t, s);
	}
	return rc ? rc : read_slice(t, s);
}

uint32_t
go_tags_of(struct go_tags *t, uint64_t labels)
{
	uint32_t index;

	/* go_tags_learn() added the set, unless there were too many. */
	if (!labels || pairs_intern(&t->ptrs, 0, labels, &index))
		return 0;
	return t->sets[index];
}

uint32_t
go_tags_get(const struct go_tags *t, uint32_t set,
            struct label out[GO_MAX_TAGS])
{
	uint32_t n = 0;

	for (; set && n < GO_MAX_TAGS; set = t->nodes.rows[set].a) {
		uint64_t label = t->nodes.rows[set].b;

		out[n++] = (struct label){.key = (uint32_t)(label >> 32),
		                          .str = (uint32_t)label};
	}
	return n;
}
