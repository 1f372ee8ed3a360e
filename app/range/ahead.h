/*
 * Read-ahead of the parts of a range: threads read and decode the next
 * profiles, most of the cost of a range, while earlier ones are being added up.
 * Parts are read in units: neighbours in a series that lie in one segment, most
 * of which count the stacks of one base (base/counted.h). The base is decoded
 * once for all of them.
 *
 * 	ahead_new(range, &a)
 * 	ahead_next(a, &unit, &why)	until it returns -ENODATA, or less often
 * 	ahead_free(a)
 */
#pragma once

#include "range/range.h"

struct ahead;

/* A part as it was read: a profile; counts of the unit's base; or nothing, if
 * it is empty or lost. */
struct ahead_one {
	int rc; /* why it is lost */
	bool counted;
	struct packed whole;
	struct packed_part counts;
};

struct ahead_unit {
	const size_t *parts; /* indexes of parts in the range */
	size_t n;
	struct ahead_one *ones; /* by part */
	struct packed base;
};

/* Starts to read ahead. The range and its parts are borrowed. Without threads,
 * or if a part is in the database, a unit is read when it is asked for.
 *   Errors   -ENOMEM */
MUST_CHECK int ahead_new(const struct range *r, struct ahead **out);
/* Stops, and waits for parts that are being read. */
void ahead_free(struct ahead *a);
DEFINE_CLEANUP(struct ahead *, ahead_free)
#define CLEANUP_AHEAD CLEANUP(ahead_free_ptr)
/*
 * Returns the next unit, whose profiles the caller may change. Parts whose
 * bytes are missing or damaged are marked as lost.
 *   Owns     *out is valid until the next call
 *   Shape    *why: one line about a part that is lost
 *   Errors   -ENODATA after the last unit; of a part that is not lost, why it
 *            could not be read
 */
MUST_CHECK int
ahead_next(struct ahead *a, struct ahead_unit **out, struct buf *why);
/* Returns the profile of a part of the unit, which is valid until another
 * part's is requested; for an empty part, one without rows. A counted profile
 * has all rows of its base.
 *   Errors   -EBADMSG; why it is lost */
MUST_CHECK int
ahead_profile(struct ahead_unit *u, size_t i, const struct packed **out);
