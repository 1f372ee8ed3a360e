/* What the colour of a node tells, in every view of a diff. */
#pragma once

#include "profile/diff.h"

/* Changes that chance makes of nothing in one of 20. */
#define DIFF_SURE 1.96

enum diff_kind { DIFF_SAME, DIFF_MORE, DIFF_LESS, DIFF_NEW, DIFF_GONE };

struct diff_mark {
	enum diff_kind kind;
	double strength; /* 0..1: of its colour */
};

/*
 * A new or gone node is called so whatever its size, and drawn the paler the
 * more likely it is chance: one sample against none is no news.
 */
struct diff_mark
diff_mark(const struct diff *d, uint32_t node, double dispersion);
