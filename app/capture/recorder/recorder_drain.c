/*
 * Drains samplers: puts samples into tries, and passes on news of processes.
 */
#include "base/clock.h"
#include "base/utf8.h"
#include "capture/process/process_context.h"
#include "capture/process/process_names.h"
#include "capture/process/process_probes.h"
#include "capture/process/process_title.h"
#include "capture/process/wait_names.h"
#include "recorder_private.h"

#include <errno.h>
#include <string.h>

/* A smaller share of cut stacks is no reason to drain more often. */
#define CUT_SHARE 100
/* Most drains before a capture begins. */
#define MAX_PASSES 4

static const struct place truncated_place = {MODULE_TRUNCATED, 0};

/* --- charging work to captures -------------------------------------------- */

void
recorder_blame(const struct recorder *c, uint32_t slot)
{
	__atomic_store_n(c->conf.blame, slot, __ATOMIC_RELAXED);
}

int64_t
recorder_cpu_spent(struct recorder *c)
{
	int64_t before = c->cpu_ns;

	c->cpu_ns = clock_cpu_ns();
	return c->cpu_ns - before;
}

/* --- records -------------------------------------------------------------- */

void
source_proc_seen(void *arg, uint64_t watchers, const struct proc_news *news)
{
	const struct source *source = arg;

	source->all->hurry = true;
	while (watchers) {
		struct capture *c = source->all->slots[next_slot(&watchers)];

		capture_tape_news(c, news);
		switch (news->event) {
		case PROC_NEW:
			c->quality.processes++;
			c->quality.threads++;
			c->alive++;
			break;
		case PROC_THREAD:
			c->quality.threads++;
			break;
		case PROC_THREAD_EXIT:
		case PROC_NAME:
			break;
		case PROC_EXEC:
			c->quality.execs++;
			break;
		case PROC_EXIT:
			c->quality.exits++;
			c->alive -= c->alive > 0;
			break;
		case PROC_BACK:
			c->quality.exits -= c->quality.exits > 0;
			c->alive++;
			break;
		case PROC_LEFT:
			c->quality.processes -= c->quality.processes > 0;
			c->alive -= c->alive > 0;
			break;
		case PROC_UNWATCHED:
			c->quality.unwatched_ends++;
			break;
		case PROC_WATCHED:
			c->quality.unwatched_ends -= c->quality.unwatched_ends >
			                             0;
			break;
		case PROC_FULL:
			c->quality.notes |= QUALITY_NOTE_OF(PROCS_FULL);
			break;
		}
	}
}

static void
count_end(struct quality *q, enum unwind_end end)
{
	switch (end) {
	case UNWIND_ROOT:
		q->reached_root++;
		break;
	case UNWIND_TRUNCATED:
	case UNWIND_MAX:
		q->truncated++;
		break;
	case UNWIND_SWITCHED:
		q->switched++;
		break;
	case UNWIND_NO_INFO:
	case UNWIND_BAD:
		q->unwind_failed++;
		break;
	}
}

/* True when a capture wants this kind of sample. */
static bool
wants(const struct capture *c, const struct record *r)
{
	const struct emit_event *e = r->sample.emitted;

	return !e || c->classes & 1U << e->class;
}

/* Counts the bounds of what a sample stands for. */
static void
count_part(struct capture *c, const struct record *r)
{
	const struct emit_event *e = r->sample.emitted;
	double value = (double)r->sample.amount.value;
	double seen = value * EMIT_SCALE / (double)e->scale, most = value;

	if (e->most_scale > e->scale)
		most = seen * (double)e->most_scale / EMIT_SCALE;
	if (e->most_scale > EMIT_SCALE)
		c->quality.notes |= QUALITY_NOTE_OF(IN_PARTS);
	parts_add(&c->parts, r->time_ns, seen, value, most);
}

/* Counts a sample; its stack has room for one more frame: title, if any.
 * context is NULL if its thread has none. */
