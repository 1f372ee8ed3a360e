/*
 * Samples of the whole host at one rate: a ring per CPU, read as one stream
 * in the order of time.
 *
 * Processes that nobody follows are denied in the kernel, before a sample is
 * copied; every process is heard until it is denied. Where the filter can't
 * be had, samples of other processes arrive and are to be thrown away.
 *
 * Who may not sample all processes gets events of the asked processes'
 * threads, which their children inherit: these cost a switch-heavy target
 * much of its speed, and nobody else can share them.
 */
#pragma once

#include "capture/host.h"
#include "capture/host/record.h"

#include <poll.h>

#define SAMPLER_MAX_CPUS 4096

struct sampler;

/* Of a sampler that was closed. */
struct sampler_filter;
void sampler_filter_free(struct sampler_filter *f);

struct sampler_ask {
	uint64_t period_ns;
	uint32_t ncpus; /* configured */
	uint32_t stack_bytes;
	size_t ring_bytes;   /* at most, of all CPUs */
	const int32_t *pids; /* should all processes be refused */
	uint32_t npids;
	/* Where the filter is left at the end, for the next sampler of this
	 * period: it is spared 10 ms of the kernel's. NULL: nowhere */
	struct sampler_filter **kept;
};

/* The rings hold the samples of this long, if ring_bytes lets them, with
 * dumps as deep as was asked; at low rates with the deepest. */
#define SAMPLER_RING_NS UINT64_C(250000000)

/* Called for every record, oldest first; a sample's weight is its period. */
typedef void sampler_sink(void *arg, const struct record *r);

/*
 * Opens, and starts sampling.
 *   Errors   -EACCES, -EPERM, -ENOSYS as event_open; -ESRCH none of
 *            the processes is left; -ENOMEM; -errno
 */
MUST_CHECK int
sampler_open(const struct host *host, const struct sampler_ask *ask,
             struct sampler **out);
/* Deeper dumps are let into rings that hold this much of them: they are half
 * full, and read, within half of it. */
#define SAMPLER_DEEP_NS UINT64_C(50000000)
/*
 * Copies more of each stack from now on, into the rings there are; each CPU
 * starts its period anew.
 *   Errors   -EOPNOTSUPP it is not shared, -ENOBUFS the rings are too small,
 *            -EMFILE it was done too often, else as sampler_open; s goes on
 *            as it was
 */
MUST_CHECK int sampler_deepen(struct sampler *s, const struct host *host,
                              uint32_t stack_bytes);
/*
 * Samples less often from now on; each CPU starts its period anew.
 *   Errors   -EOPNOTSUPP it is not shared, -errno
 */
MUST_CHECK int sampler_slow(struct sampler *s, uint64_t period_ns);
/* Stops sampling; fast. What the rings hold can still be read. */
void sampler_stop(struct sampler *s);
/* Closing perf events can take a few hundred ms. */
void sampler_close(struct sampler *s);

/*
 * Samples one more process, which descends from none of those that were asked
 * for; nothing to do where all are sampled.
 *   Errors   as sampler_open; -EMFILE more threads than there is room for
 */
MUST_CHECK int
sampler_add(struct sampler *s, const struct host *host, int32_t pid);

/* Descriptors that become readable when a ring is half full.
 *   Shape    writes up to max; tells how many */
size_t sampler_poll(const struct sampler *s, struct pollfd *out, size_t max);
/*
 * Hands on every record older than until_ns, which should lie a little in
 * the past (SAMPLER_SLACK_NS): what a CPU is just writing may be older than
 * what another has written.
 */
#define SAMPLER_SLACK_NS UINT64_C(2000000)
void sampler_drain(struct sampler *s, uint64_t until_ns, sampler_sink *sink,
                   void *arg);

/*
 * Hands on, as a record of that time, how many records were lost that none in
 * the rings has told of so far. Reads every event: for the end of a capture.
 */
void sampler_tell_lost(struct sampler *s, uint64_t time_ns, sampler_sink *sink,
                       void *arg);

void sampler_deny(struct sampler *s, uint32_t pid);
void sampler_pass(struct sampler *s, uint32_t pid);
/* Interpreted frames come with samples of threads that it is told of. */
bool sampler_follows_python(const struct sampler *s);
/* True once a Python thread was added. Python rings are small: drain often. */
bool sampler_has_python(const struct sampler *s);
/* False: it was told so already, or can't follow. */
bool sampler_python_thread(struct sampler *s, const struct python_slot *slot);
/* All processes are sampled, not just those that were asked for. */
bool sampler_shared(const struct sampler *s);
/* As opened or last changed; without pids. */
const struct sampler_ask *sampler_asked(const struct sampler *s);
/* What the rings take. */
size_t sampler_ring_bytes(const struct sampler *s);
/* QUALITY_NOTE_OF bits that hold for all its captures. */
uint64_t sampler_notes(const struct sampler *s);
