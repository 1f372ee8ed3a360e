/*
 * Profiles of the parts of a range, made while those before them are still
 * being added up: reading them, which is most of what a range costs, takes
 * other CPUs where there are.
 *
 *	ahead_new(range, &a)
 *	ahead_take(a, &p, &why)		n times, or fewer
 *	ahead_free(a)
 */
#pragma once

#include "range/range.h"

struct ahead;

/* The range and its parts are borrowed; without threads, or when a part lies in
 * the database, profiles are made when they are taken.
 *   Errors   -ENOMEM */
MUST_CHECK int ahead_new(const struct range *r, struct ahead **out);
/* Waits for those that are being made. */
void ahead_free(struct ahead *a);
DEFINE_CLEANUP(struct ahead *, ahead_free)
#define CLEANUP_AHEAD CLEANUP(ahead_free_ptr)
/*
 * The profile of the next part, in their order; none of one that is empty.
 *   Errors   as range_part_read()
 */
MUST_CHECK int ahead_take(struct ahead *a, struct packed *out, struct buf *why);
