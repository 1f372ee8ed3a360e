/*
 * A tape records a running capture's events in order: it becomes the timeline,
 * but its samples still refer to nodes of the capture's trie.
 *
 * Memory is bounded: when the room for samples, events, threads or counters is
 * used up, TIMELINE_FULL is recorded, and nothing after it. A capture never
 * fails for lack of a tape.
 */
#pragma once

#include "profile/timeline.h"
#include "trie.h"

#include <stdbool.h>

/* The most rows of each kind. */
struct tape_room {
	uint32_t samples, events, threads, counters;
};

struct tape {
	struct timeline *line; /* samples[].sample is a node */
	struct tape_room room;
	struct pairs keys; /* pid, tid of every thread ever seen */
	uint32_t *latest;  /* by key: its last row of threads, or TAPE_NONE */
	uint32_t latest_cap;
	bool *sampled;     /* by row of threads */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t last_us;  /* times are never lower than the last */
	bool full;
};
#define TAPE_NONE UINT32_MAX

/* Creates a tape of max_bytes in total; NULL when out of memory, or when
 * max_bytes is 0. */
struct tape *tape_new(uint64_t start_ns, size_t max_bytes);
/* Sets a later start than tape_new() was given. */
void tape_begin(struct tape *t, uint64_t start_ns);
void tape_free(struct tape *t);
DEFINE_CLEANUP(struct tape *, tape_free)

/*
 * The functions below accept NULL for a tape and do nothing.
 *   Units    time_ns is like start_ns; earlier times count as the start
 */

/* Adds a sample. An unknown thread existed when the capture began; one that
 * has ended is taken to end now. */
void tape_sample(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns,
                 uint32_t node, uint64_t weight_ns);
/* Adds a thread, whose name is at first that of its creator. */
void tape_born(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns,
               uint32_t ppid, uint32_t ptid);
void tape_died(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns);
/* Sets a thread's name: n bytes, or up to a NUL. */
void tape_named(struct tape *t, uint32_t pid, uint32_t tid, const char *name,
                size_t n);
/* Names a thread that executes a program. If it has samples, it gets a new
 * row, since they keep the name of the program before. */
void tape_executed(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns,
                   const char *name, size_t n);
/* Adds an event; e->time_us is ignored. */
void
tape_event(struct tape *t, uint64_t time_ns, const struct timeline_event *e);
void tape_counter(struct tape *t, uint64_t time_ns,
                  const struct timeline_counter *c);

#define TAPE_NO_ROW UINT32_MAX

/*
 * Makes the timeline, once each node's row in the profile is known.
 *
 *   Shape    rows[node], for every node of a sample; TAPE_NO_ROW: the profile
 *            has none, and the samples are left out
 *   Owns     *out is the caller's; timeline_free() it
 *   Errors   -ENOMEM; *out untouched
 */
MUST_CHECK int tape_timeline(const struct tape *t, const uint32_t *rows,
                             struct timeline **out);
