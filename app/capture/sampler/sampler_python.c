/*
 * Interpreted frames: which threads have them, and whose sample they belong
 * to. A stack is taken in the same interrupt as its sample, before or after
 * it (since Linux 6.3). Interrupts of one CPU are a period apart: the nearest
 * stack of the thread, within half a period, is the sample's.
 */
#include "sampler_private.h"

#include <string.h>
#include <sys/mman.h>

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

/* Copies a stack, unless the kernel has begun to overwrite it. */
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

static uint64_t
distance(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? b_ns - a_ns : a_ns - b_ns;
}

/* Its turn, or head when there is none; stacks are in the order of time. */
static uint64_t
find_nearest(const struct sampler *s, uint32_t cpu, const struct record *r,
             uint64_t from, uint64_t head)
{
	uint64_t best = s->ask.period_ns / 2, turn = head, d;

	for (uint64_t i = from; i < head; i++) {
		const struct python_stack *at =
			stack_at(&s->filter->python, cpu, i);

		d = distance(at->time_ns, r->time_ns);
		if (at->time_ns > r->time_ns && d > best)
			break;
		if (at->tid != r->tid || d > best)
			continue;
		best = d;
		turn = i;
	}
	return turn;
}

const struct python_stack *
python_of_sample(struct sampler *s, uint32_t cpu, const struct record *r)
{
	struct sampler_python *p = s->filter ? &s->filter->python : NULL;
	uint64_t head, turn, *next;

	if (!p || !p->rings || !p->used)
		return NULL;
	next = &p->next[cpu];
	head = __atomic_load_n(
		(const uint64_t *)(const void *)(p->rings + cpu * p->ring),
		__ATOMIC_ACQUIRE);
	if (head - *next > p->stacks)
		*next = head - p->stacks;
	while (*next < head &&
	       stack_at(p, cpu, *next)->time_ns + s->ask.period_ns < r->time_ns)
		++*next; /* it is nobody's any more */
	turn = find_nearest(s, cpu, r, *next, head);
	if (turn == head)
		return NULL;
	*next = turn + 1;
	return copy_stack(p, stack_at(p, cpu, turn), turn) ? &p->found : NULL;
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
