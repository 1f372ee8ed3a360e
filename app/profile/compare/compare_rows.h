/* The functions of two trees, side by side. */
#pragma once

#include "profile/compare.h"

/* The cost of one function on a side. */
struct compare_cost compare_cost(const struct compare_side *side,
                                 const struct top_entry *e, bool gauge);
/* Fills functions, n and both counts of samples; -ENOMEM. */
MUST_CHECK int
compare_rows(struct comparison *c, const struct compare_side *base,
             const struct compare_side *now, bool gauge);
/* Fills cost of all functions, the base's being `before` in all. */
void compare_costs(struct comparison *c, double before);
