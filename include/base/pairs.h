/*
 * Interned pairs of integers, numbered from 0 in order of first sight.
 *
 * A pair is found by its hash. The rows lie in one array, so that a caller's
 * own arrays can be indexed by the same numbers. A zeroed struct pairs whose
 * max is set is empty.
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
	uint32_t *slots; /* row + 1; 0 free */
	uint32_t n, cap, max;
};

/*
 * Returns the number of a pair, which is added if it is new.
 *   Errors   -ENOMEM, -E2BIG past p->max; *out untouched
 */
MUST_CHECK int
pairs_intern(struct pairs *p, uint32_t a, uint64_t b, uint32_t *out);
void pairs_done(struct pairs *p);
