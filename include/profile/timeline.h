/*
 * The timeline tells when each sample of a profile was taken, and in which
 * thread.
 *
 * A profile sums its samples up; the timeline of the same capture keeps them
 * apart. The timeline is stored beside the profile (blob kind BLOB_TIMELINE)
 * and needs it, since each sample refers to a row of the profile's samples for
 * its stack. Besides samples, a timeline has threads, the lives of processes,
 * times when samples are missing, and counters of memory and CPU time.
 *
 *	timeline_decode(p, n, TIMELINE_MAX_BYTES, &t, &why)
 *	timeline_fits(t, profile)
 *	for each t->samples[i]:
 *		t->threads[s->thread], profile->samples[s->sample]
 *
 * Times are in microseconds since start_ns; samples and counters are in order
 * of time, events as well. Some samples of the profile may be missing:
 * recording ends with a TIMELINE_FULL event when its room is used up, so that
 * the profile's values are then greater. Captures that sum up what targets
 * counted themselves have no timeline.
 *
 * The file is gzipped protocol buffers, as the profile's is:
 *
 *	message Timeline {
 *	  uint64 version = 1;            // 1
 *	  int64  start_ns = 2;           // since the epoch
 *	  uint64 duration_us = 3;
 *	  uint64 period_ns = 4;          // 0: samples have none
 *	  repeated Thread thread = 5;    // Thread { pid = 1; tid = 2; name = 3;
 *	                                 //   started_us = 4; ended_us = 5; }
 *	  repeated Event event = 6;      // Event { time_us = 1; kind = 2;
 *	                                 //   pid = 3; tid = 4; value = 5;
 *	                                 //   name = 6; }
 *	  repeated Counter counter = 7;  // Counter { time_us = 1; pid = 2;
 *	                                 //   rss_bytes = 3; cpu_us = 4; }
 *	  // Samples by column, each packed, all of one length:
 *	  repeated uint64 time_us = 8;   // since the one before
 *	  repeated uint64 thread = 9;    // index
 *	  repeated uint64 sample = 10;   // index
 *	  repeated sint64 weight_ns = 11; // more than the one before
 *	  repeated uint64 kind = 12;
 *	  uint64 cpus = 13;              // of the host; 0: not known
 *	}
 *
 * Thread's started_us and ended_us are one more than the time, 0: not seen.
 * Unknown fields are skipped; another version is refused.
 */
#pragma once

#include "profile/profile.h"

#define TIMELINE_VERSION      1
#define TIMELINE_MAX_BYTES    ((size_t)256 << 20) /* inflated */
#define TIMELINE_MAX_SAMPLES  (1u << 24)
#define TIMELINE_MAX_THREADS  (1u << 16)
#define TIMELINE_MAX_EVENTS   (1u << 18)
#define TIMELINE_MAX_COUNTERS (1u << 20)
#define TIMELINE_MAX_CPUS     65536
#define TIMELINE_MAX_US       (UINT64_C(1) << 50) /* 35 years */
#define TIMELINE_NAME_MAX     64                  /* with its NUL */
#define TIMELINE_UNSEEN       UINT64_MAX          /* a time that is not known */

enum timeline_sample_kind {
	TIMELINE_CPU,     /* the thread ran; weight: CPU time that the sample
	                     stands for, up to time_us */
	TIMELINE_BLOCKED, /* the thread waited; weight: for how long, up to
	                     time_us */
	TIMELINE_SAMPLE_KINDS
};

struct timeline_sample {
	uint64_t time_us;
	uint64_t weight_ns;
	uint32_t thread; /* index into threads */
	uint32_t sample; /* index into the profile's samples */
	uint32_t kind;   /* enum timeline_sample_kind */
};

/* One life of a thread. A thread whose tid equals its pid is the process's
 * first, and bears the process's name. */
struct timeline_thread {
	uint32_t pid, tid;
	uint64_t started_us, ended_us; /* TIMELINE_UNSEEN: before, after */
	char name[TIMELINE_NAME_MAX];  /* chosen by the target: any bytes, or
	                                  "" */
};

