/*
 * The samples of one event of perf, from its recordings and from the output of
 * perf script.
 *
 * A recording may have several events. The one that is asked for, or else the
 * first, is kept: nanoseconds of a clock are CPU time; other
 * events are counted under their own name, which is also their unit, so that
 * nothing adds them to values of another kind. If the periods are unknown, the
 * profile has numbers of samples.
 *
 *   Errors   as in import_build.h
 */
#pragma once

#include "import_build.h"

#define PERF_MAX_EVENTS 16 /* named in notes */

struct perf_text {
	const char *p;
	size_t n;
};

struct perf_head {
	struct perf_text comm, event;
	double time_s; /* -1 unknown */
	double period; /* -1 unknown */
};

struct perf_samples {
	struct import im;
	bool other;        /* the current sample's event is left out */
	const char *first; /* the event to keep unless one is asked for; NULL:
	                      that of the first sample */
	struct label thread;
	double first_s, last_s;      /* -1 unknown */
	uint64_t samples, backwards; /* backwards: before the previous one */
	double period;               /* period of the sample */
	struct {
		struct perf_text name;
		uint64_t samples;
	} events[PERF_MAX_EVENTS];
	size_t nevents, chosen; /* chosen: PERF_MAX_EVENTS before its first
	                           sample */
	enum { PERF_SAMPLES, PERF_TIME, PERF_EVENTS } kind; /* of values */
};

MUST_CHECK int perf_samples_init(struct perf_samples *s,
                                 const struct import_ask *ask, struct buf *why);
/* Begins a sample. The texts must stay valid. */
MUST_CHECK int
perf_sample_begin(struct perf_samples *s, const struct perf_head *h);
/* Adds the sample, with the frames that were pushed since. */
MUST_CHECK int perf_sample_end(struct perf_samples *s);
/* Adds the sample to that of im.row, which had the same stack and thread. */
MUST_CHECK int perf_sample_again(struct perf_samples *s, uint32_t row);
/* Finishes the profile, as import_end(). */
MUST_CHECK int perf_samples_end(struct perf_samples *s, struct profile **out);
