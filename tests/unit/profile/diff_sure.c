/* The nodes of a differential flame graph that are sure: claims about many
 * simulated captures. */
#include "lib/folded.h"
#include "lib/random.h"
#include "lib/test.h"
#include "profile/diff.h"

#include <string.h>

#define STACKS 64
#define PAIRS  100
#define MINUTE 5940 /* samples of a thread at 99 Hz */

static uint64_t seed;

/*
 * A service that handles two kinds of requests in turns. Half of its time is
 * spent in functions that the handlers of both kinds call.
 */
struct service {
	char stack[STACKS][64];
	double share[STACKS];
	int kind[STACKS]; /* 0: of both */
	int n;
	double phase; /* mean samples of one kind in a row; 0: no phases */
	double work;
};

static void
add(struct service *s, const char *handler, const char *function, double share,
    int kind)
{
	snprintf(s->stack[s->n], sizeof(s->stack[0]), "main;serve;%s;%s",
	         handler, function);
	s->share[s->n] = share;
	s->kind[s->n++] = kind;
}

static struct service
service(double phase)
{
	static const char *const shared[] = {"parse", "hash", "copy", "alloc",
	                                     "free"};
	struct service s = {.phase = phase, .work = 1e6};

	for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
		add(&s, "get", shared[i], 0.05, 1);
		add(&s, "put", shared[i], 0.05, 2);
	}
	add(&s, "get", "encode", 0.02, 1);
	add(&s, "put", "encode", 0.02, 2);
	add(&s, "log", "encode", 0.06, 0);
	add(&s, "page", "render", 0.30, 0);
	for (int i = 0; i < 16; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		add(&s, "rest", name, 0.10 / 16, 0);
	}
	return s;
}

/* Makes one function slower in a service that uses all of the CPU. */
static struct service
slower(struct service s, const char *function, double times)
{
	double sum = 0;

	for (int i = 0; i < s.n; i++) {
		if (!strcmp(strrchr(s.stack[i], ';') + 1, function))
			s.share[i] *= times;
		sum += s.share[i];
	}
	for (int i = 0; i < s.n; i++)
		s.share[i] /= sum;
	s.work /= sum;
	return s;
}

static int
pick(const struct service *s)
{
	double at = random_real(&seed);

	for (int i = 0; i < s->n; i++)
		if ((at -= s->share[i]) < 0)
			return i;
	return s->n - 1;
}

/*
 * Draws a stack; if it belongs to the other kind of request, takes the stack of
 * this kind in its pair.
 */
static int
next(const struct service *s, int *now)
{
	int at = pick(s);

	if (!s->phase || !s->kind[at])
		return at;
	if (random_real(&seed) * s->phase < 1)
		*now = 3 - *now;
	return s->kind[at] == *now ? at : s->kind[at] == 1 ? at + 1 : at - 1;
}

struct capture {
	struct profile *p;
	struct tree *t;
	struct timeline *line;
	struct blocks *blocks, *nodes;
	double work;
};

static void
capture_done(struct capture *c)
{
	blocks_free(c->nodes);
	blocks_free(c->blocks);
	timeline_free(c->line);
	tree_free(c->t);
	profile_free(c->p);
}
#define CLEANUP_CAPTURE CLEANUP(capture_done)

/* A minute with this many samples. */
static struct capture
run(const struct service *s, int samples)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct capture c = {.line = timeline_new(), .work = s->work};
	int count[STACKS] = {0}, now = 1 + (random_real(&seed) < 0.5), rc;

	rc = timeline_thread(c.line, &(struct timeline_thread){0});
	c.line->duration_us = 60000000;
	for (int i = 0; i < samples && !rc; i++) {
		struct timeline_sample one = {
			.time_us = c.line->duration_us * (uint64_t)i /
		                   (uint64_t)samples,
			.weight_ns = FOLDED_PERIOD_NS,
			.sample = (uint32_t)next(s, &now)};

		count[one.sample]++;
		rc = timeline_sample(c.line, &one);
	}
	ck_assert_int_eq(rc, 0);
	/* every stack has a sample, so that row numbers are stacks */
	for (int i = 0; i < s->n; i++)
		buf_addf(&text, "%s %d\n", s->stack[i],
		         count[i] ? count[i] : 1);
	c.p = profile_of(buf_str(&text));
	for (uint32_t i = 0; i < c.p->nsamples; i++)
		if (!count[i])
			memset(&c.p->values[(size_t)i * c.p->ntypes], 0,
			       c.p->ntypes * sizeof(*c.p->values));
	ck_assert_int_eq(tree_new(c.p, 1, &c.t), 0);
	ck_assert_int_eq(
		blocks_of_timeline(c.t, c.line, BLOCKS_OF_FUNCTIONS, &c.blocks),
		0);
	ck_assert_int_eq(
		blocks_of_timeline(c.t, c.line, BLOCKS_OF_NODES, &c.nodes), 0);
	return c;
}

