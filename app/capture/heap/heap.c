#include "capture/heap.h"

#include "base/clock.h"
#include "capture/buckets.h"
#include "capture/looks.h"
#include "capture/naming/location.h"
#include "capture/process/process.h"
#include "preload/heap_layout.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define COLUMNS 4

/* The counts of a process. */
struct counts {
	struct heap_head head;
	struct heap_stack *stacks; /* [n] */
	uint64_t *frames;          /* [nframes] */
	uint32_t n, nframes;
};

struct looked {
	struct process *proc;
	uint64_t head; /* address of struct heap_head */
	struct counts before;
};

struct heap {
	const struct host *host;
	struct symbols_cache *symbols;
	bool in_use;
	struct modules *modules;
	struct memory_spare spare;
	struct looks looks;
	int64_t start_ms, start_ns;
};

static void
counts_done(struct counts *c)
{
	free(c->stacks);
	free(c->frames);
}

static void
looked_done(void *row)
{
	struct looked *v = row;

	process_free(v->proc);
	counts_done(&v->before);
}

static void
heap_free(void *state)
{
	struct heap *h = state;

	if (!h)
		return;
	looks_done(&h->looks);
	memory_spare_done(&h->spare);
	modules_free(h->modules);
	free(h);
}

DEFINE_CLEANUP(struct heap *, heap_free)

/* --- reading a process ---------------------------------------------------- */

/* Finds the library's variable; -ENOEXEC when a process has none. */
static int
find_head(const struct process *proc, uint64_t *out)
{
	for (uint32_t i = 0; i < proc->maps.n; i++) {
		const struct map *map = &proc->maps.rows[i];
		const struct module *m = proc->modules->rows[map->module];
		struct elf_wanted head = {.name = HEAP_SYMBOL};
		int rc;

		if (!m->elf || !module_is_heap(m))
			continue;
		rc = elf_find_symbols(m->elf, SHT_DYNSYM, &head, 1);
		if (rc == -ENOMEM)
			return rc;
		if (rc || !head.value)
			continue;
		*out = map->bias + head.value;
		return 0;
	}
	return -ENOEXEC;
}

static int
read_array(const struct memory *m, uint64_t at, size_t bytes, void *out)
{
	void *p = malloc(bytes ? bytes : 1);
	int rc = p ? 0 : -ENOMEM;

	if (!rc && bytes)
		rc = memory_copy(m, at, p, bytes);
	if (rc) {
		free(p);
		return rc == -EFAULT ? -ENOEXEC : rc;
	}
	*(void **)out = p;
	return 0;
}

/* Reads the counts of a process. The program keeps running: what it adds
 * meanwhile is counted at the next look. */
static int
read_counts(struct heap *h, const struct looked *v, struct counts *out)
{
	const struct memory mem = {h->host, (int32_t)v->proc->pid, &h->spare};
	int rc = memory_copy(&mem, v->head, &out->head, sizeof(out->head));

	if (rc || out->head.magic != HEAP_MAGIC)
		return rc && rc != -EFAULT ? rc : -ENOEXEC;
	out->n = out->head.nstacks < HEAP_STACKS ? out->head.nstacks
	                                         : HEAP_STACKS;
	out->nframes = out->head.nframes < HEAP_FRAMES ? out->head.nframes
	                                               : HEAP_FRAMES;
	rc = read_array(&mem, out->head.stacks, out->n * sizeof(*out->stacks),
	                &out->stacks);
	if (!rc)
		rc = read_array(&mem, out->head.frames,
		                out->nframes * sizeof(*out->frames),
		                &out->frames);
	return rc;
}

/* --- the first look ------------------------------------------------------- */

/* Finds the library in a process; v->proc gets the current mappings. */
static int
look_at_maps(struct heap *h, struct looked *v, int32_t pid)
{
	struct process *proc;
	int rc = engine_process(h->modules, pid, &proc);

	if (rc)
		return rc;
	process_free(v->proc);
	v->proc = proc;
	return find_head(v->proc, &v->head);
}

/* All counts of a process that joins belong to the profile, except those copied
 * by fork(2). */
static int
first_look(void *arg, void *row, int32_t pid, bool joined)
{
	struct heap *h = arg;
	struct looked *v = row;
	int rc = look_at_maps(h, v, pid);

	if (!rc && !h->in_use)
		rc = read_counts(h, v, &v->before);
	if (!rc && joined && !v->before.head.forked) {
		counts_done(&v->before);
		v->before = (struct counts){0};
	}
	return rc;
}

static int look_again(void *arg, void *row);

static const struct looks_verbs verbs = {
	.size = sizeof(struct looked),
	.first = first_look,
	.again = look_again,
	.done = looked_done,
	.yields = true,
};

static int
heap_open(const struct engine_ask *ask, void **out)
{
	CLEANUP(heap_free_ptr) struct heap *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return -ENOMEM;
	h->host = ask->host;
	h->symbols = ask->symbols;
	h->in_use = ask->type == TYPE_memory;
	h->start_ms = clock_wall_ms();
	h->start_ns = clock_mono_ns();
	rc = modules_new(ask->host, &h->modules)
	             ?: looks_open(&h->looks, &verbs, h, ask);
	if (!rc)
		*out = TAKE(h);
	return rc;
}

static int
heap_join(void *state, const int32_t *pids, size_t n)
{
	struct heap *h = state;

	return looks_join(&h->looks, pids, n);
}

/* --- the second look ------------------------------------------------------ */

struct second {
	struct heap *h;
	struct profile *p;
	struct quality *q;
	struct locations locations;
	int64_t sums[COLUMNS]; /* of all processes */
};

