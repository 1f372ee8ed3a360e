/* What the colour of a node tells, in every view of a diff. */
#pragma once

#include "profile/diff.h"

enum diff_kind { DIFF_SAME, DIFF_MORE, DIFF_LESS, DIFF_NEW, DIFF_GONE };

struct diff_mark {
	enum diff_kind kind;
	double strength; /* 0..1: of its colour */
};

/*
 * A new or gone node is called so whatever its size, and is pale unless the
 * change is sure: one sample against none is no news.
 */
struct diff_mark diff_mark(const struct diff *d, uint32_t node);
