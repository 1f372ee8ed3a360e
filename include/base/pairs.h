/*
 * Interned pairs of integers, numbered from 0 in the order in which they are
 * added.
 *
 * The rows are one array, so that a caller can keep parallel arrays indexed by
 * the same numbers. A zeroed struct pairs with max set is an empty one.
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

#define PAIRS_MAX (1u << 22) /* upper bound of max */

struct pairs {
	struct pair {
		uint32_t a;
		uint64_t b;
	} * rows;
	uint32_t *slots; /* row + 1; 0 if free */
	uint32_t n, cap, max;
};

/*
 * Returns the number of a pair; adds the pair if it is new.
 *   Errors   -ENOMEM, -E2BIG past p->max; *out untouched
 */
MUST_CHECK int
pairs_intern(struct pairs *p, uint32_t a, uint64_t b, uint32_t *out);
void pairs_done(struct pairs *p);
