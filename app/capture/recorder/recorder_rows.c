/*
 * Memory in use: finds the samples of a capture whose allocations have not been
 * released, by the rows that the BPF programs keep.
 */
#include "base/clock.h"
#include "capture/process/process_probes.h"
#include "recorder_private.h"

#include <errno.h>

void
capture_rows_note(struct capture *c, const struct record *r, uint32_t node)
{
	const struct emit_event *e = r->sample.emitted;

	if (e->result < 0 || e->result >= INUSE_ROWS)
		return; /* there was no row */
	c->rows[e->result] = (struct row){
		.id = e->address,
		.node = node,
		.pid = r->pid,
		.amount = r->sample.amount,
	};
}

/* Counts the slots of the capture's processes that are in a state. Slots of
 * processes that ended are counted, too. */
static uint32_t
count_slots(const struct capture *c, uint32_t state, uint64_t *cost)
{
	const struct inuse_slot *slots = sampler_slots(c->source->sampler);
	const uint64_t bit = UINT64_C(1) << c->slot;
	uint32_t n = 0;

	for (uint32_t i = 0; i < EMIT_SLOTS; i++) {
		if (slots[i].state != state ||
		    !procs_follows(c->source->procs, (uint32_t)slots[i].pid,
		                   bit))
			continue;
		n++;
		if (cost && *cost < slots[i].cost)
			*cost = slots[i].cost;
	}
	return n;
}

/* Returns when watching the first process of a capture began, or UINT64_MAX. */
static uint64_t
first_watched(const struct capture *c)
{
	const struct inuse_slot *inuse = sampler_slots(c->source->sampler);
	const struct emit_slot *allocs =
		sampler_alloc_slots(c->source->sampler);
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; (inuse || allocs) && i < EMIT_SLOTS; i++) {
		int32_t pid = inuse ? inuse[i].pid : allocs[i].pid;
		uint64_t began = inuse ? inuse[i].began_ns : allocs[i].began_ns;

		if (began && began < first &&
		    (!inuse || inuse[i].state == INUSE_WATCHED) &&
		    procs_follows(c->source->procs, (uint32_t)pid,
		                  UINT64_C(1) << c->slot))
			first = began;
	}
	return first;
}

/* Starts the capture's time when its first process is watched, which takes a
 * moment, longer on a busy machine. */
static void
begin_late(struct capture *c)
{
	uint64_t began = c->watched ? UINT64_MAX : first_watched(c);

	if (began == UINT64_MAX)
		return;
	c->watched = true;
	if (began <= c->start_ns || began >= c->end_ns)
		return;
	c->end_ns += began - c->start_ns;
	c->start_ns = began;
}

void
capture_probes_look(struct capture *c)
{
	uint64_t now = (uint64_t)clock_mono_ns();

	begin_late(c);
	if (c->rows && now < c->end_ns && count_slots(c, INUSE_COSTLY, NULL) &&
	    !count_slots(c, INUSE_WATCHED, NULL))
		c->end_ns = now;
}

/* True for a process whose memory counts: a living one, or any one if none
 * lives. */
static bool
counts(const struct capture *c, uint32_t pid)
{
	const struct process *p;

	if (!c->alive)
		return true;
	p = procs_of_sample(c->source->procs, pid);
	return p && !p->gone_ns;
}

static void
add(struct amount *to, const struct amount *amount)
{
	to->value += amount->value;
	to->events += amount->events;
}

static uint64_t
count_untracked(const struct capture *c)
{
	const struct inuse_slot *slots = sampler_slots(c->source->sampler);
	uint64_t n = 0;

	for (uint32_t i = 0; i < EMIT_SLOTS; i++)
		n += slots[i].untracked;
	return n;
}

static bool
is_one(const struct process *proc, void *arg)
{
	bool (**is)(const struct process *proc) = arg;

	return (*is)(proc);
}

const struct process *
capture_any_process(const struct capture *c,
                    bool (*is)(const struct process *proc))
{
	return procs_find(c->source->procs, UINT64_C(1) << c->slot, is_one,
	                  &is);
}

int
capture_rows_sum(const struct capture *c, struct amount *sums,
                 struct quality *q)
{
	const struct inuse_set *sets = sampler_sets(c->source->sampler);
	uint64_t cost = 0;

	for (uint32_t i = 0; i < INUSE_ROWS; i++) {
		const struct inuse_row *now =
			&sets[i / INUSE_WAYS].rows[i % INUSE_WAYS];
		const struct row *was = &c->rows[i];

		if (!was->id || !now->key || now->id != was->id ||
		    !counts(c, was->pid))
			continue;
		add(&sums[was->node], &was->amount);
		q->in_use++;
	}
	q->untracked += (int64_t)count_untracked(c);
	q->notes |= QUALITY_NOTE_OF(WHILE_WATCHED);
	if (capture_any_process(c, process_allocs_throw))
		q->hidden |= UINT32_C(1) << QUALITY_HIDDEN_NEW;
	if (!count_slots(c, INUSE_COSTLY, &cost))
		return 0;
	q->probe_cost = (int64_t)cost / 10;
	q->notes |= QUALITY_NOTE_OF(COSTLY);
	return count_slots(c, INUSE_WATCHED, NULL) ? 0 : -EDQUOT;
}
