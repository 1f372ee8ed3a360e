/*
 * Read-ahead of the parts of a range: threads read and decode the next
 * profiles, most of the cost of a range, while earlier ones are being added up.
 *
 * 	ahead_new(range, &a)
 * 	ahead_take(a, &p, &why)		n times, or fewer
 * 	ahead_free(a)
 */
#pragma once

#include "range/range.h"

struct ahead;

/* Starts to read ahead. The range and its parts are borrowed. Without threads,
 * or if a part is in the database, each profile is read when it is taken.
 *   Errors   -ENOMEM */
MUST_CHECK int ahead_new(const struct range *r, struct ahead **out);
/* Stops, and waits for parts that are being read. */
void ahead_free(struct ahead *a);
DEFINE_CLEANUP(struct ahead *, ahead_free)
#define CLEANUP_AHEAD CLEANUP(ahead_free_ptr)
/*
 * Returns the profile of the next part, in order; *out is untouched for an
 * empty part.
 *   Errors   as range_part_read()
 */
MUST_CHECK int ahead_take(struct ahead *a, struct packed *out, struct buf *why);
