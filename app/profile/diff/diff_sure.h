/* Which nodes of a diff changed by more than chance: see diff.h. */
#pragma once

#include "profile/diff.h"

/* Nodes of the sides that each node was made of; COMPARE_NO_NODE: it has none.
 */
struct diff_origin {
	uint32_t *base, *now;
};

/* Fills d->sure, which is zeroed, of a diff that is otherwise whole;
 * -ENOMEM, -E2BIG as strings_add(). */
MUST_CHECK int
diff_sure(struct diff *d, const struct diff_origin *from,
          const struct compare_side *base, const struct compare_side *now,
          const struct comparison *c);
