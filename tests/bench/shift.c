/*
 * How often shifts are found in steady ranges; how often planted shifts are
 * found, and how often their interval contains the true time. One line for each
 * scenario, on stdout:
 *
 *	shift steady ROUNDS	what, percent of ranges with a shift
 *	shift shifted ROUNDS	what, factor, percent found, percent of these
 *				whose interval has the time, its mean length in
 *				windows
 *	shift cost ROUNDS	CPU time of a range of 400 windows, in ms
 *
 * what is share-plain, share-phases, share-restarts, rate-plain, ... A range
 * has 90 to 1440 windows of a service that has 2 to 400 samples in each. Load
 * and function may have phases of up to a fortieth of the range, on average, at
 * random or by the clock, in which they cost up to five times as much; the load
 * wanders. Restarts leave a gap, and a burst of one to three windows. The shift
 * is at a random time, within a window, in the middle 70 % of the range.
 */
#include "profile/shift.h"
#include "lib/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_BINS  1440
#define WINDOW_MS 10000
#define NEAR_MS   60000 /* tolerance around the interval of a shift */

enum kind { PLAIN, PHASES, RESTARTS, KINDS };
static const char *const kinds[] = {"plain", "phases", "restarts"};
static const char *const bys[] = {"share", "rate"};

struct range {
	struct shift_bin bins[MAX_BINS];
	size_t n;
	int64_t shift_ms; /* 0: steady */
};

static uint64_t seed = 1;

/* --- chance --------------------------------------------------------------- */

static double
between(double a, double b)
{
	return a + (b - a) * random_real(&seed);
}

/* Draws a number between a and b, each power of two equally often. */
static double
scale(double a, double b)
{
	return a * pow(b / a, random_real(&seed));
}

static double
normal(void)
{
	return sqrt(-2 * log(1 - random_real(&seed))) *
	       cos(2 * M_PI * random_real(&seed));
}

static double
poisson(double mean)
{
	double p = exp(-mean), sum = p, u = random_real(&seed), k = 0;

	if (mean > 50)
		return fmax(0, round(mean + sqrt(mean) * normal()));
	while (u > sum && k < 1000)
		sum += p *= mean / ++k;
	return k;
}

/* --- ranges --------------------------------------------------------------- */

/* Two levels that alternate. */
struct phases {
	double length, size; /* windows, on average; ratio of the levels */
	bool by_clock, high;
	double left;
};

static struct phases
phases_of(enum kind kind, size_t windows)
{
	return (struct phases){
		.length = scale(0.5, (double)windows / 40),
		.size = kind == PLAIN ? 1 : scale(1, 5),
		.by_clock = random_real(&seed) < 0.5,
		.high = random_real(&seed) < 0.5,
	};
}

static double
phase_next(struct phases *p)
{
	if (p->left <= 0) {
		p->high = !p->high;
		p->left = p->by_clock
		                  ? p->length
		                  : -p->length * log(1 - random_real(&seed));
	}
	p->left--;
	return p->high ? p->size : 1;
}

/* Adds a window with these expected samples and this share of the function. */
static void
add(struct range *r, enum shift_by by, size_t at, double load, double share,
    double times)
{
	struct shift_bin *b = &r->bins[r->n++];

	b->start_ms = (int64_t)at * WINDOW_MS;
	b->end_ms = b->start_ms + WINDOW_MS;
	if (by == SHIFT_SHARE) {
		b->cost = poisson(load * share * times);
		b->of = b->cost + poisson(load * (1 - share));
	} else {
		b->cost = poisson(load * times);
		b->of = WINDOW_MS / 1000.;
	}
}

