/* What captures of one thing differ by. */
#pragma once

#include "profile/compare.h"

/*
 * Raises the spreads of functions to what the base and its others differ by,
 * and tells what their totals do.
 *   Errors   -ENOMEM
 */
MUST_CHECK int compare_others(struct comparison *c,
                              const struct compare_side *base, bool gauge);
