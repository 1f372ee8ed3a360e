/*
 * How often comparisons of real captures are wrong, and how often they find
 * what changed. One figure per run, on stdout: see README.md.
 *
 *	compare dispersion TIMELINE PROFILE
 *	compare false TIMELINE PROFILE
 *	compare neighbours TIMELINE PROFILE
 *	compare power FUNCTION TIMELINE PROFILE TIMELINE PROFILE
 *
 * The last prints what was found and the bound in percent, for how many busy
 * threads, and the function's share before and after.
 *
 * A recording of one thread at 990 Hz is cut into blocks of a second of its
 * CPU time. A capture of 60 s at 99 Hz is drawn from it: for each of its
 * seconds a block at random, and of that every tenth sample from a random one
 * on. That is what a sampler ten times slower would have seen of a minute
 * made of such seconds.
 */
#include "profile/compare.h"
#include "base/file.h"
#include "lib/folded.h"
#include "profile/pprof.h"
#include "profile/timeline.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES     ((size_t)256 << 20)
#define MAX_FUNCTIONS 4096
#define THIN          10 /* the recording's rate by the capture's */
#define SECONDS       60
#define ROUNDS        1000
/* Blocks that a recording needs for each thread of a capture drawn from it:
 * it is a draw itself, and a short one shows changes that nobody made. */
#define LEAST       12
#define RATE        99
#define BLOCK       (RATE * THIN) /* samples */
#define NEIGHBOUR   (5 * BLOCK)
#define ENOUGH      0.975 /* power of the bound that is asked for */
#define MAX_THREADS 64

struct recording {
	struct timeline *t;
	struct profile *p;
	uint32_t *function; /* by sample of t: string of its innermost */
	uint32_t nblocks;
	double dispersion; /* at the capture's rate */
};

/* Samples of each function, by name. */
struct counts {
	const char *name[MAX_FUNCTIONS];
	long n[MAX_FUNCTIONS], all;
	size_t nnames;
};

/* Numbers of a fixed seed: a run over one recording tells the same twice.
 * Source: splitmix64, Sebastiano Vigna. */
static uint64_t
draw(void)
{
	static uint64_t seed = 1;
	uint64_t z = (seed += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static void
die(const char *why)
{
	fprintf(stderr, "compare: %s\n", why);
	exit(1);
}

static void
load(char **paths, struct recording *r)
{
	CLEANUP_BUF struct buf line = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf bytes = BUF_INIT(MAX_BYTES);
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);

	if (file_read(AT_FDCWD, paths[0], &line) ||
	    timeline_decode(line.p, line.len, MAX_BYTES, &r->t) ||
	    file_read(AT_FDCWD, paths[1], &bytes) ||
	    pprof_decode(bytes.p, bytes.len, MAX_BYTES, &r->p, &why) ||
	    timeline_fits(r->t, r->p))
		die("the recording can't be read");
	r->nblocks = r->t->nsamples / BLOCK;
	r->function = calloc(r->t->nsamples + 1, sizeof(*r->function));
	if (!r->nblocks || !r->function)
		die("the recording is empty");
	for (uint32_t i = 0; i < r->t->nsamples; i++) {
		CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);
		const struct timeline_sample *s = &r->t->samples[i];
		uint32_t leaf = r->p->stack[r->p->samples[s->sample].stack0];

		profile_frame_name(r->p, leaf, 0, &name);
		if (strings_add(r->p->strings, buf_str(&name), name.len,
		                &r->function[i]))
			die("out of memory");
	}
}

static void
count(struct counts *c, const struct recording *r, uint32_t sample)
{
	const char *name =
		strings_get(r->p->strings, r->function[sample], NULL);
	size_t i = 0;

	while (i < c->nnames && strcmp(c->name[i], name))
		i++;
	if (i == MAX_FUNCTIONS)
		die("too many functions");
	if (i == c->nnames)
		c->name[c->nnames++] = name;
	c->n[i]++;
	c->all++;
}

static long
count_of(const struct counts *c, const char *name)
{
	for (size_t i = 0; i < c->nnames; i++)
		if (!strcmp(c->name[i], name))
			return c->n[i];
	return 0;
}

/* Counts every thin-th of so many samples, from a random one on. */
static void
count_block(struct counts *c, const struct recording *r, uint32_t from,
            uint32_t n, uint32_t thin)
{
	for (uint32_t i = (uint32_t)(draw() % thin); i < n; i += thin)
		count(c, r, from + i);
}

/* A capture of so many busy threads. */
static void
capture(struct counts *c, const struct recording *r, int threads)
{
	memset(c, 0, sizeof(*c));
	for (int i = 0; i < SECONDS * threads; i++)
		count_block(c, r, (uint32_t)(draw() % r->nblocks) * BLOCK,
		            BLOCK, THIN);
}

static struct profile *
profile_from(const struct counts *c)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_REPLY);

	for (size_t i = 0; i < c->nnames; i++)
		buf_addf(&text, "%s %ld\n", c->name[i], c->n[i]);
	if (buf_err(&text))
		die("too many functions");
	return profile_of(buf_str(&text));
}

