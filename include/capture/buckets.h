/*
 * The profiles that a Go program keeps of itself, read from outside: memory,
 * allocations, blocking, mutexes. No endpoint, no symbols, no stop.
 *
 * The runtime counts by stack, in buckets that it makes and never frees.
 * Whoever wants what happened in some time looks at them twice:
 *
 *	buckets_open(host, &ask, &b)		the first look
 *	...					as long as is wanted
 *	buckets_finish(b, &profile, &quality)	the second
 *
 * BUCKETS_MEMORY is what was in use at the last completed garbage collection,
 * as /debug/pprof/heap tells it: one look, at the finish. BUCKETS_ALLOC is
 * what was allocated between the looks, to the moment: unlike the endpoint it
 * does not wait for a collection. Both are scaled up from what was sampled
 * (one in 512 KiB allocated unless the program says otherwise). BUCKETS_BLOCK
 * and _MUTEX are events that ended between the looks; their length is counted
 * in cycles, whose rate is measured meanwhile.
 *
 * Of block and mutex events a program counts none unless it asks for it. With
 * turn_on it is made to, by HOST_RATE, until the host's asker is gone, or for
 * as long as its windows are wanted: events of 10 us or more, shorter ones by
 * chance, and one of five for mutexes. That costs the program some, so its
 * owner must have agreed.
 *
 * Whoever wants one window after the other keeps what a look found, a
 * reading, and gives it to the next (app/capture/buckets/bucket_reading.h):
 *
 *	buckets_nobody(type, 0, &reading)	no process runs as yet
 *	buckets_grown(host, &ask, reading.p, reading.len, &next, &profile,
 *		      &quality)			since then
 *
 * Every event is in one window, also of a process that began between two
 * readings. What one counted between its last reading and its end is lost.
 *
 * As in Go's own profiles, stacks of memory begin at the program's function:
 * what the runtime calls to allocate is left out where there is anything else.
 */
#pragma once

#include "capture/host.h"
#include "capture/quality.h"
#include "profile/profile.h"

enum buckets_type {
	BUCKETS_MEMORY,
	BUCKETS_ALLOC,
	BUCKETS_BLOCK,
	BUCKETS_MUTEX,
	BUCKETS_TYPES
};

/* By the name of types.def; BUCKETS_TYPES: it is none of these. */
enum buckets_type buckets_type(const char *name);

struct buckets_ask {
	enum buckets_type type;
	bool turn_on; /* what the program does not count, if the host lets us */
	const int32_t *pids;
	uint32_t npids;
	uint32_t known_ms; /* how long ago these were all; of buckets_grown() */
};

/* Of a reading: some 250000 stacks, where a large program has thousands. */
#define READING_MAX_BYTES ((size_t)8 << 20)

struct buckets;

/*
 * Looks for the first time.
 *
 *   Owns     *out is the caller's; buckets_free() it; host is borrowed
 *   Errors   -ESRCH no process is left, -EXDEV not allowed to see them,
 *            -ENOEXEC no Go program that can be read, -EPROTO one that keeps
 *            its profiles in another way, -ENODATA it keeps none of this
 *            type, -ENOMEM, -E2BIG, -errno
 */
MUST_CHECK int
buckets_open(const struct host *host, const struct buckets_ask *ask,
             struct buckets **out);
void buckets_free(struct buckets *b);
DEFINE_CLEANUP(struct buckets *, buckets_free)
#define CLEANUP_BUCKETS CLEANUP(buckets_free_ptr)
/*
 * Takes in processes that have joined the service since: of those that began
 * after the first look all counts. One that runs no Go program as yet is passed
 * over, and may be told of again.
 *
 *   Shape    at most BUCKETS_MAX_JOINED are taken in; those that are already
 *            stay as they are
 *   Errors   -ENOMEM, -E2BIG
 */
#define BUCKETS_MAX_JOINED 256
MUST_CHECK int buckets_join(struct buckets *b, const int32_t *pids, size_t n);
/*
 * Looks again, and tells the difference.
 *
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   as above; outputs untouched
 */
MUST_CHECK int buckets_finish(struct buckets *b, struct profile **out,
                              struct quality *quality);
/*
 * Looks once, and tells what came since the last reading.
 *
 *   Shape    last[n], n 0: there is none; *next is empty, READING_MAX_BYTES
 *            and more may go in; of BUCKETS_ALLOC, _BLOCK, _MUTEX. No
 *            process at all is fine
 *            quality->processes: those that the profile is of; 0: of none
 *            was known what it counted before, and there is no window
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   as above, and -EFBIG the reading would be too large; outputs
 *            but *next untouched
 */
MUST_CHECK int
buckets_grown(const struct host *host, const struct buckets_ask *ask,
              const void *last, size_t n, struct buf *next,
              struct profile **out, struct quality *quality);
/* The reading of a moment at which no process runs. */
void buckets_nobody(enum buckets_type type, uint32_t known_ms, struct buf *out);
