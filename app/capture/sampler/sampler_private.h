/*
 * The inside of a sampler, for the files that open it, filter for it and read
 * from it.
 */
#pragma once

#include "capture/waits.h"
#include "ring.h"
#include "sampler.h"

#define SAMPLER_MAX_TASKS 4096 /* events: threads times CPUs */
#define SAMPLER_DEEPENED  8    /* times that dumps double in depth */

struct stream {
	uint32_t cpu;
	struct ring ring;
	uint64_t next_ns; /* of the peeked record; UINT64_MAX: none */
	const void *next;
	size_t next_size;
};

/* Interpreter frames: see interp_ring.h. */
struct sampler_interp {
	struct interp_table *table; /* mapped; NULL: no thread is followed */
	bool used;                  /* a slot or list is in use */
	struct interp_stack found;  /* the stack found last */
};

/* The rings of interpreter stacks for samples of the clock. */
struct sampler_rings {
	uint8_t *all;    /* mapped; NULL: there are none */
	size_t each;     /* bytes of one ring */
	uint32_t stacks; /* stacks in one ring */
	uint64_t *next;  /* turn of the next stack to read, by CPU */
};

/* The filter of event.h, with its map in memory. */
struct sampler_filter {
	uint64_t period_ns; /* the requested period */
	uint32_t ncpus;
	uint32_t ndenied;
	uint8_t *denied;
	int prog_fd;
	struct sampler_interp interp;
	struct sampler_rings rings;
};

/* BPF programs that write samples. */
struct sampler_emitter {
	struct emit_control *control; /* NULL for allocations */
	uint64_t *followed;           /* a bit for each process */
	uint32_t nbits;
	int outputs_fd;
	int held[WAITS_FDS]; /* keep the programs */
	int *faults;         /* for waits: an event per CPU that runs the
	                        program for page faults */
	uint32_t nfaults;
	const struct emit_slot *allocs; /* mapped, for allocations; else NULL */
	/* Mapped, for memory in use; else NULL. */
	const struct inuse_slot *slots;
	const struct inuse_set *sets;
	struct sampler_interp interp;
	uint64_t since_ns;              /* when counting began, */
	uint32_t samples[EMIT_CLASSES]; /* and how many came since */
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
	struct sampler_filter *filter;   /* NULL: no filter */
	struct sampler_emitter *emitter; /* NULL: samples of the clock */
	uint64_t lost_recorded,
		lost_reported; /* sum of the records; reported to
	                                      the sink */
	quality_notes notes;
};

/*
 * Opens rings and events, disabled; s->ask and the filter must be set.
 *   Errors   as sampler_open; sampler_close it also on failure
 */
MUST_CHECK int sampler_open_all(struct sampler *s, const struct host *host);
/* Opens and appends one event per CPU, disabled.
 *   Errors   -errno; then none was appended */
MUST_CHECK int sampler_open_events(struct sampler *s, const struct host *host);
/* True when rings can hold dumps of this depth for SAMPLER_DEEP_NS. */
bool sampler_is_roomy(const struct sampler *s, uint32_t stack_bytes);

/* Takes the kept filter, if it fits, or creates one; NULL when that is not
 * possible. The filter denies no process, and follows no thread. */
struct sampler_filter *
filter_take(const struct sampler_ask *ask, const struct host *host);
/*
 * Loads the programs of the sampler's kind; they follow no process yet.
 *   Errors   as sampler_open
 */
MUST_CHECK int
emitter_open(const struct host *host, const struct sampler_ask *ask,
             struct sampler_emitter **out);
void emitter_free(struct sampler_emitter *e);
/* Opens an event that writes the samples of a CPU, disabled; -errno. */
MUST_CHECK int
emitter_event(const struct sampler_emitter *e, const struct host *host,
              uint32_t cpu, uint32_t stack_bytes, int *fd);
void emitter_follow(struct sampler_emitter *e, uint32_t pid, bool follow);
/* Sets how much a sample stands for, and counts it. */
void emitter_weigh(struct sampler_emitter *e, struct record *r);
/* Adapts the means to the samples that came. */
void emitter_adapt(struct sampler_emitter *e, uint64_t now_ns);
/* Maps the table behind fd; without it there are no interpreter frames. */
void interp_map(struct sampler_interp *p, int fd);
void interp_unmap(struct sampler_interp *p);
/* Stops following all threads. */
void interp_forget(struct sampler_interp *p);
/* Maps the rings behind fd; without them no thread is followed. */
void interp_map_rings(struct sampler_filter *f, int fd);
void interp_unmap_rings(struct sampler_filter *f);
/*
 * Finds the stack taken with a sample of the clock, or with one that a program
 * wrote; valid until the next call; NULL: none.
 *   Shape    samples of one CPU come in order of time
 */
const struct interp_stack *
interp_of_sample(struct sampler *s, uint32_t cpu, const struct record *r);
const struct interp_stack *
interp_of_emitted(struct sampler *s, const struct record *r);
