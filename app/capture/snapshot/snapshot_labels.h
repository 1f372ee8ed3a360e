/*
 * Labels of a thread in a snapshot, beside its stack.
 */
#pragma once

#include "capture/threads/snapshot_batch.h"
#include "profile/profile.h"

enum snapshot_label {
#define SNAPSHOT_LABEL(id, key, doc) SNAPSHOT_##id,
#include "snapshot.def"
#undef SNAPSHOT_LABEL
	SNAPSHOT_LABELS
};

/*
 * Finds the labels; unknown ones are left out.
 *
 *   Shape    stack[n] are its locations in p, leaf first; whole: the stack
 *            reaches the thread's start; *nout is set
 *   Errors   of profile_string()
 */
MUST_CHECK int
snapshot_labels(struct profile *p, const struct snapshot_batch *b, size_t i,
                const uint32_t *stack, uint32_t n, bool whole,
                struct label out[SNAPSHOT_LABELS], uint32_t *nout);
/* Finds the labels of a task that waits without a thread. */
MUST_CHECK int
snapshot_task_labels(struct profile *p, struct label out[SNAPSHOT_LABELS],
                     uint32_t *nout);