static void
count_sample(struct capture *c, const struct record *r,
             struct proc_stack *stack, const struct place *title,
             const struct thread_context *context)
{
	struct amount amount = r->sample.amount;
	struct quality *q = &c->quality;
	struct place tag;
	size_t n = stack->n;
	uint32_t node;
	bool tagged;

	if (r->time_ns < c->start_ns || r->time_ns >= c->end_ns)
		return;
	if (!wants(c, r))
		return;
	if (c->type == TYPE_mutex) {
		amount.bytes = 1; /* counts the samples */
		q = &c->unsure;
	}
	if (title)
		stack->places[n++] = *title;
	tagged = context && context_rows_place(&c->contexts, context, &tag);
	if (trie_count(&c->trie, stack->places, n, tagged ? &tag : NULL,
	               truncated_place, &amount, &node)) {
		c->quality.lost++;
		return;
	}
	if (c->type == TYPE_alloc)
		count_part(c, r);
	tape_sample(c->tape, r->pid, r->tid, r->time_ns, node,
	            r->sample.amount.value);
	if (c->rows)
		capture_rows_note(c, r, node);
	q->kept++;
	q->contexts += tagged;
	q->topped_up += stack->topped_up;
	q->bits_32 += stack->is_32;
	q->interp += stack->interp == INTERP_MERGED;
	q->interp_missed += stack->interp >= INTERP_MISSED;
	q->interp_late += stack->interp == INTERP_LATE;
	q->interp_unknown += stack->interp == INTERP_UNKNOWN;
	q->jit_missed += stack->jit_missed || stack->jit_unknown;
	q->jit_unknown += stack->jit_unknown;
	q->runtime_unread += stack->runtime != 0;
	q->runtimes |= stack->runtime;
	count_end(q, stack->end);
	breaks_count(&c->breaks, stack);
}

/*
 * True for a stack deeper than its dump, unless the dump has an earlier,
 * smaller size.
 */
static bool
is_cut(const struct source *source, const struct record *r,
       const struct proc_stack *stack)
{
	uint32_t room = sampler_asked(source->sampler)->stack_bytes & ~7u;

	return stack->cut && r->sample.stack_len >= room;
}

/* Counts a sample of a thread that runs only in the kernel for the captures
 * that want it. False: no capture wants it, or its thread is another one. */
static bool
take_kernel_sample(struct source *source, const struct record *r)
{
	struct recorder *all = source->all;
	uint64_t slots = source->slots;
	bool taken = false;

	if (!r->sample.no_user)
		return false;
	process_stack(NULL, r, &all->stack);
	while (slots) {
		struct capture *c = all->slots[next_slot(&slots)];

		if (c->titles != TITLES_WITH_KERNEL)
			continue;
		taken = true;
		if (all->stack.n)
			count_sample(c, r, &all->stack,
			             process_title_of_kernel(all->modules),
			             NULL);
	}
	return taken;
}

/* The context of a sample with the name of its thread. */
struct named {
	struct thread_context context;
	char name[HOST_COMM_MAX];
	bool made;
};

/* Copies a name with # for each number: the threads of a pool get one name. */
static void
copy_name(const char *name, char out[static HOST_COMM_MAX])
{
	size_t n = 0;

	for (; *name; name++)
		if (*name < '0' || *name > '9')
			out[n++] = *name;
		else if (!n || out[n - 1] != '#')
			out[n++] = '#';
	out[n] = '\0';
}

/* Adds the name of a sample's thread to its context, if there is one. */
static const struct thread_context *
with_thread(struct process *proc, const struct record *r,
            const struct thread_context *of, struct named *out)
{
	struct thread_context *c = &out->context;
	const char *name;

	if (out->made)
		return c;
	name = process_thread_name_of(proc, r->tid);
	if (!name || !*name || !utf8_printable(name, strlen(name)) ||
	    (of && of->n == THREAD_MAX_ATTRIBUTES))
		return of;
	copy_name(name, out->name);
	*c = of ? *of : (struct thread_context){0};
	c->attributes[c->n++] = (struct thread_attribute){
		RECORDER_LABEL_THREAD, out->name, strlen(out->name)};
	out->made = true;
	return c;
}

