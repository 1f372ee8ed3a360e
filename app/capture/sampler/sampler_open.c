/*
 * Opens samplers: events of all processes, one per CPU, or, if this user may
 * not open these, events of the target's threads, which children inherit.
 */
#include "capture/event.h"
#include "capture/quality.h"
#include "capture/threads.h"
#include "sampler_private.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

/* Bytes of a sample's record without its stack, with few kernel frames. */
#define SAMPLE_HEAD 256
/* Any rate gets a ring of this size, if there is room. */
#define RING_CHEAP ((size_t)2 << 20)

static void
close_rings(struct sampler *s)
{
	while (s->nstreams)
		ring_close(&s->streams[--s->nstreams].ring);
	s->n = 0;
}

static void
close_events(struct sampler *s, uint32_t from)
{
	while (s->nevents > from)
		close(s->events[--s->nevents]);
}

static void
close_all(struct sampler *s)
{
	close_events(s, 0);
	close_rings(s);
	free(s->events);
	free(s->streams);
	s->events = NULL;
	s->streams = NULL;
}

void
sampler_close(struct sampler *s)
{
	if (!s)
		return;
	close_all(s);
	if (s->ask.kept && s->filter) {
		sampler_filter_free(*s->ask.kept);
		*s->ask.kept = TAKE(s->filter);
	}
	sampler_filter_free(s->filter);
	emitter_free(s->emitter);
	free(s);
}

/* Returns how many bytes the samples of one CPU need in ns nanoseconds. */
static size_t
ring_need(const struct sampler_ask *ask, uint32_t stack_bytes, uint64_t ns)
{
	return (ns / ask->period_ns + 1) * (stack_bytes + SAMPLE_HEAD);
}

bool
sampler_is_roomy(const struct sampler *s, uint32_t stack_bytes)
{
	return s->n && s->streams[0].ring.size >=
	                       ring_need(&s->ask, stack_bytes, SAMPLER_DEEP_NS);
}

/* Returns the size for dumps of the initial depth, or of the maximum depth if
 * that is cheap. */
static size_t
ring_wish(const struct sampler_ask *ask)
{
	size_t need = ring_need(ask, ask->stack_bytes, SAMPLER_RING_NS);
	size_t deep = ring_need(ask, EVENT_MAX_STACK, SAMPLER_RING_NS);

	if (deep > RING_CHEAP)
		deep = RING_CHEAP;
	return need > deep ? need : deep;
}

static size_t
ring_size(const struct sampler_ask *ask)
{
	size_t wish = ring_wish(ask), size = RING_MIN_BYTES;

	while (size < wish && size * 2 * ask->ncpus <= ask->ring_bytes)
		size *= 2;
	return size;
}

/* --- rings ---------------------------------------------------------------- */

static int
open_ring(struct sampler *s, const struct host *host, int32_t task,
          uint32_t cpu, size_t size)
{
	struct host_ask ask = {.op = HOST_RING, .pid = task, .cpu = cpu};
	struct stream *out = &s->streams[s->n];
	CLEANUP_FD int fd = -1;
	int rc = host_fd(host, &ask, &fd);

	if (rc)
		return rc == -ENODEV ? 0 : rc; /* the CPU is offline */
	rc = ring_open(fd, size, &out->ring);
	if (rc)
		return rc;
	out->cpu = cpu;
	s->nstreams = ++s->n;
	TAKE_FD(fd);
	return 0;
}

static int
open_each_ring(struct sampler *s, const struct host *host, int32_t task,
               size_t size)
{
	int rc = 0;

	for (uint32_t cpu = 0; cpu < s->ask.ncpus && !rc; cpu++)
		rc = open_ring(s, host, task, cpu, size);
	return rc;
}

/* Opens rings of equal size, so that locked memory does not all go to the
 * first. */
static int
open_rings(struct sampler *s, const struct host *host, int32_t task)
{
	size_t size = ring_size(&s->ask);
	int rc = open_each_ring(s, host, task, size);

	while (rc == -ENOMEM && size > RING_MIN_BYTES) {
		close_rings(s);
		size /= 2;
		rc = open_each_ring(s, host, task, size);
	}
	if (!rc && !s->n)
		rc = -ENODEV;
	/* Other kinds take no more samples than rings have room for. */
	if (!rc && s->ask.kind == SAMPLER_CLOCK &&
	    size < ring_need(&s->ask, s->ask.stack_bytes, SAMPLER_RING_NS))
		s->notes |= QUALITY_NOTE_OF(SMALL_RING);
	return rc;
}

/* --- per CPU -------------------------------------------------------------- */

static struct host_ask
event_ask(const struct sampler *s, enum host_op op, uint32_t cpu)
{
	return (struct host_ask){
		.op = op,
		.cpu = cpu,
		.period_ns = s->ask.period_ns,
		.stack_bytes = s->ask.stack_bytes,
	};
}

static int
append_event(struct sampler *s, const struct stream *st, int *fd)
{
	if (ioctl(*fd, PERF_EVENT_IOC_SET_OUTPUT, st->ring.fd))
		return -errno;
	s->events[s->nevents++] = TAKE_FD(*fd);
	return 0;
}

