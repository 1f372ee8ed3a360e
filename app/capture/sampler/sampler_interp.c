/*
 * Interpreted frames and contexts: which threads have them, and which sample
 * they belong to.
 * BPF programs that write samples add them to the sample. For a sample of the
 * clock, the stack is taken in the same interrupt, before or after the sample
 * (since Linux 6.3). Interrupts of one CPU are a period apart: the nearest
 * stack of the thread, within half a period, belongs to the sample.
 */
#include "sampler_private.h"

#include <string.h>
#include <sys/mman.h>

void
interp_map(struct sampler_interp *p, int fd)
{
	void *map = mmap(NULL, sizeof(*p->table), PROT_READ | PROT_WRITE,
	                 MAP_SHARED, fd, 0);

	p->table = map == MAP_FAILED ? NULL : map;
}

void
interp_unmap(struct sampler_interp *p)
{
	if (p->table)
		munmap(p->table, sizeof(*p->table));
}

void
interp_forget(struct sampler_interp *p)
{
	if (p->used)
		memset(p->table, 0, sizeof(*p->table));
	p->used = false;
}

void
interp_map_rings(struct sampler_filter *f, int fd)
{
	struct sampler_rings *r = &f->rings;
	void *map;

	r->stacks = interp_ring_stacks(f->period_ns);
	r->each = interp_ring_bytes(r->stacks);
	r->next = calloc(f->ncpus, sizeof(*r->next));
	if (!r->next)
		return;
	map = mmap(NULL, r->each * f->ncpus, PROT_READ, MAP_SHARED, fd, 0);
	r->all = map == MAP_FAILED ? NULL : map;
}

void
interp_unmap_rings(struct sampler_filter *f)
{
	struct sampler_rings *r = &f->rings;

	if (r->all)
		munmap(r->all, r->each * f->ncpus);
	free(r->next);
}

/* Returns the table of threads, or NULL if their frames could not arrive. */
static struct sampler_interp *
interp_of(const struct sampler *s)
{
	struct sampler_interp *p = s->emitter ? &s->emitter->interp
	                           : s->filter && s->filter->rings.all
	                                   ? &s->filter->interp
	                                   : NULL;

	return p && p->table ? p : NULL;
}

static const struct interp_stack *
stack_at(const struct sampler_rings *p, uint32_t cpu, uint64_t turn)
{
	size_t i = 1 + turn % p->stacks;

	return (const void *)(p->all + cpu * p->each + i * INTERP_STACK);
}

/* True for the head of a stack whose rest has room. */
static bool
is_valid(const struct interp_stack *s)
{
	return s->n <= INTERP_MAX_FRAMES && s->context <= INTERP_CONTEXT;
}

/* Copies a stack, unless the kernel has begun to overwrite it. */
static bool
copy_stack(struct sampler_interp *p, const struct interp_stack *from,
           uint64_t turn)
{
	struct interp_stack *to = &p->found;

	memcpy(to, from, offsetof(struct interp_stack, frames));
	if (!is_valid(to))
		return false;
	memcpy(to->frames, from->frames, interp_stack_rest(to));
	return __atomic_load_n(&from->turn, __ATOMIC_ACQUIRE) == turn + 1 &&
	       to->turn == turn + 1;
}

static uint64_t
distance(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? b_ns - a_ns : a_ns - b_ns;
}

/* Returns the turn of the sample's stack, or head when it has none; stacks are
 * in order of time. */
