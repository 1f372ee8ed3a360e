#include "diff_color.h"

#include <math.h>

#define PALE 0.35 /* of a change just beyond chance, or a new node within */
#define FULL 1.0  /* doublings, or halvings, that have the full colour */

struct diff_mark
diff_mark(const struct diff *d, uint32_t node, double dispersion)
{
	double before = diff_base(d, node), delta = diff_delta(d, node);
	double after = (double)d->tree->total[node];
	bool sure = fabs(diff_z(d, node, dispersion)) >= DIFF_SURE;
	double steps;

	if (before == 0 && after != 0)
		return (struct diff_mark){DIFF_NEW, sure ? 1 : PALE};
	if (after == 0 && before != 0)
		return (struct diff_mark){DIFF_GONE, sure ? 1 : PALE};
	if (!sure || before <= 0 || after <= 0)
		return (struct diff_mark){DIFF_SAME, 0};
	steps = fmin(fabs(log2(after / before)) / FULL, 1);
	return (struct diff_mark){delta > 0 ? DIFF_MORE : DIFF_LESS,
	                          PALE + (1 - PALE) * steps};
}
