/* The statistics of compare.h: claims about many simulated comparisons. */
#include "profile/compare.h"
#include "lib/folded.h"
#include "lib/random.h"
#include "lib/test.h"
#include "profile/compare/stat.h"

#include <math.h>
#include <string.h>

#define FUNCTIONS 60
#define ROUNDS    1000

static uint64_t seed;

struct program {
	double share[FUNCTIONS];
	double burst; /* mean length of runs of equal samples */
};

/* A program with a few hot functions and a long tail. */
static struct program
program(double burst)
{
	struct program p = {.burst = burst};
	double sum = 0;

	for (int i = 0; i < FUNCTIONS; i++)
		sum += p.share[i] = 1.0 / (i + 2);
	for (int i = 0; i < FUNCTIONS; i++)
		p.share[i] /= sum;
	return p;
}

/* Gives function i this share, and scales the others down. */
static void
set_share(struct program *p, int i, double share)
{
	double others = 1 - p->share[i];

	for (int k = 0; k < FUNCTIONS; k++)
		p->share[k] *= (1 - share) / others;
	p->share[i] = share;
}

static int
pick(const struct program *p)
{
	double at = random_real(&seed);

	for (int i = 0; i < FUNCTIONS; i++)
		if ((at -= p->share[i]) < 0)
			return i;
	return FUNCTIONS - 1;
}

static struct profile *
run(const struct program *p, int samples)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	int count[FUNCTIONS] = {0}, at = pick(p);

	for (int i = 0; i < samples; i++) {
		if (random_real(&seed) * p->burst < 1)
			at = pick(p);
		count[at]++;
	}
	for (int i = 0; i < FUNCTIONS; i++)
		if (count[i])
			buf_addf(&text, "main;f%d %d\n", i, count[i]);
	ck_assert_int_eq(buf_err(&text), 0);
	return profile_of(buf_str(&text));
}

/* A comparison with the profiles and trees that it borrows. */
struct compared {
	struct profile *p[2];
	struct tree *t[2];
	struct comparison *c;
};

static void
compared_done(struct compared *x)
{
	comparison_free(x->c);
	for (int i = 0; i < 2; i++) {
		tree_free(x->t[i]);
		profile_free(x->p[i]);
	}
}
#define CLEANUP_COMPARED CLEANUP(compared_done)

static struct compared
compare_as(struct profile *base, struct profile *now, double s, double s2,
           bool gauge)
{
	struct compared x = {.p = {base, now}};
	struct compare_side side[2] = {{.seconds = s}, {.seconds = s2}};

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(tree_new(x.p[i], 1, &x.t[i]), 0);
		side[i].tree = x.t[i];
	}
	ck_assert_int_eq(
		compare_new(&side[0], &side[1], gauge, COMPARE_BY_SHARE, &x.c),
		0);
	return x;
}

static struct compared
compare(struct profile *base, struct profile *now, double s, double s2)
{
	return compare_as(base, now, s, s2, false);
}

static struct compared
compare_text(const char *base, const char *now, double s, double s2)
{
	return compare(profile_of(base), profile_of(now), s, s2);
}

static const struct compare_function *
find(const struct comparison *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->functions[i].name, name))
			return &c->functions[i];
	ck_abort_msg("no function %s", name);
}

/* Counts, among ROUNDS comparisons of a program with itself, those that list a
 * regression. */
static int
false_alarms(double burst, int samples)
{
	const struct program p = program(burst);
	int wrong = 0;

	for (int i = 0; i < ROUNDS; i++) {
		CLEANUP_COMPARED struct compared x =
			compare(run(&p, samples), run(&p, samples), 30, 30);

		wrong += x.c->nregressions > 0;
	}
	return wrong;
}

static const struct {
	double burst;
	int samples;
} nulls[] = {
	{1, 300},
	{1, 3000},
	{3, 3000}, /* each phase fills three samples in a row */
	{8, 6000},
};

