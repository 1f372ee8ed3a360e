/*
 * What a frame costs: samples of the demo are recorded once and walked by us
 * and by libunwind, in turn, both with warm caches.
 *
 *	unwind [ROUNDS]
 *
 * Prints one line per round: CPU ns per frame of ours and of libunwind's.
 * Frames of walks that ended badly are not counted.
 */
#include "lib/corpus.h"
#include "lib/unwind_libunwind.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#define STACKS     2000
#define MAX_FRAMES 512
#define ROUNDS     5

struct bench {
	struct corpus *corpus;
	struct unwinder *ours;
	struct rival *theirs;
};

static double
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns per frame. */
static double
walk_ours(const struct bench *b)
{
	uint64_t pcs[MAX_FRAMES];
	double start = cpu_ns();
	size_t frames = 0, n;

	for (size_t i = 0; i < b->corpus->n; i++) {
		const struct corpus_sample *s = &b->corpus->samples[i];

		if (unwind(b->ours, s->regs, s->stack, s->stack_len, pcs,
		           MAX_FRAMES, &n) != UNWIND_BAD)
			frames += n;
	}
	return (cpu_ns() - start) / (double)frames;
}

static double
walk_theirs(const struct bench *b)
{
	uint64_t pcs[MAX_FRAMES];
	double start = cpu_ns();
	size_t frames = 0, n;

	for (size_t i = 0; i < b->corpus->n; i++)
		if (rival_unwind(b->theirs, &b->corpus->samples[i], pcs,
		                 MAX_FRAMES, &n) != UNWIND_BAD)
			frames += n;
	return (cpu_ns() - start) / (double)frames;
}

int
main(int argc, char **argv)
{
	CLEANUP_CORPUS struct corpus *c = NULL;
	CLEANUP_UNWINDER struct unwinder *u = NULL;
	CLEANUP_RIVAL struct rival *r = NULL;
	char path[PATH_MAX];
	char *demo[] = {path, "2", "100", NULL};
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
	struct bench b;

	corpus_target("demo", path, sizeof(path));
	if (corpus_record(demo, STACKS, &c))
		return EXIT_FAILURE;
	u = unwinder_new(corpus_find, c);
	r = rival_new(c);
	if (!u || !r)
		return EXIT_FAILURE;
	b = (struct bench){c, u, r};
	walk_ours(&b); /* fills the caches */
	walk_theirs(&b);
	for (int i = 0; i < rounds; i++) {
		double ours = walk_ours(&b);

		printf("%.1f %.1f\n", ours, walk_theirs(&b));
	}
	return EXIT_SUCCESS;
}
