/* Comparisons of captures that have a timeline: claims about many simulated
 * ones. */
#include "lib/folded.h"
#include "lib/random.h"
#include "lib/test.h"
#include "profile/blocks.h"
#include "profile/compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FUNCTIONS 40
#define ROUNDS    200
#define MINUTE    5940 /* samples of a thread at 99 Hz */

static uint64_t seed;

enum kind {
	STEADY, /* independent samples */
	RUNS,   /* a function stays for `length` samples on average */
	PHASES, /* two mixtures of functions take turns */
	ROUND,  /* like PHASES, with turns of equal length */
	BURSTS, /* steady, but now and then one function has `length` in a
	           row */
};

struct program {
	double share[FUNCTIONS];
	enum kind kind;
	double length;
	int functions;
	double idle; /* share of the time without samples */
};

/* A program with a few hot functions and a long tail. */
static struct program
program(enum kind kind, double length)
{
	struct program p = {.kind = kind, .length = length};
	double sum = 0;

	p.functions = FUNCTIONS;
	for (int i = 0; i < FUNCTIONS; i++)
		sum += p.share[i] = 1.0 / (i + 2);
	for (int i = 0; i < FUNCTIONS; i++)
		p.share[i] /= sum;
	return p;
}

static int
pick(const struct program *p)
{
	double at = random_real(&seed);

	for (int i = 0; i < p->functions; i++)
		if ((at -= p->share[i]) < 0)
			return i;
	return p->functions - 1;
}

/* Picks mostly from one half of the functions. */
static int
pick_half(const struct program *p, int half)
{
	int at = pick(p);

	return (at & 1) == half || random_real(&seed) < 0.1 ? at : pick(p);
}

static int
next(const struct program *p, int *at, int *left)
{
	switch (p->kind) {
	case STEADY:
		return *at = pick(p);
	case RUNS:
		return *at = random_real(&seed) * p->length < 1 ? pick(p) : *at;
	case PHASES:
		*left ^= random_real(&seed) * p->length < 1;
		return pick_half(p, *left);
	case ROUND:
		++*left;
		return pick_half(p, (*left / (int)p->length) & 1);
	case BURSTS:
		if (*left > 0)
			return --*left, 0;
		*left = random_real(&seed) * p->length * 20 < 1 ? (int)p->length
		                                                : 0;
		return pick(p);
	}
	return 0;
}

struct capture {
	struct profile *p;
	struct tree *t;
	struct timeline *line;
	struct blocks *blocks;
	double work;
};

static void
capture_done(struct capture *c)
{
	blocks_free(c->blocks);
	timeline_free(c->line);
	tree_free(c->t);
	profile_free(c->p);
}
#define CLEANUP_CAPTURE CLEANUP(capture_done)

/* A capture of a minute with this many samples. */
static struct capture
run(const struct program *p, int samples)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct capture c = {.line = timeline_new()};
	int at = pick(p), left = (int)(random_real(&seed) * p->length);
	int count[FUNCTIONS] = {0}, rc;

	left = p->kind == PHASES ? left & 1 : left;
	rc = timeline_thread(c.line, &(struct timeline_thread){0});
	for (int i = 0; i < samples; i++) {
		struct timeline_sample s = {
			.time_us = UINT64_C(60000000) * (uint64_t)i /
		                   (uint64_t)samples,
			.weight_ns = FOLDED_PERIOD_NS,
			.sample = (uint32_t)next(p, &at, &left)};

		if (p->idle > 0 && random_real(&seed) < p->idle)
			continue;
		count[s.sample]++;
		rc = rc ? rc : timeline_sample(c.line, &s);
	}
	ck_assert_int_eq(rc, 0);
	c.line->duration_us = 60000000;
	/* every function has a sample, so that row numbers are functions */
	for (int i = 0; i < FUNCTIONS; i++)
		buf_addf(&text, "main;f%d %d\n", i, count[i] ? count[i] : 1);
	c.p = profile_of(buf_str(&text));
	for (uint32_t i = 0; i < c.p->nsamples; i++)
		if (!count[i])
			memset(&c.p->values[(size_t)i * c.p->ntypes], 0,
			       c.p->ntypes * sizeof(*c.p->values));
	ck_assert_int_eq(tree_new(c.p, 1, &c.t), 0);
	ck_assert_int_eq(
		blocks_of_timeline(c.t, c.line, BLOCKS_OF_FUNCTIONS, &c.blocks),
		0);
	return c;
}

