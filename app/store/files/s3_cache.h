/*
 * A cache of parts of objects. A range of time reads hundreds of small pieces,
 * many of them adjacent; without the cache each would cost a request. Objects
 * never change, so entries never go stale.
 */
#pragma once

#include "base/buf.h"
#include "store/bytes.h"

#include <pthread.h>

#define S3_CHUNK  ((int64_t)64 << 10) /* read in one request, and kept */
#define S3_CHUNKS 256

struct s3_chunk {
	char name[BYTES_NAME_MAX]; /* "": none */
	int64_t from;
	char *p; /* NULL: a thread is reading it */
	size_t n;
	uint64_t used; /* time of the last use, in chunks read */
};
struct s3_cache {
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t came;
	uint64_t uses;
	struct s3_chunk chunks[S3_CHUNKS];
};

/* Reads a piece of an object, as bytes_get() does. */
typedef int s3_read(const struct store *s, const char *name,
                    const struct piece *piece, struct buf *out);

void s3_cache_init(struct s3_cache *c);
void s3_cache_done(struct s3_cache *c);
/* Appends a piece, as bytes_get() does; reads what the cache lacks. Several
 * threads may call this at once. */
MUST_CHECK int
s3_cache_get(struct s3_cache *c, const struct store *s, const char *name,
             const struct piece *piece, s3_read *read, struct buf *out);
/* Forgets an object that is dropped. */
void s3_cache_forget(struct s3_cache *c, const char *name);
