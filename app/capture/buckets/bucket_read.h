/*
 * Reads all buckets of a list.
 */
#pragma once

#include "base/buf.h"
#include "base/pairs.h"
#include "bucket_find.h"

#define GO_MAX_BUCKETS (1u << 20)
#define GO_MAX_BUCKET_STACK \
	1024 /* pcs; runtime/mprof.go, maxProfStackDepth \
	      */

struct go_bucket {
	uint64_t size; /* bytes of each object */
	uint32_t stack0, nstack;
	/* For the list of memory; published: as of the last collection. */
	uint64_t published_allocs, published_frees, allocs, frees;
	/* For the other lists. */
	double count;
	int64_t cycles;
};

struct go_buckets {
	struct pairs addrs; /* (0, address of the bucket) */
	struct buf rows;    /* struct go_bucket each, in the order of addrs */
	struct buf stacks;  /* uint64_t each, leaf first */
};

void go_buckets_done(struct go_buckets *b);
static inline const struct go_bucket *
go_bucket(const struct go_buckets *b, uint32_t i)
{
	return (const struct go_bucket *)(const void *)b->rows.p + i;
}
static inline const uint64_t *
go_bucket_stack(const struct go_buckets *b, const struct go_bucket *one)
{
	const uint64_t *all = (const void *)b->stacks.p;

	return one->nstack ? all + one->stack0 : NULL;
}

/*
 * Reads a whole list.
 *
 *   Shape    *out is empty; go_buckets_done() it, also on failure
 *   Errors   -EPROTO there is no such list; as memory_read()
 */
MUST_CHECK int go_buckets_read(const struct go_profiles *p, enum go_list list,
                               struct go_buckets *out);
