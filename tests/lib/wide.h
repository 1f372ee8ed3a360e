/*
 * A profile in which all stacks differ: the worst case for a comparison, an
 * export or an upload. Stacks of different seeds have no more in common than
 * those of one seed.
 */
#pragma once

#include "profile/profile.h"

#define WIDE_MAX_DEPTH 1000

/* Returns NULL when out of memory. */
struct profile *
wide_profile(uint64_t seed, unsigned stacks, unsigned depth, unsigned names);
