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
tree_costs(const struct tree *t, struct top_entry **out, uint32_t *n)
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
	*n = found;
	*out = TAKE(top);
	return 0;
}

int
tree_top(const struct tree *t, uint32_t max, struct top_entry **out,
         uint32_t *n)
{
	int rc = tree_costs(t, out, n);

	if (rc)
		return rc;
	qsort_r(*out, *n, sizeof(**out), by_self, (void *)t);
	*n = max && *n > max ? max : *n;
	return 0;
}

/* --- a frame by its path -------------------------------------------------- */

/* True if the n bytes of a path are the name of a node. */
static bool
is_named_so(const struct tree *t, uint32_t node, const char *text, size_t n)
{
	size_t len;
	const char *name = tree_name(t, t->name[node], &len);

	for (size_t i = 0; len == n && i < n; i++)
		if (text[i] != (name[i] == ';' ? ':' : name[i]))
			return false;
	return len == n;
}

/* True if the path to a node, its ancestors by depth, ends with the names in
 * the text. */
static bool
ends_so(const struct tree *t, const uint32_t *above, uint32_t depth,
        const char *path)
{
	size_t end = strlen(path), at;

	for (;; end = at - 1, depth--) {
		at = end;
		while (at && path[at - 1] != ';')
			at--;
		if (!depth ||
		    !is_named_so(t, above[depth], path + at, end - at))
			return false;
		if (!at)
			return true;
	}
}

int
tree_find(const struct tree *t, const char *path, uint32_t *out)
{
	CLEANUP_FREE uint32_t *above = NULL;
	uint32_t deepest = 0, best = 0;

	for (uint32_t i = 0; i < t->n; i++)
		deepest = t->depth[i] > deepest ? t->depth[i] : deepest;
	above = calloc((size_t)deepest + 1, sizeof(*above));
	if (!above)
		return -ENOMEM;
	for (uint32_t i = 1; i < t->n; i++) {
		above[t->depth[i]] = i;
		if ((!best || t->total[i] > t->total[best]) &&
		    ends_so(t, above, t->depth[i], path))
			best = i;
	}
	if (!best)
		return -ENOENT;
	*out = best;
	return 0;
}