/* A diff with the captures and the comparison that it borrows. */
struct pair {
	struct capture base, now;
	struct comparison *c;
	struct diff *d;
};

static void
pair_done(struct pair *x)
{
	diff_free(x->d);
	comparison_free(x->c);
	capture_done(&x->base);
	capture_done(&x->now);
}
#define CLEANUP_PAIR CLEANUP(pair_done)

/* samples[]: of base and of now. */
static struct pair
pair_of(const struct service *base, const struct service *now,
        const int samples[2], enum compare_by by)
{
	struct pair x = {.base = run(base, samples[0]),
	                 .now = run(now, samples[1])};
	const struct capture *of[] = {&x.base, &x.now};
	struct compare_side side[2];

	for (int i = 0; i < 2; i++)
		side[i] = (struct compare_side){
			.tree = of[i]->t,
			.seconds = 60,
			.work = of[i]->work,
			.blocks = of[i]->blocks,
			.nodes = of[i]->nodes,
		};
	ck_assert_int_eq(compare_new(&side[0], &side[1], false, by, &x.c), 0);
	ck_assert_int_eq(compare_totals(x.c, &side[0], &side[1]), 0);
	ck_assert_int_eq(diff_new(&side[0], &side[1], x.c, &x.d), 0);
	return x;
}

static struct pair
pair(const struct service *base, const struct service *now, int samples,
     enum compare_by by)
{
	return pair_of(base, now, (int[]){samples, samples}, by);
}

static bool
is_sure(const struct diff *d, const char *name)
{
	for (uint32_t i = 0; i < d->tree->n; i++)
		if (d->sure[i] &&
		    !strcmp(tree_name(d->tree, d->tree->name[i], NULL), name))
			return true;
	return false;
}

static bool
is_listed(const struct comparison *c, const char *name)
{
	for (size_t i = 0; i < c->nregressions; i++)
		if (!strcmp(c->functions[i].name, name))
			return true;
	return false;
}

static int
count_sure(const struct diff *d)
{
	int n = 0;

	for (uint32_t i = 0; i < d->tree->n; i++)
		n += d->sure[i];
	return n;
}

static const struct {
	const char *name;
	double phase;
	int samples;
	enum compare_by by;
} steady[] = {
	{"mixed", 0, MINUTE, COMPARE_BY_SHARE},
	{"mixed, four threads", 0, 4 * MINUTE, COMPARE_BY_SHARE},
	{"mixed, by rate", 0, MINUTE, COMPARE_BY_RATE},
	{"phases of half a second", 50, MINUTE, COMPARE_BY_SHARE},
	{"phases of 3 s", 300, MINUTE, COMPARE_BY_SHARE},
};

TEST_EACH(of_100_pairs_of_a_steady_service_at_most_5_have_a_sure_node, steady)
{
	struct service s = service(steady[_i].phase);
	int wrong = 0, named = 0;

	seed = 1 + (uint64_t)_i;
	for (int i = 0; i < PAIRS; i++) {
		CLEANUP_PAIR struct pair x =
			pair(&s, &s, steady[_i].samples, steady[_i].by);
		int n = count_sure(x.d);

		wrong += n > 0;
		named += x.c->nrisen > 0;
		if (!x.c->nregressions && !x.c->nimprovements && !x.c->nrisen)
			ck_assert_int_eq(n, 0);
	}
	printf("%s: %d of %d have a sure node, %d name a total\n",
	       steady[_i].name, wrong, PAIRS, named);
	ck_assert_int_le(wrong, 5);
}
END

static const struct {
	const char *name, *function;
	double times;
	int samples;
	enum compare_by by;
} found[] = {
	{"a third of the time, 6 threads", "render", 1.1, 6 * MINUTE,
         COMPARE_BY_SHARE},
	{"a third of the time, 2 threads", "render", 1.1, 2 * MINUTE,
         COMPARE_BY_SHARE},
	{"a third of the time, by work", "render", 1.1, 2 * MINUTE,
         COMPARE_BY_WORK},
};

