#include "profile/tree.h"

#include <errno.h>
#include <string.h>

struct tally {
	int64_t self, total, samples;
	uint32_t end;  /* end of the outermost open node with this name */
	uint32_t seen; /* nodes seen */
};

/* Adds the totals of nodes by name. The total of a node below one of the same
 * name is included in that one's, and is not added. */
static void
tally_nodes(const struct tree *t, struct tally *tallies)
{
	for (uint32_t i = 1; i < t->n; i++) {
		struct tally *y = &tallies[t->name[i]];

		y->seen++;
		y->self += t->self[i];
		y->samples += t->samples[i];
		if (i < y->end)
			continue;
		y->end = t->end[i];
		y->total += t->total[i];
	}
}

static int
by_self(const void *a, const void *b, void *tree)
{
	const struct top_entry *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(tree_name(tree, x->name, NULL),
	              tree_name(tree, y->name, NULL));
}

int
tree_top(const struct tree *t, uint32_t max, struct top_entry **out,
         uint32_t *n)
{
	uint32_t nnames = strings_count(t->names), found = 0;
	CLEANUP_FREE struct tally *tallies = calloc(nnames, sizeof(*tallies));
	CLEANUP_FREE struct top_entry *top = calloc(nnames, sizeof(*top));

	if (!tallies || !top)
		return -ENOMEM;
	tally_nodes(t, tallies);
	for (uint32_t i = 0; i < nnames; i++)
		if (tallies[i].seen)
			top[found++] = (struct top_entry){i, tallies[i].self,
			                                  tallies[i].total,
			                                  tallies[i].samples};
	qsort_r(top, found, sizeof(*top), by_self, (void *)t);
	*n = max && found > max ? max : found;
	*out = TAKE(top);
	return 0;
}
