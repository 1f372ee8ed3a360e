/* What sampler.c and sampler_open.c share. */
#pragma once

#include "capture/ring.h"
#include "capture/sampler.h"

#define SAMPLER_MAX_TASKS 4096 /* events: threads times CPUs */

struct stream {
	uint32_t cpu;
	struct ring ring;
	uint64_t next_ns; /* of the peeked record; UINT64_MAX: none */
	const void *next;
	size_t next_size;
};

/* The rings of all CPUs, opened with the same stack size. */
struct batch {
	struct stream *streams; /* of CPUs that are online */
	uint32_t n;
	int *tasks; /* events of threads, which write to the rings */
	uint32_t ntasks;
	uint64_t from_ns, until_ns;    /* records outside are another's */
	uint64_t period_ns, before_ns; /* since changed_ns, and until then */
	uint64_t changed_ns;
};

struct sampler {
	struct sampler_ask ask;
	struct batch now;
	struct batch old; /* stopped, but not read to its end */
	uint32_t notes;
	uint8_t *denied; /* mapped; NULL without a filter */
	uint32_t ndenied;
	int prog_fd;
};

/*
 * Opens all events, disabled.
 *   Owns     *out is the caller's: batch_close it, after a failure too
 *   Errors   as sampler_open
 */
MUST_CHECK int
batch_open(struct sampler *s, const struct host *host, struct batch *out);
/* Its rings hold half of SAMPLER_RING_NS, more than passes between drains. */
bool batch_is_roomy(const struct sampler *s, const struct batch *b);
MUST_CHECK int batch_start(const struct batch *b);
void batch_stop(const struct batch *b);
void batch_close(struct batch *b);
