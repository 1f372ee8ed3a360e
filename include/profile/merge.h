/*
 * Many profiles into one: values of equal stacks add up, exactly.
 *
 *	merge_new(max_bytes, &m)
 *	merge_add(m, p), or merge_add_file(m, file, n, ...)	each input
 *	merge_end(m, &p), or merge_encode(m, &file)
 *
 * One input is in memory at a time. A file of code is the same when its
 * build-id is (its path, where there is none), and offset and size: stacks of
 * processes that have it at different addresses meet. Of inputs that differ
 * in them, the first tells default type and frames to drop; times are the
 * earliest start and the sum of durations, the period is the longest.
 *
 * Source: profile/merge.go of github.com/google/pprof.
 */
#pragma once

#include "profile/packed.h"

struct merge;

/* max_bytes bounds what the merged rows take; -ENOMEM. */
MUST_CHECK int merge_new(size_t max_bytes, struct merge **out);
void merge_free(struct merge *m);
DEFINE_CLEANUP(struct merge *, merge_free)
#define CLEANUP_MERGE CLEANUP(merge_free_ptr)

/*
 * Samples that are added from now on have this label as well; NULL: none.
 *   Errors   -ENOMEM, -E2BIG
 */
MUST_CHECK int merge_label(struct merge *m, const char *key, const char *value);
/*
 * Adds one more; p is the caller's as before.
 *
 *   Errors   -EINVAL its value types are not those of the first; -EOVERFLOW
 *            a sum leaves int64; -E2BIG past max_bytes; -ENOMEM. What was
 *            merged is then of no use: some of p may be in it
 */
MUST_CHECK int merge_add(struct merge *m, const struct profile *p);
MUST_CHECK int merge_add_packed(struct merge *m, const struct packed *k);
/* Adds the profile in a file; the errors of packed_decode(), too. */
MUST_CHECK int merge_add_file(struct merge *m, const void *p, size_t n,
                              size_t max_raw, struct buf *why);
/* Appends what was merged as a packed file; -ENODATA, as packed_encode(). */
MUST_CHECK int merge_encode(const struct merge *m, struct buf *out);
/*
 * Hands over what was merged; m can only be freed then.
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -ENODATA nothing was added; -E2BIG past max_bytes; -ENOMEM
 */
MUST_CHECK int merge_end(struct merge *m, struct profile **out);

/*
 * Multiplies every value of a profile by mul / div, rounded to the nearest:
 * sums of a gauge become means.
 *   Shape    mul and div above 0
 *   Errors   -EOVERFLOW: values are then of no use
 */
MUST_CHECK int profile_scale(struct profile *p, int64_t mul, int64_t div);