TEST_EACH(nothing_changed_lists_a_regression_in_at_most_5_percent, nulls)
{
	seed = (uint64_t)_i + 1;
	int wrong = false_alarms(nulls[_i].burst, nulls[_i].samples);

	printf("burst %g, %d samples: %d of %d null comparisons list "
	       "a regression\n",
	       nulls[_i].burst, nulls[_i].samples, wrong, ROUNDS);
	ck_assert_int_le(wrong, ROUNDS / 20);
}
END

static const struct {
	double from, to;
	int samples, least; /* of 200 */
} effects[] = {
	{0.10, 0.12, 3000, 0}, /* printed, but may be missed */
	{0.10, 0.16, 3000, 160}, {0.10, 0.20, 1500, 180},
	{0.01, 0.04, 3000, 180}, {0.30, 0.40, 3000, 195},
};

TEST_EACH(a_change_that_matters_is_found, effects)
{
	struct program before = program(1), after;
	int found = 0;

	seed = 100 + (uint64_t)_i;
	set_share(&before, 5, effects[_i].from);
	after = before;
	set_share(&after, 5, effects[_i].to);
	for (int i = 0; i < 200; i++) {
		CLEANUP_COMPARED struct compared x =
			compare(run(&before, effects[_i].samples),
		                run(&after, effects[_i].samples), 30, 30);

		found += find(x.c, "f5")->change == COMPARE_REGRESSION;
	}
	printf("%g %% to %g %% in %d samples: found in %g %%\n",
	       100 * effects[_i].from, 100 * effects[_i].to,
	       effects[_i].samples, found / 2.0);
	ck_assert_int_ge(found, effects[_i].least);
}
END

/* Swapping the sides swaps regressions and improvements. */
TEST(the_other_way_round_regressions_are_improvements)
{
	struct program a = program(1), b = a;

	seed = 7;
	set_share(&b, 3, 0.2);
	for (int i = 0; i < 50; i++) {
		struct profile *one = run(&a, 2000), *two = run(&b, 2000);
		CLEANUP_COMPARED struct compared x = compare(one, two, 20, 20);
		struct compare_side side[2] = {{.tree = x.t[1], .seconds = 20},
		                               {.tree = x.t[0], .seconds = 20}};
		CLEANUP_COMPARISON struct comparison *back = NULL;

		ck_assert_int_eq(compare_new(&side[0], &side[1], false,
		                             COMPARE_BY_SHARE, &back),
		                 0);
		ck_assert_uint_eq(back->nregressions, x.c->nimprovements);
		ck_assert_uint_eq(back->nimprovements, x.c->nregressions);
		for (size_t k = 0; k < back->n; k++) {
			const struct compare_function *f = &back->functions[k];
			const struct compare_function *g = find(x.c, f->name);

			ck_assert_double_eq_tol(f->delta, -g->delta, 1e-9);
			ck_assert_double_eq_tol(f->p, g->p, 1e-9);
		}
	}
}
END

TEST(what_is_listed_keeps_the_promises_of_the_header)
{
	seed = 9;
	for (int i = 0; i < 200; i++) {
		struct program a = program(1), b = a;
		size_t listed = 0;

		set_share(&b, (int)(random_real(&seed) * FUNCTIONS),
		          random_real(&seed) * 0.5);
		CLEANUP_COMPARED struct compared x =
			compare(run(&a, 1500), run(&b, 1500), 15, 15);

		for (size_t k = 0; k < x.c->n; k++) {
			const struct compare_function *f = &x.c->functions[k];

			ck_assert(f->p >= 0 && f->p <= 1);
			listed += f->change != COMPARE_UNCHANGED;
			if (f->change == COMPARE_UNCHANGED)
				continue;
			ck_assert_double_ge(fabs(f->delta), COMPARE_POINTS);
			ck_assert_double_le(f->p, COMPARE_FDR);
			ck_assert_int_eq(f->change == COMPARE_REGRESSION,
			                 f->delta > 0);
			ck_assert_uint_lt(k, x.c->nregressions +
			                             x.c->nimprovements);
		}
		ck_assert_uint_eq(listed,
		                  x.c->nregressions + x.c->nimprovements);
		ck_assert(x.c->low <= x.c->delta && x.c->delta <= x.c->high);
	}
}
END