static uint64_t
find_nearest(const struct sampler *s, uint32_t cpu, const struct record *r,
             uint64_t from, uint64_t head)
{
	uint64_t best = s->ask.period_ns / 2, turn = head, d;

	for (uint64_t i = from; i < head; i++) {
		const struct interp_stack *at =
			stack_at(&s->filter->rings, cpu, i);

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

const struct interp_stack *
interp_of_sample(struct sampler *s, uint32_t cpu, const struct record *r)
{
	struct sampler_interp *p = interp_of(s);
	struct sampler_rings *rings;
	uint64_t head, turn, *next;

	if (!p || !p->used)
		return NULL;
	rings = &s->filter->rings;
	next = &rings->next[cpu];
	head = __atomic_load_n(
		(const uint64_t *)(const void *)(rings->all +
	                                         cpu * rings->each),
		__ATOMIC_ACQUIRE);
	if (head - *next > rings->stacks)
		*next = head - rings->stacks;
	while (*next < head &&
	       stack_at(rings, cpu, *next)->time_ns + s->ask.period_ns <
	               r->time_ns)
		++*next; /* no further sample can own this stack */
	turn = find_nearest(s, cpu, r, *next, head);
	if (turn == head)
		return NULL;
	*next = turn + 1;
	return copy_stack(p, stack_at(rings, cpu, turn), turn) ? &p->found
	                                                       : NULL;
}

const struct interp_stack *
interp_of_emitted(struct sampler *s, const struct record *r)
{
	const size_t head = offsetof(struct interp_stack, frames);
	struct sampler_interp *p = interp_of(s);
	struct interp_stack *to = p ? &p->found : NULL;
	size_t n;

	if (!to || r->sample.behind_len < head)
		return NULL;
	memcpy(to, r->sample.behind, head);
	if (!is_valid(to))
		return NULL;
	n = interp_stack_rest(to);
	if (n > r->sample.behind_len - head)
		return NULL;
	memcpy(to->frames, r->sample.behind + head, n);
	return to;
}

bool
sampler_follows_interp(const struct sampler *s)
{
	return interp_of(s) != NULL;
}

bool
sampler_has_interp(const struct sampler *s)
{
	const struct sampler_interp *p = interp_of(s);

	return p && p->used;
}

bool
sampler_interp_thread(struct sampler *s, const struct interp_slot *slot)
{
	struct sampler_interp *p = interp_of(s);
	struct interp_slot *to;

	if (!p)
		return false;
	p->used = true;
	to = &p->table->slots[slot->tid % INTERP_SLOTS];
	if (!memcmp(to, slot, sizeof(*to)))
		return false;
	__atomic_store_n(&to->tid, 0, __ATOMIC_RELEASE);
	to->language = slot->language;
	to->layout = slot->layout;
	to->head = slot->head;
	to->hop = slot->hop;
	to->key = slot->key;
	memcpy(to->own, slot->own, sizeof(to->own));
	__atomic_store_n(&to->tid, slot->tid, __ATOMIC_RELEASE);
	return true;
}

static struct interp_list *
place_of(const struct sampler_interp *p, uint32_t pid)
{
	return &p->table->lists[pid % INTERP_LISTS];
}

static struct context_at *
context_of(const struct sampler_interp *p, uint32_t pid)
{
	return &p->table->contexts[pid % INTERP_LISTS];
}

void
sampler_interp_gone(struct sampler *s, uint32_t pid)
{
	struct sampler_interp *p = interp_of(s);
	struct interp_list *list = p && p->used ? place_of(p, pid) : NULL;
	struct context_at *at = list ? context_of(p, pid) : NULL;

	if (list && list->pid == pid)
		__atomic_store_n(&list->pid, 0, __ATOMIC_RELEASE);
	if (at && at->pid == pid)
		__atomic_store_n(&at->pid, 0, __ATOMIC_RELEASE);
}

bool
sampler_context(struct sampler *s, const struct context_at *at)
{
	struct sampler_interp *p = interp_of(s);
	struct context_at *to;

	if (!p)
		return false;
	p->used = true;
	to = context_of(p, at->pid);
	__atomic_store_n(&to->pid, 0, __ATOMIC_RELEASE);
	to->module = at->module;
	to->offset = at->offset;
	to->vector = at->vector;
	to->step = at->step;
	__atomic_store_n(&to->pid, at->pid, __ATOMIC_RELEASE);
	p->table->has_contexts = 1;
	return true;
}

static void
clear(struct interp_slot *slot)
{
	__atomic_store_n(&slot->tid, 0, __ATOMIC_RELEASE);
}

void
sampler_interp_ended(struct sampler *s, uint32_t tid)
{
	struct sampler_interp *p = interp_of(s);
	struct interp_slot *slot =
		p && p->used ? &p->table->slots[tid % INTERP_SLOTS] : NULL;

	if (slot && slot->tid == tid)
		clear(slot);
}

void
sampler_interp_forget(struct sampler *s, uint32_t pid)
{
	struct sampler_interp *p = interp_of(s);

	for (uint32_t i = 0; p && p->used && i < INTERP_SLOTS; i++)
		if (p->table->slots[i].key == pid)
			clear(&p->table->slots[i]);
}

void
sampler_interp_list(struct sampler *s, const struct interp_list *list,
                    bool forked)
{
	struct sampler_interp *p = interp_of(s);
	struct interp_list *to;

	if (!p)
		return;
	p->used = true;
	to = place_of(p, list->pid);
	if (forked && to->pid)
		return;
	__atomic_store_n(&to->pid, 0, __ATOMIC_RELEASE);
	to->space = list->space;
	to->language = list->language;
	to->layout = list->layout;
	memcpy(to->at, list->at, sizeof(to->at));
	to->head = list->head;
	to->hop = list->hop;
	memcpy(to->own, list->own, sizeof(to->own));
	__atomic_store_n(&to->pid, list->pid, __ATOMIC_RELEASE);
	p->table->has_lists = 1;
}
