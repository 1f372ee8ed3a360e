/*
 * Adds buckets as rows of a profile.
 */
#pragma once

#include "bucket_read.h"
#include "bucket_stack.h"
#include "capture/goroutines/goroutine_frames.h"

/* Cycles of the processor and time that passed between two looks. */
struct go_elapsed {
	uint64_t cycles, ns;
	uint64_t now; /* the count at the second look */
};

struct bucket_rows {
	enum profile_type_id type;
	const struct go_profiles *from;
	int64_t rate; /* sampling rate of the profile */
	struct go_elapsed elapsed;
	struct bucket_stacks stacks;
	struct go_frames frames;
	struct profile *p;
	struct quality *q;
};

/* True for the types that count objects and bytes. */
bool bucket_of_memory(enum profile_type_id type);
void bucket_rows_done(struct bucket_rows *r);
/*
 * Adds the counts in after, less those in before.
 *
 *   Shape    before belongs to the same process; empty: add everything
 *   Errors   as profile_sample()
 */
MUST_CHECK int bucket_rows_add(struct bucket_rows *r, struct go_buckets *before,
                               const struct go_buckets *after);
/* Returns the current count of cycles. */
uint64_t bucket_cycles(void);