static void
take_sample(struct source *source, const struct record *r)
{
	struct recorder *all = source->all;
	struct process *proc = procs_of_sample(source->procs, r->pid);
	const bool of_allocs = source->kind == SAMPLER_ALLOCS ||
	                       source->kind == SAMPLER_INUSE;
	struct thread_context context;
	struct named named;
	const struct thread_context *of;
	uint64_t watchers;

	if (!proc && !take_kernel_sample(source, r))
		procs_deny(source->procs, r->pid);
	if (!proc || !proc->watchers)
		return;
	procs_ran(source->procs, proc, r);
	watchers = proc->watchers;
	recorder_blame(all, (uint32_t)__builtin_ctzll(watchers));
	process_stack(proc, r, &all->stack);
	if (!all->stack.n)
		return;
	if (of_allocs &&
	    process_allocs_within(proc, source->sampler, &all->stack))
		return;
	if (of_allocs)
		process_allocs_trim(proc, source->sampler, &all->stack);
	if (r->sample.emitted && !of_allocs)
		wait_lead(all->modules->waits, r->sample.emitted, proc,
		          process_thread_name(proc, r->sample.emitted->holder),
		          &all->stack);
	if (all->stack.interp >= INTERP_MISSED)
		process_interp_thread(proc, source->sampler, r->tid);
	else if (all->stack.interp == INTERP_MERGED)
		process_interp_keep(proc, source->sampler, r->sample.interp);
	process_context_follow(proc, source->sampler);
	of = process_context(proc, r, &context) ? &context : NULL;
	named.made = false;
	source->adapt.samples++;
	source->adapt.stacks += r->sample.has_user;
	source->adapt.cut += is_cut(source, r, &all->stack);
	all->stacks++;
	all->cut += all->stack.cut;
	all->hurry |= all->stack.interp >= INTERP_MISSED;
	while (watchers) {
		struct capture *c = all->slots[next_slot(&watchers)];

		count_sample(c, r, &all->stack,
		             c->titles ? process_title(proc) : NULL,
		             c->threads ? with_thread(proc, r, of, &named)
		                        : of);
	}
}

static void
count_loss(struct source *source, const struct record *r)
{
	const bool lost = r->kind == RECORD_LOST;
	const struct timeline_event gap = {
		.kind = lost ? TIMELINE_LOST : TIMELINE_THROTTLED,
		.value = lost ? r->lost : 0,
	};
	uint64_t slots = source->slots;

	if (lost)
		source->adapt.lost += r->lost;
	else
		source->adapt.throttled++;
	while (slots) {
		struct capture *c = source->all->slots[next_slot(&slots)];

		if (r->time_ns < c->start_ns)
			continue;
		if (lost)
			c->quality.lost += (int64_t)r->lost;
		else
			c->quality.throttled++;
		tape_event(c->tape, r->time_ns, &gap);
	}
}

static void
take_record(void *arg, const struct record *r)
{
	struct source *source = arg;

	switch (r->kind) {
	case RECORD_SAMPLE:
		take_sample(source, r);
		break;
	case RECORD_LOST:
	case RECORD_THROTTLE:
		count_loss(source, r);
		break;
	default:
		procs_apply(source->procs, r);
		break;
	}
}

/* True if a capture ends by until: capture_ended() will be true for it. */
static bool
any_ended(const struct recorder *c, const struct source *source, uint64_t until)
{
	uint64_t slots = source->slots;

	while (slots)
		if (c->slots[next_slot(&slots)]->end_ns <= until)
			return true;
	return false;
}

