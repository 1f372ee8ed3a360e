/*
 * A profile for profiler.firefox.com: its "processed" format, symbolicated.
 *
 * Version 57, which newer front ends upgrade: the strings are shared, each
 * thread has tables of its own. With a timeline each sample stands in its
 * thread, at its time; without one, all stand in one thread, laid out evenly
 * over the profile's duration, as wide as what they weigh.
 *
 * Categories are User, Kernel and Blocked; a sample of a waiting thread ends
 * in the frame "[blocked]". What happened to processes and when samples are
 * missing are markers; memory and CPU time are counters.
 *
 * Source: docs-developer/processed-profile-format.md and src/types/profile.ts
 * of firefox-devtools/profiler; 57 is what samply's fork of Feldera writes.
 */
#pragma once

#include "profile/profile.h"
#include "profile/timeline.h"

#define FIREFOX_VERSION 57

struct firefox_meta {
	const char *product; /* "checkout cpu" */
	const char *process; /* name of the only one, without a timeline */
	const char *oscpu;   /* "" unknown */
	int64_t time_ms;     /* start, since the epoch */
	int64_t duration_ms; /* where the profile does not say */
	int cpus;            /* 0 unknown */
};

/*
 * Appends the document: JSON, not compressed.
 *
 *   Shape    type: the values that samples are weighed by; timeline may be
 *            NULL, and is left aside when it is not of this profile
 *   Errors   -ENOMEM, -E2BIG; out is poisoned
 */
MUST_CHECK int firefox_write(const struct profile *p, uint32_t type,
                             const struct timeline *timeline,
                             const struct firefox_meta *meta, struct buf *out);
