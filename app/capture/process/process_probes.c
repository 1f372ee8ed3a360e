#include "process_probes.h"

#include "capture/probes/allocators.h"

#include <errno.h>
#include <string.h>

_Static_assert(3 * ALLOCS_MAX_PLACES <= HOST_MAX_LIST, "one question");

/* Finds a module's allocation functions once; NULL when it has none. */
static const struct allocator *
allocator_of(struct module *m)
{
	struct allocator found;

	/* The library passes calls on to an allocator, which is probed. */
	if (m->allocator_looked || !m->elf || module_is_heap(m))
		return m->allocator;
	m->allocator_looked = true;
	if (allocator_find(m->elf, &found))
		return NULL;
	m->allocator = malloc(sizeof(found));
	if (m->allocator)
		*m->allocator = found;
	return m->allocator;
}

static bool
is_probed(const struct process *proc, uint32_t module)
{
	for (uint32_t i = 0; i < proc->nprobed; i++)
		if (proc->probed[i] == module)
			return true;
	return false;
}

/* True when a sampler wants calls of this function. Functions that throw are
 * not wanted if returns are watched: an exception cannot pass through such a
 * call. */
static bool
wants(enum sampler_kind kind, const struct allocs_place *at)
{
	return kind == SAMPLER_INUSE
	               ? at->releases || (!at->throws && !at->moved)
	               : !at->releases;
}

/* Adds the places that a sampler wants to a question. */
static void
add_places(struct host_ask *question, enum sampler_kind kind,
           const struct allocator *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct allocs_place *at = &a->places[i];
		int32_t *to = &question->list[3 * question->count];

		if (!wants(kind, at))
			continue;
		to[0] = (int32_t)(uint32_t)at->offset;
		to[1] = (int32_t)(uint32_t)(at->offset >> 32);
		to[2] = at->size | at->count << 4 | at->has_count << 8 |
		        at->old << 9 | at->has_old << 13 |
		        at->has_unless << 14 | at->to << 15 | at->has_to << 19 |
		        at->releases << 20;
		question->count++;
	}
}

/* Asks for probes at a file's functions. a == NULL: stop watching.
 *   Errors   -ENXIO the first thread has ended: the kernel finds a process's
 *            memory by that thread. If it can't be watched for another reason,
 *            its allocations are not in the profile. */
static int
ask(const struct process *proc, enum sampler_kind kind,
    const struct allocator *a, int file, bool late)
{
	const struct host *host = proc->modules->host;
	struct host_ask question = {
		.op = HOST_PROBE, .pid = (int32_t)proc->pid, .size = late};
	int fds[HOST_MAX_FDS] = {file};
	size_t nfds = a != NULL;
	struct host_reply reply;
	int rc;

	if (kind == SAMPLER_INUSE)
		question.size |= 2;
	if (a)
		add_places(&question, kind, a);
	if (a && !question.count)
		return 0;
	rc = host->ask(host->arg, &question, &reply, fds, &nfds);
	return rc ? rc : reply.error;
}

static bool
probes(enum sampler_kind kind)
{
	return kind == SAMPLER_ALLOCS || kind == SAMPLER_INUSE;
}

void
process_probe(struct process *proc, const struct sampler *s, bool late)
{
	const enum sampler_kind kind = sampler_asked(s)->kind;

	if (!probes(kind))
		return;
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		uint32_t at = proc->maps.rows[i].module;
		struct module *m = proc->modules->rows[at];
		const struct allocator *a = m ? allocator_of(m) : NULL;

		if (a)
			proc->hidden |= a->hidden;
		if (!a || !a->n || m->elf->fd < 0 || is_probed(proc, at) ||
		    proc->nprobed == ARRAY_LEN(proc->probed))
			continue;
		/* No process maps a copy: a probe in it is never hit. */
		if (m->copied) {
			proc->unopened |= m->from_memory;
			proc->unprobed |= !m->from_memory;
			continue;
		}
		/* Memory whose release is not seen would look like a leak. */
		if (kind == SAMPLER_INUSE && a->unreleased)
			continue;
		proc->probed[proc->nprobed++] = at;
		proc->leaderless |= ask(proc, kind, a, m->elf->fd, late) ==
		                    -ENXIO;
	}
}

bool
process_allocs_missed(const struct process *proc, const struct sampler *s,
                      uint64_t now_ns)
{
	return probes(sampler_asked(s)->kind) && proc->begun_ns &&
	       now_ns - proc->begun_ns < ALLOCS_LATE_NS;
}

void
process_unprobe(struct process *proc, const struct sampler *s)
{
	const enum sampler_kind kind = sampler_asked(s)->kind;

	proc->unprobed = proc->unopened = proc->leaderless = false;
	proc->hidden = 0;
	if (!probes(kind) || !proc->nprobed)
		return;
	proc->nprobed = 0;
	(void)!ask(proc, kind, NULL, -1, false);
}

bool
process_allocs_within(const struct process *proc, const struct sampler *sampler,
                      const struct proc_stack *stack)
{
	/* A sample of memory in use is taken when the function has returned. */
	size_t at = sampler_asked(sampler)->kind == SAMPLER_INUSE ? 0 : 1;
	const struct place *caller = &stack->places[at];
	const struct module *m =
		stack->n > at && caller->module == stack->places[0].module
			? proc->modules->rows[caller->module]
			: NULL;

	return m && m->allocator && allocator_has(m->allocator, caller->vaddr);
}

const char *
process_allocs_unwatched(const struct process *proc)
{
	for (uint32_t i = 0; i < proc->nprobed; i++) {
		const struct module *m = proc->modules->rows[proc->probed[i]];

		if (m && *m->allocator->unwatched)
			return m->allocator->unwatched;
	}
	return NULL;
}

bool
process_allocs_unseen(const struct process *proc)
{
	return proc->unprobed;
}

bool
process_allocs_leaderless(const struct process *proc)
{
	return proc->leaderless;
}

bool
process_allocs_unopened(const struct process *proc)
{
	return proc->unopened;
}

bool
process_allocs_throw(const struct process *proc)
{
	for (uint32_t i = 0; i < proc->nprobed; i++) {
		const struct module *m = proc->modules->rows[proc->probed[i]];

		for (uint32_t k = 0; m && k < m->allocator->n; k++)
			if (m->allocator->places[k].throws)
				return true;
	}
	return false;
}
