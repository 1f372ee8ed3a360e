/* The functions of two trees, side by side. */
#pragma once

#include "profile/compare.h"

/* Fills functions, n and both counts of samples; -ENOMEM. */
MUST_CHECK int
compare_rows(struct comparison *c, const struct compare_side *base,
             const struct compare_side *now, bool gauge);
