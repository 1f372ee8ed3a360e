/*
 * The profiles that a Go program keeps of itself, read from outside: memory,
 * allocations, blocking, mutexes. This needs no endpoint and no symbols, and
 * does not stop the program.
 *
 * The runtime counts by stack, in buckets that it creates and never frees. A
 * profile of a span of time takes two looks at the buckets.
 *
 * TYPE_memory is what was in use at the last completed garbage collection,
 * like /debug/pprof/heap; it takes one look, at the finish. TYPE_alloc is
 * what was allocated between the looks, up to the last instant: the endpoint's
 * alloc profile ends with the last collection. Both are scaled up from what was
 * sampled (one in 512 KiB allocated unless the program says otherwise).
 * TYPE_block and TYPE_mutex are events that ended between the looks; their
 * length is counted in cycles, whose rate is measured meanwhile.
 *
 * A Go program counts no block or mutex events unless it asks the runtime to,
 * and no allocations if nothing in it reads their profile. With turn_on,
 * HOST_RATE makes the runtime count until the process that asked is gone, or,
 * of block and mutex events, while the service is profiled continuously.
 * Blocking of 10 us or more is always counted, shorter blocking at random; one
 * mutex event in five; one allocation in 128 KiB. Memory in use is then what
 * was allocated during captures, and a capture takes its time.
 * Counting costs the program some time, so its owner must have agreed.
 *
 * Continuous profiling keeps a reading, which is what one look found, and
 * passes it to the next look (app/capture/buckets/bucket_reading.h):
 *
 *	buckets_nobody(type, 0, &reading)       no process is running yet
 *	grow(&ask, reading.p, reading.len, &next, &profile, &quality)
 *	                                        what came since
 *
 * Every event is in one window, even if its process began between two readings.
 * Events between the last reading of a process and its exit are lost.
 *
 * As in Go's own profiles, stacks of memory begin at the program's function:
 * frames of the runtime's allocator are dropped unless a stack has no others.
 */
#pragma once

#include "capture/engine.h"

/* Sets the value types of a profile, and its sampling rate, as Go does. */
MUST_CHECK int
buckets_header(struct profile *p, enum profile_type_id type, int64_t rate);

/* Upper bound of a reading: some 250000 stacks; a large program has
 * thousands. */
#define READING_MAX_BYTES ((size_t)8 << 20)

/*
 * Takes memory, alloc, block and mutex profiles of Go programs, and all but
 * memory also by readings. For a process that joins and began after the first
 * look, everything it has done counts.
 *
 *   Errors   -ENOEXEC no Go program that can be read, -EPROTO a Go program with
 *            another layout of its profiles, -ENODATA the program keeps no
 *            profile of this type, -E2BIG
 */
extern const struct engine buckets_engine;
/* Writes the reading of a moment at which no process runs. */
void
buckets_nobody(enum profile_type_id type, uint32_t known_ms, struct buf *out);
