/*
 * Writes profiles for profiler.firefox.com, in its "processed" format,
 * symbolicated.
 *
 * The version is 57, which newer front ends upgrade: strings are shared, and
 * each thread has separate tables. With a timeline, each sample appears in its
 * thread, at its time; without one, all samples appear in one thread, spread
 * over the profile's duration in proportion to their weights.
 *
 * Categories are User, Kernel and Blocked; a sample of a waiting thread ends in
 * the frame "[blocked]". Forks, execs, exits and missing samples become
 * markers; memory and CPU time become counters.
 *
 * Source: docs-developer/processed-profile-format.md and src/types/profile.ts
 * of firefox-devtools/profiler; Feldera's fork of samply writes version 57.
 */
#pragma once

#include "profile/profile.h"
#include "profile/timeline.h"

#define FIREFOX_VERSION 57

struct firefox_meta {
	const char *product; /* "checkout cpu" */
	const char *process; /* name of the process, if there is no timeline */
	const char *oscpu;   /* "" unknown */
	int64_t time_ms;     /* start, since the epoch */
	int64_t duration_ms; /* used if the profile has none */
	int cpus;            /* 0 unknown */
};

/*
 * Appends the document: JSON, not compressed.
 *
 *   Shape    type is the value type used as weight; timeline may be NULL, and
 *            is ignored if it belongs to another profile
 *   Errors   -ENOMEM, -E2BIG; out is poisoned
 */
MUST_CHECK int firefox_write(const struct profile *p, uint32_t type,
                             const struct timeline *timeline,
                             const struct firefox_meta *meta, struct buf *out);
