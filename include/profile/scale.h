/*
 * Values of a profile times a fraction: how sums of a gauge become means.
 */
#pragma once

#include "profile/profile.h"

/*
 * Multiplies every value by mul / div, rounded to the nearest.
 *   Shape    mul and div above 0
 *   Errors   -EOVERFLOW: values are then of no use
 */
MUST_CHECK int profile_scale(struct profile *p, int64_t mul, int64_t div);
