/*
 * Walks along the frames of a thread, and along the threads of a process. They
 * are compiled twice: for the programs in the kernel, where they follow the
 * frames of the thread that was interrupted, and for the worker, where they
 * follow those of a thread that stands still, or of a recorded process. In the
 * worker their file includes capture/host/memory.h, too.
 *
 * A language has one step of each walk; the loops are here. In the kernel a
 * step is part of a function that the verifier checks once, for any arguments:
 * an offset into a copy of memory must be a constant, or be checked in the step
 * itself.
 */
#pragma once

#include "interp_layout.h"

#include <stdbool.h>

struct memory; /* NULL in the kernel */

#ifdef __bpf__
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define WALK      static __always_inline
#define WALK_ONCE __noinline /* the verifier checks it once */
/* Leaves a step to apart_frame(): calls within some_frames() would need more
 * stack than the kernel allows. */
#define walk_apart(step) WALK_APART
/* Copies n bytes of the target's memory; false when they can't be read. */
#define walk_copy(m, to, n, from) \
	((void)(m), !bpf_probe_read_user(to, n, (const void *)(from)))
#else
#define WALK                      static inline
#define WALK_ONCE                 static inline
#define walk_apart(step)          ((enum walk_step)(step))
#define walk_copy(m, to, n, from) (!memory_copy(m, from, to, n))
#endif

/* Finds the innermost frame of a thread, by one hop, two or none. */
WALK bool
walk_first(const struct memory *m, const struct interp_slot *slot,
           uint64_t *frame)
{
	*frame = slot->head;
	if (slot->hop == INTERP_HERE)
		return true;
	if (!walk_copy(m, frame, sizeof(*frame), slot->head))
		return false;
	return !slot->hop ||
	       walk_copy(m, frame, sizeof(*frame), *frame + slot->hop - 1);
}

/* The thread that is looked for, or walked: what is not known is 0. */
struct walk_self {
	uint64_t pointer;             /* its thread pointer */
	uint64_t pc, sp, dx, bx, r14; /* where it was interrupted on x86-64 */
};

/* The state of a walk; at first all members but at and self are zero. */
struct walk_at {
	uint64_t at; /* what is looked at next: the innermost frame, or the
	                list's head */
	struct walk_self self;
	uint64_t next, end, own;     /* as the language uses them */
	uint32_t kind;               /* as the language uses it, too */
	const struct memory *memory; /* for a language's own functions */
	uint32_t steps;              /* of walk_find() that were taken */
};

enum walk_step {
	WALK_ON,    /* there is more to look at */
	WALK_KEPT,  /* a frame was set; there is more */
	WALK_END,   /* no more frames; or the thread was found, and at is its
	              slot's head */
	WALK_FAULT, /* some memory could not be read; or no such thread */
	WALK_APART  /* in the kernel: another function takes this step */
};

#define WALK_MAX_FIND 64 /* steps along the threads of a process */

/* Finds a thread by its number, and by what else is known about it, w->self;
 * sets out->head. The rest of *w is zero. */
WALK bool
walk_find_self(enum walk_step (*step)(const struct memory *m,
                                      const struct interp_list *list,
                                      uint64_t native, struct walk_at *w),
               const struct memory *m, const struct interp_list *list,
               uint64_t native, struct walk_at *w, struct interp_slot *out)
{
	enum walk_step rc = WALK_ON;

	w->at = list->head;
	for (uint32_t i = 0; i < WALK_MAX_FIND && rc == WALK_ON; i++) {
		rc = step(m, list, native, w);
		w->steps++;
	}
	out->head = w->at;
	return rc == WALK_END;
}

/* Like walk_find_self(), with a new state; self may be NULL. */
WALK bool
walk_find(enum walk_step (*step)(const struct memory *m,
                                 const struct interp_list *list,
                                 uint64_t native, struct walk_at *w),
          const struct memory *m, const struct interp_list *list,
          uint64_t native, const struct walk_self *self,
          struct interp_slot *out)
{
	struct walk_at w = {0};

	if (self)
		w.self = *self;
	return walk_find_self(step, m, list, native, &w, out);
}

/* Steps along the frames of a thread: not every one finds a frame. */
#define WALK_MAX_STEPS (4 * INTERP_MAX_FRAMES)

/* Follows the frames of a thread for some steps; sets n and frames. */
WALK enum walk_step
walk_some(enum walk_step (*step)(const struct memory *m,
                                 const struct interp_slot *slot,
                                 struct walk_at *w, struct interp_frame *to),
          const struct memory *m, const struct interp_slot *slot,
          struct walk_at *w, struct interp_stack *to, uint32_t steps)
{
	/* Volatile, so that it is read in each turn: the verifier does not
	 * track all values that it may have. */
	volatile uint32_t *n = &to->n;

	for (uint32_t i = 0; i < steps; i++) {
		uint64_t at = *n;
		enum walk_step rc;

		if (at >= INTERP_MAX_FRAMES)
			break;
		rc = step(m, slot, w, &to->frames[at]);
		if (rc == WALK_KEPT)
			*n = (uint32_t)at + 1;
		else if (rc != WALK_ON)
			return rc;
	}
	return WALK_ON;
}

WALK enum interp_end
walk_ended(enum walk_step rc)
{
	return rc == WALK_END     ? INTERP_ROOT
	       : rc == WALK_FAULT ? INTERP_FAULT
	                          : INTERP_FULL;
}

/* Follows the frames of a thread that stands still; self may be NULL. */
WALK enum interp_end
walk_frames(enum walk_step (*step)(const struct memory *m,
                                   const struct interp_slot *slot,
                                   struct walk_at *w, struct interp_frame *to),
            const struct memory *m, const struct interp_slot *slot,
            const struct walk_self *self, struct interp_stack *to)
{
	struct walk_at w = {.memory = m};

	if (self)
		w.self = *self;
	to->n = 0;
	if (!walk_first(m, slot, &w.at))
		return INTERP_FAULT;
	return walk_ended(walk_some(step, m, slot, &w, to, WALK_MAX_STEPS));
}

WALK uint64_t
walk_word(const uint8_t *copy, int offset)
{
	return *(const uint64_t *)(const void *)(copy + offset);
}
