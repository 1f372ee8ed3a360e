/*
 * Puts names into what is read from windows: those of frames that were pushed
 * without one, and were found since (store/names.h).
 */
#pragma once

#include "profile/merge.h"
#include "store/names.h"

#define RANGE_NAMES_MODULES \
	4096 /* mappings of one merge; the rest stay as
                                    they are */

/* The names that a merge has looked up; belongs to one merge. */
struct range_names {
	struct store *store;
	const char *tenant;
	struct names *of; /* by mapping of the merged profile */
	bool *read;       /* likewise */
};
#define CLEANUP_RANGE_NAMES CLEANUP(range_names_done)
void range_names_done(struct range_names *n);
/* Has a merge ask for names; both are borrowed until it ends. */
void range_names_begin(struct range_names *n, struct store *s,
                       const char *tenant, struct merge *m);
/*
 * Builds a profile anew, with names; it stays as it is if every frame has one.
 *   Errors   -ENOMEM, -E2BIG, those of the store; *p untouched
 */
MUST_CHECK int
range_names_put(struct store *s, const char *tenant, struct profile **p);
