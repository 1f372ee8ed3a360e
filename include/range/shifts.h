/*
 * The times from which functions of a service, and the service as a whole, cost
 * more or less (profile/shift.h), from the windows of a range.
 *
 * A function is watched by its share of all cost, so that a busier hour is not
 * a shift. A shift of the share counts if the cost per second moved in the same
 * direction, and at least half as much: when one function costs more, the
 * shares of all others fall. The whole is watched by its cost per second; of a
 * gauge, by its mean. A shift of the whole counts unless competition for the
 * CPU explains more than half of it.
 */
#pragma once

#include "profile/shift.h"
#include "range/range.h"

#define SHIFTS_PARTS     2000 /* read at most; of more, coarser ones */
#define SHIFTS_FUNCTIONS 4096 /* counted at a time, the costliest */
#define SHIFTS_TESTED    100  /* of those, the ones with most samples */

/* A level: the cost between two shifts, or at an end of the range. */
struct shifted_level {
	double seconds, samples, cost;
	double ran; /* seconds, less those in which threads waited for a CPU */
	double share; /* of the cost of all functions, 0..1 */
};

struct shifted {
	char *function; /* NULL: the whole */
	bool total;     /* with what it calls */
	struct shifts shifts;
	struct shifted_level levels[SHIFT_MAX + 1];
};

struct range_shifts {
	/* The question; borrowed. */
	struct range *range;
	const char *function; /* "": every function that shifted */
	/* The answer. */
	struct shifted whole, *items; /* largest change per second first */
	size_t n;
	size_t ntested;
};
#define CLEANUP_RANGE_SHIFTS CLEANUP(range_shifts_done)
void range_shifts_done(struct range_shifts *s);

/*
 * Finds the shifts of a range that is neither planned nor read. A named
 * function is always in the answer, with its own cost or, if that has no shift,
 * its total.
 *
 *   Shape    *why: one line about a part that could not be read
 *   Errors   as range_merge()
 */
MUST_CHECK int range_shifts(struct range_shifts *s, struct buf *why);
/* Returns the cost after a shift, divided by that before it; 0 if it is not
 * known, as for a new function. */
double range_shift_factor(const struct shifted *s, size_t shift);
