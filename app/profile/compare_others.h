/* What captures of one thing differ by. */
#pragma once

#include "profile/compare.h"

/*
 * Raises the spreads of functions to what the base and its others differ by.
 *   Errors   -ENOMEM
 */
MUST_CHECK int
compare_others(struct comparison *c, const struct compare_side *base);
