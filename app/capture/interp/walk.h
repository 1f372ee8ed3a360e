/*
 * The parts of a walk along the frames of a thread. A walk is compiled twice:
 * for the programs in the kernel, where it follows the frames of the thread
 * that was interrupted, and for the worker, where it follows those of a thread
 * that stands still, or of a recorded process. In the worker its file includes
 * capture/host/memory.h, too.
 *
 * In the kernel a walk is a loop with a fixed limit, and offsets are constants:
 * the verifier follows every path.
 */
#pragma once

#include "interp_ring.h"

#include <stdbool.h>

struct memory; /* NULL in the kernel */

#ifdef __bpf__
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define WALK static __always_inline
/* Copies n bytes of the target's memory; false when they can't be read. */
#define walk_copy(m, to, n, from) \
	((void)(m), !bpf_probe_read_user(to, n, (const void *)(from)))
#else
#define WALK                      static inline
#define walk_copy(m, to, n, from) (!memory_copy(m, from, to, n))
#endif

/* Finds the innermost frame of a thread, by one hop or two. */
WALK bool
walk_first(const struct memory *m, const struct interp_slot *slot,
           uint64_t *frame)
{
	if (!walk_copy(m, frame, sizeof(*frame), slot->head))
		return false;
	return !slot->hop ||
	       walk_copy(m, frame, sizeof(*frame), *frame + slot->hop - 1);
}

WALK uint64_t
walk_word(const uint8_t *copy, int offset)
{
	return *(const uint64_t *)(const void *)(copy + offset);
}
