/*
 * The inside of a sampler, for the files that open it, filter for it and read
 * from it.
 */
#pragma once

#include "ring.h"
#include "sampler.h"

#define SAMPLER_MAX_TASKS 4096 /* events: threads times CPUs */
#define SAMPLER_DEEPENED  8    /* most times; each makes dumps twice as deep */

struct stream {
	uint32_t cpu;
	struct ring ring;
	uint64_t next_ns; /* of the peeked record; UINT64_MAX: none */
	const void *next;
	size_t next_size;
};

/* Interpreter frames: see python_ring.h. */
struct sampler_python {
	struct python_slot *slots; /* in the filter's map */
	uint8_t *rings;            /* mapped; NULL: none */
	size_t ring;               /* bytes of one ring */
	uint32_t stacks;           /* stacks in one ring */
	bool used;                 /* a slot is in use */
	uint64_t *next;            /* turn of the next stack to read, by CPU */
	struct python_stack found; /* the stack found last */
};

/* The filter of event.h, with its map in memory. */
struct sampler_filter {
	uint64_t period_ns; /* the requested period */
	uint32_t ncpus;
	uint32_t ndenied;
	uint8_t *denied;
	int prog_fd;
	struct sampler_python python;
};

/*
 * A sampler. Its events write to rings that other events own, one per CPU, so
 * that they can be replaced while the rings stay. Replaced events are stopped
 * but kept, since closing takes long.
 */
struct sampler {
	struct sampler_ask ask;
	struct stream *streams; /* of CPUs that are online */
	uint32_t n;
	bool shared;
	int *events;             /* per CPU, or per thread when not shared */
	uint32_t nevents, first; /* events before the first were replaced */
	uint64_t before_ns;      /* the period until changed_ns */
	uint64_t changed_ns;
	struct sampler_filter *filter;     /* NULL: no filter */
	uint64_t lost_recorded, lost_told; /* sum of the records; reported to
	                                      the sink */
	uint64_t notes;
};

/*
 * Opens rings and events, disabled; s->ask and the filter must be set.
 *   Errors   as sampler_open; sampler_close it also on failure
 */
MUST_CHECK int sampler_open_all(struct sampler *s, const struct host *host);
/* Opens and appends one event per CPU, disabled.
 *   Errors   -errno; then none was appended */
MUST_CHECK int sampler_open_events(struct sampler *s, const struct host *host);
/* True when rings can hold dumps of this depth until these are surely read. */
bool sampler_is_roomy(const struct sampler *s, uint32_t stack_bytes);

/* Takes the kept filter, if it is of this kind, or makes a new one; NULL when
 * there can be none. No process is denied in it, and no thread followed. */
struct sampler_filter *
filter_take(const struct sampler_ask *ask, const struct host *host);
/* Maps the rings behind fd; without them there are no interpreter frames. */
void python_map(struct sampler_filter *f, int fd);
void python_unmap(struct sampler_filter *f);
/*
 * Finds the stack taken with a sample, valid until the next call; NULL: none.
 *   Shape    samples of one CPU come in order of time
 */
const struct python_stack *
python_of_sample(struct sampler *s, uint32_t cpu, const struct record *r);
