/* Finds the nodes of a diff that have certainly changed: see diff.h. */
#pragma once

#include "profile/diff.h"

/* The nodes of the sides that each node was made from, or COMPARE_NO_NODE. */
struct diff_origin {
	uint32_t *base, *now;
};

/* Sets d->sure, which must be zeroed, of an otherwise complete diff. Returns
 * 0, or -ENOMEM, -E2BIG as strings_add(). */
MUST_CHECK int
diff_sure(struct diff *d, const struct diff_origin *from,
          const struct compare_side *base, const struct compare_side *now,
          const struct comparison *c);
