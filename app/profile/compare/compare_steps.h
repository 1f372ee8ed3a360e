/* Steps of a comparison that a diff takes with nodes in place of functions. */
#pragma once

#include "profile/compare.h"

/* The cost of one function on a side. */
struct compare_cost compare_cost(const struct compare_side *side,
                                 const struct top_entry *e, bool gauge);
/* Fills cost of all functions, the base's being `before` in all. */
void compare_costs(struct comparison *c, double before);
/* Fills p, change and the numbers of tests and changes; scratch has room for
 * all functions. */
void compare_test(struct comparison *c, double *scratch);
