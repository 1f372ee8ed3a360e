/*
 * Interpreted frames: which threads have them, and whose sample they belong
 * to. A stack is taken within microseconds of its sample, before or after
 * (since Linux 6.3), on the same CPU.
 */
#include "sampler_private.h"

#include <string.h>
#include <sys/mman.h>

#define NEAR_NS UINT64_C(200000)

void
python_map(struct sampler_filter *f, int fd)
{
	struct sampler_python *p = &f->python;
	void *map;

	p->stacks = python_ring_stacks(f->period_ns);
	p->ring = python_ring_bytes(p->stacks);
	p->next = calloc(f->ncpus, sizeof(*p->next));
	if (!p->next)
		return;
	map = mmap(NULL, p->ring * f->ncpus, PROT_READ, MAP_SHARED, fd, 0);
	p->rings = map == MAP_FAILED ? NULL : map;
}

void
python_unmap(struct sampler_filter *f)
{
	struct sampler_python *p = &f->python;

	if (p->rings)
		munmap(p->rings, p->ring * f->ncpus);
	free(p->next);
}

static const struct python_stack *
stack_at(const struct sampler_python *p, uint32_t cpu, uint64_t turn)
{
	size_t i = 1 + turn % p->stacks;

	return (const void *)(p->rings + cpu * p->ring + i * PYTHON_STACK);
}

/* A copy, unless the kernel has begun to overwrite it. */
static bool
copy_stack(struct sampler_python *p, const struct python_stack *from,
           uint64_t turn)
{
	struct python_stack *to = &p->found;

	memcpy(to, from, offsetof(struct python_stack, frames));
	if (to->n > PYTHON_MAX_FRAMES)
		return false;
	memcpy(to->frames, from->frames, to->n * sizeof(*to->frames));
	return __atomic_load_n(&from->turn, __ATOMIC_ACQUIRE) == turn + 1 &&
	       to->turn == turn + 1;
}

const struct python_stack *
python_of_sample(struct sampler *s, uint32_t cpu, const struct record *r)
{
	struct sampler_python *p = s->filter ? &s->filter->python : NULL;
	const struct python_stack *at;
	uint64_t head, *next;

	if (!p || !p->rings || !p->used)
		return NULL;
	next = &p->next[cpu];
	head = __atomic_load_n(
		(const uint64_t *)(const void *)(p->rings + cpu * p->ring),
		__ATOMIC_ACQUIRE);
	if (head - *next > p->stacks)
		*next = head - p->stacks;
	for (; *next < head; ++*next) {
		at = stack_at(p, cpu, *next);
		if (at->time_ns + NEAR_NS < r->time_ns)
			continue;
		if (at->time_ns > r->time_ns + NEAR_NS)
			return NULL;
		if (at->tid == r->tid)
			return copy_stack(p, at, (*next)++) ? &p->found : NULL;
	}
	return NULL;
}

bool
sampler_follows_python(const struct sampler *s)
{
	return s->filter && s->filter->python.rings;
}

bool
sampler_has_python(const struct sampler *s)
{
	return s->filter && s->filter->python.used;
}

bool
sampler_python_thread(struct sampler *s, const struct python_slot *slot)
{
	struct python_slot *to;

	if (!sampler_follows_python(s))
		return false;
	s->filter->python.used = true;
	to = s->filter->python.slots + slot->tid % PYTHON_SLOTS;
	if (!memcmp(to, slot, sizeof(*to)))
		return false;
	__atomic_store_n(&to->tid, 0, __ATOMIC_RELEASE);
	to->layout = slot->layout;
	to->head = slot->head;
	to->hop = slot->hop;
	to->key = slot->key;
	__atomic_store_n(&to->tid, slot->tid, __ATOMIC_RELEASE);
	return true;
}
