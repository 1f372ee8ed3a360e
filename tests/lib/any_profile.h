/*
 * A profile of random rows, some of them equal: any field may be 0, and any at
 * the end of its range. The same seed makes the same.
 */
#pragma once

#include "profile/profile.h"

struct profile *any_profile(unsigned seed);
