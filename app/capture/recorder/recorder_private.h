/* A recorder, its sources of samples, and a capture as a recorder sees it. */
#pragma once

#include "capture/process/breaks.h"
#include "capture/process/process.h"
#include "capture/recorder.h"
#include "context_rows.h"
#include "parts.h"
#include "tape.h"

struct source;

/* Upper bound of the bytes in capture.began, for 4096 processes. */
#define CAPTURE_MAX_BEGAN (4096 * sizeof(struct host_usage))

struct recorder {
	const struct host *host;
	struct recorder_conf conf;
	struct modules *modules; /* NULL while no capture runs */
	struct source *sources[CAPTURES_MAX_SAMPLERS];
	struct capture *slots[CAPTURES_MAX];
	size_t ring_left;
	struct sampler_filter *filter; /* kept from the last sampler, or NULL */
	bool hurry;              /* the last drain left something urgent */
	uint32_t turn;           /* slot whose turn it is to follow a process */
	bool joining;            /* there are processes to follow */
	uint64_t known_ns;       /* until then every drain is urgent */
	uint32_t stacks, cut;    /* in the last drain; cut: deeper than their
	                         dump */
	struct buf hindrances;   /* struct host_usage, of the last
	                            recorder_read_hindrances() */
	int64_t cpu_ns;          /* own CPU time already charged to captures */
	struct proc_stack stack; /* of the current sample */
};

/* Counts since the last decision; see recorder_adapt.c. */
struct adapt {
	uint32_t stacks, cut; /* user stacks; those deeper than their dump */
	uint32_t costly;      /* windows in a row */
	bool no_room;         /* rings are too small for deeper dumps */
	uint64_t since_ns, cpu_ns, samples, lost, throttled;
};

/* A source of samples: a sampler of one kind and rate, its processes, and the
 * captures that share them. */
struct source {
	struct recorder *all;
	struct sampler *sampler;
	struct procs *procs;
	enum sampler_kind kind;
	uint64_t period_ns; /* of the clock; else for the size of rings */
	size_t ring_bytes;
	uint64_t slots; /* its captures, as bits */
	struct adapt adapt;
};

/* A sample of memory in use; valid while its row has this id. */
struct row {
	uint64_t id;
	uint32_t node, pid;
	struct amount amount;
};

#define CAPTURE_NOT_BEGUN UINT64_MAX

/* The processes that a capture is to follow; it has tried the first `at`. */
struct joining {
	int32_t *pids; /* 0: no longer wanted */
	uint32_t n, cap, at;
	uint32_t opened;   /* how many the sampler was opened with */
	uint32_t followed; /* before the capture begins, */
	int last;          /* and the last error but -ESRCH, or 0 */
};

struct capture {
	uint32_t slot;
	enum profile_type_id type;
	uint32_t classes; /* bits of enum emit_class: events it counts */
	enum titles titles;
	bool threads; /* as in struct capture_ask */
	struct source *source;
	struct modules *modules;
	struct trie trie;
	struct context_rows contexts;
	struct joining joining;
	int error;            /* why it cannot begin; 0: it can */
	uint64_t duration_ns; /* from its beginning, if it is not stopped */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC, or CAPTURE_NOT_BEGUN */
	uint64_t drained_ns;       /* samples up to this time are counted */
	int64_t start_ms;
	uint32_t alive; /* processes */
	bool window;    /* cut off a capture that goes on */
	struct quality quality;
	struct quality unsure; /* counts of all samples of a mutex capture:
	                          which of them wait for a lock is known only
	                          at the end */
	struct parts parts;    /* of allocations */
	struct buf began; /* struct host_usage per process: recorder_usage.c */
	struct breaks breaks;
	/* For memory in use: its samples by row, INUSE_ROWS of them; else
	 * NULL. */
	struct row *rows;
	bool watched;      /* the first process is watched, and the time runs */
	struct tape *tape; /* NULL: no timeline */
	uint64_t counted_ns; /* when its processes' usage was last read */
	uint64_t halted_ns;  /* time before readings at which all its processes
	                        stood still */
};

/* Notes whose data is parsed from now on: a slot, or CAPTURES_MAX. */
void recorder_blame(const struct recorder *c, uint32_t slot);
/* Returns the CPU time spent since the last call. */
int64_t recorder_cpu_spent(struct recorder *c);
/* True when a capture's time has started; it may have ended since. */
static inline bool
has_begun(const struct capture *c)
{
	return c->start_ns != CAPTURE_NOT_BEGUN;
}

/* Reads all records that are in the rings of a capture's source: processes can
 * be found faster than their records are read. */
void recorder_catch_up(struct recorder *c, struct capture *one);
/* Handles news of the processes that a source follows. */
proc_seen source_proc_seen;
/* Removes the first watcher from the set and returns its slot. */
static inline uint32_t
next_slot(uint64_t *watchers)
{
	uint32_t slot = (uint32_t)__builtin_ctzll(*watchers);

	*watchers &= *watchers - 1;
	return slot;
}

/* Notes the resources that processes have used before the capture begins, or
 * begins to follow them. */
void capture_began_with(struct capture *c, const struct host *host,
                        const int32_t *pids, size_t n);
/* Sets in q the CPU time that the capture's living processes have used since
 * it began, by the kernel's count and without children that ended; notes it if
 * all these processes are stopped now. */
void capture_use(const struct capture *c, const struct host *host,
                 struct quality *q);
/*
 * Sets in q for how long a CPU quota held back the capture's processes, and
 * for how long they ran and waited for a CPU, since the last call or since the
 * capture began, and starts counting again.
 *   Shape    all: struct host_usage for each process of any capture
 */
void
capture_hindrance(struct capture *c, const struct buf *all, struct quality *q);
/* Puts what happened to a process on the capture's tape. */
void capture_tape_news(struct capture *c, const struct proc_news *news);
/* Reads the names of the threads that a process already has. */
void
capture_tape_names(struct capture *c, const struct host *host, int32_t pid);
/* Reads the resources that the capture's processes use, when it is time. */
void capture_tape_counters(struct capture *c, const struct host *host,
                           uint64_t now_ns);
/* Returns the next larger number of bytes to copy of each stack. */
uint32_t recorder_deeper(uint32_t bytes);
/*
 * Makes a sampler copy more of each stack, or sample less often, if the counts
 * call for it. True: it samples less often from now on. Call it after a drain.
 */
bool
source_adapt(struct source *source, const struct host *host, uint64_t now_ns);
/* Drops the counts so far, and starts counting again. */
void source_adapt_anew(struct source *source, uint64_t now_ns);
/* Reads all records that are in the rings, before a capture begins; captures
 * that have begun count theirs. */
void recorder_pass_over(struct recorder *c, struct source *source);
/* Notes a sample of memory in use, whose stack ends at a node. */
void
capture_rows_note(struct capture *c, const struct record *r, uint32_t node);
/* Starts the time of a capture of allocations when the first process is
 * watched, and ends one of memory in use if its processes are no longer
 * watched, because they call their allocators too often. */
void capture_probes_look(struct capture *c);
/* Returns a living process of the capture for which is() is true, or NULL. */
const struct process *
capture_any_process(const struct capture *c,
                    bool (*is)(const struct process *proc));
/*
 * Adds up the memory that is in use now, by node.
 *   Shape    sums[number of nodes]
 *   Errors   -EDQUOT as capture_profile()
 */
MUST_CHECK int capture_rows_sum(const struct capture *c, struct amount *sums,
                                struct quality *q);
