#include "process_probes.h"

#include "capture/probes/allocators.h"

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

/* Asks for probes at a file's functions; with a: NULL for none any more. */
static void
ask(const struct process *proc, const struct allocator *a, int file, bool late)
{
	const struct host *host = proc->modules->host;
	struct host_ask question = {.op = HOST_PROBE,
	                            .pid = (int32_t)proc->pid,
	                            .size = late,
	                            .count = a ? a->n : 0};
	int fds[HOST_MAX_FDS] = {file};
	size_t nfds = a != NULL;
	struct host_reply reply;

	for (uint32_t i = 0; a && i < a->n; i++) {
		const struct allocs_place *at = &a->places[i];
		int32_t *to = &question.list[3 * i];

		to[0] = (int32_t)(uint32_t)at->offset;
		to[1] = (int32_t)(uint32_t)(at->offset >> 32);
		to[2] = at->size | at->count << 4 | at->has_count << 8 |
		        at->unless << 9 | at->has_unless << 13;
	}
	/* One that can't be watched has no allocations in the profile. */
	(void)!host->ask(host->arg, &question, &reply, fds, &nfds);
}

void
process_probe(struct process *proc, const struct sampler *s, bool late)
{
	if (sampler_asked(s)->kind != SAMPLER_ALLOCS)
		return;
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		uint32_t at = proc->maps.rows[i].module;
		struct module *m = proc->modules->rows[at];
		const struct allocator *a = m ? allocator_of(m) : NULL;

		if (!a || !a->n || m->elf->fd < 0 || is_probed(proc, at) ||
		    proc->nprobed == ARRAY_LEN(proc->probed))
			continue;
		proc->probed[proc->nprobed++] = at;
		ask(proc, a, m->elf->fd, late);
	}
}

void
process_unprobe(struct process *proc, const struct sampler *s)
{
	if (sampler_asked(s)->kind != SAMPLER_ALLOCS || !proc->nprobed)
		return;
	proc->nprobed = 0;
	ask(proc, NULL, -1, false);
}

bool
process_allocs_within(const struct process *proc,
                      const struct proc_stack *stack)
{
	const struct place *caller = &stack->places[1];
	const struct module *m = stack->n > 1 && caller->module ==
	                                                 stack->places[0].module
	                                 ? proc->modules->rows[caller->module]
	                                 : NULL;

	return m && m->allocator && allocator_has(m->allocator, caller->vaddr);
}
