/* How much chance moves counts: the variance of each function's, within a
 * capture and from capture to capture. */
#pragma once

#include "profile/compare.h"

/* Gives all functions one dispersion. */
void compare_spread_evenly(struct comparison *c, double dispersion);
/* Fills dispersion, method, blocks and totals of c, and share and pace of
 * every cost; scratch has room for all functions. */
void compare_spread(struct comparison *c, const struct compare_side *base,
                    const struct compare_side *now, double *scratch);
/*
 * Raises the spreads of functions to what the base and its others differ by,
 * and tells what their totals do. names: of the functions, by row.
 *   Errors   -ENOMEM, -E2BIG as strings_add()
 */
MUST_CHECK int compare_others(struct comparison *c, struct strings *names,
                              const struct compare_side *base, bool gauge);
/* Numbers the functions of all trees by their names, from 0 on. */
MUST_CHECK int compare_row(struct strings *names, const struct tree *t,
                           uint32_t name, uint32_t *out);
