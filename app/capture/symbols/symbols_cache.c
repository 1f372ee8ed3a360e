#include "symbols_cache.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/pairs.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define BUCKETS 4096 /* a power of two */
/* Size from which a piece is mapped from a file, so that a fork does not copy
 * its page table. */
#define LARGE ((size_t)256 << 10)

struct entry {
	struct entry *next; /* in the same bucket */
	struct symbols_key key;
	struct symbols_piece piece;
	uint64_t used_at; /* turn in which it was last found or added */
	bool fresh;       /* added since the fork */
	bool mapped;
};
_Static_assert(sizeof(struct entry) <= SYMBOLS_ENTRY, "what it costs");

struct symbols_cache {
	struct entry *buckets[BUCKETS];
	uint32_t n;
	size_t bytes, max_bytes;
	uint64_t turn; /* one per symbols_cache_learn */
	/* Addresses of entries found or added since the fork. A mark in each
	 * entry would copy its page in the child. */
	struct pairs used;
};

/* One piece in a child's report; its bytes follow when the piece is new. */
struct record {
	struct symbols_key key;
	uint64_t fresh, size;
};

struct symbols_cache *
symbols_cache_new(size_t max_bytes)
{
	struct symbols_cache *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->max_bytes = max_bytes;
	c->used.max = UINT32_MAX / 2;
	return c;
}

static void
entry_free(struct entry *e)
{
	if (e->mapped)
		munmap((void *)e->piece.p, e->piece.n);
	else
		free((void *)e->piece.p);
	free(e);
}

void
symbols_cache_free(struct symbols_cache *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < BUCKETS; i++)
		while (c->buckets[i]) {
			struct entry *e = c->buckets[i];

			c->buckets[i] = e->next;
			entry_free(e);
		}
	pairs_done(&c->used);
	free(c);
}

size_t
symbols_cache_bytes(const struct symbols_cache *c)
{
	return c->bytes;
}

bool
symbols_file_of(int fd, struct symbols_file *out)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return false;
	*out = (struct symbols_file){
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.changed_ns = (uint64_t)st.st_ctim.tv_sec * 1000000000 +
	                      (uint64_t)st.st_ctim.tv_nsec,
	};
	return true;
}

static struct entry **
bucket_of(struct symbols_cache *c, const struct symbols_key *key)
{
	return &c->buckets[hash_bytes(key, sizeof(*key)) & (BUCKETS - 1)];
}

static struct entry *
find(struct symbols_cache *c, const struct symbols_key *key)
{
	struct entry *e = *bucket_of(c, key);

	while (e && memcmp(&e->key, key, sizeof(*key)) != 0)
		e = e->next;
	return e;
}

/* Marks an entry as used; without memory the report omits it. */
static void
note_use(struct symbols_cache *c, const struct entry *e)
{
	uint32_t row;

	(void)!pairs_intern(&c->used, 0, (uintptr_t)e, &row);
}

static void
forget_uses(struct symbols_cache *c)
{
	pairs_done(&c->used);
	c->used.max = UINT32_MAX / 2;
}

bool
symbols_cache_find(struct symbols_cache *c, const struct symbols_key *key,
                   struct symbols_piece *out)
{
	struct entry *e = find(c, key);

	if (!e)
		return false;
	note_use(c, e);
	*out = e->piece;
	return true;
}

static int
insert(struct symbols_cache *c, const struct symbols_key *key, void *p,
       size_t n, struct entry **out)
{
	struct entry *e, **bucket = bucket_of(c, key);

	if (find(c, key))
		return -EEXIST;
	e = malloc(sizeof(*e));
	if (!e)
		return -ENOMEM;
	*e = (struct entry){*bucket, *key, {p, n}, c->turn, false, false};
	*bucket = *out = e;
	c->n++;
	c->bytes += n + SYMBOLS_ENTRY;
	return 0;
}

int
symbols_cache_add(struct symbols_cache *c, const struct symbols_key *key,
                  struct buf *bytes, struct symbols_piece *out)
{
	struct entry *e;
	int rc = buf_err(bytes) ? buf_err(bytes)
	                        : insert(c, key, bytes->p, bytes->len, &e);

	if (rc)
		return rc;
	e->fresh = true;
	note_use(c, e);
	*out = e->piece;
	*bytes = (struct buf){.max = bytes->max};
	return 0;
}

/* --- from child to parent ------------------------------------------------- */

/* True for pieces of use to other captures: of the kernel or a file, and not
 * too large. */
static bool
lasts(const struct symbols_cache *c, const struct symbols_key *key, uint64_t n)
{
	bool known = key->kind == SYMBOLS_KERNEL || key->image.dev ||
	             key->image.ino;

	return known && n <= c->max_bytes / 2;
}

#define TELL_BYTES ((size_t)256 << 10) /* written at once */

static int
flush(struct buf *out, int fd)
{
	int rc = buf_err(out) ?: fd_write_all(fd, out->p, out->len);

	buf_clear(out);
	return rc;
}

static int
send_entry(const struct symbols_cache *c, const struct entry *e,
           struct buf *out, int fd)
{
	struct record r = {e->key, e->fresh, e->fresh ? e->piece.n : 0};
	int rc = 0;

