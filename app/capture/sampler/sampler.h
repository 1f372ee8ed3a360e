/*
 * A sampler takes samples of the whole host at one rate: a ring per CPU, read
 * as one stream in order of time. A sampler of events takes samples from BPF
 * programs, which choose events of followed processes; the mean size by which
 * the programs choose is adapted to get a few hundred samples per second of
 * each class.
 *
 * Processes that no capture follows are denied in the kernel, before a sample
 * is copied; every process is sampled until it is denied. Without the filter,
 * samples of other processes arrive, and the caller must drop them.
 *
 * A user who may not sample all processes gets events of the given processes'
 * threads, which their children inherit. They cost a switch-heavy target much
 * of its speed, and can't be shared.
 */
#pragma once

#include "capture/host.h"
#include "capture/host/record.h"
#include "capture/inuse.h"
#include "capture/quality.h"

#include <poll.h>

#define SAMPLER_MAX_CPUS 4096

struct sampler;

/* The filter of a sampler that was closed. */
struct sampler_filter;
void sampler_filter_free(struct sampler_filter *f);

enum sampler_kind {
	SAMPLER_CLOCK,  /* CPU time, at a rate */
	SAMPLER_WAITS,  /* waits of the followed processes: capture/waits.h, */
	SAMPLER_CALLS,  /* and what system calls transferred */
	SAMPLER_ALLOCS, /* allocations of processes that are probed:
	                   capture/allocs.h, */
	SAMPLER_INUSE,  /* and which of them are in use: capture/inuse.h */
};

struct sampler_ask {
	enum sampler_kind kind;
	uint64_t period_ns; /* of the clock; else the time between samples
	                       for which rings have room */
	uint32_t ncpus;     /* configured */
	uint32_t stack_bytes;
	size_t ring_bytes;   /* upper bound for all CPUs */
	const int32_t *pids; /* sampled if sampling all processes is refused */
	uint32_t npids;
	/* Receives the filter when the sampler closes, for the next sampler
	 * with rings of that size, which saves some 10 ms in the kernel. NULL:
	 * the filter is closed */
	struct sampler_filter **kept;
};

/* The time for which rings can hold samples, if ring_bytes allows, with stack
 * dumps of the requested depth; at low rates with the deepest. */
#define SAMPLER_RING_NS UINT64_C(250000000)

/* Called for every record, oldest first; a sample of the clock stands for its
 * period. */
typedef void sampler_sink(void *arg, const struct record *r);

/*
 * Opens a sampler and starts sampling.
 *   Errors   -EACCES, -EPERM, -ENOSYS as event_open; -ESRCH none of
 *            the processes is left; -EPROTONOSUPPORT the kernel does not
 *            accept the BPF programs of this kind; -ENOMEM; -errno
 */
MUST_CHECK int
sampler_open(const struct host *host, const struct sampler_ask *ask,
             struct sampler **out);
/* Minimum time for which rings must hold deeper dumps: they get half full, and
 * are read, within half of this time. */
#define SAMPLER_DEEP_NS UINT64_C(50000000)
/*
 * Copies more of each stack from now on, into the same rings; each CPU starts a
 * new period.
 *   Errors   -EOPNOTSUPP the sampler is not shared, -ENOBUFS the rings are too
 *            small, -EMFILE called too often, else as sampler_open; s goes on
 *            unchanged
 */
MUST_CHECK int sampler_deepen(struct sampler *s, const struct host *host,
                              uint32_t stack_bytes);
/*
 * Samples less often from now on; each CPU starts a new period.
 *   Errors   -EOPNOTSUPP the sampler is not shared, -errno
 */
MUST_CHECK int sampler_slow(struct sampler *s, uint64_t period_ns);
/* Stops sampling, quickly. Records in the rings can still be read. */
void sampler_stop(struct sampler *s);
/* Closes a sampler, which can take a few hundred ms. */
void sampler_close(struct sampler *s);

/*
 * Samples one more process, which does not descend from the given ones; does
 * nothing when all processes are sampled.
 *   Errors   as sampler_open; -EMFILE more threads than there is room for
 */
MUST_CHECK int
sampler_add(struct sampler *s, const struct host *host, int32_t pid);

/*
 * Lists descriptors that become readable when a ring is half full.
 *   Shape    writes up to max; returns their number
 */
size_t sampler_poll(const struct sampler *s, struct pollfd *out, size_t max);
/*
 * Passes on every record older than until_ns, which should lie a little in the
 * past (SAMPLER_SLACK_NS): a record that one CPU is writing may be older than
 * one that another has written.
 */
#define SAMPLER_SLACK_NS UINT64_C(2000000)
void sampler_drain(struct sampler *s, uint64_t until_ns, sampler_sink *sink,
                   void *arg);

/*
 * Passes on a RECORD_LOST of time_ns with the number of lost records that no
 * record in the rings has reported. Since it reads every event, call it only at
 * the end of a capture.
 */
void sampler_report_lost(struct sampler *s, uint64_t time_ns,
                         sampler_sink *sink, void *arg);

void sampler_deny(struct sampler *s, uint32_t pid);
void sampler_pass(struct sampler *s, uint32_t pid);
/* Samples all denied processes again. */
void sampler_pass_all(struct sampler *s);
/* True if samples can have frames of an interpreter. */
bool sampler_follows_interp(const struct sampler *s);
/* True once an interpreter's thread or process has been added. The rings of
 * its frames are small: drain often. */
bool sampler_has_interp(const struct sampler *s);
/* Adds a thread of an interpreter. Returns false if it was added before, or
 * can't be followed. */
bool sampler_interp_thread(struct sampler *s, const struct interp_slot *slot);
/*
 * Adds a process that an interpreter runs: its new threads, and those of its
 * children, need not be added for their frames to come. It replaces a process
 * whose pid leads to the same slot, unless it was forked: then its parent's
 * list serves.
 */
void sampler_interp_list(struct sampler *s, const struct interp_list *list,
                         bool forked);
/* Adds a process whose threads publish contexts, in place of one whose pid
 * leads to the same slot; false if contexts can't arrive. */
bool sampler_context(struct sampler *s, const struct context_at *at);
/* Removes a process that ended or runs another program. */
void sampler_interp_gone(struct sampler *s, uint32_t pid);
/* Removes a thread that ended: another one may get its tid and memory. */
void sampler_interp_ended(struct sampler *s, uint32_t tid);
/* Removes the threads of a process; its list stays. */
void sampler_interp_forget(struct sampler *s, uint32_t pid);
/* Return the processes of a sampler of allocations, and the processes and rows
 * of one of memory in use; NULL for other samplers. */
const struct emit_slot *sampler_alloc_slots(const struct sampler *s);
const struct inuse_slot *sampler_slots(const struct sampler *s);
const struct inuse_set *sampler_sets(const struct sampler *s);
/* True when all processes are sampled, rather than the given ones. */
bool sampler_shared(const struct sampler *s);
/* Returns the parameters as opened or last changed, without pids. */
const struct sampler_ask *sampler_asked(const struct sampler *s);
/* Returns the memory of the rings. */
size_t sampler_ring_bytes(const struct sampler *s);
/* Returns QUALITY_NOTE_OF bits that apply to all captures of the sampler. */
quality_notes sampler_notes(const struct sampler *s);
