/*
 * A reading: what buckets held when they were last looked at, as bytes that
 * outlive who looked. The next look tells what came on top, and leaves one of
 * its own: windows lie side by side, and nobody waits in between.
 *
 *	struct reading_head
 *	per process: struct reading_process, then its rows
 *
 * Stacks are not in it: a runtime never frees a bucket, so its address stands
 * for its stack, of which a hash is kept. What is no more where it was is of
 * another program that runs under the same number: exec(2) leaves both that
 * and the time a process began.
 */
#pragma once

#include "bucket_read.h"

struct reading_head {
	uint32_t type; /* enum buckets_type */
	uint32_t nprocesses;
	int64_t mono_ns, wall_ms; /* when it was */
	uint64_t cycles;          /* bucket_cycles() then */
	int64_t known_ns;         /* CLOCK_BOOTTIME: when it was told of all
	                           * processes; who began later is new */
};

struct reading_process {
	uint64_t began_ns; /* CLOCK_BOOTTIME; with pid, who it is */
	int32_t pid;
	uint32_t n; /* rows */
};

struct reading_row {
	uint64_t addr;
	uint64_t stack; /* hash of it */
	uint64_t count; /* of memory: allocations; else bits of a double */
	uint64_t cycles;
};

/* One process of a reading; NULL: it is not in there. */
struct reading_part {
	const struct reading_process *process;
	const struct reading_row *rows;
};

/* Starts one, of now, into an empty buffer. */
void reading_begin(struct buf *out, enum buckets_type type, uint32_t known_ms);
/*
 * Adds a process.
 *   Errors   -EFBIG past READING_MAX_BYTES, -ENOMEM
 */
MUST_CHECK int reading_add(struct buf *out, int32_t pid, uint64_t began_ns,
                           const struct go_buckets *b);
/* Adds one as an earlier reading has it; errors as above. */
MUST_CHECK int reading_keep(struct buf *out, const struct reading_part *part);

/*
 * Looks through one, of which nothing is believed.
 *   Shape    p: aligned as malloc() does, and there as long as *out is used
 *   Errors   -EBADMSG it is none, or of another type
 */
MUST_CHECK int reading_check(const void *p, size_t n, enum buckets_type type,
                             const struct reading_head **out);
/* The i-th process of one that was checked. */
struct reading_part reading_part(const struct reading_head *h, uint32_t i);
/* The same by who it is. */
struct reading_part
reading_find(const struct reading_head *h, int32_t pid, uint64_t began_ns);

/*
 * Puts the rows of a process's last reading before those of now.
 *
 * A count that is less than it was had been caught while the runtime moved
 * it: now gets what it was, so that the difference is made up for later, and
 * nothing is told twice. Where most are less, or a bucket is gone, another
 * program runs there.
 *
 *   Shape    *before is empty; go_buckets_done() it, also on failure
 *            *same: false: of another program, and *before stays empty
 *   Errors   -ENOMEM, -EBADMSG rows that can't be
 */
MUST_CHECK int
reading_compare(const struct reading_part *last, enum buckets_type type,
                struct go_buckets *now, struct go_buckets *before, bool *same);
