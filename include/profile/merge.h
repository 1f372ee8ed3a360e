/*
 * Merges many profiles into one: values of equal stacks add up, exactly.
 *
 *	merge_new(max_bytes, &m)
 *	merge_add(m, p), or merge_add_file(m, file, n, ...)	each input
 *	merge_end(m, &p), or merge_encode(m, &file)
 *
 * One input is in memory at a time. Two mappings are the same code when
 * build-id (or path, where there is none), offset and size are equal: stacks of
 * processes that map the code at different addresses are merged. The first
 * input decides the default type and the frames to drop. The start is the
 * earliest, durations are added, and the period is the longest.
 *
 * Source: profile/merge.go of github.com/google/pprof.
 */
#pragma once

#include "profile/packed.h"

struct merge;

/* Makes an empty merge, whose rows may take max_bytes. Returns -ENOMEM. */
MUST_CHECK int merge_new(size_t max_bytes, struct merge **out);
void merge_free(struct merge *m);
DEFINE_CLEANUP(struct merge *, merge_free)
#define CLEANUP_MERGE CLEANUP(merge_free_ptr)

/*
 * Gives samples that are added from now on this label as well; a NULL key ends
 * that.
 *   Errors   -ENOMEM, -E2BIG
 */
MUST_CHECK int merge_label(struct merge *m, const char *key, const char *value);
/*
 * Adds one more profile; p stays the caller's.
 *
 *   Errors   -EINVAL its value types are not those of the first; -EOVERFLOW a
 *            sum leaves int64; -E2BIG past max_bytes; -ENOMEM. The merge can
 *            then only be freed, since it may hold some of p
 */
MUST_CHECK int merge_add(struct merge *m, const struct profile *p);
MUST_CHECK int merge_add_packed(struct merge *m, const struct packed *k);
/* Adds the profile in a file. Errors as merge_add() and packed_decode() */
MUST_CHECK int merge_add_file(struct merge *m, const void *p, size_t n,
                              size_t max_raw, struct buf *why);
/* Appends the merged profile as a packed file. Errors as packed_encode(), and
 * -ENODATA */
MUST_CHECK int merge_encode(const struct merge *m, struct buf *out);
/*
 * Hands over the merged profile; m can only be freed afterwards.
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -ENODATA nothing was added; -E2BIG past max_bytes; -ENOMEM
 */
MUST_CHECK int merge_end(struct merge *m, struct profile **out);

/*
 * Multiplies every value of a profile by mul / div, rounded to the nearest:
 * sums of a gauge become means.
 *   Shape    mul and div above 0
 *   Errors   -EOVERFLOW; the values are then undefined
 */
MUST_CHECK int profile_scale(struct profile *p, int64_t mul, int64_t div);
