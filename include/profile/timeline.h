/*
 * A timeline records when each sample of a profile was taken, and in which
 * thread.
 *
 * A profile sums its samples; the timeline of the same capture keeps them
 * apart. It is stored with the profile (blob kind BLOB_TIMELINE) and cannot be
 * read without it, because each sample refers to a row of the profile's samples
 * for its stack. A timeline also has threads, the start and end of processes,
 * gaps in the samples, and counters of memory and CPU time.
 *
 *	timeline_decode(p, n, TIMELINE_MAX_BYTES, &t, &why)
 *	timeline_fits(t, profile)
 *	for each t->samples[i]:
 *		t->threads[s->thread], profile->samples[s->sample]
 *
 * Times are in microseconds since start_ns; samples, counters and events are in
 * order of time. Samples of the profile may be missing: when the room for them
 * is used up, recording ends with a TIMELINE_FULL event, and the profile's
 * values are higher. Captures of counters that targets keep themselves have no
 * timeline.
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
 *	  repeated sint64 weight_ns = 11; // less that of the one before
 *	  repeated uint64 kind = 12;
 *	  uint64 cpus = 13;              // of the host; 0: not known
 *	}
 *
 * started_us and ended_us of Thread are the time plus one; 0 means not seen.
 * Unknown fields are skipped; other versions are refused.
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
#define TIMELINE_UNSEEN       UINT64_MAX /* for a time that is not known */

enum timeline_sample_kind {
	TIMELINE_CPU, /* the thread ran; weight_ns is CPU time, up to time_us */
	TIMELINE_BLOCKED, /* the thread waited for weight_ns, until time_us */
	TIMELINE_SAMPLE_KINDS
};

struct timeline_sample {
	uint64_t time_us;
	uint64_t weight_ns;
	uint32_t thread; /* index into threads */
	uint32_t sample; /* index into the profile's samples */
	uint32_t kind;   /* enum timeline_sample_kind */
};

/* A thread; one that reuses a tid is another row, and so is one that executed
 * another program after it was sampled. The thread whose tid equals its pid is
 * the first of its process, and has the process's name. */
struct timeline_thread {
	uint32_t pid, tid;
	uint64_t started_us, ended_us; /* TIMELINE_UNSEEN: before or after the
	                                  capture */
	char name[TIMELINE_NAME_MAX];  /* chosen by the target: any bytes, or
	                                  "" */
};

enum timeline_event_kind {
	TIMELINE_FORK,      /* pid was forked; value: its parent process */
	TIMELINE_EXEC,      /* pid executed another program; name: its name */
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

/* The resources of a process at one time. */
struct timeline_counter {
	uint64_t time_us;
	uint64_t rss_bytes;
	uint64_t cpu_us; /* user and system, since it started */
	uint32_t pid;
};

/* Read the arrays directly; add rows with the functions below, which bound
 * their number. */
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
 * Each of these functions appends a row. Samples, events and counters must be
 * added in order of time, a sample after its thread.
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
 * Appends t as a gzipped file; out bounds the size. Equal timelines give equal
 * bytes.
 *   Errors   -ENOMEM, -E2BIG; out is poisoned
 */
MUST_CHECK int timeline_encode(const struct timeline *t, struct buf *out);
/*
 * Decodes a timeline, which may be hostile: times, kinds, threads and the
 * columns' lengths are checked.
 *
 *   Units    max_bytes bounds the inflated size, and memory to about 8 times as
 *            much, in addition to TIMELINE_MAX_THREADS, _EVENTS and _COUNTERS
 *   Owns     *out is the caller's; timeline_free() it
 *   Errors   -EBADMSG malformed, -EPROTONOSUPPORT another version, -E2BIG past
 *            a bound, -ENOMEM; *out untouched
 */
MUST_CHECK int timeline_decode(const void *p, size_t n, size_t max_bytes,
                               struct timeline **out);
/*
 * Checks that every sample refers to a row of p.
 *   Errors   -EBADMSG the timeline belongs to another profile
 */
MUST_CHECK int timeline_fits(const struct timeline *t, const struct profile *p);

/* A part of a capture: from from_us up to, but not including, to_us; of one
 * thread, or of all if tid is 0. */
struct timeline_part {
	uint64_t from_us, to_us;
	uint32_t tid;
};

/* Reduces t to the samples, events and counters of a part. Times then count
 * from the start of the part. */
void timeline_cut(struct timeline *t, const struct timeline_part *part);
/*
 * Sets the values of a profile to those of a part. Counts and times are summed
 * anew; values of other units are scaled by the share of the samples that are
 * in the part. Rows without samples in the part stay, with values of 0.
 *
 *   Shape    t is the timeline of p, not cut
 *   Errors   -EBADMSG the timeline belongs to another profile; -EOVERFLOW,
 *            -ENOMEM; p is unchanged
 */
MUST_CHECK int
timeline_cut_profile(const struct timeline *t, const struct timeline_part *part,
                     struct profile *p);
