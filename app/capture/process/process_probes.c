#include "process_probes.h"

#include "capture/probes/allocators.h"
#include "capture/probes/memory_sampler.h"

#include <errno.h>
#include <string.h>

_Static_assert(ALLOCS_PLACE_NUMBERS *ALLOCS_MAX_PLACES <= HOST_MAX_LIST,
               "one question");

/* Finds a module's allocation functions, and its sampler, once. */
static void
look_for_allocator(struct module *m)
{
	struct allocator allocator;
	struct memory_sampler sampler;

	/* The library passes calls on to an allocator, which is probed. */
	if (m->allocator_looked || !m->elf || module_is_heap(m))
		return;
	m->allocator_looked = true;
	if (!allocator_find(m->elf, &allocator)) {
		m->allocator = malloc(sizeof(allocator));
		if (m->allocator)
			*m->allocator = allocator;
	}
	if (!memory_sampler_find(m->elf, &sampler)) {
		m->sampler = malloc(sizeof(sampler));
		if (m->sampler)
			*m->sampler = sampler;
	}
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

/* The places of a file that can be watched. */
struct watchable {
	const struct allocs_place *places; /* NULL: none */
	uint32_t n;
};

/* Adds the places that a sampler wants to a question. */
static void
add_places(struct host_ask *question, enum sampler_kind kind,
           struct watchable of)
{
	for (uint32_t i = 0; i < of.n; i++) {
		if (!wants(kind, &of.places[i]))
			continue;
		memcpy(&question->list[ALLOCS_PLACE_NUMBERS * question->count],
		       &of.places[i], sizeof(of.places[i]));
		question->count++;
	}
}

/* The processes of a capture form a group. */
static uint32_t
group_of(const struct process *proc)
{
	return proc->watchers ? (uint32_t)__builtin_ctzll(proc->watchers) : 0;
}

/* Asks for probes at a file's places or, without places, to stop watching.
 *   Errors   -ENXIO the first thread has ended: the kernel finds a process's
 *            memory by that thread. If the process cannot be watched for
 *            another reason, the profile lacks its allocations. */
static int
ask(const struct process *proc, enum sampler_kind kind, struct watchable at,
    int file, bool late)
{
	const struct host *host = proc->modules->host;
	struct host_ask question = {.op = HOST_PROBE,
	                            .pid = (int32_t)proc->pid,
	                            .size = late | group_of(proc) << 2};
	int fds[HOST_MAX_FDS] = {file};
	size_t nfds = at.places != NULL;
	struct host_reply reply;
	int rc;

	if (kind == SAMPLER_INUSE)
		question.size |= 2;
	add_places(&question, kind, at);
	if (at.places && !question.count)
		return 0;
	rc = host->ask(host->arg, &question, &reply, fds, &nfds);
	return rc ? rc : reply.error;
}

static bool
probes(enum sampler_kind kind)
{
	return kind == SAMPLER_ALLOCS || kind == SAMPLER_INUSE;
}

/* True for a module whose sampler reports what a profile needs: for memory in
 * use, releases, too. */
static bool
has_sampler(const struct module *m, enum sampler_kind kind)
{
	return m && m->sampler &&
	       (kind == SAMPLER_ALLOCS || m->sampler->releases);
}

/* Returns what to watch in a module: its sampler if the process has one, else
 * the functions of its allocator. */
static struct watchable
watchable_of(const struct process *proc, const struct module *m,
             enum sampler_kind kind)
{
	if (proc->samples_itself)
		return has_sampler(m, kind)
		               ? (struct watchable){m->sampler->places,
		                                    m->sampler->n}
		               : (struct watchable){NULL, 0};
	/* Memory whose release is not seen would look like a leak. */
	if (!m->allocator || !m->allocator->n ||
	    (kind == SAMPLER_INUSE && m->allocator->unreleased))
		return (struct watchable){NULL, 0};
	return (struct watchable){m->allocator->places, m->allocator->n};
}

/* Returns the allocators that settings of a process replace, so that they hide
 * no memory. */
static uint32_t
replaced_in(struct process *proc)
{
	const struct host_ask question = {.op = HOST_SETTINGS,
	                                  .pid = (int32_t)proc->pid};
	struct host_reply reply;

	if (!proc->settings_read &&
	    !host_answer(proc->modules->host, &question, &reply))
		proc->replaced = reply.value & ~ALLOCATOR_NAMELESS;
	proc->settings_read = true;
	return proc->replaced;
}

/* True if the PHP of this mapping uses malloc: USE_ZEND_ALLOC=0 was set. The
 * environment need not show it: php-fpm writes its title over it.
 *   Source   PHP 7.4 to 8.5, Zend/zend_alloc.c: struct _zend_mm_heap */
static bool
calls_malloc(const struct process *proc, const struct map *row, uint64_t heap)
{
	const struct memory memory = {.host = proc->modules->host,
	                              .pid = (int32_t)proc->pid};
	uint64_t at;
	uint32_t custom;

	return heap &&
	       !memory_copy(&memory, row->bias + heap, &at, sizeof(at)) &&
	       !memory_copy(&memory, at, &custom, sizeof(custom)) && custom;
}

/* Returns the allocators of a mapped module whose memory a profile lacks. */
static uint32_t
hidden_in(const struct process *proc, const struct map *row,
          const struct allocator *a)
{
	return calls_malloc(proc, row, a->php_heap)
	               ? a->hidden & ~(UINT32_C(1) << QUALITY_HIDDEN_PHP)
	               : a->hidden;
}

/* Looks for the allocators and the sampler that a process maps. If it has
 * loaded its sampler late, allocators watched so far are watched no longer. */
static void
look_for_sampler(struct process *proc, const struct sampler *s,
                 enum sampler_kind kind)
{
	bool samples = proc->samples_itself;
	uint32_t hidden = proc->hidden, collected = 0;

	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *row = &proc->maps.rows[i];
		struct module *m = proc->modules->rows[row->module];

		if (!m)
			continue;
		look_for_allocator(m);
		proc->has_32 |= m->is_32;
		samples |= has_sampler(m, kind);
		if (!m->allocator)
			continue;
		collected |= m->allocator->collected;
		hidden |= hidden_in(proc, row, m->allocator);
	}
	if (kind == SAMPLER_ALLOCS && !samples)
		hidden &= ~collected;
	if (samples && !proc->samples_itself)
		process_unprobe(proc, s);
	proc->samples_itself = samples;
	proc->hidden = hidden ? hidden & ~replaced_in(proc) : 0;
}

