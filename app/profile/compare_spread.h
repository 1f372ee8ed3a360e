/* What chance makes of counts: the variance of each function's. */
#pragma once

#include "profile/compare.h"

/* Fills dispersion, method, blocks and totals of c, and share and pace of
 * every cost; scratch has room for all functions. */
void compare_spread(struct comparison *c, const struct compare_side *base,
                    const struct compare_side *now, double *scratch);
