#include "compare/stack_diff.h"

#include <stdlib.h>

static int64_t
growth_of(const struct group *x)
{
	return x->count[1] - x->count[0];
}

enum stack_change
stack_change_of(const struct group *x)
{
	if (!growth_of(x))
		return STACK_CHANGES;
	if (growth_of(x) > 0)
		return x->count[0] ? STACK_GROWN : STACK_NEW;
	return x->count[1] ? STACK_SHRUNK : STACK_GONE;
}

static int
by_change(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int64_t dx = llabs(growth_of(x)), dy = llabs(growth_of(y));

	if (dx != dy)
		return dx < dy ? 1 : -1;
	return (x->frame0 > y->frame0) - (x->frame0 < y->frame0);
}

void
stack_diff_count(struct stack_diff *d)
{
	struct groups *g = d->groups;

	if (g->n)
		qsort(g->items, g->n, sizeof(*g->items), by_change);
	for (uint32_t i = 0; i < g->n; i++) {
		const struct group *x = &g->items[i];

		d->totals[stack_change_of(x)]++;
		d->growth += growth_of(x) > 0 ? growth_of(x) : 0;
	}
}