void
process_probe(struct process *proc, const struct sampler *s, bool late)
{
	const enum sampler_kind kind = sampler_asked(s)->kind;

	if (!probes(kind))
		return;
	look_for_sampler(proc, s, kind);
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		uint32_t at = proc->maps.rows[i].module;
		const struct module *m = proc->modules->rows[at];
		struct watchable of = m ? watchable_of(proc, m, kind)
		                        : (struct watchable){NULL, 0};

		if (!of.places || m->elf->fd < 0 || is_probed(proc, at) ||
		    proc->nprobed == ARRAY_LEN(proc->probed))
			continue;
		/* No process maps a copy: a probe in it is never hit. */
		if (m->copied) {
			proc->unopened |= m->from_memory;
			proc->unprobed |= !m->from_memory;
			continue;
		}
		proc->probed[proc->nprobed++] = at;
		proc->leaderless |= ask(proc, kind, of, m->elf->fd, late) ==
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
	proc->samples_itself = proc->settings_read = proc->has_32 = false;
	if (!probes(kind) || !proc->nprobed)
		return;
	proc->nprobed = 0;
	(void)!ask(proc, kind, (struct watchable){NULL, 0}, -1, false);
}

bool
process_samples_itself(const struct process *proc)
{
	return proc->samples_itself;
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

	/* A sampler may be part of the allocator, and counts once. */
	return m && m->allocator && !proc->samples_itself &&
	       allocator_has(m->allocator, caller->vaddr);
}

/* Most functions between a static probe and the allocator that calls them. */
#define MOST_BETWEEN 8

void
process_allocs_trim(const struct process *proc, const struct sampler *sampler,
                    struct proc_stack *stack)
{
	const struct place *leaf = &stack->places[0];
	const struct module *m = proc->modules->rows[leaf->module];
	size_t first = 0;

	if (!proc->samples_itself)
		return;
	for (size_t i = 0; m && m->allocator && i < MOST_BETWEEN; i++)
		if (i < stack->n && leaf[i].module == leaf->module &&
		    allocator_has(m->allocator, leaf[i].vaddr))
			first = i;
	first += sampler_asked(sampler)->kind == SAMPLER_INUSE;
	if (first >= stack->n)
		return;
	stack->n -= first;
	memmove(&stack->places[0], &stack->places[first],
	        stack->n * sizeof(*stack->places));
}

/* Returns the allocator of a probed module, if its functions are watched. */
static const struct allocator *
probed_allocator(const struct process *proc, uint32_t i)
{
	const struct module *m = proc->modules->rows[proc->probed[i]];

	return m && !proc->samples_itself ? m->allocator : NULL;
}

const char *
process_allocs_unwatched(const struct process *proc)
{
	for (uint32_t i = 0; i < proc->nprobed; i++) {
		const struct allocator *a = probed_allocator(proc, i);

		if (a && *a->unwatched)
			return a->unwatched;
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
process_allocs_32(const struct process *proc)
{
	return proc->has_32;
}

bool
process_allocs_nameless(const struct process *proc)
{
	return proc->hidden & ALLOCATOR_NAMELESS;
}

uint32_t
process_allocs_hidden(const struct process *proc)
{
	return proc->hidden & ~ALLOCATOR_NAMELESS;
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
		const struct allocator *a = probed_allocator(proc, i);

		for (uint32_t k = 0; a && k < a->n; k++)
			if (a->places[k].throws)
				return true;
	}
	return false;
}
