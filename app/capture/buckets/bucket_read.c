/*
 * Walks a list to which another process keeps adding.
 *
 *   Source   runtime/mprof.go: bucket, memRecord, blockRecord,
 *            memProfileInternal
 */
#include "bucket_read.h"

#include <errno.h>
#include <string.h>

#define WINDOW    ((uint64_t)64 << 10) /* bytes: buckets lie side by side */
#define WINDOWS   16                   /* a power of two */
#define TRIES     3                    /* if collections publish meanwhile */
#define LOWEST    4096                 /* least valid address */
#define MAX_BYTES ((size_t)512 << 20)  /* of rows, and of stacks */

/* Words of a bucket's head, cycles in a struct memRecord, and
 * words of a cycle. */
enum { NEXT_OF_ALL = 1, TYPE, HASH, SIZE, DEPTH, HEAD };
enum { CYCLES = 4, PUBLISHED = 0, FUTURES = 3 };
enum { SMALL_CYCLE = 2, LARGE_CYCLE = 4, SMALL_FROM = 27 };
#define MAX_WORDS (HEAD + GO_MAX_BUCKET_STACK + CYCLES * LARGE_CYCLE)

struct reader {
	const struct go_profiles *p;
	enum go_list list;
	size_t cycle_words, record_words;
	uint32_t cycle; /* current cycle of the profile */
	struct go_buckets *out;
	struct window {
		uint64_t at; /* 0: unused */
		uint32_t got;
		uint8_t *bytes; /* WINDOW bytes; NULL before the first use */
	} windows[WINDOWS];
};

static void
reader_done(struct reader *r)
{
	for (size_t i = 0; i < WINDOWS; i++)
		free(r->windows[i].bytes);
}

void
go_buckets_done(struct go_buckets *b)
{
	pairs_done(&b->addrs);
	buf_done(&b->rows);
	buf_done(&b->stacks);
}

/* --- memory --------------------------------------------------------------- */

static int
read_piece(const struct reader *r, uint64_t addr, void *out, uint32_t len,
           uint32_t *got)
{
	CLEANUP(memory_batch_done) struct memory_batch b = {.n = 0};
	struct memory_piece piece = {.addr = addr, .len = len};
	int rc = memory_read(r->p->mem, &piece, 1, &b);

	if (rc)
		return rc;
	if (piece.got)
		memcpy(out, piece.p, piece.got);
	*got = piece.got;
	return 0;
}

static int
window_of(struct reader *r, uint64_t addr, const struct window **out)
{
	struct window *w = &r->windows[addr / WINDOW % WINDOWS];
	uint64_t at = addr - addr % WINDOW;
	int rc;

	*out = w;
	if (w->at == at)
		return 0;
	w->at = 0;
	if (!w->bytes)
		w->bytes = malloc(WINDOW);
	if (!w->bytes)
		return -ENOMEM;
	rc = read_piece(r, at, w->bytes, WINDOW, &w->got);
	if (!rc)
		w->at = at;
	return rc;
}

/* Reads n words at addr; -EPROTO when fewer can be read. */
static int
words(struct reader *r, uint64_t addr, uint64_t *out, size_t n)
{
	const struct window *w;
	uint32_t len = (uint32_t)(n * sizeof(*out)), got;
	uint64_t off = addr % WINDOW;
	int rc = window_of(r, addr, &w);

	if (rc)
		return rc;
	if (off + len <= w->got) {
		memcpy(out, w->bytes + off, len);
		return 0;
	}
	rc = read_piece(r, addr, out, len, &got);
	return rc ? rc : got == len ? 0 : -EPROTO;
}

/* --- one bucket ----------------------------------------------------------- */

/*
 * Sums published counts, and those of the cycle that is being published. While
 * nothing has been published yet, everything counts: publish().
 */
static void
take_memory(const struct reader *r, const uint64_t *record, struct go_bucket *b)
{
	const uint64_t *now = record +
	                      (1 + r->cycle % FUTURES) * r->cycle_words;

	b->published_allocs = record[0] + now[0];
	b->published_frees = record[1] + now[1];
	for (size_t i = 0; i < CYCLES; i++) {
		b->allocs += record[i * r->cycle_words];
		b->frees += record[i * r->cycle_words + 1];
	}
}

static void
take_contention(const uint64_t *record, struct go_bucket *b)
{
	memcpy(&b->count, record, sizeof(b->count));
	memcpy(&b->cycles, record + 1, sizeof(b->cycles));
}

