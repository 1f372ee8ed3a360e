/*
 * Captures: which processes are profiled, at which rate and for how long, and
 * the stacks that were sampled.
 *
 * Captures of one rate share a sampler with its stream of records and the
 * processes in it, and so do captures of waits; each capture counts its stacks
 * separately. Only questions to the host block. When a capture has ended,
 * capture_profile() turns it into a profile, in a forked child, since parsing
 * debug information takes long.
 *
 *	recorder_new, recorder_start …
 *	poll on recorder_poll, then recorder_drain and recorder_join, until
 *	capture_ended
 *	fork: capture_profile; recorder_remove
 *
 * A capture whose duration is CAPTURE_ENDLESS is cut into windows instead:
 * capture_cut hands out what was sampled so far, and the capture goes on
 * without a gap.
 */
#pragma once

#include "base/title.h"
#include "capture/host.h"
#include "capture/naming/namer.h"
#include "capture/quality.h"
#include "capture/symbols/symbols_cache.h"
#include "profile/timeline.h"
#include "profile/types.h"

#include <poll.h>

#define CAPTURES_MAX          64
#define CAPTURES_MAX_SAMPLERS 8   /* different rates at once */
#define CAPTURES_DRAIN_MS     100 /* time between two drains, */
#define CAPTURES_CALM_MS      700 /* and when there is no hurry */
/* Memory for one node of a capture's tree: one row, two slots each for node and
 * place, and a count. */
#define RECORDER_NODE_BYTES 72
#define CAPTURE_ENDLESS     (UINT64_MAX / 4) /* ns */

struct recorder;
struct capture;

struct recorder_conf {
	uint32_t ncpus;
	uint32_t stack_bytes;
	size_t ring_bytes; /* total for all rates */
	/* Nodes of one capture's tree. A stack beyond this limit is counted in
	 * a separate leaf and in quality.dropped, so that no weight is lost. */
	uint32_t max_nodes;
	/*
	 * Shared memory with the slot of the capture whose data is being
	 * parsed, or CAPTURES_MAX. A process that outlives a crash of this one
	 * reads it.
	 */
	uint32_t *blame;
};

/* The name of a sample's thread, with # for digits. */
#define RECORDER_LABEL_THREAD "thread"

struct capture_ask {
	uint32_t slot;             /* below CAPTURES_MAX, not in use */
	enum profile_type_id type; /* block: waits of any kind */
	uint32_t rate;             /* the requested rate, of cpu */
	uint64_t duration_ns;
	enum titles titles;
	bool threads; /* samples get the label RECORDER_LABEL_THREAD */
	const int32_t *pids;
	uint32_t npids;
	size_t timeline_bytes; /* memory for the timeline; 0: keep none */
};

MUST_CHECK int
recorder_new(const struct host *host, const struct recorder_conf *conf,
             struct recorder **out);
void recorder_free(struct recorder *c);
DEFINE_CLEANUP(struct recorder *, recorder_free)

/*
 * Starts a capture. It follows its processes one after another, in turns with
 * other captures, and its time begins when it follows all; processes that have
 * exited already are skipped. What does not fit into this call is done by
 * recorder_join(), and then errors are those of capture_failed().
 *
 *   Owns     *out belongs to c: recorder_remove() it
 *   Errors   -EINVAL the type is not sampled, -EBUSY too many rates, -ESRCH no
 *            process is left, -EACCES and -EPERM of event_open, -EXDEV not
 *            allowed to see the process, -ETIMEDOUT no process can be read,
 *            -EPROTONOSUPPORT this kernel can't take profiles of the type,
 *            -ENOMEM, -errno
 */
MUST_CHECK int recorder_start(struct recorder *c, const struct capture_ask *ask,
                              struct capture **out);
/* Returns why a capture cannot begin, as recorder_start(); 0: it has begun, or
 * will. */
