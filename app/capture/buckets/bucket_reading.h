/*
 * A reading: the counts of buckets at one look, as bytes that outlive the
 * process that took the look. The next look yields the increase since, and a
 * new reading: windows follow each other without a gap, and no process has to
 * wait in between.
 *
 *	struct reading_head
 *	per process: struct reading_process, then its rows
 *
 * A reading has no stacks: the runtime never frees a bucket, so the address
 * stands for the stack, and a hash is kept to check it. If a bucket is gone,
 * the process runs another program: exec(2) keeps both pid and start time.
 */
#pragma once

#include "bucket_read.h"

struct reading_head {
	uint32_t type; /* enum profile_type_id */
	uint32_t nprocesses;
	int64_t mono_ns, wall_ms; /* the time of the look */
	uint64_t cycles;          /* bucket_cycles() at that time */
	int64_t known_ns;         /* CLOCK_BOOTTIME: when all processes were
	                             known; one that started later is new */
};

struct reading_process {
	uint64_t began_ns; /* CLOCK_BOOTTIME; identifies the process, with
	                      pid */
	int32_t pid;
	uint32_t n; /* rows */
};

struct reading_row {
	uint64_t addr;
	uint64_t stack; /* hash of the stack */
	uint64_t count; /* allocations of memory, or else the bits of a
	                   double */
	uint64_t cycles;
};

/* One process of a reading; process NULL: not in the reading. */
struct reading_part {
	const struct reading_process *process;
	const struct reading_row *rows;
};

/* Starts a reading of this moment in an empty buffer. */
void
reading_begin(struct buf *out, enum profile_type_id type, uint32_t known_ms);
/*
 * Adds a process.
 *   Errors   -EFBIG past READING_MAX_BYTES, -ENOMEM
 */
MUST_CHECK int reading_add(struct buf *out, int32_t pid, uint64_t began_ns,
                           const struct go_buckets *b);
/* Copies a process from an earlier reading. Errors as reading_add() */
MUST_CHECK int reading_keep(struct buf *out, const struct reading_part *part);

/*
 * Checks a reading, which is not trusted.
 *   Shape    p is aligned as by malloc(), and must stay while *out is used
 *   Errors   -EBADMSG malformed, or of another type
 */
MUST_CHECK int reading_check(const void *p, size_t n, enum profile_type_id type,
                             const struct reading_head **out);
/* Returns the i-th process of a reading that was checked. */
struct reading_part reading_part(const struct reading_head *h, uint32_t i);
/* Finds a process by pid and start time. */
struct reading_part
reading_find(const struct reading_head *h, int32_t pid, uint64_t began_ns);

/*
 * Compares the last reading of a process with its buckets now.
 *
 * A count that went down had been read while the runtime moved it: now gets the
 * earlier count, so that no event is counted twice. When most counts went down,
 * or a bucket is gone, the process runs another program.
 *
 *   Shape    *before is empty; go_buckets_done() it, also on failure; *same is
 *            false for another program; *before then stays empty
 *   Errors   -ENOMEM, -EBADMSG malformed rows
 */
MUST_CHECK int
reading_compare(const struct reading_part *last, enum profile_type_id type,
                struct go_buckets *now, struct go_buckets *before, bool *same);
