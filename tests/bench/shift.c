/*
 * How often shifts are found in steady ranges, and how often, and how well,
 * those that were made. One line of figures per scenario, on stdout.
 *
 *	shift steady|shifted ROUNDS [SEED]
 *
 * A range is of 90 to 1440 windows of a service with a load that varies, in
 * phases of its own; the watched function has phases, too, and up to three
 * restarts leave a gap, and a burst of whatever a program does as it starts. A
 * shifted range has one more thing: from a known time on the function, or the
 * whole, costs 1.1 to 4 times as much.
 */
#include "profile/shift.h"
#include "lib/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BINS 1440

static uint64_t seed = 1;

static double
draw(void)
{
	return (double)(random_next(&seed) >> 11) * 0x1p-53;
}

static double
between(double a, double b)
{
	return a + (b - a) * draw();
}

/* Log-uniform. */
static double
scale(double a, double b)
{
	return a * pow(b / a, draw());
}

static double
normal(void)
{
	return sqrt(-2 * log(1 - draw())) * cos(2 * M_PI * draw());
}

static double
poisson(double mean)
{
	double p = exp(-mean), sum = p, u = draw(), k = 0;

	if (mean > 50)
		return fmax(0, round(mean + sqrt(mean) * normal()));
	while (u > sum && k < 1000)
		sum += p *= mean / ++k;
	return k;
}

/* Phases: by turns one level and another, each for a time of its own. */
struct phases {
	double length, size; /* mean, in bins; the higher level, by the lower */
	bool round;          /* each of the same length */
	bool high;
	double left;
};

static double
phase_next(struct phases *p)
{
	if (p->left <= 0) {
		p->high = !p->high;
		p->left = p->round ? p->length : -p->length * log(1 - draw());
	}
	p->left--;
	return p->high ? p->size : 1;
}

struct range {
	struct shift_bin bins[MAX_BINS];
	size_t n;
	int64_t shift_ms; /* 0: steady */
	double factor;
};

enum kind { PLAIN, PHASES, RESTARTS, KINDS };
static const char *const kinds[] = {"plain", "phases", "restarts"};

static void
make(struct range *r, enum kind kind, enum shift_by by, bool shifted,
     double factor)
{
	static const size_t sizes[] = {90, 180, 360, 1440};
	size_t n = sizes[random_next(&seed) % 4];
	double load = scale(2, 400), share = scale(0.02, 0.5);
	struct phases work = {scale(0.5, (double)n / 40), 1, draw() < 0.5,
	                      draw() < 0.5, 0};
	struct phases own = {scale(0.5, (double)n / 40), 1, draw() < 0.5,
	                     draw() < 0.5, 0};
	double wander = 0, keep = between(0, 0.9);
	double when = between(0.15, 0.85) * (double)n;
	size_t burst = 0;

	if (kind >= PHASES) {
		work.size = scale(1, 5);
		own.size = scale(1, 5);
	}
	*r = (struct range){.n = 0, .factor = factor};
	if (shifted)
		r->shift_ms = (int64_t)(when * 10000);
	for (size_t i = 0; i < n; i++) {
		double after = fmin(fmax((double)i + 1 - when, 0), 1);
		double times = shifted ? 1 + (factor - 1) * after : 1;
		double all, own_share, rate = load;

		wander = keep * wander + sqrt(1 - keep * keep) * normal();
		if (kind >= PHASES)
			rate *= phase_next(&work) * exp(0.2 * wander);
		own_share = share * (kind >= PHASES ? phase_next(&own) : 1);
		if (own_share > 0.9)
			own_share = 0.9;
		if (kind == RESTARTS && draw() < 2. / (double)n) {
			burst = 1 + random_next(&seed) % 3;
			i += random_next(&seed) % 3;
		}
		if (burst) {
			burst--;
			own_share = draw();
			rate *= scale(0.3, 3);
		}
		if (i >= n)
			break;
		struct shift_bin *b = &r->bins[r->n++];
		b->start_ms = (int64_t)i * 10000;
		b->end_ms = b->start_ms + 10000;
		if (by == SHIFT_SHARE) {
			double f = poisson(rate * own_share * times);

			all = poisson(rate * (1 - own_share));
			b->cost = f;
			b->of = all + f;
		} else {
			b->cost = poisson(rate * times);
			b->of = 10;
		}
	}
}

int
main(int argc, char **argv)
{
	bool shifted = argc > 1 && !strcmp(argv[1], "shifted");
	int rounds = argc > 2 ? atoi(argv[2]) : 1000;
	static const double factors[] = {1.1, 1.3, 2, 4};

	if (argc > 3)
		seed = (uint64_t)atoll(argv[3]);
	for (int by = 0; by < 2; by++)
		for (int kind = 0; kind < KINDS; kind++)
			for (int f = 0; f < (shifted ? 4 : 1); f++) {
				int any = 0, found = 0, covered = 0, extra = 0,
				    could = 0;
				double width = 0;

				for (int i = 0; i < rounds; i++) {
					struct range r;
					struct shifts s = {0};
					bool hit = false;

					make(&r, (enum kind)kind,
					     (enum shift_by)by, shifted,
					     factors[f]);
					if (shift_find(r.bins, r.n,
					               (enum shift_by)by, 0.01,
					               &s))
						return 1;
					any += s.n > 0;
					extra += s.n > 1;
					could += s.least > 0 &&
					         s.least < factors[f];
					for (size_t k = 0; k < s.n; k++)
						if (s.items[k].earliest_ms -
						                    60000 <=
						            r.shift_ms &&
						    s.items[k].latest_ms +
						                    60000 >=
						            r.shift_ms &&
						    !hit) {
							hit = true;
							found++;
							covered +=
								s.items[k].earliest_ms <=
									r.shift_ms &&
								s.items[k].latest_ms >=
									r.shift_ms;
							width +=
								(double)(s.items[k]
							                         .latest_ms -
							                 s.items[k]
							                         .earliest_ms) /
								1e4;
						}
				}
				printf("%s %-8s x%.1f any %5.1f%% more %5.1f%%",
				       by ? "rate " : "share", kinds[kind],
				       shifted ? factors[f] : 1,
				       100. * any / rounds,
				       100. * extra / rounds);
				if (shifted)
					printf(" found %5.1f%% covered %5.1f%% "
					       "width %.1f could %.1f%%",
					       100. * found / rounds,
					       found ? 100. * covered / found
					             : 0,
					       found ? width / found : 0,
					       100. * could / rounds);
				printf("\n");
			}
	return 0;
}
