/* What chance makes of counts: the variance of each function's. */
#pragma once

#include "profile/compare.h"

/* One dispersion for all functions. */
void compare_spread_evenly(struct comparison *c, double dispersion);
/* Fills dispersion, method, blocks and totals of c, and share and pace of
 * every cost; scratch has room for all functions. */
void compare_spread(struct comparison *c, const struct compare_side *base,
                    const struct compare_side *now, double *scratch);