	if (!lasts(c, &e->key, e->piece.n))
		return 0;
	if (out->len + sizeof(r) + r.size > TELL_BYTES)
		rc = flush(out, fd);
	buf_add(out, &r, sizeof(r));
	if (rc || !e->fresh)
		return rc;
	if (e->piece.n + sizeof(r) <= TELL_BYTES) {
		buf_add(out, e->piece.p, e->piece.n);
		return 0;
	}
	return flush(out, fd) ?: fd_write_all(fd, e->piece.p, e->piece.n);
}

int
symbols_cache_send(const struct symbols_cache *c, int fd)
{
	CLEANUP_BUF struct buf out = BUF_INIT(2 * TELL_BYTES);
	int rc = 0;

	for (uint32_t i = 0; i < c->used.n && !rc; i++)
		rc = send_entry(c, (const void *)(uintptr_t)c->used.rows[i].b,
		                &out, fd);
	return rc ? rc : flush(&out, fd);
}

/* The report of a child: many small records, read through a buffer. */
struct news {
	int fd;
	off_t at;        /* offset in the file, after the buffered bytes */
	size_t pos, len; /* in bytes */
	char bytes[TELL_BYTES];
};

static int
fill(struct news *w)
{
	ssize_t n = pread(w->fd, w->bytes, sizeof(w->bytes), w->at);

	if (n < 0)
		return -errno;
	w->at += n;
	w->pos = 0;
	w->len = (size_t)n;
	return 0;
}

/* Takes the next n bytes; -EBADMSG when there are fewer. */
static int
take(struct news *w, void *out, size_t n)
{
	int rc = 0;

	for (size_t done = 0, part; done < n && !rc; done += part) {
		part = w->len - w->pos;
		if (!part) {
			rc = fill(w);
			if (!rc && !w->len)
				rc = -EBADMSG;
			continue;
		}
		if (part > n - done)
			part = n - done;
		memcpy((char *)out + done, w->bytes + w->pos, part);
		w->pos += part;
	}
	return rc;
}

/* Maps the bytes of a large piece from a file, privately: a child's writes do
 * not reach the parent. */
static void
make_large(struct entry *e)
{
	CLEANUP_FD int fd = memfd_create("stoker-piece", MFD_CLOEXEC);
	void *p;

	if (fd < 0 || fd_write_all(fd, e->piece.p, e->piece.n))
		return;
	p = mmap(NULL, e->piece.n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return;
	free((void *)e->piece.p);
	e->piece.p = p;
	e->mapped = true;
}

/* Adds a piece of the report, which another child may have added before; its
 * bytes are read in any case. */
static int
learn(struct symbols_cache *c, struct news *w, const struct record *r)
{
	struct entry *e = find(c, &r->key);
	CLEANUP_FREE void *p = malloc(r->size + 1);
	int rc = p ? take(w, p, r->size) : -ENOMEM;

	if (e)
		e->used_at = c->turn;
	if (rc || e || !r->fresh || !lasts(c, &r->key, r->size))
		return rc;
	rc = insert(c, &r->key, p, r->size, &e);
	if (rc)
		return rc;
	TAKE(p);
	if (r->size >= LARGE)
		make_large(e);
	return 0;
}

static int
learn_all(struct symbols_cache *c, int fd)
{
	CLEANUP_FREE struct news *w = malloc(sizeof(*w));
	struct record r;
	struct stat st;
	int rc = !w ? -ENOMEM : fstat(fd, &st) ? -errno : 0;

	if (rc)
		return rc;
	w->fd = fd;
	w->at = 0;
	w->pos = w->len = 0;
	for (;;) {
		if (w->pos == w->len && (rc = fill(w)))
			return rc;
		if (!w->len)
			return 0;
		rc = take(w, &r, sizeof(r));
		if (!rc && r.size > (uint64_t)st.st_size)
			rc = -EBADMSG;
		if (!rc)
			rc = learn(c, w, &r);
		if (rc)
			return rc;
	}
}

/* --- the bound ------------------------------------------------------------ */

static bool
is_over(const struct symbols_cache *c)
{
	return c->bytes > c->max_bytes || c->n > SYMBOLS_MAX_PIECES;
}

static uint64_t
oldest_turn(const struct symbols_cache *c)
{
	uint64_t oldest = UINT64_MAX;

	for (unsigned i = 0; i < BUCKETS; i++)
		for (const struct entry *e = c->buckets[i]; e; e = e->next)
			if (e->used_at < oldest)
				oldest = e->used_at;
	return oldest;
}

static void
evict(struct symbols_cache *c, uint64_t turn)
{
	for (unsigned i = 0; i < BUCKETS; i++) {
		struct entry **at = &c->buckets[i], *e;

		while ((e = *at) && is_over(c)) {
			if (e->used_at != turn) {
				at = &e->next;
				continue;
			}
			*at = e->next;
			c->bytes -= e->piece.n + SYMBOLS_ENTRY;
			c->n--;
			entry_free(e);
		}
	}
}

int
symbols_cache_learn(struct symbols_cache *c, int fd)
{
	int rc;

	c->turn++;
	forget_uses(c); /* the evicted pieces are no longer in use */
	rc = learn_all(c, fd);
	while (is_over(c))
		evict(c, oldest_turn(c));
	return rc;
}