int capture_failed(const struct capture *c);
/* Ends the capture at the next drain. */
void capture_stop(struct capture *c);
/*
 * Names all processes that a capture shall follow from now on. Those that it
 * does not follow yet are followed by recorder_join().
 *   Errors   -ENOMEM
 */
MUST_CHECK int
capture_follow(struct capture *c, const int32_t *pids, uint32_t n);
/* Stops following processes; those that the capture does not follow are left
 * out. */
void capture_leave(struct capture *c, const int32_t *pids, uint32_t n);
/*
 * Reads what kept the processes of all captures from running, for the cuts that
 * follow; without this call, a cut lacks that data.
 */
void recorder_read_hindrances(struct recorder *c);
/*
 * Moves the samples since the start, or since the last cut, to a capture that
 * has ended, for capture_profile(). The capture that was cut goes on, empty.
 *
 *   Owns     *out is the caller's; capture_free() it
 *   Errors   -EAGAIN the capture has not begun, -ENOMEM; nothing is cut
 */
MUST_CHECK int
capture_cut(struct recorder *c, struct capture *one, struct capture **out);
void capture_free(struct capture *c);
DEFINE_CLEANUP(struct capture *, capture_free)
/* Forgets processes that exited, and programs that no process runs and no
 * capture has samples of. Endless captures call it after each cut. */
void recorder_tidy(struct recorder *c);
void recorder_remove(struct recorder *c, struct capture *gone);
/* Larger pieces of trees should be mapped separately: mallopt(3),
 * M_MMAP_THRESHOLD. */
#define RECORDER_PIECE (1 << 20)
/* Frees the large trees of all captures but one (NULL: of all) in a forked
 * child: as long as the child has them, each change in the parent costs a page.
 * Smaller pieces share pages, which freeing would copy. */
void recorder_drop_trees(struct recorder *c, const struct capture *but);

size_t recorder_poll(const struct recorder *c, struct pollfd *out, size_t max);
/* Reads all records that are in the rings. */
void recorder_drain(struct recorder *c);
/* Follows some of the processes that captures are to follow, and lets captures
 * begin that follow all of theirs. Call it after each drain. */
void recorder_join(struct recorder *c);
/*
 * Returns how long the next drain may wait if no ring gets half full before:
 * less while processes come and go, or while memory that many samples point to
 * has to be read, and 0 while there are processes to follow.
 */
unsigned recorder_patience_ms(const struct recorder *c);

/* True when the capture's time is over and all its samples are in. */
bool capture_ended(const struct capture *c);
uint64_t capture_samples(const struct capture *c);
/* 0: it has not begun. */
uint64_t capture_elapsed_ns(const struct capture *c);
uint64_t capture_duration_ns(const struct capture *c); /* as asked, or until it
                                                          was stopped */
int64_t capture_start_ms(const struct capture *c);     /* since the epoch */

/*
 * Creates a namer for the places of captures of one recorder. Captures that end
 * together share a namer and the files it has opened. The namer gets a host
 * that no other process uses, since it may run in a child while the parent asks
 * its host. Results of reading files are added to symbols. A debug file that
 * does not exist is looked for once a minute, rather than for each window.
 *
 *   Owns     host and symbols are borrowed; NULL when out of memory
 */
struct namer *capture_namer(const struct capture *any, const struct host *host,
                            struct symbols_cache *symbols);
/*
 * Names the sampled places and builds the profile.
 *
 *   Shape    timeline may be NULL; *timeline is untouched if the capture has no
 *            timeline
 *   Owns     *out and *timeline are the caller's; profile_free() the one,
 *            timeline_free() the other
 *   Errors   -EDQUOT memory in use can't be watched: every process calls its
 *            allocator too often, -ENOMEM, -E2BIG; outputs untouched
 */
MUST_CHECK int capture_profile(const struct capture *c, struct namer *namer,
                               struct profile **out, struct quality *quality,
                               struct timeline **timeline);
