/* How far chance moves costs: the variance of each function's cost, within a
 * capture and between captures. */
#pragma once

#include "profile/compare.h"

/* Gives all functions one dispersion. */
void compare_spread_evenly(struct comparison *c, double dispersion);
/* Sets dispersion, method, blocks and totals of c, and share and pace of every
 * cost. scratch has room for all functions. */
void compare_spread(struct comparison *c, const struct compare_side *base,
                    const struct compare_side *now, double *scratch);
/*
 * Raises the spreads of functions by the differences between the base and its
 * other captures, and sets the spreads of totals. names has the functions'
 * names, by row.
 *   Errors   -ENOMEM, -E2BIG as in strings_add()
 */
MUST_CHECK int compare_others(struct comparison *c, struct strings *names,
                              const struct compare_side *base, bool gauge);
/* Numbers functions by name, from 0, with the same numbers for all trees: at
 * most STRINGS_AT_ONCE of list[n], beginning at `from`. Returns how many, or
 * -errno. */
MUST_CHECK int compare_rows(struct strings *names, const struct tree *t,
                            const struct top_entry *list, uint32_t from,
                            uint32_t n, uint32_t out[static STRINGS_AT_ONCE]);
