#include "capture/sampler.h"

#include "capture/quality.h"
#include "capture/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

struct stream {
	struct ring ring;
	uint64_t next_ns; /* of the peeked record; UINT64_MAX: none */
	const void *next;
	size_t next_size;
};

struct sampler {
	struct stream *streams; /* of CPUs that are online */
	uint32_t n;
	uint64_t period_ns;
	uint32_t notes;
	uint8_t *denied; /* mapped; NULL without a filter */
	uint32_t ndenied;
	int prog_fd;
};

void
sampler_close(struct sampler *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		ring_close(&s->streams[i].ring);
	if (s->denied)
		munmap(s->denied, s->ndenied / 8);
	if (s->prog_fd >= 0)
		close(s->prog_fd);
	free(s->streams);
	free(s);
}
DEFINE_CLEANUP(struct sampler *, sampler_close)

/* The filter is welcome, not needed: its failure is a note. */
static void
open_filter(struct sampler *s, const struct host *host)
{
	struct host_ask ask = {.op = HOST_FILTER};
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;
	void *p = MAP_FAILED;

	if (host->ask(host->arg, &ask, &reply, fds, &nfds))
		return;
	if (!reply.error && nfds == 2)
		p = mmap(NULL, reply.value / 8, PROT_READ | PROT_WRITE,
		         MAP_SHARED, fds[0], 0);
	if (p != MAP_FAILED) {
		s->denied = p;
		s->ndenied = reply.value;
		s->prog_fd = fds[1];
		fds[1] = -1;
	}
	for (size_t i = 0; i < nfds; i++)
		close_ptr(&fds[i]);
}

static size_t
ring_size(const struct sampler_ask *ask)
{
	size_t size = RING_MIN_BYTES;

	while (size * 2 * ask->ncpus <= ask->ring_bytes)
		size *= 2;
	return size;
}

static int
open_stream(struct sampler *s, const struct host *host,
            const struct sampler_ask *ask, uint32_t cpu)
{
	struct host_ask event = {
		.op = HOST_EVENT,
		.cpu = cpu,
		.period_ns = ask->period_ns,
		.stack_bytes = ask->stack_bytes,
	};
	struct stream *out = &s->streams[s->n];
	size_t size = ring_size(ask);
	CLEANUP_FD int fd = -1;
	int rc = host_fd(host, &event, &fd);

	if (rc)
		return rc == -ENODEV ? 0 : rc; /* a CPU that is offline */
	rc = ring_open(fd, size, &out->ring);
	if (rc)
		return rc;
	s->n++;
	TAKE_FD(fd);
	if (out->ring.size < size)
		s->notes |= QUALITY_NOTE_OF(SMALL_RING);
	if (s->denied &&
	    ioctl(out->ring.fd, PERF_EVENT_IOC_SET_BPF, s->prog_fd))
		s->notes |= QUALITY_NOTE_OF(NO_BPF);
	return 0;
}

static int
start(const struct sampler *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (ioctl(s->streams[i].ring.fd, PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	return s->n ? 0 : -ENODEV;
}

int
sampler_open(const struct host *host, const struct sampler_ask *ask,
             struct sampler **out)
{
	CLEANUP(sampler_close_ptr) struct sampler *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s)
		return -ENOMEM;
	s->prog_fd = -1;
	s->period_ns = ask->period_ns;
	if (!ask->ncpus || ask->ncpus > SAMPLER_MAX_CPUS)
		return -EINVAL;
	s->streams = calloc(ask->ncpus, sizeof(*s->streams));
	if (!s->streams)
		return -ENOMEM;
	open_filter(s, host);
	if (!s->denied)
		s->notes |= QUALITY_NOTE_OF(NO_BPF);
	for (uint32_t cpu = 0; cpu < ask->ncpus && !rc; cpu++)
		rc = open_stream(s, host, ask, cpu);
	if (!rc)
		rc = start(s);
	if (rc)
		return rc;
	*out = TAKE(s);
	return 0;
}

void
sampler_stop(struct sampler *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		ioctl(s->streams[i].ring.fd, PERF_EVENT_IOC_DISABLE, 0);
}

size_t
sampler_poll(const struct sampler *s, struct pollfd *out, size_t max)
{
	size_t n = s->n < max ? s->n : max;

	for (size_t i = 0; i < n; i++)
		out[i] = (struct pollfd){s->streams[i].ring.fd, POLLIN, 0};
	return n;
}

static void
peek(struct stream *st)
{
	st->next_ns = UINT64_MAX;
	if (ring_peek(&st->ring, &st->next, &st->next_size))
		st->next_ns = record_time(st->next, st->next_size);
}

static struct stream *
oldest(const struct sampler *s)
{
	struct stream *best = &s->streams[0];

	for (uint32_t i = 1; i < s->n; i++)
		if (s->streams[i].next_ns < best->next_ns)
			best = &s->streams[i];
	return best;
}

void
sampler_drain(struct sampler *s, uint64_t until_ns, sampler_sink *sink,
              void *arg)
{
	struct record r;

	for (uint32_t i = 0; i < s->n; i++) {
		ring_look(&s->streams[i].ring);
		peek(&s->streams[i]);
	}
	for (;;) {
		struct stream *st = oldest(s);

		if (st->next_ns >= until_ns)
			return;
		if (!record_parse(st->next, st->next_size, &r))
			sink(arg, &r);
		ring_next(&st->ring, st->next_size);
		peek(st);
	}
}

/* The kernel reads the byte while we write it: whole bytes, nobody else
 * writes. */
static void
set_denied(struct sampler *s, uint32_t pid, bool denied)
{
	uint8_t byte, bit = (uint8_t)(1u << pid % 8);

	if (!s->denied || pid >= s->ndenied)
		return;
	byte = s->denied[pid / 8];
	byte = denied ? byte | bit : byte & (uint8_t)~bit;
	__atomic_store_n(&s->denied[pid / 8], byte, __ATOMIC_RELAXED);
}

void
sampler_deny(struct sampler *s, uint32_t pid)
{
	set_denied(s, pid, true);
}

void
sampler_pass(struct sampler *s, uint32_t pid)
{
	set_denied(s, pid, false);
}

uint64_t
sampler_period_ns(const struct sampler *s)
{
	return s->period_ns;
}

uint32_t
sampler_notes(const struct sampler *s)
{
	return s->notes;
}
