#include "near.h"

#include "text.h"

#include <string.h>

#define LENGTH_MAX 32 /* longer words are not compared */

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Returns the number of edits: a letter inserted, deleted, changed or swapped
 * with the next one. Source: optimal string alignment, a variant of the
 * Damerau-Levenshtein distance.
 */
static size_t
distance(const char *a, const char *b)
{
	size_t d[LENGTH_MAX + 1][LENGTH_MAX + 1];
	size_t na = strlen(a), nb = strlen(b);

	for (size_t i = 0; i <= na; i++)
		d[i][0] = i;
	for (size_t k = 0; k <= nb; k++)
		d[0][k] = k;
	for (size_t i = 1; i <= na; i++)
		for (size_t k = 1; k <= nb; k++) {
			size_t change = a[i - 1] != b[k - 1];

			d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1,
			                d[i - 1][k - 1] + change);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
		}
	return d[na][nb];
}

void
near_try(struct near *n, const char *candidate)
{
	size_t length = strlen(n->word), d;

	if (!length || length > LENGTH_MAX || strlen(candidate) > LENGTH_MAX)
		return;
	d = distance(n->word, candidate);
	if (!d) /* the word is correct: something else is wrong */
		return;
	if (length > 1 && !strncmp(n->word, candidate, length))
		d = 1; /* the rest is missing */
	if (d > (length < 4 ? 1 : length / 3) || (n->best && d >= n->distance))
		return;
	n->best = candidate;
	n->distance = d;
}

void
near_show(const struct near *n, struct buf *out)
{
	if (!n->best)
		return;
	buf_puts(out, "\n  did you mean ");
	safe_puts(out, n->best);
	buf_puts(out, "?");
}
