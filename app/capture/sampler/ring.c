#include "ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define AHEAD      ((size_t)2560) /* registers, and frames of most stacks */
#define CACHE_LINE 64

int
ring_open(int fd, size_t size, struct ring *out)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	CLEANUP_FREE uint8_t *straight = malloc(RING_RECORD);
	void *p;

	if (!straight)
		return -ENOMEM;
	p = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) /* EPERM: too much locked memory */
		return errno == EPERM ? -ENOMEM : -errno;
	*out = (struct ring){
		.fd = fd,
		.page = p,
		.data = (uint8_t *)p + page,
		.size = size,
		.straight = TAKE(straight),
	};
	return 0;
}

void
ring_look(struct ring *r)
{
	r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

static void
give_back(struct ring *r)
{
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

void
ring_borrow(void *page, void *data, size_t size, size_t behind,
            struct ring *out)
{
	*out = (struct ring){
		.fd = -1,
		.page = page,
		.data = data,
		.size = size,
		.behind = behind,
	};
	ring_look(out);
	out->tail = out->head;
	give_back(out);
}

void
ring_close(struct ring *r)
{
	if (r->page && r->straight)
		munmap(r->page, (size_t)sysconf(_SC_PAGESIZE) + r->size);
	if (r->fd >= 0)
		close(r->fd);
	free(r->straight);
	*r = (struct ring){.fd = -1};
}

bool
ring_peek(struct ring *r, const void **p, size_t *n)
{
	size_t at = r->tail & (r->size - 1), end = r->size - at;
	uint64_t there = r->head - r->tail;
	struct perf_event_header h;

	if (!there)
		return false;
	memcpy(&h, r->data + at, sizeof(h)); /* 8-aligned, so that a header
	                                        never wraps */
	if (h.size < sizeof(h) || h.size > there || h.size % 8) {
		r->bad++;
		r->tail = r->head;
		give_back(r);
		return false;
	}
	*n = h.size;
	*p = r->data + at;
	if (h.size > end + r->behind) {
		memcpy(r->straight, r->data + at, end);
		memcpy(r->straight + end, r->data, h.size - end);
		*p = r->straight;
	}
	return true;
}

void
ring_fetch_ahead(const struct ring *r, size_t n)
{
	const uint64_t mask = r->size - 1, next = r->tail + n;

	for (size_t i = 0; i < AHEAD; i += CACHE_LINE)
		__builtin_prefetch(r->data + ((next + i) & mask));
	__builtin_prefetch(r->data + ((next + n - 8) & mask));
}

void
ring_next(struct ring *r, size_t n)
{
	r->tail += n;
	give_back(r);
}
