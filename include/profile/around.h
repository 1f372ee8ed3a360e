/*
 * The stacks around a function: what it calls, and what calls it.
 *
 * Both sides are profiles of one value, to make trees of: in callees each stack
 * begins with the function and goes inwards, in callers it begins with it and
 * goes outwards. Each occurrence of a function that calls itself is a stack,
 * so that these profiles may have more than total.
 */
#pragma once

#include "profile/profile.h"

#define AROUND_MAX_FRAMES (1u << 26) /* copied; bounds time */

struct around {
	struct profile *callers, *callees;
	int64_t total; /* of stacks with the function, each once */
	int64_t self;  /* of stacks that end in it */
};
#define CLEANUP_AROUND CLEANUP(around_done)
void around_done(struct around *a);

/*
 * Finds the stacks around a function in the values of a type.
 *
 *   Shape    name is as views show it (profile_frame_name()); both profiles
 *            are empty if no stack has it
 *   Owns     around_done(out)
 *   Errors   -ENOMEM, -E2BIG past AROUND_MAX_FRAMES, -EOVERFLOW when a sum
 *            leaves int64; *out untouched
 */
MUST_CHECK int around_new(const struct profile *p, uint32_t type,
                          const char *name, struct around *out);
