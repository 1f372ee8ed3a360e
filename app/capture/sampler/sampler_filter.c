/*
 * Keeps the filter in the kernel from one sampler to the next: verifying its
 * program takes the kernel 10 ms and more.
 */
#include "base/clock.h"
#include "base/file.h"
#include "capture/event.h"
#include "capture/host/filter_layout.h"
#include "sampler_private.h"

#include <string.h>
#include <sys/mman.h>

static void
unmap(const void *p, size_t bytes)
{
	if (p)
		munmap((void *)(uintptr_t)p, bytes);
}

void
sampler_filter_free(struct sampler_filter *f)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!f)
		return;
	unmap(f->rings, f->each * f->ncpus);
	unmap(f->wakes_read, page);
	unmap(f->wakes_written, page);
	close_ptr(&f->wakes_fd);
	interp_unmap(&f->interp);
	unmap(f->denied, f->ndenied / 8);
	close_ptr(&f->prog_fd);
	free(f);
}

DEFINE_CLEANUP(struct sampler_filter *, sampler_filter_free)

/* Returns NULL on failure. */
static void *
map_shared(int fd, size_t bytes, int protection, size_t at)
{
	void *p = mmap(NULL, bytes, protection, MAP_SHARED, fd, (off_t)at);

	return p == MAP_FAILED ? NULL : p;
}

/* Source: linux/kernel/bpf/ringbuf.c: the first page has the position up to
 * which its ring is read, the second one how much was written. */
static bool
map_wakes(struct sampler_filter *f)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	f->wakes_read =
		map_shared(f->wakes_fd, page, PROT_READ | PROT_WRITE, 0);
	f->wakes_written = map_shared(f->wakes_fd, page, PROT_READ, page);
	return f->wakes_read && f->wakes_written;
}

/* Maps the rings; without them the program can't write samples. */
static bool
map_rings(struct sampler_filter *f, int rings_fd)
{
	f->each = filter_ring_bytes(f->ring_bytes);
	f->rings = map_shared(rings_fd, f->each * f->ncpus,
	                      PROT_READ | PROT_WRITE, 0);
	return f->rings && map_wakes(f);
}

/* Returns the size of a CPU's ring: enough for a second of stacks of 4 KB each,
 * but at most half of what rings may take. */
static uint32_t
ring_bytes(const struct sampler_ask *ask)
{
	uint32_t n = FILTER_LEAST_RING;

	while (n < FILTER_MOST_RING &&
	       n / 4096 * ask->period_ns < (uint64_t)NS_PER_S &&
	       (size_t)n * 4 * ask->ncpus <= ask->ring_bytes)
		n *= 2;
	return n;
}

static struct sampler_filter *
map_filter(const struct sampler_ask *ask, uint32_t nbits, int *fds, size_t nfds)
{
	CLEANUP(sampler_filter_free_ptr)
	struct sampler_filter *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->prog_fd = TAKE_FD(fds[FILTER_PROGRAM]);
	f->wakes_fd = -1;
	f->denied = map_shared(fds[FILTER_DENIED], nbits / 8,
	                       PROT_READ | PROT_WRITE, 0);
	f->ring_bytes = ring_bytes(ask);
	f->ncpus = ask->ncpus;
	f->ndenied = nbits;
	if (!f->denied)
		return NULL;
	if (nfds != FILTER_FDS)
		return TAKE(f);
	f->wakes_fd = TAKE_FD(fds[FILTER_WAKES]);
	if (!map_rings(f, fds[FILTER_RINGS]))
		return NULL;
	interp_map(&f->interp, fds[FILTER_INTERPS]);
	return TAKE(f);
}

bool
filter_ring(const struct sampler_filter *f, uint32_t cpu, struct ring *out)
{
	uint8_t *at = f->rings + cpu * f->each;

	if (f->rings)
		ring_borrow(at, at + FILTER_PAGE, f->ring_bytes, FILTER_ROOM,
		            out);
	return f->rings;
}

void
filter_limit(const struct sampler_filter *f, uint32_t stack_bytes)
{
	for (uint32_t i = 0; i < f->ncpus && f->rings; i++) {
		struct filter_ring *ring = (void *)(f->rings + i * f->each);

		__atomic_store_n(&ring->stack_bytes, stack_bytes,
		                 __ATOMIC_RELAXED);
	}
}

void
filter_awake(const struct sampler_filter *f)
{
	if (f->rings)
		__atomic_store_n(
			f->wakes_read,
			__atomic_load_n(f->wakes_written, __ATOMIC_ACQUIRE),
			__ATOMIC_RELEASE);
}

static struct sampler_filter *
new_filter(const struct sampler_ask *ask, const struct host *host)
{
	struct host_ask question = {
		.op = HOST_FILTER,
		.size = ring_bytes(ask),
		.cpu = ask->ncpus,
	};
	struct sampler_filter *f = NULL;
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;

	if (host->ask(host->arg, &question, &reply, fds, &nfds))
		return NULL;
	if (!reply.error && nfds >= FILTER_INTERPS)
		f = map_filter(ask, reply.value, fds, nfds);
	for (size_t i = 0; i < nfds; i++)
		close_ptr(&fds[i]);
	return f;
}

struct sampler_filter *
filter_take(const struct sampler_ask *ask, const struct host *host)
{
	struct sampler_filter *f = ask->kept ? *ask->kept : NULL;

	if (!f || f->ring_bytes != ring_bytes(ask) || f->ncpus != ask->ncpus)
		return new_filter(ask, host);
	memset(f->denied, 0, f->ndenied / 8);
	interp_forget(&f->interp);
	return TAKE(*ask->kept);
}