static struct comparison *
compare_among(const struct capture *base, const struct capture *now,
              enum compare_by by, const struct tree *const *others,
              size_t nothers)
{
	struct comparison *c;

	ck_assert_int_eq(
		compare_new(&(struct compare_side){.tree = base->t,
	                                           .seconds = 60,
	                                           .work = base->work,
	                                           .blocks = base->blocks,
	                                           .others = others,
	                                           .nothers = nothers},
	                    &(struct compare_side){.tree = now->t,
	                                           .seconds = 60,
	                                           .work = now->work,
	                                           .blocks = now->blocks},
	                    false, by, &c),
		0);
	return c;
}

static struct comparison *
compare(const struct capture *base, const struct capture *now,
        enum compare_by by)
{
	return compare_among(base, now, by, NULL, 0);
}

/* --- false alarms --------------------------------------------------------- */

static const struct {
	const char *name;
	enum kind kind;
	double length;
	int samples, most; /* of ROUNDS */
} nulls[] = {
	{"steady", STEADY, 0, MINUTE, 10},
	{"steady, few samples", STEADY, 0, 300, 10},
	{"runs of 3", RUNS, 3, MINUTE, 10},
	{"runs of 30", RUNS, 30, MINUTE, 10},
	{"runs of 300, 3 s each", RUNS, 300, MINUTE, 10},
	{"phases of 1 s", PHASES, 99, MINUTE, 10},
	{"phases of 3 s", PHASES, 300, MINUTE, 12},
	/* only six in a capture: too little information */
	{"phases of 10 s", PHASES, 1000, MINUTE, 20},
	{"rounds of 2 s", ROUND, 99, MINUTE, 10},
	{"rounds of 28 s", ROUND, 1400, MINUTE, 10},
	{"bursts", BURSTS, 50, MINUTE, 10},
};

/* Counts comparisons of a program with itself that list a regression. */
TEST_EACH(a_program_and_itself_differ_in_few_comparisons, nulls)
{
	struct program p = program(nulls[_i].kind, nulls[_i].length);
	int wrong = 0;

	seed = (uint64_t)_i + 1;
	for (int i = 0; i < ROUNDS; i++) {
		CLEANUP_CAPTURE struct capture a = run(&p, nulls[_i].samples);
		CLEANUP_CAPTURE struct capture b = run(&p, nulls[_i].samples);
		CLEANUP_COMPARISON struct comparison *c =
			compare(&a, &b, COMPARE_BY_SHARE);

		ck_assert_int_eq(c->method, COMPARE_FROM_BLOCKS);
		wrong += c->nregressions > 0;
	}
	printf("%s: %d of %d list a regression\n", nulls[_i].name, wrong,
	       ROUNDS);
	ck_assert_int_le(wrong, nulls[_i].most);
}
END

/* --- power ---------------------------------------------------------------- */

static const double shares[] = {0.5,  0.3,  0.1,  0.02, 0.02,
                                0.02, 0.01, 0.01, 0.01, 0.01};

static struct program
of_ten(void)
{
	struct program p = {.kind = STEADY, .functions = ARRAY_LEN(shares)};

	memcpy(p.share, shares, sizeof(shares));
	return p;
}

/* Makes one function slower in a service that uses all of the CPU. */
static struct program
slower(struct program p, int function, double times, double *work)
{
	double sum = 1 + p.share[function] * (times - 1);

	p.share[function] *= times;
	for (int i = 0; i < p.functions; i++)
		p.share[i] /= sum;
	*work /= sum;
	return p;
}

