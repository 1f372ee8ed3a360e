/*
 * Captures: who is profiled, at which rate, until when, and what was seen.
 *
 * Captures of one rate share a sampler, its stream of records and the
 * processes it tells of; each counts stacks for itself. Nothing here blocks
 * but asking the host. When a capture has ended, capture_profile() turns it
 * into a profile: in a forked child, since that parses debug information
 * for a long while.
 *
 *	captures_new, captures_start …
 *	poll on captures_poll, then captures_drain, until capture_ended
 *	fork: capture_profile; captures_remove
 */
#pragma once

#include "capture/host.h"
#include "capture/quality.h"
#include "profile/profile.h"

#include <poll.h>

#define CAPTURES_MAX          64
#define CAPTURES_MAX_SAMPLERS 4 /* different rates at once */
#define CAPTURES_DRAIN_MS     100

struct captures;
struct capture;

struct captures_conf {
	uint32_t ncpus;
	uint32_t stack_bytes;
	size_t ring_bytes;  /* total of all rates */
	uint32_t max_nodes; /* of one capture's tree */
	/* Where to say whose data is worked on: its slot, CAPTURES_MAX for
	 * nobody's. Read by whoever outlives us. */
	uint32_t *blame;
};

struct capture_ask {
	uint32_t slot; /* below CAPTURES_MAX, not in use */
	uint32_t rate; /* asked */
	uint64_t duration_ns;
	const int32_t *pids;
	uint32_t npids;
};

MUST_CHECK int
captures_new(const struct host *host, const struct captures_conf *conf,
             struct captures **out);
void captures_free(struct captures *c);
DEFINE_CLEANUP(struct captures *, captures_free)

/*
 * Starts one; processes that are gone already are passed over.
 *
 *   Owns     *out is c's: captures_remove it
 *   Errors   -EBUSY too many rates, -ESRCH no process is left, -EACCES and
 *            -EPERM of event_open, -EXDEV not allowed to see the process,
 *            -ENOMEM, -errno
 */
MUST_CHECK int captures_start(struct captures *c, const struct capture_ask *ask,
                              struct capture **out);
/* Ends it at the next drain. */
void capture_stop(struct capture *c);
void captures_remove(struct captures *c, struct capture *gone);

size_t captures_poll(const struct captures *c, struct pollfd *out, size_t max);
/* Takes in all there is. */
void captures_drain(struct captures *c);

/* All its samples are in. */
bool capture_ended(const struct capture *c);
uint64_t capture_samples(const struct capture *c);
uint64_t capture_elapsed_ns(const struct capture *c);
int64_t capture_start_ms(const struct capture *c); /* since the epoch */

/*
 * Names what was sampled and builds the profile. Uses its own host, since
 * it may run in a child beside others that ask.
 *
 *   Owns     *out is the caller's; profile_free() it
 *   Errors   -ENOMEM, -E2BIG; outputs untouched
 */
MUST_CHECK int capture_profile(const struct capture *c, const struct host *host,
                               struct profile **out, struct quality *quality);
