/* A sampler as those see it who open it, filter for it and read for it. */
#pragma once

#include "ring.h"
#include "sampler.h"

#define SAMPLER_MAX_TASKS 4096 /* events: threads times CPUs */
#define SAMPLER_DEEPENED  8    /* times at most: each is twice as deep */

struct stream {
	uint32_t cpu;
	struct ring ring;
	uint64_t next_ns; /* of the peeked record; UINT64_MAX: none */
	const void *next;
	size_t next_size;
};

/* See python_ring.h. */
struct sampler_python {
	struct python_slot *slots; /* in the filter's map */
	uint8_t *rings;            /* mapped; NULL: none */
	size_t ring;               /* bytes of one */
	uint32_t stacks;           /* in one */
	bool used;                 /* a slot is */
	uint64_t *next;            /* to be read, by CPU */
	struct python_stack found; /* the last */
};

/* As event.h has it, mapped. */
struct sampler_filter {
	uint64_t period_ns; /* as it was asked for */
	uint32_t ncpus;
	uint32_t ndenied;
	uint8_t *denied;
	int prog_fd;
	struct sampler_python python;
};

/*
 * Events that sample write to rings that others own, one per CPU, so they can
 * be replaced while the rings stay. What was replaced is stopped and kept:
 * closing takes long.
 */
struct sampler {
	struct sampler_ask ask;
	struct stream *streams; /* of CPUs that are online */
	uint32_t n;
	bool shared;
	int *events;             /* of CPUs, or threads when not shared */
	uint32_t nevents, first; /* events before the first were replaced */
	uint64_t before_ns;      /* the period until changed_ns */
	uint64_t changed_ns;
	struct sampler_filter *filter;     /* NULL: it has none */
	uint64_t lost_recorded, lost_told; /* records' sum; handed on */
	uint64_t notes;
};

/*
 * Opens rings and events, disabled. s->ask and the filter are set.
 *   Errors   as sampler_open; sampler_close it all the same
 */
MUST_CHECK int sampler_open_all(struct sampler *s, const struct host *host);
/* Opens and appends one event per CPU, disabled.
 *   Errors   -errno; then none was appended */
MUST_CHECK int sampler_open_events(struct sampler *s, const struct host *host);
/* The rings hold what so deep dumps take until they are surely read. */
bool sampler_is_roomy(const struct sampler *s, uint32_t stack_bytes);

/* The one that is kept, if it is of this kind, or a new one; NULL: there can
 * be none. Nobody is denied, and no thread followed. */
struct sampler_filter *
filter_take(const struct sampler_ask *ask, const struct host *host);
/* Maps the rings behind fd; without them there are no interpreted frames. */
void python_map(struct sampler_filter *f, int fd);
void python_unmap(struct sampler_filter *f);
/* The stack taken with a sample, valid until the next call; NULL: none.
 *   Shape    samples of one CPU come in the order of time */
const struct python_stack *
python_of_sample(struct sampler *s, uint32_t cpu, const struct record *r);
