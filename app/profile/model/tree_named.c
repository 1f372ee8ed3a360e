#include "profile/tree.h"
#include "strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns a set of bits, one for each listed name that equals a function's or
 * its package's. */
static uint32_t
set_of(const struct tree *t, uint32_t function, const struct named_cost *all,
       size_t n)
{
	const char *name = tree_name(t, function, NULL);
	const char *package = tree_package(t, function, NULL);
	uint32_t set = 0;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].name, name) || !strcmp(all[i].name, package))
			set |= UINT32_C(1) << i;
	return set;
}

/* Adds the own cost of a node to the names in its stack: the names of its
 * function are in `leaf`, too. */
static void
add(struct named_cost *all, uint32_t within, uint32_t leaf, int64_t self)
{
	for (; within; within &= within - 1) {
		int i = __builtin_ctz(within);

		all[i].total += self;
		if (leaf >> i & 1)
			all[i].self += self;
	}
}

int
tree_named_cost(const struct tree *t, struct named_cost *all, size_t n)
{
	uint32_t count = strings_count(t->names);
	/* The sets of functions, by their names, and of stacks, by depth. */
	CLEANUP_FREE uint32_t *sets = calloc((size_t)count + 1, sizeof(*sets));
	CLEANUP_FREE uint32_t *within =
		calloc((size_t)t->n + 1, sizeof(*within));

	if (!sets || !within)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		all[i].self = all[i].total = 0;
	for (uint32_t i = 0; i < count; i++)
		sets[i] = set_of(t, i, all, n);
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t depth = t->depth[i], leaf = sets[t->name[i]];

		within[depth] = within[depth - 1] | leaf;
		add(all, within[depth], leaf, t->self[i]);
	}
	return 0;
}