/* bound: the power of a test that knows the variance. */
static const struct {
	const char *name;
	int function, samples;
	enum compare_by by;
	double bound; /* at a level of 1 % by ten functions */
	int least;    /* of ROUNDS / 2 */
} found[] = {
	{"half, 4 threads", 0, 4 * MINUTE, COMPARE_BY_SHARE, 97.0, 94},
	{"half, by work", 0, MINUTE, COMPARE_BY_WORK, 97.3, 94},
	{"a third, by work", 1, 2 * MINUTE, COMPARE_BY_WORK, 96.5, 92},
	{"half, 1 thread", 0, MINUTE, COMPARE_BY_SHARE, 24.4, 10},
};

TEST_EACH(ten_percent_slower_is_found_where_statistics_allow_it, found)
{
	struct program before = of_ten(), after;
	double work[2] = {1e6, 1e6};
	int n = 0;

	seed = 50 + (uint64_t)_i;
	after = slower(before, found[_i].function, 1.1, &work[1]);
	for (int i = 0; i < ROUNDS / 2; i++) {
		CLEANUP_CAPTURE struct capture a =
			run(&before, found[_i].samples);
		CLEANUP_CAPTURE struct capture b =
			run(&after, found[_i].samples);

		a.work = work[0];
		b.work = work[1];
		CLEANUP_COMPARISON struct comparison *c =
			compare(&a, &b, found[_i].by);
		char name[8];

		snprintf(name, sizeof(name), "f%d", found[_i].function);
		for (size_t k = 0; k < c->nregressions; k++)
			n += !strcmp(c->functions[k].name, name);
	}
	printf("%s: found in %g %%, bound %g %%\n", found[_i].name,
	       100.0 * n / (ROUNDS / 2), found[_i].bound);
	ck_assert_int_ge(n, found[_i].least);
}
END

/* By shares, all others cost less; by work, only the function has changed. */
TEST(by_work_only_what_changed_is_listed)
{
	struct program before = of_ten(), after;
	double work[2] = {1e6, 1e6};
	int others = 0;

	seed = 70;
	after = slower(before, 0, 1.5, &work[1]);
	for (int i = 0; i < ROUNDS / 2; i++) {
		CLEANUP_CAPTURE struct capture a = run(&before, MINUTE);
		CLEANUP_CAPTURE struct capture b = run(&after, MINUTE);
		a.work = work[0];
		b.work = work[1];
		CLEANUP_COMPARISON struct comparison *c =
			compare(&a, &b, COMPARE_BY_WORK);

		ck_assert_int_eq(c->by, COMPARE_BY_WORK);
		ck_assert_uint_ge(c->nregressions, 1);
		ck_assert_str_eq(c->functions[0].name, "f0");
		ck_assert_int_eq(c->verdict, COMPARE_REGRESSED);
		others += c->nregressions + c->nimprovements > 1;
		ck_assert_double_eq_tol(c->delta, 25, 1e-3);
	}
	ck_assert_int_le(others, ROUNDS / 2 / 10);
}
END

/* For a service that waits most of the time, cost per second shows it. */
TEST(of_a_service_that_waits_cost_per_second_tells)
{
	struct program before = of_ten(), after;
	double work = 1;
	int n = 0, alarms = 0;

	seed = 80;
	before.idle = 0.5;
	after = slower(before, 0, 1.2, &work);
	after.idle = 0.5 * (2 - 1.1);
	for (int i = 0; i < ROUNDS / 2; i++) {
		CLEANUP_CAPTURE struct capture a = run(&before, MINUTE);
		CLEANUP_CAPTURE struct capture a2 = run(&before, MINUTE);
		CLEANUP_CAPTURE struct capture b = run(&after, MINUTE);
		CLEANUP_COMPARISON struct comparison *c =
			compare(&a, &b, COMPARE_BY_RATE);
		CLEANUP_COMPARISON struct comparison *same =
			compare(&a, &a2, COMPARE_BY_RATE);

		n += c->nregressions > 0 && !strcmp(c->functions[0].name, "f0");
		alarms += same->nregressions > 0;
	}
	printf("by rate: found in %g %%, %d false alarms\n",
	       100.0 * n / (ROUNDS / 2), alarms);
	ck_assert_int_ge(n, ROUNDS / 2 * 9 / 10);
	ck_assert_int_le(alarms, ROUNDS / 2 / 20);
}
END