TEST(too_few_samples_on_either_side_are_insufficient)
{
	CLEANUP_COMPARED struct compared few =
		compare_text("main;f 99\n", "main;g 5000\n", 1, 1);
	CLEANUP_COMPARED struct compared enough =
		compare_text("main;f 100\n", "main;g 5000\n", 1, 1);

	ck_assert_int_eq(few.c->verdict, COMPARE_INSUFFICIENT);
	ck_assert_uint_eq(few.c->nregressions + few.c->nimprovements, 0);
	ck_assert_int_ne(enough.c->verdict, COMPARE_INSUFFICIENT);
}
END

TEST(an_empty_profile_is_insufficient)
{
	CLEANUP_COMPARED struct compared x =
		compare_text("", "main;g 5000\n", 1, 1);

	ck_assert_int_eq(x.c->verdict, COMPARE_INSUFFICIENT);
	ck_assert_double_eq(x.c->delta, 0);
}
END

TEST(what_has_no_duration_is_not_taken_for_unchanged)
{
	/* seconds of both sides, then what is known of their time */
	static const struct {
		double s, s2;
		bool gauge, known, base_timed, now_timed;
	} times[] = {
		{1, 1, false, true, true, true},
		{0, 1, false, false, false, true},
		{1, 0, false, false, true, false},
		{0, 0, false, false, false, false},
		{0, 0, true, true, true, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		CLEANUP_COMPARED struct compared x =
			compare_as(profile_of("main;f 1000\n"),
		                   profile_of("main;f 5000\n"), times[i].s,
		                   times[i].s2, times[i].gauge);

		ck_assert_msg(x.c->known == times[i].known, "row %zu", i);
		ck_assert(x.c->base_timed == times[i].base_timed);
		ck_assert(x.c->now_timed == times[i].now_timed);
		ck_assert((x.c->delta != 0) == times[i].known);
	}
}
END

static const struct {
	const char *base, *now;
	double s, s2;
	enum compare_verdict verdict;
	const char *decides;
} verdicts[] = {
	/* f and the whole service cost more */
	{"m;f 1000\nm;g 1000\n", "m;f 2000\nm;g 1000\n", 20, 20,
         COMPARE_REGRESSED, "f"},
	/* f was made cheaper: g's share rose, its cost did not */
	{"m;f 1000\nm;g 1000\n", "m;f 300\nm;g 1000\n", 20, 20,
         COMPARE_IMPROVED, "f"},
	/* the same in twice the time */
	{"m;f 10000\nm;g 10000\n", "m;f 20000\nm;g 20000\n", 20, 40, COMPARE_OK,
         NULL},
	/* the service uses all of its CPU before and after */
	{"m;f 1000\nm;g 1000\n", "m;f 1600\nm;g 400\n", 20, 20,
         COMPARE_REGRESSED, "f"},
	/* a new function */
	{"m;g 1000\n", "m;g 1000\nm;f 500\n", 20, 20, COMPARE_REGRESSED, "f"},
	/* one that is gone */
	{"m;g 1000\nm;f 500\n", "m;g 1000\n", 20, 20, COMPARE_IMPROVED, "f"},
	/* equal sides: this is known only with enough samples */
	{"m;g 9000\n", "m;g 9000\n", 20, 20, COMPARE_OK, NULL},
	{"m;g 1000\n", "m;g 1000\n", 20, 20, COMPARE_INSUFFICIENT, NULL},
	/* a third more of everything: no share moved */
	{"m;f 1000\nm;g 1000\n", "m;f 1350\nm;g 1350\n", 20, 20,
         COMPARE_COSTS_MORE, NULL},
	/* rises that are certain but small, and uncertain; a fall */
	{"m;f 200000\nm;g 200000\n", "m;f 206000\nm;g 206000\n", 20, 20,
         COMPARE_OK, NULL},
	{"m;f 100\nm;g 100\n", "m;f 110\nm;g 110\n", 20, 20,
         COMPARE_INSUFFICIENT, NULL},
	{"m;f 1000\nm;g 1000\n", "m;f 700\nm;g 700\n", 20, 20, COMPARE_IMPROVED,
         NULL},
};

/* Reasons of verdicts as people read them, in full if they have figures. */
static const struct {
	const char *base, *now;
	double s;
	bool gauge;
	const char *reason;
} reasons[] = {
	{"m;f 9000\n", "m;f 9000\n", 20, false,
         "No function changed by more than chance explains, and the service "
         "as a whole is unchanged (-4.0 to +4.2 %)."},
	{"m;f 6000\n", "m;f 6000\n", 20, false,
         "No function changed by more than chance explains, "
         "but the service as a whole may have changed (-4.9 to +5.2 %). If it "
         "goes on like this, 4 s more of the comparison will tell."},
	{"m;f 9000\n", "m;f 9000\n", 0, false,
         "No function changed by more than chance explains, and how much the "
         "service as a whole costs is not known."},
	{"m;f 1000\nm;g 1000\n", "m;f 2000\nm;g 1000\n", 20, false,
         "f costs 2.0 times as much; the service as a whole costs 50 % more "
         "(+38 to +62 %)."},
	{"m;f 1000\nm;g 100\n", "m;f 300\nm;g 128\n", 20, false,
         "f costs 70 % less; the service as a whole costs 61 % less (-67 to "
         "-54 "
         "%). Yet g rose from 9.1 to 29.9 % of all, and may cost more."},
	{"m;f 1000\nm;g 1000\n", "m;f 2000\nm;g 1000\n", 20, true,
         "f costs 2.0 times as much; the service as a whole costs 50 % more "
         "(+38 to +62 %)."},
	{"m;f 1000\nm;g 1000\nm;h 3000\n", "m;f 100\nm;g 100\nm;h 3000\n", 20,
         false,
         "f costs 90 % less, g costs 90 % less; the service as a whole costs "
         "36 % less (-40 to -32 %)."},
	{"m;f 20\nm;g 20\n", "m;f 2000\n", 20, false,
         "The base has 40 samples and the comparison 2000; "
         "each needs at least 100. The base is too short to tell: take "
         "both profiles again, for longer or at a higher rate."},
	{"m;f 2000\n", "m;f 20\n", 20, false,
         "The base has 2000 samples and the comparison 20; "
         "each needs at least 100. If it goes on like this, 80 s more of the "
         "comparison will tell."},
};

TEST_EACH(a_reason_is_a_sentence_with_figures, reasons)
{
	CLEANUP_BUF struct buf said = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_COMPARED struct compared x = compare_as(
		profile_of(reasons[_i].base), profile_of(reasons[_i].now),
		reasons[_i].s, reasons[_i].s, reasons[_i].gauge);

	compare_reason(x.c, &said);
	ck_assert_str_eq(buf_str(&said), reasons[_i].reason);
}
END

/* Sides that waited for a CPU, in percent of the time in which they could
 * run. */
static const struct {
	const char *base, *now;
	int base_waited, now_waited;
	enum compare_verdict verdict;
	double low, high; /* in percent, or 0 */
} hindered[] = {
	/* half as much, which competition explains, or does not */
	{"m;f 9000\nm;g 9000\n", "m;f 4500\nm;g 4500\n", 0, 50, COMPARE_OK, -52,
         4},
	{"m;f 9000\nm;g 9000\n", "m;f 4500\nm;g 4500\n", 50, 50,
         COMPARE_IMPROVED, -52, -48},
	{"m;f 9000\nm;g 9000\n", "m;f 4500\nm;g 4500\n", 50, 0,
         COMPARE_IMPROVED, -76, -48},
	/* twice as much */
	{"m;f 4500\nm;g 4500\n", "m;f 9000\nm;g 9000\n", 50, 0,
         COMPARE_INSUFFICIENT, -4, 107},
	{"m;f 4500\nm;g 4500\n", "m;f 9000\nm;g 9000\n", 30, 0,
         COMPARE_COSTS_MORE, 35, 107},
	/* the total fell, and the share of a function rose */
	{"m;f 1000\nm;g 1000\n", "m;f 700\nm;g 500\n", 0, 50, COMPARE_REGRESSED,
         0, 0},
};

TEST_EACH(what_competition_for_the_cpu_explains_is_no_change, hindered)
{
	struct profile *base = profile_of(hindered[_i].base);
	struct profile *now = profile_of(hindered[_i].now);
	int waited = hindered[_i].base_waited;
	struct compared x;

	ck_assert_int_eq(profile_mark_waits(base, 100 - waited, waited), 0);
	waited = hindered[_i].now_waited;
	ck_assert_int_eq(profile_mark_waits(now, 100 - waited, waited), 0);
	x = compare(base, now, 20, 20);
	ck_assert_int_eq(x.c->verdict, hindered[_i].verdict);
	if (hindered[_i].high > 0 || hindered[_i].low < 0) {
		ck_assert_double_eq_tol(x.c->low, hindered[_i].low, 2);
		ck_assert_double_eq_tol(x.c->high, hindered[_i].high, 2);
	}
	compared_done(&x);
}
END

TEST(a_reason_says_how_long_the_sides_waited_for_a_cpu)
{
	CLEANUP_BUF struct buf said = BUF_INIT(BUF_MAX_SMALL);
	struct profile *base = profile_of("m;f 4500\n");
	struct profile *now = profile_of("m;f 9000\n");
	struct compared x;

	ck_assert_int_eq(profile_mark_waits(base, 50, 50), 0);
	x = compare(base, now, 20, 20);
	compare_reason(x.c, &said);
	ck_assert_ptr_nonnull(strstr(
		buf_str(&said),
		"It waited for a CPU for 50 % of the time in which it could "
		"run in the base, and 0 % in the comparison: take both "
		"profiles again while less else runs, or count the work "
		"done."));
	compared_done(&x);
}
END

TEST(a_reason_says_since_when_where_that_is_known)
{
	CLEANUP_BUF struct buf said = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_COMPARED struct compared x = compare_text(
		"m;f 1000\nm;g 1000\n", "m;f 2000\nm;g 1000\n", 20, 20);

	x.c->functions[0].since.at_ms = INT64_C(1732652190500);
	x.c->since.at_ms = INT64_C(1732652200000);
	compare_reason(x.c, &said);
	ck_assert_str_eq(buf_str(&said),
	                 "f costs 2.0 times as much since 2024-11-26 20:16:30 "
	                 "UTC; the service as a whole costs 50 % more since "
	                 "2024-11-26 20:16:40 UTC (+38 to +62 %).");
}
END

TEST(a_total_that_rose_is_told_with_its_interval)
{
	CLEANUP_BUF struct buf said = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_COMPARED struct compared x = compare_text(
		"m;f 5000\nm;g 5000\n", "m;f 6750\nm;g 6750\n", 20, 20);

	compare_reason(x.c, &said);
	ck_assert_ptr_nonnull(strstr(
		buf_str(&said), "The service as a whole costs 35 % more (+"));
}
END

TEST(a_total_that_accounts_for_it_is_named)
{
	CLEANUP_BUF struct buf base = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf now = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_BUF struct buf said = BUF_INIT(BUF_MAX_SMALL);
	struct compare_side side[2] = {{.seconds = 20}, {.seconds = 20}};
	struct compared x;

	buf_puts(&base, "m;f 30000\n");
	buf_puts(&now, "m;f 30000\n");
	for (int i = 0; i < 50; i++) {
		buf_addf(&base, "m;g;g%d 100\n", i);
		buf_addf(&now, "m;g;g%d 200\n", i);
	}
	x = compare_text(buf_str(&base), buf_str(&now), 20, 20);
	for (int i = 0; i < 2; i++)
		side[i].tree = x.t[i];
	ck_assert_int_eq(x.c->verdict, COMPARE_COSTS_MORE);
	ck_assert(compare_totals_decide(x.c));
	ck_assert_int_eq(compare_totals(x.c, &side[0], &side[1]), 0);
	ck_assert_uint_eq(x.c->nrisen, 1);
	ck_assert_str_eq(x.c->risen[0]->name, "g");
	ck_assert_double_lt(x.c->risen[0]->total_p, 0.01);
	ck_assert_int_eq(x.c->verdict, COMPARE_REGRESSED);
	compare_reason(x.c, &said);
	ck_assert_ptr_nonnull(strstr(
		buf_str(&said), "g, with what it calls, costs 2.0 times as "
				"much; the service as a whole costs 14 % "
				"more ("));
	compared_done(&x);
}
END

TEST_EACH(verdicts_go_by_cost_per_second, verdicts)
{
	CLEANUP_COMPARED struct compared x =
		compare_text(verdicts[_i].base, verdicts[_i].now,
	                     verdicts[_i].s, verdicts[_i].s2);

	ck_assert_str_eq(compare_verdicts[x.c->verdict],
	                 compare_verdicts[verdicts[_i].verdict]);
	for (size_t i = 0; i < x.c->n; i++) {
		const struct compare_function *f = &x.c->functions[i];
		bool want = verdicts[_i].decides &&
		            !strcmp(f->name, verdicts[_i].decides);

		ck_assert_msg(compare_decides(x.c, f) == want, "%s", f->name);
	}
}
END

TEST(overall_delta_is_percent_of_cost_per_second)
{
	CLEANUP_COMPARED struct compared x =
		compare_text("m;f 1000\n", "m;f 3000\n", 10, 20);

	ck_assert_double_eq_tol(x.c->delta, 50, 1e-9);
	ck_assert(x.c->low > 20 && x.c->low < 50);
	ck_assert(x.c->high > 50 && x.c->high < 80);
}
END

TEST(recursion_counts_once_in_cumulative_shares)
{
	CLEANUP_COMPARED struct compared x = compare_text(
		"m;r;r;r;f 600\nm;g 400\n", "m;r;f 600\nm;g 400\n", 10, 10);
	const struct compare_function *r = find(x.c, "r");

	ck_assert_double_eq_tol(r->base.cumulative_pct, 60, 1e-9);
	ck_assert_double_eq_tol(r->now.cumulative_pct, 60, 1e-9);
	ck_assert_int_eq(r->change, COMPARE_UNCHANGED);
}
END

/* One sample stands for 512 KiB, so a million objects of 16 bytes are only 30
 * samples. */
TEST(memory_is_counted_in_samples_of_its_period)
{
	struct profile *p[2] = {profile_of(""), profile_of("")};
	struct tree *t[2];
	struct comparison *c;

	for (int i = 0; i < 2; i++) {
		CLEANUP_BUF struct buf text = BUF_INIT(100);

		profile_free(p[i]);
		buf_addf(&text, "m;f %d\n", 1000000 * (i + 1));
		p[i] = profile_of(buf_str(&text));
		ck_assert_int_eq(
			profile_cstring(p[i], "bytes", &p[i]->types[1].unit),
			0);
		p[i]->period_type.unit = p[i]->types[1].unit;
		p[i]->period = INT64_C(1) << 38;
		ck_assert_int_eq(tree_new(p[i], 1, &t[i]), 0);
	}
	const struct compare_side side[2] = {{.tree = t[0]}, {.tree = t[1]}};

	ck_assert_int_eq(
		compare_new(&side[0], &side[1], true, COMPARE_BY_SHARE, &c), 0);
	ck_assert_double_lt(c->base_samples, 40);
	ck_assert_int_eq(c->verdict, COMPARE_INSUFFICIENT);
	ck_assert_double_eq_tol(c->delta, 100, 1e-9);
	comparison_free(c);
	for (int i = 0; i < 2; i++) {
		tree_free(t[i]);
		profile_free(p[i]);
	}
}
END

/* The interval of a fraction of a sample would have thirty digits. */
TEST(less_than_a_sample_has_no_interval)
{
	struct profile *p[2] = {profile_of("m;f 1\n"), profile_of("m;f 2\n")};
	struct tree *t[2];
	struct comparison *c;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(
			profile_cstring(p[i], "bytes", &p[i]->types[1].unit),
			0);
		p[i]->period_type.unit = p[i]->types[1].unit;
		p[i]->period = INT64_C(1) << 62;
		ck_assert_int_eq(tree_new(p[i], 1, &t[i]), 0);
	}
	const struct compare_side side[2] = {{.tree = t[0]}, {.tree = t[1]}};

	ck_assert_int_eq(
		compare_new(&side[0], &side[1], true, COMPARE_BY_SHARE, &c), 0);
	ck_assert_int_eq(c->verdict, COMPARE_INSUFFICIENT);
	ck_assert(!c->known);
	comparison_free(c);
	for (int i = 0; i < 2; i++) {
		tree_free(t[i]);
		profile_free(p[i]);
	}
}
END