/* True if the time of all captures of a source has ended. */
static bool
is_over(const struct recorder *c, const struct source *source, uint64_t now)
{
	uint64_t slots = source->slots;

	while (slots)
		if (c->slots[next_slot(&slots)]->end_ns > now)
			return false;
	return true;
}

/* Returns the time up to which records are complete. A sampler that has stopped
 * writes no more records, so there is no need to wait for it. */
static uint64_t
settled(const struct recorder *c, struct source *source, uint64_t now)
{
	if (!is_over(c, source, now))
		return now - SAMPLER_SLACK_NS;
	sampler_stop(source->sampler);
	return now;
}

static void
take_until(struct recorder *c, struct source *source, uint64_t until)
{
	process_stacks_begin(&c->stack);
	sampler_drain(source->sampler, until, take_record, source);
	process_stacks_end(&c->stack);
}

void
recorder_catch_up(struct recorder *c, struct capture *one)
{
	take_until(c, one->source, (uint64_t)clock_mono_ns());
	recorder_blame(c, CAPTURES_MAX);
}

/* Drains repeatedly: the first stacks take long, since tables are read for
 * them, and rings may be full again afterwards. */
void
recorder_pass_over(struct recorder *c, struct source *source)
{
	uint64_t now = (uint64_t)clock_mono_ns(), before;
	int passes = 0;

	do {
		before = now;
		take_until(c, source, now);
		now = (uint64_t)clock_mono_ns();
	} while (++passes < MAX_PASSES && now - before > SAMPLER_RING_NS / 2);
	sampler_report_lost(source->sampler, now, take_record, source);
	source_adapt_anew(source, now);
}

static void
drain(struct recorder *c, struct source *source, uint64_t now)
{
	uint64_t until = settled(c, source, now), slots = source->slots;
	int64_t cpu, n = __builtin_popcountll(slots);

	take_until(c, source, until);
	if (any_ended(c, source, until))
		sampler_report_lost(source->sampler, until, take_record,
		                    source);
	c->hurry |= sampler_has_interp(source->sampler);
	recorder_blame(c, CAPTURES_MAX);
	cpu = recorder_cpu_spent(c);
	source->adapt.cpu_ns += (uint64_t)cpu;
	while (slots) {
		struct capture *one = c->slots[next_slot(&slots)];

		one->quality.worker_cpu_ns += cpu / n;
		if (until > one->drained_ns) /* otherwise it has just begun */
			one->drained_ns = until;
		if (!has_begun(one))
			continue;
		capture_tape_counters(one, c->host, until);
		if (one->type == TYPE_alloc || one->type == TYPE_memory)
			capture_probes_look(one);
	}
}

static void
adapt(struct recorder *c, struct source *source, uint64_t now)
{
	bool slower = source_adapt(source, c->host, now);
	const struct timeline_event lowered = {
		.kind = TIMELINE_LOWERED,
		.value = sampler_asked(source->sampler)->period_ns,
	};
	uint64_t slots = source->slots;

	while (slots && slower) {
		struct capture *one = c->slots[next_slot(&slots)];

		one->quality.notes |= QUALITY_NOTE_OF(LOWERED);
		tape_event(one->tape, one->drained_ns, &lowered);
	}
}

void
recorder_drain(struct recorder *c)
{
	uint64_t now = (uint64_t)clock_mono_ns();

	c->hurry = false;
	c->stacks = c->cut = 0;
	for (unsigned i = 0; i < CAPTURES_MAX_SAMPLERS; i++) {
		if (!c->sources[i])
			continue;
		drain(c, c->sources[i], now);
		adapt(c, c->sources[i], now);
	}
	c->hurry |= c->cut * CUT_SHARE > c->stacks;
}

unsigned
recorder_patience_ms(const struct recorder *c)
{
	bool hurry = c->hurry || (uint64_t)clock_mono_ns() < c->known_ns;

	if (c->joining)
		return 0;
	return hurry ? CAPTURES_DRAIN_MS : CAPTURES_CALM_MS;
}