/* --- captures that differ though nothing changed -------------------------- */

#define OTHERS 3

/* At another hour some functions cost up to a fifth more or less. */
static struct program
at_another_time(struct program p, double much)
{
	double sum = 0;

	for (int i = 0; i < p.functions; i++)
		sum += p.share[i] *= 1 + much * (random_real(&seed) - 0.5);
	for (int i = 0; i < p.functions; i++)
		p.share[i] /= sum;
	return p;
}

/* Counts the rounds that list a regression, of f0 or of any function. */
static int
listed_among(double much, double times, int samples, int rounds, size_t others)
{
	struct program p = of_ten(), slow;
	double work;
	int n = 0;

	slow = slower(p, 0, times, &work);
	for (int i = 0; i < rounds; i++) {
		struct program at = at_another_time(p, much);
		struct program then = at_another_time(slow, much);
		CLEANUP_CAPTURE struct capture a = run(&at, samples);
		CLEANUP_CAPTURE struct capture b = run(&then, samples);
		struct capture other[OTHERS];
		const struct tree *trees[OTHERS];

		for (size_t k = 0; k < OTHERS; k++) {
			at = at_another_time(p, much);
			other[k] = run(&at, samples);
			trees[k] = other[k].t;
		}
		CLEANUP_COMPARISON struct comparison *c =
			compare_among(&a, &b, COMPARE_BY_SHARE, trees, others);

		ck_assert_uint_eq(c->captures, others + 1);
		for (size_t k = 0; k < c->nregressions; k++)
			if (times <= 1 || !strcmp(c->functions[k].name, "f0")) {
				n++;
				break;
			}
		for (size_t k = 0; k < OTHERS; k++)
			capture_done(&other[k]);
	}
	return n;
}

TEST(others_of_the_base_tell_what_hours_differ_by)
{
	int alone, among;

	seed = 85;
	alone = listed_among(0.4, 1, MINUTE, 100, 0);
	among = listed_among(0.4, 1, MINUTE, 200, OTHERS);
	printf("hours differ: %d %% alone, %g %% with %d others\n", alone,
	       among / 2.0, OTHERS);
	ck_assert_int_ge(alone, 50);
	ck_assert_int_le(among, 14);
}
END

/* A capture of a minute with this many samples. */
static struct tree *
minute_of(int samples, struct profile **p)
{
	char folded[64];
	struct tree *t;

	snprintf(folded, sizeof(folded), "main;f %d\nmain %d\n", samples / 2,
	         samples / 2);
	*p = profile_of(folded);
	(*p)->duration_ns = 60 * INT64_C(1000000000);
	ck_assert_int_eq(tree_new(*p, 1, &t), 0);
	return t;
}

/* The captures have once, twice and eight times the samples: logarithms to base
 * 2 are 0, 1 and 3, with a variance of 7/3. */
TEST(totals_of_captures_differ_by_their_variance_beyond_chance)
{
	static const int samples[] = {1000, 2000, 8000};
	struct profile *p[ARRAY_LEN(samples)];
	struct tree *t[ARRAY_LEN(samples)];
	struct comparison *c;
	struct capture base = {0}, now = {0};
	CLEANUP_BUF struct buf said = BUF_INIT(BUF_MAX_SMALL);
	double within;

	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		t[i] = minute_of(samples[i], &p[i]);
	base.t = now.t = t[0];
	c = compare_among(&base, &now, COMPARE_BY_SHARE,
	                  (const struct tree *const *)&t[1], 2);
	within = c->base_total.dispersion / c->base_samples;
	ck_assert_double_gt(within, 0);
	ck_assert_double_eq_tol(c->between.dispersion,
	                        7.0 / 3 * log(2) * log(2) - within, 1e-9);
	ck_assert_double_eq(c->between.freedom, 2);
	compare_reason(c, &said);
	ck_assert_msg(strstr(buf_str(&said),
	                     " The cost differs too much from time to time, "),
	              "%s", buf_str(&said));
	comparison_free(c);
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		tree_free(t[i]);
		profile_free(p[i]);
	}
}
END