/* Draws a range in which the cost changes by a factor at some time. */
static void
make(struct range *r, enum kind kind, enum shift_by by, double factor)
{
	static const size_t sizes[] = {90, 180, 360, MAX_BINS};
	size_t n = sizes[random_next(&seed) % 4], burst = 0;
	double load = scale(2, 400), share = scale(0.02, 0.5);
	struct phases busy = phases_of(kind, n), own = phases_of(kind, n);
	double keeps = between(0, 0.9), wander = 0;
	double when = between(0.15, 0.85) * (double)n;

	r->n = 0;
	r->shift_ms = factor > 1 ? (int64_t)(when * WINDOW_MS) : 0;
	for (size_t i = 0; i < n; i++) {
		double after = fmin(fmax((double)i + 1 - when, 0), 1);
		double now = load * phase_next(&busy);
		double part = fmin(share * phase_next(&own), 0.9);

		wander = keeps * wander + sqrt(1 - keeps * keeps) * normal();
		if (kind != PLAIN)
			now *= exp(0.2 * wander);
		if (kind == RESTARTS && random_real(&seed) < 2. / (double)n) {
			burst = 1 + random_next(&seed) % 3;
			i += random_next(&seed) % 3;
		}
		if (burst) {
			burst--;
			part = random_real(&seed);
			now *= scale(0.3, 3);
		}
		if (i < n)
			add(r, by, i, now, part, 1 + (factor - 1) * after);
	}
}

static void
find(const struct range *r, enum shift_by by, struct shifts *out)
{
	if (shift_find(r->bins, r->n, by, SHIFT_ALARMS, out))
		exit(1);
}

/* --- figures -------------------------------------------------------------- */

static void
steady(enum shift_by by, enum kind kind, int rounds)
{
	static struct range r;
	struct shifts s;
	int alarms = 0;

	for (int i = 0; i < rounds; i++) {
		make(&r, kind, by, 1);
		find(&r, by, &s);
		alarms += s.n > 0;
	}
	printf("%s-%s %.2f\n", bys[by], kinds[kind], 100. * alarms / rounds);
}

static const struct shift *
near(const struct shifts *s, int64_t ms)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->items[i].earliest_ms - NEAR_MS <= ms &&
		    s->items[i].latest_ms + NEAR_MS >= ms)
			return &s->items[i];
	return NULL;
}

static void
shifted(enum shift_by by, enum kind kind, double factor, int rounds)
{
	static struct range r;
	struct shifts s;
	double length = 0;
	int found = 0, covers = 0;

	for (int i = 0; i < rounds; i++) {
		const struct shift *one;

		make(&r, kind, by, factor);
		find(&r, by, &s);
		one = near(&s, r.shift_ms);
		if (!one)
			continue;
		found++;
		covers += one->earliest_ms <= r.shift_ms &&
		          one->latest_ms >= r.shift_ms;
		length += (double)(one->latest_ms - one->earliest_ms) /
		          WINDOW_MS;
	}
	printf("%s-%s %.1f %.1f %.1f %.1f\n", bys[by], kinds[kind], factor,
	       100. * found / rounds, found ? 100. * covers / found : 0,
	       found ? length / found : 0);
}

static void
cost(int rounds)
{
	static struct range r;
	struct shifts s;
	clock_t spent = 0;

	for (int i = 0; i < rounds; i++) {
		clock_t before;

		do
			make(&r, RESTARTS, SHIFT_SHARE, 2);
		while (r.n < SHIFT_BINS);
		before = clock();
		find(&r, SHIFT_SHARE, &s);
		spent += clock() - before;
	}
	printf("%.3f\n", 1000. * (double)spent / CLOCKS_PER_SEC / rounds);
}

int
main(int argc, char **argv)
{
	static const double factors[] = {1.1, 1.3, 2, 4};
	int rounds = argc == 3 ? atoi(argv[2]) : 0;

	if (rounds <= 0)
		return 2;
	if (!strcmp(argv[1], "cost")) {
		cost(rounds);
		return 0;
	}
	for (int i = 0; i < 2 * KINDS; i++) {
		enum shift_by by = (enum shift_by)(i / KINDS);
		enum kind kind = (enum kind)(i % KINDS);

		if (!strcmp(argv[1], "steady"))
			steady(by, kind, rounds);
		for (size_t k = 0;
		     k < ARRAY_LEN(factors) && !strcmp(argv[1], "shifted"); k++)
			shifted(by, kind, factors[k], rounds);
	}
	return 0;
}
