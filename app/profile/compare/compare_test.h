/* Which functions moved by more than chance. */
#pragma once

#include "profile/compare.h"

/* Fills p, change and the numbers of tests and changes; scratch has room for
 * all functions. */
void compare_test(struct comparison *c, double *scratch);
/* How far a function moved, in percent of all cost. */
double
compare_size(const struct comparison *c, const struct compare_function *f);