/* Regressions listed, of all functions or of one. */
static bool
regressed(const struct counts *base, const struct counts *now,
          const char *function)
{
	CLEANUP_PROFILE struct profile *a = profile_from(base);
	CLEANUP_PROFILE struct profile *b = profile_from(now);
	CLEANUP_TREE struct tree *s = NULL;
	CLEANUP_TREE struct tree *t = NULL;
	CLEANUP_COMPARISON struct comparison *c = NULL;
	bool found = false;

	if (tree_new(a, 1, &s) || tree_new(b, 1, &t) ||
	    compare_new(&(struct compare_side){s, SECONDS},
	                &(struct compare_side){t, SECONDS}, false, &c))
		die("out of memory");
	for (size_t i = 0; i < c->nregressions; i++)
		found |= !function || !strcmp(c->functions[i].name, function);
	return found;
}

/* Percentage of comparisons with itself that list a regression. */
static double
false_alarms(const struct recording *r)
{
	static struct counts base, now;
	int wrong = 0;

	for (int i = 0; i < ROUNDS; i++) {
		capture(&base, r, 1);
		capture(&now, r, 1);
		wrong += regressed(&base, &now, NULL);
	}
	return 100.0 * wrong / ROUNDS;
}

/* The same of stretches as they were recorded, nothing drawn nor thinned:
 * each against each. */
static double
neighbours(const struct recording *r)
{
	static struct counts base, now;
	uint32_t n = r->t->nsamples / NEIGHBOUR;
	int wrong = 0, pairs = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = i + 1; k < n; k++, pairs++) {
			memset(&base, 0, sizeof(base));
			memset(&now, 0, sizeof(now));
			count_block(&base, r, i * NEIGHBOUR, NEIGHBOUR, 1);
			count_block(&now, r, k * NEIGHBOUR, NEIGHBOUR, 1);
			wrong += regressed(&base, &now, NULL);
		}
	return pairs ? 100.0 * wrong / pairs : 0;
}

/* Variance of shares over blocks, by that of independent samples. */
static double
dispersion(const struct recording *r, uint32_t thin)
{
	static struct counts all, block;
	double seen = 0, freedom = 0;

	memset(&all, 0, sizeof(all));
	count_block(&all, r, 0, r->t->nsamples, 1);
	for (uint32_t b = 0; b < r->nblocks; b++) {
		memset(&block, 0, sizeof(block));
		count_block(&block, r, b * BLOCK, BLOCK, thin);
		for (size_t i = 0; i < all.nnames; i++) {
			double p = (double)all.n[i] / (double)all.all;
			double want = p * (double)block.all;
			double off = (double)count_of(&block, all.name[i]) -
			             want;

			if (want < 1)
				continue;
			seen += off * off / want;
			freedom += 1 - p;
		}
	}
	return freedom > 0 ? seen / freedom : 0;
}

static double
share(const struct recording *r, const char *function)
{
	static struct counts c;

	memset(&c, 0, sizeof(c));
	count_block(&c, r, 0, r->t->nsamples, 1);
	return (double)count_of(&c, function) / (double)c.all;
}

static double
normal(double z)
{
	return 0.5 * erfc(-z / M_SQRT2);
}

/*
 * Power that a two-proportion test can have for what was done to the
 * function, at the dispersion of the recording and at a level of the false
 * discovery rate by the functions tested, of a capture of so many threads.
 */
static double
bound(const struct recording *base, const struct recording *now,
      const char *function, int threads)
{
	double p = share(base, function), q = share(now, function);
	double n = (double)SECONDS * RATE * threads, pooled = (p + q) / 2;
	double error =
		sqrt(fmax(base->dispersion, 1) * pooled * (1 - pooled) * 2 / n);
	double level = COMPARE_FDR / 10, z = 0;

	while (2 * (1 - normal(z)) > level)
		z += 0.001;
	return normal(fabs(q - p) / error - z);
}

/* As few threads as the bound asks for. */
static int
threads_for(const struct recording *base, const struct recording *now,
            const char *function)
{
	int threads = 1;

	while (threads < MAX_THREADS &&
	       bound(base, now, function, threads) < ENOUGH)
		threads++;
	return threads;
}

static double
power(const struct recording *base, const struct recording *now,
      const char *function, int threads)
{
	static struct counts a, b;
	int found = 0;

	for (int i = 0; i < ROUNDS / 5; i++) {
		capture(&a, base, threads);
		capture(&b, now, threads);
		found += regressed(&a, &b, function);
	}
	return 500.0 * found / ROUNDS;
}

int
main(int argc, char **argv)
{
	struct recording base = {0}, now = {0};
	const char *what = argc > 3 ? argv[1] : "";

	if (!strcmp(what, "power") && argc == 7) {
		int threads;

		load(argv + 3, &base);
		load(argv + 5, &now);
		base.dispersion = dispersion(&base, THIN);
		threads = threads_for(&base, &now, argv[2]);
		if (base.nblocks < (uint32_t)(LEAST * threads) ||
		    now.nblocks < (uint32_t)(LEAST * threads))
			die("recordings too short for what it would take");
		printf("%.1f %.1f %d %.2f %.2f\n",
		       power(&base, &now, argv[2], threads),
		       100 * bound(&base, &now, argv[2], threads), threads,
		       100 * share(&base, argv[2]), 100 * share(&now, argv[2]));
		return 0;
	}
	if (argc != 4)
		die("usage: see the head of compare.c");
	load(argv + 2, &base);
	printf("%.2f\n",
	       !strcmp(what, "false") ? false_alarms(&base)
	       : !strcmp(what, "neighbours")
	               ? neighbours(&base)
	               : dispersion(&base, !strcmp(what, "rate") ? 1 : THIN));
	return 0;
}