/* A program may write any count; an increase that cannot be true is 0. */
static int64_t
increase(uint64_t now, uint64_t before)
{
	uint64_t n = now - before;

	return n > (uint64_t)INT64_MAX >> 16 ? 0 : (int64_t)n;
}

/* Adds to a sum without overflowing, since a process may report any count.
 * Returns what was added. */
static int64_t
add_up(int64_t *sum, int64_t n)
{
	if (n > INT64_MAX - *sum)
		n = INT64_MAX - *sum;
	*sum += n;
	return n;
}

/* Sets the values of a stack, and returns the number of its samples. */
static int64_t
values_of(const struct second *s, const struct heap_stack *now,
          const struct heap_stack *before, int64_t out[static COLUMNS])
{
	out[0] = increase(now->objects, before->objects) / HEAP_OBJECT;
	out[1] = increase(now->bytes, before->bytes);
	if (!s->h->in_use)
		return increase(now->samples, before->samples);
	out[2] = increase(now->objects, now->freed_objects) / HEAP_OBJECT;
	out[3] = increase(now->bytes, now->freed_bytes);
	return increase(now->samples, now->freed_samples);
}

static int
add_stack(struct second *s, const struct process *proc, const struct counts *c,
          const struct heap_stack *of, const int64_t *values)
{
	struct place places[HEAP_DEPTH] = {{.module = MODULE_TRUNCATED}};
	uint32_t stack[HEAP_DEPTH], n = of->n, first;
	int rc;

	if (n > HEAP_DEPTH || of->frame0 > c->nframes ||
	    n > c->nframes - of->frame0)
		n = 0;
	for (uint32_t i = 0; i < n; i++)
		places[i] = process_place(proc, c->frames[of->frame0 + i]);
	if (!n)
		n = 1;
	rc = locations_find(&s->locations, places, n, stack);
	if (rc)
		return rc;
	first = locations_of_allocator(s->p, stack, n, true);
	return profile_sample(s->p, &stack[first], n - first, NULL, 0, values);
}

static int
add_stacks(struct second *s, const struct looked *v, const struct counts *c)
{
	static const struct heap_stack none;
	int rc = 0;

	for (uint32_t i = 0; i < c->n && !rc; i++) {
		const struct heap_stack *now = &c->stacks[i], *before = &none;
		int64_t values[COLUMNS] = {0}, samples;

		/* Another hash: the process now runs another program. */
		if (i < v->before.n && v->before.stacks[i].hash == now->hash)
			before = &v->before.stacks[i];
		samples = values_of(s, now, before, values);
		for (int k = 0; k < COLUMNS; k++)
			values[k] = add_up(&s->sums[k], values[k]);
		if (!values[1])
			continue;
		rc = add_stack(s, v->proc, c, now, values);
		add_up(&s->q->kept, samples);
		s->q->buckets++;
	}
	return rc;
}

/* Adds the memory of the process as the kernel counts it. */
static int
add_resident(const struct second *s, const struct process *proc)
{
	struct host_usage now;
	int rc = engine_usage(s->h->host, (int32_t)proc->pid, &now);

	if (rc)
		return rc == -ESRCH ? 0 : rc;
	s->q->resident += increase(now.rss_bytes, 0);
	s->q->anonymous += increase(now.anonymous_bytes, 0);
	s->q->mapped += increase(now.mapped_bytes, 0);
	return 0;
}

static int
look_again(void *arg, void *row)
{
	struct second *s = arg;
	struct looked *v = row;
	CLEANUP(counts_done) struct counts now = {0};
	int rc = look_at_maps(s->h, v, (int32_t)v->proc->pid);

	if (!rc)
		rc = read_counts(s->h, v, &now);
	if (!rc)
		rc = add_resident(s, v->proc);
	if (rc)
		return rc;
	s->p->period = increase(now.head.mean, 0);
	add_up(&s->q->untracked,
	       increase(now.head.untracked, v->before.head.untracked));
	return add_stacks(s, v, &now);
}

/* The counts of a process that ended are lost; if all ended, the profile is
 * empty, and its report says so. */
static int
fill(struct second *s, struct namer *namer)
{
	struct looks *l = &s->h->looks;
	int rc = buckets_header(s->p, s->h->in_use ? TYPE_memory : TYPE_alloc,
	                        0);

	s->p->time_ns = s->h->start_ms * NS_PER_MS;
	if (!s->h->in_use)
		s->p->duration_ns = clock_mono_ns() - s->h->start_ns;
	s->locations = locations_of(namer, s->p);
	if (!rc)
		rc = looks_again(l, s, s->p, s->q);
	s->q->exits = l->ended;
	return rc || s->q->processes || l->ended ? rc : l->last;
}

static int
heap_finish(void *state, struct profile **out, struct quality *quality)
{
	struct heap *h = state;
	CLEANUP_PROFILE struct profile *p = profile_new();
	struct quality q = {0};
	CLEANUP_NAMER struct namer *n =
		namer_new(h->modules, h->host, h->symbols, &q, false, 0);
	struct second s = {.h = h, .p = p, .q = &q};
	int rc = p && n ? fill(&s, n) : -ENOMEM;

	locations_done(&s.locations);
	if (rc)
		return rc;
	q.duration_ms = p->duration_ns / NS_PER_MS;
	if (q.exits)
		q.notes |= QUALITY_NOTE_OF(COUNTS_ENDED);
	quality_conclude(&q, h->in_use ? "memory" : "alloc");
	*quality = q;
	*out = TAKE(p);
	return 0;
}

const struct engine heap_engine = {
	.open = heap_open,
	.join = heap_join,
	.finish = heap_finish,
	.free = heap_free,
};
