/*
 * A profile of random rows, some of them equal. Any field may be 0 or the
 * largest value. The same seed makes the same profile.
 */
#pragma once

#include "profile/profile.h"

struct profile *any_profile(unsigned seed);
