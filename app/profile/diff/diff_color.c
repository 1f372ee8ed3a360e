#include "diff_color.h"

#include <math.h>

#define PALE  0.25 /* of a new or gone node that may be chance */
#define LEAST 0.5  /* of the smallest change that is sure */
#define FULL  1.0  /* doublings, or halvings, that have the full colour */

struct diff_mark
diff_mark(const struct diff *d, uint32_t node)
{
	double before = diff_base(d, node);
	double after = (double)d->tree->total[node];
	bool sure = d->sure[node];
	double steps;

	if (before == 0 && after != 0)
		return (struct diff_mark){DIFF_NEW, sure ? 1 : PALE};
	if (after == 0 && before != 0)
		return (struct diff_mark){DIFF_GONE, sure ? 1 : PALE};
	if (!sure || before <= 0 || after <= 0)
		return (struct diff_mark){DIFF_SAME, 0};
	steps = fmin(fabs(log2(after / before)) / FULL, 1);
	return (struct diff_mark){after > before ? DIFF_MORE : DIFF_LESS,
	                          LEAST + (1 - LEAST) * steps};
}