/* Opens the event that writes the samples of BPF programs on a CPU. */
static int
open_output(struct sampler *s, const struct host *host, const struct stream *st)
{
	CLEANUP_FD int fd = -1;
	int rc = emitter_event(s->emitter, host, st->cpu, s->ask.stack_bytes,
	                       &fd);

	return rc ? rc : append_event(s, st, &fd);
}

/* Opens an event with the filter, which is optional: a note says if it
 * fails. */
static int
open_event(struct sampler *s, const struct host *host, const struct stream *st)
{
	struct host_ask event = event_ask(s, HOST_EVENT, st->cpu);
	CLEANUP_FD int fd = -1;
	int rc = host_fd(host, &event, &fd);

	if (rc)
		return rc;
	if (!s->filter || ioctl(fd, PERF_EVENT_IOC_SET_BPF, s->filter->prog_fd))
		s->notes |= QUALITY_NOTE_OF(NO_BPF);
	return append_event(s, st, &fd);
}

int
sampler_open_events(struct sampler *s, const struct host *host)
{
	uint32_t before = s->nevents;
	int rc = before + s->n > SAMPLER_DEEPENED * s->n ? -EMFILE : 0;

	for (uint32_t i = 0; i < s->n && !rc; i++)
		rc = s->emitter ? open_output(s, host, &s->streams[i])
		                : open_event(s, host, &s->streams[i]);
	if (rc)
		close_events(s, before);
	return rc;
}

/* Reads what the filter writes, too, from now on. */
static void
read_filter(struct sampler *s)
{
	for (uint32_t i = 0; i < s->n && s->filter; i++) {
		struct stream *to = &s->streams[s->nstreams];

		to->cpu = s->streams[i].cpu;
		if (filter_ring(s->filter, to->cpu, &to->ring))
			s->nstreams++;
	}
	if (s->filter)
		filter_limit(s->filter, s->ask.stack_bytes);
}

static int
open_shared(struct sampler *s, const struct host *host)
{
	int rc = open_rings(s, host, EVENT_ALL);

	if (rc)
		return rc;
	s->shared = true;
	read_filter(s);
	s->events = calloc((size_t)SAMPLER_DEEPENED * s->n, sizeof(*s->events));
	return s->events ? sampler_open_events(s, host) : -ENOMEM;
}

/* --- per task ------------------------------------------------------------- */

/* Opens an event for one thread on one CPU, with that CPU's ring. */
static int
open_task(struct sampler *s, const struct host *host, int32_t tid,
          const struct stream *st)
{
	struct host_ask event = event_ask(s, HOST_TASK_EVENT, st->cpu);
	uint32_t user_only;
	CLEANUP_FD int fd = -1;
	int rc;

	if (s->nevents == SAMPLER_MAX_TASKS)
		return -EMFILE;
	event.pid = tid;
	rc = host_fd_value(host, &event, &fd, &user_only);
	if (rc)
		return rc;
	if (user_only)
		s->notes |= QUALITY_NOTE_OF(USER_ONLY);
	return append_event(s, st, &fd);
}

static int
open_process(struct sampler *s, const struct host *host, int32_t pid)
{
	CLEANUP_BUF struct buf tids =
		BUF_INIT(sizeof(int32_t[HOST_MAX_THREADS]));
	int rc = threads_list(host, pid, &tids);

	for (size_t at = 0; at + sizeof(int32_t) <= tids.len && !rc;
	     at += sizeof(int32_t)) {
		int32_t tid;

		memcpy(&tid, tids.p + at, sizeof(tid));
		for (uint32_t i = 0; i < s->n && !rc; i++)
			rc = open_task(s, host, tid, &s->streams[i]);
		if (rc == -ESRCH) /* the thread has ended meanwhile */
			rc = 0;
	}
	return rc;
}

int
sampler_add(struct sampler *s, const struct host *host, int32_t pid)
{
	return s->shared ? 0 : open_process(s, host, pid);
}

static int
open_tasks(struct sampler *s, const struct host *host)
{
	int last = -ESRCH;
	int rc = open_rings(s, host, 0);

	if (rc)
		return rc;
	s->events = calloc(SAMPLER_MAX_TASKS, sizeof(*s->events));
	if (!s->events)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->ask.npids; i++) {
		rc = open_process(s, host, s->ask.pids[i]);
		if (rc)
			last = rc;
	}
	if (!s->nevents)
		return last;
	s->notes |= QUALITY_NOTE_OF(PER_TASK);
	return 0;
}

int
sampler_open_all(struct sampler *s, const struct host *host)
{
	int rc;

	s->streams = calloc(2 * (size_t)s->ask.ncpus, sizeof(*s->streams));
	rc = s->streams ? open_shared(s, host) : -ENOMEM;
	if ((rc != -EPERM && rc != -EACCES) || s->emitter)
		return rc;
	close_all(s);
	s->shared = false;
	s->notes = 0;
	s->streams = calloc(s->ask.ncpus, sizeof(*s->streams));
	return s->streams ? open_tasks(s, host) : -ENOMEM;
}
