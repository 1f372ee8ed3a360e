#include "bucket_rows.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define MAX_COLUMNS  4
#define MOST         ((double)(INT64_MAX / 4)) /* upper bound of a value */
#define MUTEX_SCALED 21 /* version from which the runtime scales its counts */

bool
bucket_of_memory(enum profile_type_id type)
{
	return type == TYPE_memory || type == TYPE_alloc;
}

uint64_t
bucket_cycles(void)
{
#if defined(__x86_64__)
	return __rdtsc(); /* the counter that runtime.cputicks reads */
#else
	return 0;
#endif
}

void
bucket_rows_done(struct bucket_rows *r)
{
	bucket_stacks_done(&r->stacks);
	go_frames_done(&r->frames);
}

int
buckets_header(struct profile *p, enum profile_type_id type, int64_t rate)
{
	const struct type *t = &profile_types[type];
	bool memory = bucket_of_memory(type);
	int rc = type_values(t, p);

	if (!rc)
		rc = profile_cstring(p, memory ? "space" : t->count,
		                     &p->period_type.type);
	if (!rc)
		rc = profile_cstring(p, memory ? t->unit : "count",
		                     &p->period_type.unit);
	p->period = memory ? rate : 1;
	return rc;
}

/* --- values --------------------------------------------------------------- */

/* Returns v within bounds, since the target may write anything. */
static int64_t
bounded(double v)
{
	if (!(v > 0)) /* or not a number */
		return 0;
	return v < MOST ? (int64_t)v : (int64_t)MOST;
}

/*
 * Scales sampled objects and bytes up to all of them.
 *   Source   runtime/pprof/protomem.go, scaleHeapSample
 */
static void
scale(int64_t n, uint64_t size, int64_t rate, int64_t out[static 2])
{
	double times = 1;

	out[0] = out[1] = 0;
	if (n <= 0 || !size)
		return;
	if (rate > 1)
		times = 1 / (1 - exp(-(double)size / (double)rate));
	out[0] = bounded((double)n * times);
	out[1] = bounded((double)n * (double)size * times);
}

static void
allocated(const struct bucket_rows *r, const struct go_bucket *before,
          const struct go_bucket *b, int64_t *out)
{
	scale((int64_t)(b->allocs - before->allocs), b->size, r->rate, out);
}

static void
in_use(const struct bucket_rows *r, const struct go_bucket *b, int64_t *out)
{
	scale((int64_t)b->published_allocs, b->size, r->rate, out);
	scale((int64_t)(b->published_allocs - b->published_frees), b->size,
	      r->rate, out + 2);
}

/*
 * Limits cycles to the time between the looks. For a wait that began before the
 * profile was turned on, the runtime has no start: it takes 0, and counts all
 * cycles since the machine started.
 */
static double
sane_cycles(const struct bucket_rows *r, double count, double cycles)
{
	double most = count * (double)r->elapsed.cycles;

	if (cycles < (double)r->elapsed.now || cycles < most)
		return cycles;
	r->q->events_cut++;
	return most;
}

static void
contended(const struct bucket_rows *r, const struct go_bucket *before,
          const struct go_bucket *b, int64_t *out)
{
	double count = b->count - before->count, cycles;
	double each = r->type == TYPE_mutex && r->from->minor < MUTEX_SCALED
	                      ? (double)r->rate
	                      : 1;

	cycles = sane_cycles(r, count,
	                     (double)(b->cycles - (uint64_t)before->cycles));
	out[0] = bounded(count * each);
	out[1] = bounded(cycles * each * (double)r->elapsed.ns /
	                 (double)(r->elapsed.cycles ?: 1));
}

static void
values_of(const struct bucket_rows *r, const struct go_bucket *before,
          const struct go_bucket *b, int64_t out[static MAX_COLUMNS])
{
	memset(out, 0, MAX_COLUMNS * sizeof(*out));
	if (r->type == TYPE_memory)
		in_use(r, b, out);
	else if (r->type == TYPE_alloc)
		allocated(r, before, b, out);
	else
		contended(r, before, b, out);
}

/* --- rows ----------------------------------------------------------------- */

static void
count(const struct bucket_rows *r, const uint32_t *stack, uint32_t n,
      const int64_t *values)
{
	int64_t events = values[r->p->ntypes - 2]; /* objects, or waits */

	r->q->kept = r->q->kept < INT64_MAX / 4 ? r->q->kept + events
	                                        : r->q->kept;
	r->q->buckets++;
	for (uint32_t i = 0; i < n; i++) {
		r->q->frames++;
		r->q->symbolized += r->p->locations[stack[i]].nlines != 0;
	}
}

/* Labels rows with the size of their objects, as Go's own profile does. */
static int
label_size(struct bucket_rows *r, const struct go_bucket *b, struct label *out)
{
	*out = (struct label){.num = (int64_t)b->size};
	return profile_cstring(r->p, "bytes", &out->key);
}

static int
add(struct bucket_rows *r, const uint64_t *pcs, const struct go_bucket *b,
    const int64_t *values)
{
	uint64_t own[GO_MAX_BUCKET_STACK];
	uint32_t stack[GO_MAX_BUCKET_STACK], n, nown;
	bool sized = bucket_of_memory(r->type);
	struct label size;
	int rc = bucket_stack(&r->stacks, pcs, b->nstack, own, &nown);

	if (!rc)
		rc = go_frames_stack(&r->frames, own, nown, stack, &n);
	if (!rc && sized)
		rc = label_size(r, b, &size);
	if (!rc)
		rc = profile_sample(r->p, stack, n, &size, sized, values);
	if (!rc)
		count(r, stack, n, values);
	return rc;
}

/* Finds a bucket at the first look; all zero when it did not exist then. */
static int
find_before(struct go_buckets *before, uint64_t addr, struct go_bucket *out)
{
	uint32_t had = (uint32_t)(before->rows.len / sizeof(*out)), i;
	int rc;

	*out = (struct go_bucket){0};
	before->addrs.max = GO_MAX_BUCKETS;
	rc = had ? pairs_intern(&before->addrs, 0, addr, &i) : 0;
	if (had && !rc && i < had)
		*out = *go_bucket(before, i);
	/* The table is full, so the bucket is not in it. */
	return rc == -E2BIG ? 0 : rc;
}

int
bucket_rows_add(struct bucket_rows *r, struct go_buckets *before,
                const struct go_buckets *after)
{
	int rc = 0;

	for (uint32_t i = 0; i < after->addrs.n && !rc; i++) {
		const struct go_bucket *b = go_bucket(after, i);
		int64_t values[MAX_COLUMNS], any = 0;
		struct go_bucket old;

		rc = find_before(before, after->addrs.rows[i].b, &old);
		values_of(r, &old, b, values);
		for (size_t k = 0; k < MAX_COLUMNS; k++)
			any |= values[k];
		if (!rc && any)
			rc = add(r, go_bucket_stack(after, b), b, values);
	}
	return rc;
}
