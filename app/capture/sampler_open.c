/*
 * Opening: events of all processes per CPU; where this user may not have
 * them, events of the target's threads that pass on to what these start.
 */
#include "base/file.h"
#include "capture/quality.h"
#include "sampler_private.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

/* Of a sample's record: all but the stack, with few kernel frames. */
#define SAMPLE_HEAD 256

static void
close_rings(struct batch *b)
{
	while (b->n)
		ring_close(&b->streams[--b->n].ring);
}

void
batch_close(struct batch *b)
{
	for (uint32_t i = 0; i < b->ntasks; i++)
		close(b->tasks[i]);
	close_rings(b);
	free(b->tasks);
	free(b->streams);
	*b = (struct batch){0};
}

static int
each_event(const struct batch *b, unsigned long request)
{
	for (uint32_t i = 0; i < b->n; i++)
		if (ioctl(b->streams[i].ring.fd, request, 0))
			return -errno;
	for (uint32_t i = 0; i < b->ntasks; i++)
		if (ioctl(b->tasks[i], request, 0))
			return -errno;
	return 0;
}

int
batch_start(const struct batch *b)
{
	return b->n ? each_event(b, PERF_EVENT_IOC_ENABLE) : -ENODEV;
}

void
batch_stop(const struct batch *b)
{
	/* Nothing can be done for one that does not stop: it is closed. */
	(void)!each_event(b, PERF_EVENT_IOC_DISABLE);
}

/* What one CPU's samples take until they are surely read. */
static size_t
ring_need(const struct sampler_ask *ask)
{
	uint64_t samples = SAMPLER_RING_NS / ask->period_ns + 1;

	return samples * (ask->stack_bytes + SAMPLE_HEAD);
}

static size_t
ring_size(const struct sampler_ask *ask)
{
	size_t size = RING_MIN_BYTES, need = ring_need(ask);

	while (size < need && size * 2 * ask->ncpus <= ask->ring_bytes)
		size *= 2;
	return size;
}

/* --- per CPU ---------------------------------------------------------------
 */

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
open_ring(const struct sampler *s, const struct host *host, enum host_op op,
          uint32_t cpu, size_t size, struct batch *b)
{
	struct host_ask event = event_ask(s, op, cpu);
	struct stream *out = &b->streams[b->n];
	CLEANUP_FD int fd = -1;
	int rc = host_fd(host, &event, &fd);

	if (rc)
		return rc == -ENODEV ? 0 : rc; /* a CPU that is offline */
	rc = ring_open(fd, size, &out->ring);
	if (rc)
		return rc;
	out->cpu = cpu;
	b->n++;
	TAKE_FD(fd);
	return 0;
}

static int
open_all(const struct sampler *s, const struct host *host, enum host_op op,
         size_t size, struct batch *b)
{
	int rc = 0;

	for (uint32_t cpu = 0; cpu < s->ask.ncpus && !rc; cpu++)
		rc = open_ring(s, host, op, cpu, size, b);
	return rc;
}

/* Of equal size: what may be locked does not all go to the first. */
static int
open_rings(struct sampler *s, const struct host *host, enum host_op op,
           struct batch *b)
{
	size_t size = ring_size(&s->ask);
	int rc = open_all(s, host, op, size, b);

	while (rc == -ENOMEM && size > RING_MIN_BYTES) {
		close_rings(b);
		size /= 2;
		rc = open_all(s, host, op, size, b);
	}
	if (!rc && size < ring_need(&s->ask))
		s->notes |= QUALITY_NOTE_OF(SMALL_RING);
	return rc;
}

/* The filter is welcome, not needed: its failure is a note. */
static void
set_filter(struct sampler *s, const struct batch *b)
{
	bool set = s->denied != NULL;

	for (uint32_t i = 0; i < b->n && set; i++)
		set = !ioctl(b->streams[i].ring.fd, PERF_EVENT_IOC_SET_BPF,
		             s->prog_fd);
	if (!set)
		s->notes |= QUALITY_NOTE_OF(NO_BPF);
}

/* --- per task --------------------------------------------------------------
 */

/* Its threads; one that starts just now may be missed. */
static int
tasks_of(const struct host *host, int32_t pid, struct buf *out)
{
	struct host_ask ask = {.op = HOST_TASKS, .pid = pid};
	CLEANUP_FD int fd = -1;
	int rc = host_fd(host, &ask, &fd);

	if (!rc && lseek(fd, 0, SEEK_SET))
		rc = -errno;
	return rc ? rc : fd_read_all(fd, out);
}

/* One thread on one CPU, its samples into that CPU's ring. */
static int
open_task(struct sampler *s, const struct host *host, int32_t tid, uint32_t i,
          struct batch *b)
{
	uint32_t cpu = b->streams[i].cpu, user_only;
	struct host_ask event = event_ask(s, HOST_TASK_EVENT, cpu);
	CLEANUP_FD int fd = -1;
	int rc;

	if (b->ntasks == SAMPLER_MAX_TASKS)
		return -EMFILE;
	event.pid = tid;
	rc = host_fd_value(host, &event, &fd, &user_only);
	if (rc)
		return rc;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, b->streams[i].ring.fd))
		return -errno;
	if (user_only)
		s->notes |= QUALITY_NOTE_OF(USER_ONLY);
	b->tasks[b->ntasks++] = TAKE_FD(fd);
	return 0;
}

static int
open_process(struct sampler *s, const struct host *host, int32_t pid,
             struct batch *b)
{
	CLEANUP_BUF struct buf tids = BUF_INIT(BUF_MAX_SMALL);
	int rc = tasks_of(host, pid, &tids);

	for (size_t at = 0; at + sizeof(int32_t) <= tids.len && !rc;
	     at += sizeof(int32_t)) {
		int32_t tid;

		memcpy(&tid, tids.p + at, sizeof(tid));
		for (uint32_t i = 0; i < b->n && !rc; i++)
			rc = open_task(s, host, tid, i, b);
		if (rc == -ESRCH) /* it has ended meanwhile */
			rc = 0;
	}
	return rc;
}

static int
open_tasks(struct sampler *s, const struct host *host, struct batch *b)
{
	int last = -ESRCH;
	int rc;

	b->tasks = calloc(SAMPLER_MAX_TASKS, sizeof(*b->tasks));
	if (!b->tasks)
		return -ENOMEM;
	rc = open_rings(s, host, HOST_RING, b);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < s->ask.npids; i++) {
		rc = open_process(s, host, s->ask.pids[i], b);
		if (rc)
			last = rc;
	}
	if (!b->ntasks)
		return last;
	s->notes |= QUALITY_NOTE_OF(PER_TASK);
	return 0;
}

bool
batch_is_roomy(const struct sampler *s, const struct batch *b)
{
	return b->n && b->streams[0].ring.size >= ring_need(&s->ask) / 2;
}

static int
batch_init(const struct sampler *s, struct batch *b)
{
	b->until_ns = UINT64_MAX;
	b->period_ns = b->before_ns = s->ask.period_ns;
	b->streams = calloc(s->ask.ncpus, sizeof(*b->streams));
	return b->streams ? 0 : -ENOMEM;
}

int
batch_open(struct sampler *s, const struct host *host, struct batch *out)
{
	int rc = batch_init(s, out);

	if (!rc)
		rc = open_rings(s, host, HOST_EVENT, out);
	if (!rc)
		set_filter(s, out);
	if (rc != -EPERM && rc != -EACCES)
		return rc;
	batch_close(out);
	rc = batch_init(s, out);
	return rc ? rc : open_tasks(s, host, out);
}