static int
add_bucket(struct reader *r, const uint64_t *w)
{
	struct go_buckets *out = r->out;
	struct go_bucket b = {
		.size = w[SIZE],
		.nstack = (uint32_t)w[DEPTH],
		.stack0 = (uint32_t)(out->stacks.len / sizeof(*w)),
	};
	const uint64_t *record = w + HEAD + b.nstack;

	if (r->list == GO_LIST_MEMORY)
		take_memory(r, record, &b);
	else
		take_contention(record, &b);
	buf_add(&out->stacks, w + HEAD, b.nstack * sizeof(*w));
	buf_add(&out->rows, &b, sizeof(b));
	return buf_err(&out->rows) ?: buf_err(&out->stacks);
}

static bool
is_bucket(const struct reader *r, const uint64_t *w)
{
	return w[TYPE] == (uint64_t)r->list + 1 &&
	       w[DEPTH] <= GO_MAX_BUCKET_STACK &&
	       (!w[NEXT_OF_ALL] || w[NEXT_OF_ALL] >= LOWEST) &&
	       w[SIZE] <= INT64_MAX;
}

static int
read_bucket(struct reader *r, uint64_t addr, uint64_t *next)
{
	uint64_t w[MAX_WORDS], depth = 0;
	uint32_t before = r->out->addrs.n, i;
	int rc = addr % sizeof(*w) ? -EPROTO : words(r, addr, w, HEAD);

	if (!rc && !is_bucket(r, w))
		rc = -EPROTO;
	if (!rc)
		rc = pairs_intern(&r->out->addrs, 0, addr, &i);
	if (!rc && i < before) /* the list leads back to itself */
		rc = -EPROTO;
	if (!rc) {
		depth = w[DEPTH];
		rc = words(r, addr, w, HEAD + depth + r->record_words);
	}
	/* A head never changes once it exists. */
	if (!rc && (!is_bucket(r, w) || w[DEPTH] != depth))
		rc = -EPROTO;
	if (rc)
		return rc;
	*next = w[NEXT_OF_ALL];
	return add_bucket(r, w);
}

/* --- the list ------------------------------------------------------------- */

static int
read_cycle(const struct reader *r, uint32_t *out)
{
	uint32_t v;
	int rc = memory_copy(r->p->mem, r->p->cycle, &v, sizeof(v));

	*out = rc ? 0 : v >> 1;
	return rc == -EFAULT ? -EPROTO : rc;
}

static int
walk(struct reader *r)
{
	uint64_t addr;
	int rc = memory_copy(r->p->mem, r->p->lists[r->list], &addr,
	                     sizeof(addr));

	for (size_t i = 0; i < WINDOWS; i++)
		r->windows[i].at = 0;
	if (rc)
		return rc == -EFAULT ? -EPROTO : rc;
	if (addr && addr < LOWEST)
		return -EPROTO;
	while (addr && !rc)
		rc = read_bucket(r, addr, &addr);
	return rc;
}

static bool
is_unpublished(const struct go_buckets *b)
{
	for (uint32_t i = 0; i < b->addrs.n; i++)
		if (go_bucket(b, i)->published_allocs ||
		    go_bucket(b, i)->published_frees)
			return false;
	return true;
}

/* Counts everything while nothing is published: before the first collection,
 * when nothing is freed, or after the first since the profile was turned on. */
static void
publish(struct go_buckets *b)
{
	struct go_bucket *rows = (void *)b->rows.p;

	if (!is_unpublished(b))
		return;
	for (uint32_t i = 0; i < b->addrs.n; i++) {
		rows[i].published_allocs = rows[i].allocs;
		rows[i].published_frees = rows[i].frees;
	}
}

static void
clear(struct go_buckets *b)
{
	go_buckets_done(b);
	b->addrs.max = GO_MAX_BUCKETS;
	b->rows = b->stacks = BUF_INIT(MAX_BYTES);
}

/* Reads the list again if the runtime began the next cycle meanwhile: it may
 * have moved the counts of only some buckets. */
static int
read_stable(struct reader *r)
{
	uint32_t after;
	int rc = r->list == GO_LIST_MEMORY ? read_cycle(r, &r->cycle) : 0;

	for (unsigned i = 0; i < TRIES && !rc; i++) {
		clear(r->out);
		rc = walk(r);
		if (rc || r->list != GO_LIST_MEMORY)
			break;
		rc = read_cycle(r, &after);
		if (rc || after == r->cycle)
			break;
		r->cycle = after;
	}
	return rc;
}

int
go_buckets_read(const struct go_profiles *p, enum go_list list,
                struct go_buckets *out)
{
	bool memory = list == GO_LIST_MEMORY;
	size_t words = p->minor >= SMALL_FROM ? SMALL_CYCLE : LARGE_CYCLE;
	CLEANUP(reader_done)
	struct reader r = {
		.p = p,
		.list = list,
		.cycle_words = words,
		.record_words = memory ? CYCLES * words : 2,
		.out = out,
	};
	int rc;

	if (!p->lists[list] || (memory && !p->cycle))
		return -EPROTO;
	rc = read_stable(&r);
	if (!rc && memory)
		publish(out);
	return rc;
}
