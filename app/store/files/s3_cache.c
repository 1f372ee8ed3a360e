#include "s3_cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void
s3_cache_init(struct s3_cache *c)
{
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->came, NULL);
}

void
s3_cache_done(struct s3_cache *c)
{
	for (size_t i = 0; i < S3_CHUNKS; i++)
		free(c->chunks[i].p);
	pthread_cond_destroy(&c->came);
	pthread_mutex_destroy(&c->lock);
}

/* find(), empty() and claim() run under the lock. */
static struct s3_chunk *
find(struct s3_cache *c, const char *name, int64_t from)
{
	for (size_t i = 0; i < S3_CHUNKS; i++)
		if (c->chunks[i].from == from &&
		    !strcmp(c->chunks[i].name, name))
			return &c->chunks[i];
	return NULL;
}

static void
empty(struct s3_chunk *k)
{
	free(k->p);
	*k = (struct s3_chunk){0};
}

/* Frees the least recently used slot for a chunk that the caller reads. Returns
 * NULL if other threads are reading into all slots. */
static struct s3_chunk *
claim(struct s3_cache *c, const char *name, int64_t from)
{
	struct s3_chunk *oldest = NULL;

	for (size_t i = 0; i < S3_CHUNKS; i++) {
		struct s3_chunk *k = &c->chunks[i];

		if ((!*k->name || k->p) && (!oldest || k->used < oldest->used))
			oldest = k;
	}
	if (!oldest)
		return NULL;
	empty(oldest);
	snprintf(oldest->name, sizeof(oldest->name), "%s", name);
	oldest->from = from;
	return oldest;
}

/* Appends the part of the chunk that belongs to the piece. */
static int
copy(const struct piece *piece, int64_t from, const char *p, size_t n,
     struct buf *out)
{
	int64_t at = piece->start > from ? piece->start - from : 0;
	int64_t end = piece->start + piece->n - from;

	if (end > (int64_t)n)
		end = (int64_t)n;
	buf_add(out, p + at, (size_t)(end - at));
	return buf_err(out);
}

/* Reads a chunk, keeps it if there is room, and appends the piece's part. */
static int
read_chunk(struct s3_cache *c, struct s3_chunk *room, const struct store *s,
           const char *name, int64_t from, const struct piece *piece,
           s3_read *read, struct buf *out)
{
	CLEANUP_BUF struct buf b = BUF_INIT((size_t)S3_CHUNK);
	struct piece all = {piece->whole, from, piece->whole - from};
	int rc;

	if (all.n > S3_CHUNK)
		all.n = S3_CHUNK;
	rc = read(s, name, &all, &b);
	rc = rc ?: copy(piece, from, b.p, b.len, out);
	pthread_mutex_lock(&c->lock);
	if (room && rc) {
		empty(room);
	} else if (room) {
		room->n = b.len;
		room->p = TAKE(b.p);
		room->used = ++c->uses;
	}
	pthread_cond_broadcast(&c->came);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static int
get_chunk(struct s3_cache *c, const struct store *s, const char *name,
          int64_t from, const struct piece *piece, s3_read *read,
          struct buf *out)
{
	struct s3_chunk *k;
	int rc;

	pthread_mutex_lock(&c->lock);
	while ((k = find(c, name, from)) && !k->p)
		pthread_cond_wait(&c->came, &c->lock);
	if (!k) {
		k = claim(c, name, from);
		pthread_mutex_unlock(&c->lock);
		return read_chunk(c, k, s, name, from, piece, read, out);
	}
	k->used = ++c->uses;
	rc = copy(piece, from, k->p, k->n, out);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

int
s3_cache_get(struct s3_cache *c, const struct store *s, const char *name,
             const struct piece *piece, s3_read *read, struct buf *out)
{
	int64_t end = piece->start + piece->n;
	int rc = 0;

	for (int64_t from = piece->start - piece->start % S3_CHUNK;
	     from < end && !rc; from += S3_CHUNK)
		rc = get_chunk(c, s, name, from, piece, read, out);
	return rc;
}

void
s3_cache_forget(struct s3_cache *c, const char *name)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < S3_CHUNKS; i++)
		if (c->chunks[i].p && !strcmp(c->chunks[i].name, name))
			empty(&c->chunks[i]);
	pthread_mutex_unlock(&c->lock);
}
