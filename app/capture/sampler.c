#include "capture/sampler.h"

#include "base/clock.h"
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
	batch_close(&s->old);
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
	s->ask.npids = 0;
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

static void
look(const struct batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		ring_look(&b->streams[i].ring);
		peek(&b->streams[i]);
	}
}

/* The stream of the oldest record, if that is older than *ns. */
static struct stream *
oldest(const struct batch *b, uint64_t *ns)
{
	struct stream *best = NULL;

	for (uint32_t i = 0; i < b->n; i++) {
		if (b->streams[i].next_ns >= *ns)
			continue;
		best = &b->streams[i];
		*ns = best->next_ns;
	}
	return best;
}

static void
hand_on(const struct batch *b, struct stream *st, sampler_sink *sink, void *arg)
{
	struct record r;

	if (st->next_ns >= b->from_ns && st->next_ns < b->until_ns &&
	    !record_parse(st->next, st->next_size, &r)) {
		if (r.kind == RECORD_SAMPLE)
			r.sample.weight_ns = r.time_ns < b->changed_ns
			                             ? b->before_ns
			                             : b->period_ns;
		sink(arg, &r);
	}
	ring_next(&st->ring, st->next_size);
	peek(st);
}

void
sampler_drain(struct sampler *s, uint64_t until_ns, sampler_sink *sink,
              void *arg)
{
	look(&s->old);
	look(&s->now);
	for (;;) {
		uint64_t ns = until_ns;
		struct stream *old = oldest(&s->old, &ns);
		struct stream *now = oldest(&s->now, &ns);

		if (now)
			hand_on(&s->now, now, sink, arg);
		else if (old)
			hand_on(&s->old, old, sink, arg);
		else
			break;
	}
	if (s->old.n && until_ns >= s->old.until_ns)
		batch_close(&s->old);
}

/* Both sample for a moment; each counts on its side of it. */
static int
take_over(struct sampler *s, struct batch *fresh)
{
	uint64_t now;
	int rc = batch_start(fresh);

	if (rc)
		return rc;
	now = (uint64_t)clock_mono_ns();
	batch_stop(&s->now);
	s->old = s->now;
	s->now = *fresh;
	s->old.until_ns = s->now.from_ns = now;
	return 0;
}

int
sampler_deepen(struct sampler *s, const struct host *host, uint32_t stack_bytes,
               size_t ring_bytes)
{
	const struct sampler_ask before = s->ask;
	const uint32_t notes = s->notes;
	struct batch fresh = {0};
	int rc;

	if (!sampler_shared(s))
		return -EOPNOTSUPP;
	if (s->old.n)
		return -EAGAIN;
	s->ask.stack_bytes = stack_bytes;
	s->ask.ring_bytes = ring_bytes;
	rc = batch_open(s, host, &fresh);
	if (!rc && !batch_is_roomy(s, &fresh))
		rc = -ENOBUFS;
	if (!rc)
		rc = take_over(s, &fresh);
	if (!rc)
		return 0;
	batch_close(&fresh);
	s->ask = before;
	s->notes = notes;
	return rc;
}

int
sampler_slow(struct sampler *s, uint64_t period_ns)
{
	struct batch *b = &s->now;

	if (!sampler_shared(s))
		return -EOPNOTSUPP;
	b->changed_ns = (uint64_t)clock_mono_ns();
	b->before_ns = b->period_ns;
	for (uint32_t i = 0; i < b->n; i++)
		if (ioctl(b->streams[i].ring.fd, PERF_EVENT_IOC_PERIOD,
		          &period_ns))
			return -errno;
	s->ask.period_ns = b->period_ns = period_ns;
	return 0;
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

const struct sampler_ask *
sampler_asked(const struct sampler *s)
{
	return &s->ask;
}

size_t
sampler_ring_bytes(const struct sampler *s)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < s->now.n; i++)
		sum += s->now.streams[i].ring.size;
	return sum;
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
