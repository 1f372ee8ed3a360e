/*
 * Captures: who is profiled, at which rate, until when, and what was seen.
 *
 * Captures of one rate share a sampler, its stream of records and the
 * processes it tells of; each counts stacks for itself. Nothing here blocks
 * but asking the host. When a capture has ended, capture_profile() turns it
 * into a profile: in a forked child, since that parses debug information
 * for a long while.
 *
 *	recorder_new, recorder_start …
 *	poll on recorder_poll, then recorder_drain, until capture_ended
 *	fork: capture_profile; recorder_remove
 *
 * One of CAPTURE_ENDLESS duration is cut into windows instead: capture_cut
 * hands out what was sampled so far, and it goes on without missing anything.
 */
#pragma once

#include "capture/host.h"
#include "capture/naming/namer.h"
#include "capture/quality.h"
#include "capture/symbols/symbols_cache.h"
#include "profile/timeline.h"

#include <poll.h>

#define CAPTURES_MAX          64
#define CAPTURES_MAX_SAMPLERS 8                /* different rates at once */
#define CAPTURES_DRAIN_MS     100              /* between two drains, */
#define CAPTURES_CALM_MS      700              /* and when there is no hurry */
/* Memory of one node of a capture's tree: a row and two slots for node and
 * place each, and a count. */
#define RECORDER_NODE_BYTES 64
#define CAPTURE_ENDLESS       (UINT64_MAX / 4) /* ns */

struct recorder;
struct capture;

struct recorder_conf {
	uint32_t ncpus;
	uint32_t stack_bytes;
	size_t ring_bytes; /* total of all rates */
	/* Of one capture's tree. A stack beyond it is counted in a leaf of its
	 * own and told as quality.dropped: weight is never lost. */
	uint32_t max_nodes;
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
	size_t timeline_bytes; /* memory for its timeline; 0: it has none */
};

MUST_CHECK int
recorder_new(const struct host *host, const struct recorder_conf *conf,
             struct recorder **out);
void recorder_free(struct recorder *c);
DEFINE_CLEANUP(struct recorder *, recorder_free)

/*
 * Starts one; processes that are gone already are passed over.
 *
 *   Owns     *out is c's: recorder_remove it
 *   Errors   -EBUSY too many rates, -ESRCH no process is left, -EACCES and
 *            -EPERM of event_open, -EXDEV not allowed to see the process,
 *            -ENOMEM, -errno
 */
MUST_CHECK int recorder_start(struct recorder *c, const struct capture_ask *ask,
                              struct capture **out);
/* Ends it at the next drain. */
void capture_stop(struct capture *c);
/*
 * Takes in all records that there are. Processes are found by others, faster
 * than records are read: before capture_watch() or capture_leave() of some.
 */
void recorder_catch_up(struct recorder *c, struct capture *one);
/*
 * Follows one more process from now on; one it follows already stays.
 *   Errors   as recorder_start
 */
MUST_CHECK int
capture_watch(struct recorder *c, struct capture *one, int32_t pid);
/* Follows a process no longer; one that it does not follow stays so. */
void capture_leave(struct capture *one, int32_t pid);
/*
 * What was sampled since the start, or since the last cut: a capture that
 * has ended, for capture_profile(). The one that was cut goes on, empty.
 *
 *   Owns     *out is the caller's; capture_free() it
 *   Errors   -ENOMEM; nothing is cut
 */
MUST_CHECK int
capture_cut(struct recorder *c, struct capture *one, struct capture **out);
void capture_free(struct capture *c);
DEFINE_CLEANUP(struct capture *, capture_free)
/* Forgets processes that ended, and programs that no process runs and no
 * capture has samples of: for whoever cuts on and on. */
void recorder_tidy(struct recorder *c);
void recorder_remove(struct recorder *c, struct capture *gone);

size_t recorder_poll(const struct recorder *c, struct pollfd *out, size_t max);
/* Takes in all there is. */
void recorder_drain(struct recorder *c);
/* How long the next drain may wait, if no ring is half full before: less where
 * processes come and go, or memory is to be read that many samples point to. */
unsigned recorder_patience_ms(const struct recorder *c);

/* All its samples are in. */
bool capture_ended(const struct capture *c);
uint64_t capture_samples(const struct capture *c);
uint64_t capture_elapsed_ns(const struct capture *c);
uint64_t capture_duration_ns(const struct capture *c); /* asked or stopped */
int64_t capture_start_ms(const struct capture *c);     /* since the epoch */

/*
 * What names the places of captures of one recorder: those that end together
 * share one, and with it the files that they have in common. Uses its own
 * host, since it may run in a child beside others that ask. What it works
 * out of files is added to symbols. Windows come again and again: a debug
 * file that is not there is looked for once a minute, not for each.
 *
 *   Owns     host and symbols are borrowed; NULL: out of memory
 */
struct namer *capture_namer(const struct capture *any, const struct host *host,
                            struct symbols_cache *symbols);
/*
 * Names what was sampled and builds the profile.
 *
 *   Shape    timeline may be NULL; *timeline stays as it was when the
 *            capture has none
 *   Owns     *out is the caller's; profile_free() it; timeline_free() the
 *            other
 *   Errors   -ENOMEM, -E2BIG; outputs untouched
 */
MUST_CHECK int capture_profile(const struct capture *c, struct namer *namer,
                               struct profile **out, struct quality *quality,
                               struct timeline **timeline);