/* As in a program that allocates too often to be watched all the time. */
TEST(sums_that_are_rough_are_not_judged)
{
	for (int rough = 0; rough < 4; rough++) {
		CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
		struct profile *p[] = {profile_of("m;f 5000\nm;g 5000\n"),
		                       profile_of("m;f 50000\nm;g 5000\n")};
		struct compared x;

		for (int i = 0; i < 2; i++)
			if (rough >> i & 1)
				ck_assert_int_eq(profile_mark_rough(p[i]), 0);
		x = compare(p[0], p[1], 10, 10);
		ck_assert_int_eq(x.c->verdict, rough ? COMPARE_INSUFFICIENT
		                                     : COMPARE_REGRESSED);
		ck_assert_int_eq(x.c->known, !rough);
		ck_assert_int_eq(x.c->nregressions > 0, !rough);
		compare_reason(x.c, &why);
		ck_assert_int_eq(strstr(buf_str(&why), "part of the time") !=
		                         NULL,
		                 rough != 0);
		compared_done(&x);
	}
}
END

/* By Welch and Satterthwaite: (v + w)^2 / (v^2 / f + w^2 / g). */
TEST(freedom_of_a_sum_is_that_of_its_uncertain_terms)
{
	static const struct {
		double v, f, w, g, freedom;
	} rows[] = {
		{1, 10, 1, 10, 20},
		{1, 10, 0, STAT_EXACT, 10},
		{0, STAT_EXACT, 1, 10, 10},
		{1, 10, 1, STAT_EXACT, 40},
		{1, STAT_EXACT, 1, STAT_EXACT, STAT_EXACT},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_double_eq_tol(
			stat_welch(rows[i].v, rows[i].f, rows[i].w, rows[i].g),
			rows[i].freedom, 1e-9);
}
END

static struct top_entry
node_of(int64_t samples, uint32_t name)
{
	const int64_t ns = samples * FOLDED_PERIOD_NS;

	return (struct top_entry){name, ns, ns, samples};
}

/* Such nodes are tested as functions are, with the dispersion of all
 * functions. */
TEST(nodes_without_blocks_are_tested_by_their_samples)
{
	CLEANUP_COMPARED struct compared x =
		compare_text("f 1000\ng 9000\n", "f 3000\ng 7000\n", 100, 100);
	const struct compare_side base = {.tree = x.t[0], .seconds = 100};
	const struct compare_side now = {.tree = x.t[1], .seconds = 100};
	const struct compare_node nodes[] = {
		{node_of(1000, 0), node_of(3000, 0)},
		{node_of(9000, 1), node_of(7000, 1)},
		{node_of(1000, 2), node_of(1001, 2)},
	};
	enum compare_change out[ARRAY_LEN(nodes)];

	ck_assert_int_eq(
		compare_nodes(x.c, &base, &now, nodes, ARRAY_LEN(nodes), out),
		0);
	ck_assert_int_eq(out[0], COMPARE_REGRESSION);
	ck_assert_int_eq(out[1], COMPARE_IMPROVEMENT);
	ck_assert_int_eq(out[2], COMPARE_UNCHANGED);
}
END

SUITE("compare", .seconds = 120);