TEST(others_that_do_not_differ_hide_little)
{
	int n;

	seed = 86;
	n = listed_among(0, 1.1, 4 * MINUTE, 100, OTHERS);
	printf("half, 4 threads, %d others: found in %d %%\n", OTHERS, n);
	ck_assert_int_ge(n, 80);
}
END

/* --- what is measured ----------------------------------------------------- */

TEST(the_interval_of_the_total_holds_it_in_most_captures)
{
	struct program p = of_ten();
	int outside = 0, costs_more = 0;

	seed = 90;
	p.idle = 0.5;
	for (int i = 0; i < ROUNDS; i++) {
		CLEANUP_CAPTURE struct capture a = run(&p, MINUTE);
		CLEANUP_CAPTURE struct capture b = run(&p, MINUTE);
		CLEANUP_COMPARISON struct comparison *c =
			compare(&a, &b, COMPARE_BY_SHARE);

		ck_assert(c->low <= c->delta && c->delta <= c->high);
		outside += c->low > 0 || c->high < 0;
		costs_more += c->verdict == COMPARE_COSTS_MORE;
	}
	printf("0 is outside of %d of %d intervals of 95 %%; %d services cost "
	       "more\n",
	       outside, ROUNDS, costs_more);
	ck_assert_int_le(outside, ROUNDS / 10);
	ck_assert_int_le(costs_more, ROUNDS / 20);
}
END

TEST(longer_phases_take_longer_blocks)
{
	struct program steady = program(STEADY, 0);
	struct program phases = program(RUNS, 300);

	seed = 95;
	CLEANUP_CAPTURE struct capture a = run(&steady, MINUTE);
	CLEANUP_CAPTURE struct capture b = run(&phases, MINUTE);
	CLEANUP_COMPARISON struct comparison *one =
		compare(&a, &a, COMPARE_BY_SHARE);
	CLEANUP_COMPARISON struct comparison *two =
		compare(&b, &b, COMPARE_BY_SHARE);

	ck_assert_uint_gt(one->blocks, two->blocks);
	ck_assert_double_lt(one->dispersion, 2);
	ck_assert_double_gt(two->dispersion, 50);
}
END

TEST(too_few_samples_make_no_blocks)
{
	struct program p = program(STEADY, 0);

	seed = 97;
	CLEANUP_CAPTURE struct capture a = run(&p, BLOCKS_SAMPLES);
	struct blocks *none = NULL;

	a.line->nsamples--;
	ck_assert_int_eq(
		blocks_of_timeline(a.t, a.line, BLOCKS_OF_FUNCTIONS, &none),
		-ENODATA);
	ck_assert_ptr_null(none);
}
END

TEST(a_timeline_of_another_profile_makes_no_blocks)
{
	struct program p = program(STEADY, 0);

	seed = 98;
	CLEANUP_CAPTURE struct capture a = run(&p, MINUTE);
	struct blocks *none = NULL;

	a.line->samples[7].sample = a.p->nsamples;
	ck_assert_int_eq(
		blocks_of_timeline(a.t, a.line, BLOCKS_OF_FUNCTIONS, &none),
		-EBADMSG);
}
END

TEST(one_side_without_blocks_is_compared_without)
{
	struct program p = program(STEADY, 0);

	seed = 99;
	CLEANUP_CAPTURE struct capture a = run(&p, MINUTE);
	CLEANUP_CAPTURE struct capture b = run(&p, MINUTE);

	blocks_free(b.blocks);
	b.blocks = NULL;
	CLEANUP_COMPARISON struct comparison *c =
		compare(&a, &b, COMPARE_BY_WORK);

	ck_assert_int_eq(c->method, COMPARE_FROM_FUNCTIONS);
	ck_assert_int_eq(c->by, COMPARE_BY_SHARE); /* no work is known */
	ck_assert_uint_eq(c->blocks, 0);
}
END

SUITE("compare_blocks", .seconds = 240);
