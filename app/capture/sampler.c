#include "capture/sampler.h"

#include "sampler_private.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

void
sampler_close(struct sampler *s)
{
	if (!s)
		return;
	batch_close(&s->now);
	if (s->denied)
		munmap(s->denied, s->ndenied / 8);
	if (s->prog_fd >= 0)
		close(s->prog_fd);
	free(s);
}
DEFINE_CLEANUP(struct sampler *, sampler_close)

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

int
sampler_open(const struct host *host, const struct sampler_ask *ask,
             struct sampler **out)
{
	CLEANUP(sampler_close_ptr) struct sampler *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->prog_fd = -1;
	s->ask = *ask;
	if (!ask->ncpus || ask->ncpus > SAMPLER_MAX_CPUS)
		return -EINVAL;
	open_filter(s, host);
	rc = batch_open(s, host, &s->now);
	if (!rc)
		rc = batch_start(&s->now);
	if (rc)
		return rc;
	s->ask.pids = NULL; /* the caller's */
	*out = TAKE(s);
	return 0;
}

void
sampler_stop(struct sampler *s)
{
	batch_stop(&s->now);
}

size_t
sampler_poll(const struct sampler *s, struct pollfd *out, size_t max)
{
	size_t n = s->now.n < max ? s->now.n : max;

	for (size_t i = 0; i < n; i++)
		out[i] = (struct pollfd){s->now.streams[i].ring.fd, POLLIN, 0};
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
	struct stream *best = &s->now.streams[0];

	for (uint32_t i = 1; i < s->now.n; i++)
		if (s->now.streams[i].next_ns < best->next_ns)
			best = &s->now.streams[i];
	return best;
}

void
sampler_drain(struct sampler *s, uint64_t until_ns, sampler_sink *sink,
              void *arg)
{
	struct record r;

	for (uint32_t i = 0; i < s->now.n; i++) {
		ring_look(&s->now.streams[i].ring);
		peek(&s->now.streams[i]);
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
	return s->ask.period_ns;
}

uint32_t
sampler_notes(const struct sampler *s)
{
	return s->notes;
}

bool
sampler_shared(const struct sampler *s)
{
	return !s->now.ntasks;
}
