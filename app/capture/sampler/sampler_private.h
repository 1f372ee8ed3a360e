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

/* Interpreter frames: see interp_layout.h. */
struct sampler_interp {
	struct interp_table *table; /* mapped; NULL: no thread is followed */
	bool used;                  /* a slot or list is in use */
	struct interp_stack found;  /* the stack found last */
};

/* The filter of event.h, with its maps in memory. */
struct sampler_filter {
	uint32_t ncpus;
	uint32_t ring_bytes; /* as requested */
	uint32_t ndenied;
	uint8_t *denied;
	int prog_fd;
	struct sampler_interp interp;
	uint8_t *rings; /* one per CPU (capture/host/filter_layout.h), or NULL:
	                   perf writes all samples */
	size_t each;    /* bytes of a ring with all that belongs to it */
	/* Becomes readable when a ring is half full, until as much is read as
	 * was written. */
	int wakes_fd;
	uint64_t *wakes_read;
	const uint64_t *wakes_written;
};

/* BPF programs that write samples. */
struct sampler_emitter {
	struct emit_control *control; /* NULL for allocations */
	uint64_t *followed;           /* a bit for each process */
	uint32_t nbits;
	int outputs_fd;
	int held[WAITS_FDS]; /* keep the programs loaded */
	int *faults;         /* for waits: an event per CPU that runs the
	                        program for page faults */
	uint32_t nfaults;
	const struct emit_slot *allocs; /* mapped, for allocations; else NULL */
	/* Mapped, for memory in use; else NULL. */
	const struct inuse_slot *slots;
	const struct inuse_set *sets;
	struct sampler_interp interp;
	uint64_t since_ns;              /* when counting began, */
	uint32_t samples[EMIT_CLASSES]; /* and samples since then */
};

/*
 * A sampler. Its events write to rings that other events own, one per CPU, so
 * that they can be replaced while the rings stay. Replaced events are stopped
 * but kept, since closing takes long.
 */
struct sampler {
	struct sampler_ask ask;
	struct stream *streams; /* of CPUs that are online: perf's, */
	uint32_t n;
	uint32_t nstreams; /* and then those of the filter, if there are any */
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
 *   Errors   as sampler_open; sampler_close it even on failure
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
/* Begins to read the filter's ring of a CPU; false: there is none. */
bool
filter_ring(const struct sampler_filter *f, uint32_t cpu, struct ring *out);
/* Sets how much of each stack the filter copies at most. */
void filter_limit(const struct sampler_filter *f, uint32_t stack_bytes);
/* Notes that the rings are being read. */
void filter_awake(const struct sampler_filter *f);
/* Maps the table behind fd; without it there are no interpreter frames. */
void interp_map(struct sampler_interp *p, int fd);
void interp_unmap(struct sampler_interp *p);
/* Stops following all threads. */
void interp_forget(struct sampler_interp *p);
/* Finds what a program copied from an interpreter with a sample; valid until
 * the next call; NULL: nothing. */
const struct interp_stack *
interp_of_sample(struct sampler *s, const struct record *r);
