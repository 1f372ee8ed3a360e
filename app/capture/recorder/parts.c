#include "parts.h"

#include "base/clock.h"

#include <math.h>

/* A longer time without samples ends a part: allocs.c leaves a process alone
 * for 150 ms or more. */
#define GAP_NS ((uint64_t)(100 * NS_PER_MS))
/* With fewer parts, their differences mean nothing. */
#define LEAST_PARTS 3
/* Standard deviations. With ten parts, 99 % of the true values are within
 * 3.2. */
#define SURE 3.2

/* Counts the current part, with the time since the one before it. */
static void
end_part(struct parts *p)
{
	if (p->time > 0) {
		p->n++;
		p->vv += p->value * p->value;
		p->vt += p->value * p->time;
		p->tt += p->time * p->time;
		p->all_v += p->value;
		p->all_t += p->time;
	}
	p->value = 0;
}

void
parts_add(struct parts *p, uint64_t time_ns, double seen, double value,
          double most)
{
	if (p->begun_ns && time_ns > p->last_ns + GAP_NS) {
		end_part(p);
		p->time = (double)(time_ns - p->begun_ns);
		p->begun_ns = time_ns;
	}
	if (!p->begun_ns)
		p->begun_ns = time_ns;
	if (time_ns > p->last_ns)
		p->last_ns = time_ns;
	p->value += value;
	p->seen += seen;
	p->sum += value;
	p->most += most;
}

/* Each part has a value in proportion to its time, and the rest is chance:
 * Cochran, Sampling Techniques, 6.3, ratio estimates. */
struct parts_bounds
parts_bounds(const struct parts *p)
{
	struct parts all = *p;
	double rate, squares, step;

	end_part(&all);
	if (all.n < LEAST_PARTS)
		return (struct parts_bounds){p->seen, 2 * p->most};
	rate = all.all_v / all.all_t;
	squares = all.vv - 2 * rate * all.vt + rate * rate * all.tt;
	step = SURE * sqrt(fmax(squares, 0) * all.n / (all.n - 1));
	return (struct parts_bounds){
		.least = fmax(p->sum - step, p->seen),
		.most = p->sum > 0 ? p->most * (1 + step / p->sum) : 0,
	};
}
