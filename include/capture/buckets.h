/*
 * The profiles that a Go program keeps of itself, read from outside: memory,
 * allocations, blocking, mutexes. No endpoint, no symbols, no stop.
 *
 * The runtime counts by stack, in buckets that it makes and never frees. A
 * profile of a span of time takes two looks at the buckets:
 *
 *	buckets_open(host, &ask, &b)		the first look
 *	...					as long as is wanted
 *	buckets_finish(b, &profile, &quality)	the second
 *
 * BUCKETS_MEMORY is what was in use at the last completed garbage collection,
 * like /debug/pprof/heap; it takes one look, at the finish. BUCKETS_ALLOC is
 * what was allocated between the looks, up to the last instant: the endpoint's
 * alloc profile ends with the last collection. Both are scaled up from what was
 * sampled (one in 512 KiB allocated unless the program says otherwise).
 * BUCKETS_BLOCK and _MUTEX are events that ended between the looks; their
 * length is counted in cycles, whose rate is measured meanwhile.
 *
 * A Go program counts no block or mutex events unless it asks the runtime to.
 * With turn_on, HOST_RATE makes the runtime count them: until the process that
 * asked is gone, or while the service is profiled continuously. Events of 10 us
 * or more are counted, shorter ones at random, and one of five mutex events.
 * Counting costs the program some time, so its owner must have agreed.
 *
 * Continuous profiling keeps a reading, which is what one look found, and
 * passes it to the next look (app/capture/buckets/bucket_reading.h):
 *
 *	buckets_nobody(type, 0, &reading)       no process is running yet
 *	buckets_grown(host, &ask, reading.p, reading.len, &next, &profile,
 *		      &quality)                       what came since
 *
 * Every event is in one window, also of a process that began between two
 * readings. Events between the last reading of a process and its exit are lost.
 *
 * As in Go's own profiles, stacks of memory begin at the program's function:
 * frames of the runtime's allocator are dropped unless a stack has no others.
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

/* Finds a type by its name in types.def; BUCKETS_TYPES when the name is not one
 * of these. */
enum buckets_type buckets_type(const char *name);

/* Sets the value types of a profile, and its sampling rate. */
MUST_CHECK int
buckets_header(struct profile *p, enum buckets_type type, int64_t rate);

struct buckets_ask {
	enum buckets_type type;
	bool turn_on; /* also count events that the program does not count,
	                 if the host allows it */
	const int32_t *pids;
	uint32_t npids;
	uint32_t known_ms; /* for buckets_grown(): how long ago pids was
	                      complete */
};

/* Upper bound of a reading: some 250000 stacks; a large
 * program has thousands. */
#define READING_MAX_BYTES ((size_t)8 << 20)

struct buckets;

/*
 * Takes the first look.
 *
 *   Owns     *out is the caller's; buckets_free() it; host is borrowed
 *   Errors   -ESRCH no process is left, -EXDEV not allowed to see them,
 *            -ENOEXEC no Go program that can be read, -EPROTO a Go program with
 *            another layout of its profiles, -ENODATA the program keeps no
 *            profile of this type, -ENOMEM, -E2BIG, -errno
 */
MUST_CHECK int
buckets_open(const struct host *host, const struct buckets_ask *ask,
             struct buckets **out);
void buckets_free(struct buckets *b);
DEFINE_CLEANUP(struct buckets *, buckets_free)
#define CLEANUP_BUCKETS CLEANUP(buckets_free_ptr)
/*
 * Adds processes that have joined the service since. Everything counts that a
 * process did which began after the first look. A process that runs no Go
 * program yet is skipped, and may be passed again.
 *
 *   Shape    at most BUCKETS_MAX_JOINED are added; known processes are
 *            unaffected
 *   Errors   -ENOMEM, -E2BIG
 */
#define BUCKETS_MAX_JOINED 256
MUST_CHECK int buckets_join(struct buckets *b, const int32_t *pids, size_t n);
/*
 * Takes the second look, and makes a profile of the difference.
 *
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   as above; outputs untouched
 */
MUST_CHECK int buckets_finish(struct buckets *b, struct profile **out,
                              struct quality *quality);
/*
 * Takes one look, and makes a profile of what came since the last reading.
 *
 *   Shape    last[n], n is 0 when there is no last reading; *next is empty, and
 *            holds READING_MAX_BYTES or more; type is BUCKETS_ALLOC, _BLOCK or
 *            _MUTEX. npids may be 0
 *            quality->processes: the number of processes in the profile; 0: no
 *            process has earlier counts to compare with, and there is no window
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   as above, and -EFBIG the reading would be too large; outputs
 *            but *next untouched
 */
MUST_CHECK int
buckets_grown(const struct host *host, const struct buckets_ask *ask,
              const void *last, size_t n, struct buf *next,
              struct profile **out, struct quality *quality);
/* Writes the reading of a moment at which no process runs. */
void buckets_nobody(enum buckets_type type, uint32_t known_ms, struct buf *out);
