/*
 * What the ages of goroutines tell of those that have none.
 *
 * The runtime notes that a goroutine waits when the garbage collector comes
 * by, and forgets it when the goroutine goes on. So an age b anywhere in the
 * profile says that it collected then, and whoever is younger, or has no age,
 * has begun to wait after that.
 * Source: markroot() of runtime/mgcmark.go, Go 1.19 to 1.27.
 */
#include "analysis_private.h"

#include <errno.h>

/* A collection that is younger may not have come by everywhere yet. */
#define COLLECTED_S 1

static int
by_age(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int
wait_ages_init(const struct groups *g, struct wait_ages *out)
{
	struct wait_ages ages = {.s = calloc(g->n + 1, sizeof(*ages.s))};

	if (!ages.s)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n; i++)
		if (g->items[i].age_s >= COLLECTED_S)
			ages.s[ages.n++] = g->items[i].age_s;
	if (ages.n)
		qsort(ages.s, ages.n, sizeof(*ages.s), by_age);
	*out = ages;
	return 0;
}

void
wait_ages_done(struct wait_ages *ages)
{
	free(ages->s);
	*ages = (struct wait_ages){0};
}

bool
wait_ages_below(const struct wait_ages *ages, const struct group *x,
                int64_t limit_s)
{
	uint32_t low = 0, high = ages->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (ages->s[mid] <= x->age_s)
			low = mid + 1;
		else
			high = mid;
	}
	return low < ages->n && ages->s[low] < limit_s; /* whole seconds */
}
