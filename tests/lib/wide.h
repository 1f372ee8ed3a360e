/*
 * A profile in which no two stacks are alike: the worst that a comparison, an
 * export and an upload can meet. Stacks of different seeds have no more in
 * common than those of one.
 */
#pragma once

#include "profile/profile.h"

#define WIDE_MAX_DEPTH 1000

/* Returns NULL when out of memory. */
struct profile *
wide_profile(uint64_t seed, unsigned stacks, unsigned depth, unsigned names);
