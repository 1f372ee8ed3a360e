/*
 * What a capture saw, one thing after another, while it runs: the timeline to
 * be, whose samples still name nodes of the capture's trie.
 *
 * Memory is bounded: when the room for samples, events, threads or counters
 * is used up, that is noted as TIMELINE_FULL and nothing is kept from then on.
 * The capture itself never fails for want of a tape.
 */
#pragma once

#include "profile/timeline.h"
#include "trie.h"

#include <stdbool.h>

/* Rows there may be. */
struct tape_room {
	uint32_t samples, events, threads, counters;
};

struct tape {
	struct timeline *line; /* samples[].sample is a node */
	struct tape_room room;
	struct pairs keys; /* pid, tid of every thread ever seen */
	uint32_t *living;  /* by key: index into threads, or TAPE_NONE */
	uint32_t living_cap;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t last_us;  /* nothing comes before what came last */
	bool full;
};
#define TAPE_NONE UINT32_MAX

/* Room for max_bytes in all; NULL: out of memory, or none is wanted (0). */
struct tape *tape_new(uint64_t start_ns, size_t max_bytes);
/* It starts later than was said. */
void tape_begin(struct tape *t, uint64_t start_ns);
void tape_free(struct tape *t);
DEFINE_CLEANUP(struct tape *, tape_free)

/*
 * Each takes NULL for a tape, and does nothing.
 *   Units    time_ns as start_ns; what lies before is taken for the start
 */

/* A thread that is not known was there when the capture began. */
void tape_sample(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns,
                 uint32_t node, uint64_t weight_ns);
/* A new thread is called what the one that made it is. */
void tape_born(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns,
               uint32_t ppid, uint32_t ptid);
void tape_died(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns);
/* Its name, n bytes or as far as there is no NUL. */
void tape_named(struct tape *t, uint32_t pid, uint32_t tid, const char *name,
                size_t n);
/* e->time_us is set here. */
void
tape_event(struct tape *t, uint64_t time_ns, const struct timeline_event *e);
void tape_counter(struct tape *t, uint64_t time_ns,
                  const struct timeline_counter *c);

/*
 * The timeline, once it is known which row of the profile a node became.
 *
 *   Shape    rows[node], for every node that a sample names
 *   Owns     *out is the caller's; timeline_free() it
 *   Errors   -ENOMEM; *out untouched
 */
MUST_CHECK int tape_timeline(const struct tape *t, const uint32_t *rows,
                             struct timeline **out);