enum timeline_event_kind {
	TIMELINE_FORK,      /* pid was born; value: its parent process */
	TIMELINE_EXEC,      /* pid runs another program, called name */
	TIMELINE_EXIT,      /* pid ended */
	TIMELINE_LOST,      /* value: records lost since the last such event */
	TIMELINE_THROTTLED, /* the kernel paused sampling on one CPU */
	TIMELINE_LOWERED,   /* value: the period from now on, ns */
	TIMELINE_FULL,      /* no samples are kept from here on */
	TIMELINE_EVENT_KINDS
};

struct timeline_event {
	uint64_t time_us;
	uint64_t value;
	uint32_t kind;     /* enum timeline_event_kind */
	uint32_t pid, tid; /* 0: of no process */
	char name[TIMELINE_NAME_MAX];
};

/* The resources that a process had used by a moment. */
struct timeline_counter {
	uint64_t time_us;
	uint64_t rss_bytes;
	uint64_t cpu_us; /* user and system, since it started */
	uint32_t pid;
};

/* A timeline. Read its arrays directly; add rows with the functions below,
 * which bound them. */
struct timeline {
	int64_t start_ns; /* since the epoch */
	uint64_t duration_us, period_ns;
	uint32_t cpus; /* of the host; 0: not known */
	struct timeline_sample *samples;
	struct timeline_thread *threads;
	struct timeline_event *events;
	struct timeline_counter *counters;
	uint32_t nsamples, nthreads, nevents, ncounters;
	uint32_t samples_cap, threads_cap, events_cap, counters_cap;
};

/* Returns NULL when out of memory. */
struct timeline *timeline_new(void);
void timeline_free(struct timeline *t);
DEFINE_CLEANUP(struct timeline *, timeline_free)
#define CLEANUP_TIMELINE CLEANUP(timeline_free_ptr)

/*
 * Each of these functions appends a row. Samples, events and counters come in
 * order of time, a sample after its thread.
 *
 *   Errors   -ENOMEM, -E2BIG past TIMELINE_MAX_*; t is unchanged
 */
MUST_CHECK int
timeline_thread(struct timeline *t, const struct timeline_thread *row);
MUST_CHECK int
timeline_sample(struct timeline *t, const struct timeline_sample *row);
MUST_CHECK int
timeline_event(struct timeline *t, const struct timeline_event *row);
MUST_CHECK int
timeline_counter(struct timeline *t, const struct timeline_counter *row);

/*
 * Appends t, gzipped; out bounds the size. Equal timelines give equal bytes.
 *   Errors   -ENOMEM, -E2BIG; out is poisoned
 */
MUST_CHECK int timeline_encode(const struct timeline *t, struct buf *out);
/*
 * Decodes a timeline, which may be hostile: times, kinds, threads and the
 * columns' lengths are checked.
 *
 *   Units    max_bytes bounds the inflated size, and memory to about 8 times as
 *            much beside TIMELINE_MAX_THREADS, _EVENTS and _COUNTERS
 *   Owns     *out is the caller's; timeline_free() it
 *   Errors   -EBADMSG malformed, -EPROTONOSUPPORT another version, -E2BIG
 *            past a bound, -ENOMEM; *out untouched
 */
MUST_CHECK int timeline_decode(const void *p, size_t n, size_t max_bytes,
                               struct timeline **out);
/*
 * Checks that every sample refers to a row of p.
 *   Errors   -EBADMSG the timeline belongs to another profile
 */
MUST_CHECK int timeline_fits(const struct timeline *t, const struct profile *p);

/* A part of a capture: from from_us on, up to to_us, and of one thread unless
 * tid is 0. */
struct timeline_part {
	uint64_t from_us, to_us;
	uint32_t tid;
};

/* Keeps the samples, events and counters of a part; times then begin with it.
 */
void timeline_cut(struct timeline *t, const struct timeline_part *part);
/*
 * Sets the values of a profile to those of a part: counts and times are summed
 * up anew, values of other units shared out by counts. Rows of which nothing is
 * in the part are left, with values of 0.
 *
 *   Shape    t is the whole timeline of p, not cut
 *   Errors   -EBADMSG the timeline belongs to another profile; -EOVERFLOW,
 *            -ENOMEM; p is unchanged
 */
MUST_CHECK int
timeline_cut_profile(const struct timeline *t, const struct timeline_part *part,
                     struct profile *p);