/* page only calls render. */
TEST_EACH(a_function_10_percent_slower_is_sure_about_as_often_as_it_is_listed,
          found)
{
	struct service base = service(0);
	struct service now = slower(base, found[_i].function, found[_i].times);
	int listed = 0, sure = 0;

	seed = 20 + (uint64_t)_i;
	for (int i = 0; i < PAIRS; i++) {
		CLEANUP_PAIR struct pair x =
			pair(&base, &now, found[_i].samples, found[_i].by);

		listed += is_listed(x.c, found[_i].function);
		sure += is_sure(x.d, "page");
	}
	printf("%s: listed in %d of %d, its caller sure in %d\n",
	       found[_i].name, listed, PAIRS, sure);
	ck_assert_int_ge(listed, 20);
	ck_assert_int_ge(10 * sure, 8 * listed);
}
END

/* The phases of handlers last longer at one time than at another, so the
 * handlers change by chance. The functions that they share do not. */
TEST(what_phases_do_to_a_caller_is_not_sure_though_its_function_is_listed)
{
	struct service base = service(300);
	struct service now = slower(base, "encode", 1.3);
	int listed = 0, wrong = 0;

	seed = 40;
	for (int i = 0; i < PAIRS; i++) {
		CLEANUP_PAIR struct pair x =
			pair(&base, &now, MINUTE, COMPARE_BY_WORK);

		listed += is_listed(x.c, "encode");
		wrong += is_sure(x.d, "get") || is_sure(x.d, "put");
	}
	printf("encode is listed in %d of %d, get or put sure in %d\n", listed,
	       PAIRS, wrong);
	ck_assert_int_ge(listed, PAIRS * 8 / 10);
	ck_assert_int_le(wrong, PAIRS / 10);
}
END

/* --- totals --------------------------------------------------------------- */

#define SPREAD 48

/* A service whose handler "rest" spends 12 % of the time in many functions. */
static struct service
spread(double phase)
{
	struct service s = {.phase = phase, .work = 1e6};

	add(&s, "get", "parse", 0.2, 1);
	add(&s, "put", "parse", 0.2, 2);
	add(&s, "page", "render", 0.3, 0);
	add(&s, "log", "encode", 0.18, 0);
	for (int i = 0; i < SPREAD; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		add(&s, "rest", name, 0.12 / SPREAD, 0);
	}
	return s;
}

static const double more_time[] = {1.18, 1};

/* Each function of "rest" takes two and a half times as long, in a service that
 * leaves some CPU idle, and in one that never does. */
TEST_EACH(a_handler_is_found_whose_functions_each_cost_a_little_more, more_time)
{
	struct service base = spread(0), now = base;
	const int samples[] = {4 * MINUTE, (int)(4 * MINUTE * more_time[_i])};
	int named = 0, sure = 0;

	for (int i = 0; i < SPREAD; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		now = slower(now, name, 2.5);
	}
	seed = 50;
	for (int i = 0; i < PAIRS; i++) {
		CLEANUP_PAIR struct pair x =
			pair_of(&base, &now, samples, COMPARE_BY_SHARE);

		named += x.c->verdict == COMPARE_REGRESSED && x.c->nrisen &&
		         !strcmp(x.c->risen[0]->name, "rest");
		sure += is_sure(x.d, "rest");
	}
	printf("rest is found in %d of %d, sure in %d\n", named, PAIRS, sure);
	ck_assert_int_ge(named, PAIRS * 9 / 10);
	ck_assert_int_ge(sure, PAIRS * 9 / 10);
}
END

static const double totals_phases[] = {0, 50, 300};

/* All of the service costs more, so no function may be named. */
TEST_EACH(more_of_the_same_work_names_no_function_in_95_of_100, totals_phases)
{
	struct service s = spread(totals_phases[_i]);
	const int samples[] = {MINUTE, MINUTE * 118 / 100};
	int costs = 0, wrong = 0;

	seed = 60 + (uint64_t)_i;
	for (int i = 0; i < PAIRS; i++) {
		CLEANUP_PAIR struct pair x =
			pair_of(&s, &s, samples, COMPARE_BY_SHARE);

		costs += x.c->verdict == COMPARE_COSTS_MORE;
		wrong += x.c->nrisen > 0;
	}
	printf("phases of %g: costs more in %d of %d, a function named in %d\n",
	       totals_phases[_i], costs, PAIRS, wrong);
	ck_assert_int_ge(costs, PAIRS / 2);
	ck_assert_int_le(wrong, 5);
}
END

TEST(other_verdicts_name_no_function_by_its_total)
{
	struct service base = service(0), now = slower(base, "render", 1.5);
	CLEANUP_PAIR struct pair x =
		pair(&base, &now, 2 * MINUTE, COMPARE_BY_WORK);

	ck_assert_int_eq(x.c->verdict, COMPARE_REGRESSED);
	ck_assert_uint_eq(x.c->nrisen, 0);
}
END

SUITE("diff_sure", .seconds = 240);
