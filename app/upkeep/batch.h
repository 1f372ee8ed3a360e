/*
 * Rollups of windows, a batch at a time: what the worker and the keeper share.
 *
 * batch_next() chooses windows to add up. The caller has their profiles added
 * up by a process without privileges, and batch_store() stores the sums. A
 * batch that is lost before then is chosen again.
 */
#pragma once

#include "store/window.h"

#define BATCH_MAX 64

/*
 * The windows of one level that become one window of the next. Windows that
 * are kept as counts of a minute's stacks follow the minute in the group of
 * its hour.
 */
struct batch_group {
	struct window_list windows;
	struct window_ask sum;
	bool has_parts; /* windows are then kept as counts of the sum's stacks */
	struct window_ask *counted; /* by window; NULL: they stay as they are */
	struct window made; /* the hour, made earlier, that the sum replaces */
};

struct batch {
	size_t n;
	struct batch_group groups[BATCH_MAX];
};

/* Appends the sum of a group's profiles. If it has parts, the sum is a bundle
 * (base/counted.h) of all profiles that batch_profile() appended. -EBADMSG:
 * they cannot be added up, now or later; -EAGAIN: they were not reached; other
 * errors end the batch. */
typedef int batch_sum(void *arg, size_t group, struct buf *out);

#define CLEANUP_BATCH CLEANUP(batch_free_ptr)
void batch_free(struct batch *b);
DEFINE_CLEANUP(struct batch *, batch_free)
/* Chooses the windows of the finest level at which rollups are due, without
 * those to which others may still be added at now_ms; if none is due, an hour
 * that was made before its minutes became counts. -ENOENT if there is
 * neither. */
MUST_CHECK int batch_next(struct store *s, int64_t now_ms, struct batch **out);
/* Appends the profile of a window of a group: nothing if the window has no
 * samples or, with a warning, if the profile is missing or damaged. Windows
 * that are counts of a minute's stacks are not read without the minute. */
MUST_CHECK int batch_profile(const struct store *s, struct window_list *l,
                             size_t i, struct buf *out);
/*
 * Stores the sums of all groups in one transaction. A group that cannot be
 * added up gets a sum without bytes, since later sums would wait for it.
 *   Errors   -ESTALE if a window was added meanwhile; -errno; nothing is stored
 */
MUST_CHECK int
batch_store(struct store *s, struct batch *b, batch_sum *sum, void *arg);
