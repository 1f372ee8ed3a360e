/*
 * How often comparisons of captures of a loaded machine are wrong. One line per
 * pair on stdout: the numbers of the captures, the verdict, and the interval
 * and change of the total in percent.
 *
 *	loaded N RECORDING... [RECORDING...]
 *
 * where RECORDING is TIMELINE PROFILE: the first N recordings are compared
 * with each other, each later one after each earlier one, or with all of the
 * rest if there are any.
 */
#include "base/file.h"
#include "profile/compare.h"
#include "profile/pprof.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_BYTES ((size_t)256 << 20)
#define MAX_SIDES 512

struct side {
	struct profile *p;
	struct timeline *line;
	struct tree *functions, *stacks;
	struct blocks *blocks, *nodes;
};

static void
die(const char *why)
{
	fprintf(stderr, "loaded: %s\n", why);
	exit(1);
}

static struct blocks *
blocks_of(const struct tree *t, const struct timeline *line,
          enum blocks_what what)
{
	struct blocks *b = NULL;
	int rc = blocks_of_timeline(t, line, what, &b);

	if (rc && rc != -ENODATA)
		die("a capture has no blocks");
	return b;
}

static void
load(char **paths, struct side *out)
{
	CLEANUP_BUF struct buf line = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	uint32_t type;

	if (file_read(AT_FDCWD, paths[0], &line) ||
	    timeline_decode(line.p, line.len, MAX_BYTES, &out->line) ||
	    file_read(AT_FDCWD, paths[1], &bytes) ||
	    pprof_decode(bytes.p, bytes.len, MAX_BYTES, &out->p, &why))
		die("a recording can't be read");
	type = profile_type_index(out->p, NULL);
	if (tree_functions(out->p, type, &out->functions) ||
	    tree_new(out->p, type, &out->stacks))
		die("out of memory");
	out->blocks = blocks_of(out->functions, out->line, BLOCKS_OF_FUNCTIONS);
	out->nodes = blocks_of(out->stacks, out->line, BLOCKS_OF_NODES);
}

static struct compare_side
side_of(const struct side *s, const struct tree *t)
{
	return (struct compare_side){
		.tree = t,
		.seconds = (double)s->p->duration_ns / 1e9,
		.blocks = s->blocks,
		.nodes = s->nodes,
	};
}

static void
compare(const struct side *base, const struct side *now, int i, int k)
{
	CLEANUP_COMPARISON struct comparison *c = NULL;
	struct compare_side a = side_of(base, base->functions);
	struct compare_side b = side_of(now, now->functions);

	if (compare_new(&a, &b, false, COMPARE_BY_SHARE, &c))
		die("out of memory");
	a.tree = base->stacks;
	b.tree = now->stacks;
	if (compare_totals(c, &a, &b))
		die("out of memory");
	printf("%d %d %s %.1f %.1f %.1f %zu %zu %zu\n", i, k,
	       compare_verdicts[c->verdict], c->low, c->delta, c->high,
	       c->nregressions, c->nimprovements, c->nrisen);
}

int
main(int argc, char **argv)
{
	static struct side sides[MAX_SIDES];
	int n = argc > 1 ? atoi(argv[1]) : 0, all = (argc - 2) / 2;

	if (n < 1 || all < n || all > MAX_SIDES)
		die("usage: see the head of loaded.c");
	for (int i = 0; i < all; i++)
		load(argv + 2 + 2 * i, &sides[i]);
	for (int i = 0; i < n; i++)
		for (int k = all > n ? n : i + 1; k < all; k++)
			compare(&sides[i], &sides[k], i, k);
	return 0;
}
