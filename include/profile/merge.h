/*
 * Merges profiles into one: values of equal stacks are added.
 *
 *	merge_new(max_bytes, &m)
 *	merge_add(m, p), or merge_add_file(m, file, n, ...)	each input
 *	merge_end(m, &p), or merge_encode(m, &file)
 *
 * Only one input is in memory at a time. Mappings are the same code if build-id
 * (path, if there is none), offset and size are equal, so that stacks of
 * processes that map the code at different addresses are merged. The first
 * input determines the default type and the frames to drop. The result has the
 * earliest start, the sum of the durations and the longest period.
 *
 * Source: profile/merge.go of github.com/google/pprof.
 */
#pragma once

#include "profile/packed.h"
#include "profile/types.h"

struct merge;

/* Makes an empty merge whose rows may take max_bytes. Returns 0 or -ENOMEM. */
MUST_CHECK int merge_new(size_t max_bytes, struct merge **out);
void merge_free(struct merge *m);
DEFINE_CLEANUP(struct merge *, merge_free)
#define CLEANUP_MERGE CLEANUP(merge_free_ptr)

/*
 * Adds this label to all samples that are added from now on; a NULL key ends
 * this.
 *   Errors   -ENOMEM, -E2BIG
 */
MUST_CHECK int merge_label(struct merge *m, const char *key, const char *value);
/* Finds the lines of a place without a name in the merged profile, and adds
 * their functions to it. Returns their number, at most PROFILE_MAX_LINES, or
 * -errno. */
typedef int merge_names(void *arg, struct profile *p, uint32_t mapping,
                        uint64_t address, struct line *out);
/* From now on, asks for names of frames that have none. */
void merge_name_by(struct merge *m, merge_names *fn, void *arg);
/* Leaves out labels that are profile_label_is_id() from now on: many samples
 * then have the same labels, and are one. */
void merge_forget_ids(struct merge *m);
/*
 * Adds a profile, which the caller keeps.
 *
 *   Errors   -EINVAL its value types differ from those of the first; -EOVERFLOW
 *            a sum leaves int64; -E2BIG past max_bytes; -ENOMEM. After an error
 *            the merge may hold part of p and can only be freed
 */
MUST_CHECK int merge_add(struct merge *m, const struct profile *p);
MUST_CHECK int merge_add_packed(struct merge *m, const struct packed *k);
/* Adds the profile in a file. Errors are those of merge_add() and
 * packed_decode(). */
MUST_CHECK int merge_add_file(struct merge *m, const void *p, size_t n,
                              size_t max_raw, struct buf *why);
/* From now on, remembers the values of files that are added, for
 * merge_encode(). A counted file without its base is then one more part, made
 * of samples of the last file that was not counted, which includes it. */
void merge_keep_parts(struct merge *m);
/* Appends the merged profile as a packed file; after merge_keep_parts(), as a
 * bundle with each file that was added, as counts of its stacks
 * (base/counted.h). Errors are those of packed_encode(), and -ENODATA if
 * nothing was added. */
MUST_CHECK int merge_encode(const struct merge *m, struct buf *out);
/*
 * Returns the merged profile; m can only be freed afterwards.
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -ENODATA nothing was added; -E2BIG past max_bytes; -ENOMEM
 */
MUST_CHECK int merge_end(struct merge *m, struct profile **out);

/*
 * Multiplies every value of a profile by mul / div, rounding to the nearest;
 * turns sums of a gauge into means.
 *   Shape    mul > 0, div > 0
 *   Errors   -EOVERFLOW; the values are then undefined
 */
MUST_CHECK int profile_scale(struct profile *p, int64_t mul, int64_t div);
/*
 * Removes all values of a profile but the one that its type shows, which gets
 * the type's name for it. The period becomes the value of one sample, so that
 * samples can still be counted.
 *   Errors   -ENODATA it has no such value; -ENOMEM
 */
MUST_CHECK int profile_reduce(struct profile *p, const struct type *t);
