/*
 * Interpreted frames and contexts: which threads have them, and what BPF
 * programs add to samples about them.
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

/* Returns the table of threads, or NULL if their frames could not arrive. */
static struct sampler_interp *
interp_of(const struct sampler *s)
{
	struct sampler_interp *p = s->emitter ? &s->emitter->interp
	                           : s->filter && s->filter->rings
	                                   ? &s->filter->interp
	                                   : NULL;

	return p && p->table ? p : NULL;
}

/* True for the head of a stack whose rest fits into the room. */
static bool
is_valid(const struct interp_stack *s)
{
	return s->n <= INTERP_MAX_FRAMES && s->context <= INTERP_CONTEXT;
}

const struct interp_stack *
interp_of_sample(struct sampler *s, const struct record *r)
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
	to->pointer = at->pointer;
	to->bytes = at->bytes;
	to->skip = at->skip;
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
