#include "shown.h"

#include "profile/tree.h"

/* A tree has this many nodes for each node shown, to choose from, */
#define CHOICE 16
#define ROOM   (1u << 16) /* and at least this many */

uint32_t
shown_room(uint32_t most)
{
	uint32_t room = most < TREE_MAX_NODES / CHOICE ? most * CHOICE
	                                               : TREE_MAX_NODES;

	return room < ROOM ? ROOM : room;
}

int64_t
shown_least(int64_t *v, uint32_t n, uint32_t most)
{
	uint32_t lo = 0, hi = n;

	while (hi - lo > 1) {
		int64_t pivot = v[lo + (hi - lo) / 2];
		uint32_t above = lo, at = lo, below = hi;

		while (at < below) {
			int64_t x = v[at];

			if (x > pivot) {
				v[at++] = v[above];
				v[above++] = x;
			} else if (x < pivot) {
				v[at] = v[--below];
				v[below] = x;
			} else {
				at++;
			}
		}
		if (most <= above)
			hi = above;
		else if (most > below)
			lo = below;
		else
			return pivot;
	}
	return v[lo];
}
