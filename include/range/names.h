/*
 * Adds names to what is read from windows: to frames that were stored without
 * one, and whose names have been found since (store/names.h). Names of programs
 * whose debug file was pushed are requested when their frames are first read.
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
	int64_t has_files; /* of debug files; set with `of` */
	struct range_module {
		struct names names;
		bool read, has_file; /* has_file: the rest is set */
		char *build_id, *file;
		uint64_t start, limit, offset;
		uint64_t *addresses; /* of frames without a name */
		uint32_t n, room;
	} * of; /* by mapping of the merged profile */
};
#define CLEANUP_RANGE_NAMES CLEANUP(range_names_done)
void range_names_done(struct range_names *n);
/* Has a merge ask for names; both are borrowed until it ends. */
void range_names_begin(struct range_names *n, struct store *s,
                       const char *tenant, struct merge *m);
/*
 * Asks for the names of frames that a pushed file may name, after the merge.
 * Returns the number of those that nobody had asked for before; a failure is
 * logged.
 */
uint32_t range_names_want(struct range_names *n, const char *service);
/*
 * Builds a profile anew, with names; it stays as it is if every frame has one.
 *   Errors   -ENOMEM, -E2BIG, those of the store; *p untouched
 */
MUST_CHECK int range_names_put(struct store *s, const char *tenant,
                               const char *service, struct profile **p);
