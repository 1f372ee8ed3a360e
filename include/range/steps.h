/*
 * The cost of a type, or of a function, of a service over time, in steps of one
 * length.
 *
 *	struct steps s = {.range = ..., .step_ms = steps_usual(to - from),
 *	                  .function = ""};
 *	steps_read(&s, &why)
 *	... s.points[0 .. s.n] ...
 *	steps_done(&s)
 */
#pragma once

#include "profile/sift.h"
#include "range/range.h"

#define STEPS_MAX 2000

struct step {
	double value, self, all, samples;
	double profiles; /* number of captured profiles that these add up */
	double covered_ms;
	bool there; /* something was captured in it, however briefly */
};

struct steps {
	/* The question; all is borrowed. */
	struct range range; /* neither planned nor read */
	int64_t step_ms;
	const char *function;    /* "": the cost of all functions */
	const struct sift *sift; /* only the cost of stacks that it leaves;
	                            NULL: of all. Not with a function */
	bool windows_only; /* sessions, whose profiles would be read, do not
	                         count */
	/* The answer. As with rollups, the range begins at a multiple of a
	 * step; its parts may reach past both ends. */
	struct step *points; /* of a gauge: means */
	size_t n;
	bool gauge;
};
#define CLEANUP_STEPS CLEANUP(steps_done)
void steps_done(struct steps *s);

/* Returns a round length with which a range has some 100 steps. */
int64_t steps_usual(int64_t range_ms);
/* Returns the number of steps of the question. */
int64_t steps_count(const struct steps *s);
/*
 * Reads the costs. The profiles of windows are read only for a function or a
 * sift.
 *
 *   Shape    steps_count() is at most STEPS_MAX
 *            *why: one line about a part that could not be read
 *   Errors   as range_merge()
 */
MUST_CHECK int steps_read(struct steps *s, struct buf *why);
/* Returns the cost of all steps, of a gauge its mean. *ms: the time covered. */
double steps_total(const struct steps *s, double *ms);
/* Returns a cost per second, given the time that it covers; of a gauge the cost
 * itself. Not finite if ms is 0. */
double steps_rate(const struct steps *s, double cost, double ms);
/* Writes an array with the time and the rate of each step. */
void steps_put_rates(const struct steps *s, const char *key, struct buf *out);
