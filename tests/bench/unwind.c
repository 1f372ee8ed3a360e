/*
 * Measures the cost of a frame: samples of the demo are recorded once and
 * walked by us and by libunwind, in turn, both with warm caches.
 *
 *	unwind [ROUNDS]
 *	unwind ROUNDS PROGRAM [ARGUMENT...]
 *
 * Prints one line per round: CPU ns per frame of ours and of libunwind's.
 * Frames of walks that ended badly are not counted.
 *
 * Given a program, samples are taken from its first instruction on, and only
 * stacks with frames that no short rule describes are walked: libunwind steps
 * those frames for us, too. The time is per such frame, and a third column
 * has their percentage of all frames.
 */
#include "capture/unwind/unwind_table.h"
#include "lib/corpus.h"
#include "lib/unwind_libunwind.h"

#include <limits.h>
#include <stdio.h>
#include <time.h>

#define STACKS     2000
#define MAX_FRAMES 512
#define ROUNDS     5
#define STEPS      6000
#define EVERY      50 /* instructions: covers most of a short program */

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

static int
compare(struct bench *b, int rounds, double factor, const char *more)
{
	walk_ours(b); /* fills the caches */
	walk_theirs(b);
	for (int i = 0; i < rounds; i++) {
		double ours = walk_ours(b) * factor;

		printf("%.1f %.1f%s\n", ours, walk_theirs(b) * factor, more);
	}
	return EXIT_SUCCESS;
}

/* Returns whether no short rule describes the frame. */
static bool
is_full(const struct corpus *c, uint64_t pc, bool returns)
{
	const struct corpus_map *m = corpus_map(c, pc - returns);

	return m && m->table &&
	       unwind_table_rule(m->table, pc - returns - m->m.bias, returns)
	                       .cfa == CFA_FULL;
}

/*
 * Keeps only the stacks with full frames.
 *   Shape    *all counts the frames of all stacks, *frames those of the
 *            stacks that are left, *full the full ones
 */
static void
keep_full(const struct bench *b, size_t *all, size_t *frames, size_t *full)
{
	struct corpus *c = b->corpus;
	uint64_t pcs[MAX_FRAMES];
	size_t kept = 0, n, of_these;

	for (size_t i = 0; i < c->n; i++) {
		struct corpus_sample s = c->samples[i];

		of_these = 0;
		if (unwind(b->ours, s.regs, s.stack, s.stack_len, pcs,
		           MAX_FRAMES, &n) != UNWIND_ROOT)
			continue;
		for (size_t f = 0; f < n; f++)
			of_these += is_full(c, pcs[f], f > 0);
		*all += n;
		if (!of_these)
			continue;
		*frames += n;
		*full += of_these;
		c->samples[i] = c->samples[kept];
		c->samples[kept++] = s;
	}
	for (size_t i = kept; i < c->n; i++)
		free(c->samples[i].stack);
	c->n = kept;
}

static int
compare_full(struct bench *b, int rounds)
{
	size_t all = 0, frames = 0, full = 0;
	char share[32];

	keep_full(b, &all, &frames, &full);
	if (!full)
		return EXIT_FAILURE;
	snprintf(share, sizeof(share), " %.2f",
	         100 * (double)full / (double)all);
	return compare(b, rounds, (double)frames / (double)full, share);
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
	if (argc > 2 ? corpus_record_steps(argv + 2, STEPS, EVERY, &c)
	             : corpus_record(demo, STACKS, &c))
		return EXIT_FAILURE;
	u = unwinder_new(corpus_find, c);
	r = rival_new(c);
	if (!u || !r)
		return EXIT_FAILURE;
	b = (struct bench){c, u, r};
	return argc > 2 ? compare_full(&b, rounds) : compare(&b, rounds, 1, "");
}
