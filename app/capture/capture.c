#include "capture/capture.h"

#include "base/clock.h"
#include "capture/rate.h"
#include "capture_private.h"

#include <errno.h>
#include <string.h>

struct recorder {
	const struct host *host;
	struct recorder_conf conf;
	struct modules *modules; /* NULL while no capture runs */
	struct rate *rates[CAPTURES_MAX_SAMPLERS];
	struct capture *slots[CAPTURES_MAX];
	size_t ring_left;
	int64_t cpu_ns;          /* of ours that captures were charged for */
	struct proc_stack stack; /* of the sample at hand */
};

static const struct place truncated_place = {MODULE_TRUNCATED, 0};

static void
blame(const struct recorder *c, uint32_t slot)
{
	__atomic_store_n(c->conf.blame, slot, __ATOMIC_RELAXED);
}

int
recorder_new(const struct host *host, const struct recorder_conf *conf,
             struct recorder **out)
{
	struct recorder *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->host = host;
	c->conf = *conf;
	c->ring_left = conf->ring_bytes;
	blame(c, CAPTURES_MAX);
	*out = c;
	return 0;
}

static void
capture_free(struct capture *c)
{
	if (!c)
		return;
	trie_done(&c->trie);
	tape_free(c->tape);
	free(c);
}
DEFINE_CLEANUP(struct capture *, capture_free)

void
recorder_free(struct recorder *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < CAPTURES_MAX; i++)
		if (c->slots[i])
			recorder_remove(c, c->slots[i]);
	free(c);
}

/* --- what a sampler tells --------------------------------------------------
 */

/* The slot of the first watcher, taken off the set. */
static uint32_t
next_slot(uint64_t *watchers)
{
	uint32_t slot = (uint32_t)__builtin_ctzll(*watchers);

	*watchers &= *watchers - 1;
	return slot;
}

static void
proc_event(void *arg, uint64_t watchers, const struct proc_news *news)
{
	const struct rate *rate = arg;

	while (watchers) {
		struct capture *c = rate->all->slots[next_slot(&watchers)];

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
	case UNWIND_NO_INFO:
	case UNWIND_BAD:
		q->unwind_failed++;
		break;
	}
}

static void
count_sample(struct capture *c, const struct record *r,
             const struct proc_stack *stack)
{
	uint32_t node;

	if (r->time_ns < c->start_ns || r->time_ns >= c->end_ns)
		return;
	if (trie_count(&c->trie, stack->places, stack->n, truncated_place,
	               r->sample.weight_ns, &node)) {
		c->quality.lost++;
		return;
	}
	tape_sample(c->tape, r->pid, r->tid, r->time_ns, node,
	            r->sample.weight_ns);
	c->quality.kept++;
	c->quality.topped_up += stack->topped_up;
	count_end(&c->quality, stack->end);
}

/* Too deep for its dump, and not just for dumps as they were before. */
static bool
is_cut(const struct rate *rate, const struct record *r,
       const struct proc_stack *stack)
{
	uint32_t room = sampler_asked(rate->sampler)->stack_bytes & ~7u;

	return stack->cut && r->sample.stack_len >= room;
}

static void
take_sample(struct rate *rate, const struct record *r)
{
	struct recorder *all = rate->all;
	struct process *proc = procs_of_sample(rate->procs, r->pid);
	uint64_t watchers;

	if (!proc || !proc->watchers)
		return;
	watchers = proc->watchers;
	blame(all, (uint32_t)__builtin_ctzll(watchers));
	process_stack(proc, r, &all->stack);
	if (!all->stack.n)
		return;
	rate->adapt.samples++;
	rate->adapt.stacks += r->sample.has_user;
	rate->adapt.cut += is_cut(rate, r, &all->stack);
	while (watchers)
		count_sample(all->slots[next_slot(&watchers)], r, &all->stack);
}

static void
count_loss(struct rate *rate, const struct record *r)
{
	const bool lost = r->kind == RECORD_LOST;
	const struct timeline_event gap = {
		.kind = lost ? TIMELINE_LOST : TIMELINE_THROTTLED,
		.value = lost ? r->lost : 0,
	};
	uint64_t slots = rate->slots;

	if (lost)
		rate->adapt.lost += r->lost;
	else
		rate->adapt.throttled++;
	while (slots) {
		struct capture *c = rate->all->slots[next_slot(&slots)];

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
	struct rate *rate = arg;

	switch (r->kind) {
	case RECORD_SAMPLE:
		take_sample(rate, r);
		break;
	case RECORD_LOST:
	case RECORD_THROTTLE:
		count_loss(rate, r);
		break;
	default:
		procs_apply(rate->procs, r);
		break;
	}
}

/* What was worked since this was last asked. */
static int64_t
cpu_spent(struct recorder *c)
{
	int64_t before = c->cpu_ns;

	c->cpu_ns = clock_cpu_ns();
	return c->cpu_ns - before;
}

/* Nobody samples at this rate any more. */
static bool
is_over(const struct recorder *c, const struct rate *rate, uint64_t now)
{
	uint64_t slots = rate->slots;

	while (slots)
		if (c->slots[next_slot(&slots)]->end_ns > now)
			return false;
	return true;
}

/* Where nothing is written any more, nothing is waited for. */
static uint64_t
settled(const struct recorder *c, struct rate *rate, uint64_t now)
{
	if (!is_over(c, rate, now))
		return now - SAMPLER_SLACK_NS;
	sampler_stop(rate->sampler);
	return now;
}

static void
drain(struct recorder *c, struct rate *rate, uint64_t now)
{
	uint64_t until = settled(c, rate, now), slots = rate->slots;
	int64_t cpu, n = __builtin_popcountll(slots);

	c->stack.topups = PROCS_TOPUPS;
	sampler_drain(rate->sampler, until, take_record, rate);
	blame(c, CAPTURES_MAX);
	cpu = cpu_spent(c);
	rate->adapt.cpu_ns += (uint64_t)cpu;
	while (slots) {
		struct capture *one = c->slots[next_slot(&slots)];

		one->quality.worker_cpu_ns += cpu / n;
		one->drained_ns = until;
		capture_tape_counters(one, c->host, until);
	}
}

static void
adapt(struct recorder *c, struct rate *rate, uint64_t now)
{
	bool slower = rate_adapt(rate, c->host, now);
	const struct timeline_event lowered = {
		.kind = TIMELINE_LOWERED,
		.value = sampler_asked(rate->sampler)->period_ns,
	};
	uint64_t slots = rate->slots;

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

	for (unsigned i = 0; i < CAPTURES_MAX_SAMPLERS; i++) {
		if (!c->rates[i])
			continue;
		drain(c, c->rates[i], now);
		adapt(c, c->rates[i], now);
	}
}

size_t
recorder_poll(const struct recorder *c, struct pollfd *out, size_t max)
{
	size_t n = 0;

	for (unsigned i = 0; i < CAPTURES_MAX_SAMPLERS; i++)
		if (c->rates[i])
			n += sampler_poll(c->rates[i]->sampler, out + n,
			                  max - n);
	return n;
}

/* --- starting and ending ---------------------------------------------------
 */

static void
rate_close(struct recorder *c, struct rate *rate)
{
	if (!rate)
		return;
	c->ring_left += rate->ring_bytes;
	procs_free(rate->procs);
	sampler_close(rate->sampler);
	free(rate);
}

static int
rate_new(struct recorder *c, uint64_t period_ns,
         const struct capture_ask *asked, struct rate **out)
{
	struct rate *rate = calloc(1, sizeof(*rate));
	struct sampler_ask ask = {
		.period_ns = period_ns,
		.ncpus = c->conf.ncpus,
		.stack_bytes = c->conf.stack_bytes,
		.ring_bytes = c->ring_left /
	                      2, /* the rest is for other rates */
		.pids = asked->pids,
		.npids = asked->npids,
	};
	int rc;

	if (!rate)
		return -ENOMEM;
	rate->all = c;
	rate->period_ns = period_ns;
	rc = sampler_open(c->host, &ask, &rate->sampler);
	if (!rc) {
		rate->procs =
			procs_new(c->modules, rate->sampler, proc_event, rate);
		rc = rate->procs ? 0 : -ENOMEM;
	}
	if (rc) {
		rate_close(c, rate);
		return rc;
	}
	/* RING_MIN_BYTES are had in any case. */
	rate->ring_bytes = sampler_ring_bytes(rate->sampler);
	if (rate->ring_bytes > c->ring_left)
		rate->ring_bytes = c->ring_left;
	c->ring_left -= rate->ring_bytes;
	rate->adapt.since_ns = (uint64_t)clock_mono_ns();
	*out = rate;
	return 0;
}

/* The running sampler of that period, or a new one. */
static int
rate_of(struct recorder *c, uint64_t period_ns, const struct capture_ask *ask,
        struct rate **out)
{
	struct rate **unused = NULL;
	int rc;

	for (unsigned i = 0; i < CAPTURES_MAX_SAMPLERS; i++) {
		if (!c->rates[i]) {
			unused = &c->rates[i];
		} else if (c->rates[i]->period_ns == period_ns &&
		           sampler_shared(c->rates[i]->sampler)) {
			*out = c->rates[i];
			return 0;
		}
	}
	if (!unused)
		return -EBUSY;
	rc = rate_new(c, period_ns, ask, unused);
	if (!rc)
		*out = *unused;
	return rc;
}

static void
close_unused(struct recorder *c)
{
	bool any = false;

	for (unsigned i = 0; i < CAPTURES_MAX_SAMPLERS; i++) {
		if (c->rates[i] && !c->rates[i]->slots) {
			rate_close(c, c->rates[i]);
			c->rates[i] = NULL;
		}
		any |= c->rates[i] != NULL;
	}
	if (any)
		return;
	modules_free(c->modules);
	c->modules = NULL;
}

static int
watch_all(struct capture *c, const struct host *host,
          const struct capture_ask *ask)
{
	uint32_t watched = 0;
	int last = -ESRCH;

	for (uint32_t i = 0; i < ask->npids; i++) {
		int rc = procs_watch(c->rate->procs, (uint32_t)ask->pids[i],
		                     UINT64_C(1) << c->slot);

		if (!rc && ++watched)
			capture_tape_names(c, host, ask->pids[i]);
		else if (rc == -EACCES || rc == -EPERM)
			last = -EXDEV;
		else if (rc != -ESRCH)
			return rc;
	}
	return watched ? 0 : last;
}

static int
capture_new(struct recorder *all, const struct capture_ask *ask,
            struct capture **out)
{
	CLEANUP(capture_free_ptr) struct capture *c = calloc(1, sizeof(*c));
	uint64_t period = rate_period_ns(ask->rate);
	int rc;

	if (!c)
		return -ENOMEM;
	c->slot = ask->slot;
	c->quality.asked_rate = (int64_t)ask->rate * 1000;
	c->quality.run_rate = rate_millihertz(period);
	rc = trie_init(&c->trie, all->conf.max_nodes);
	if (!rc)
		rc = rate_of(all, period, ask, &c->rate);
	if (rc)
		return rc;
	c->modules = all->modules;
	if (sampler_asked(c->rate->sampler)->period_ns != period)
		c->quality.notes |= QUALITY_NOTE_OF(LOWERED);
	*out = TAKE(c);
	return 0;
}

static void
set_time(struct capture *c, uint64_t duration_ns)
{
	c->start_ms = clock_wall_ms();
	c->start_ns = c->drained_ns = (uint64_t)clock_mono_ns();
	c->end_ns = c->start_ns + duration_ns;
}

int
recorder_start(struct recorder *c, const struct capture_ask *ask,
               struct capture **out)
{
	struct capture *one = NULL;
	int rc = 0;

	if (ask->slot >= CAPTURES_MAX || c->slots[ask->slot])
		return -EINVAL;
	blame(c, ask->slot);
	cpu_spent(c);
	if (!c->modules)
		rc = modules_new(c->host, &c->modules);
	if (!rc)
		rc = capture_new(c, ask, &one);
	if (!rc) {
		c->slots[ask->slot] = one;
		one->rate->slots |= UINT64_C(1) << ask->slot;
		set_time(one, ask->duration_ns);
		one->tape = tape_new(one->start_ns, ask->timeline_bytes);
		rc = watch_all(one, c->host, ask);
	}
	blame(c, CAPTURES_MAX);
	if (!rc) {
		one->quality.worker_cpu_ns += cpu_spent(c);
		*out = one;
		return 0;
	}
	if (one)
		recorder_remove(c, one);
	else
		close_unused(c);
	return rc;
}

void
recorder_remove(struct recorder *c, struct capture *gone)
{
	uint64_t bit = UINT64_C(1) << gone->slot;

	procs_leave(gone->rate->procs, bit);
	gone->rate->slots &= ~bit;
	c->slots[gone->slot] = NULL;
	capture_free(gone);
	close_unused(c);
}

void
capture_stop(struct capture *c)
{
	uint64_t now = (uint64_t)clock_mono_ns();

	if (now < c->end_ns) {
		c->end_ns = now;
		c->quality.notes |= QUALITY_NOTE_OF(STOPPED);
	}
}

bool
capture_ended(const struct capture *c)
{
	return c->drained_ns >= c->end_ns;
}

uint64_t
capture_samples(const struct capture *c)
{
	return c->trie.samples;
}

uint64_t
capture_elapsed_ns(const struct capture *c)
{
	uint64_t now = (uint64_t)clock_mono_ns();

	return (now < c->end_ns ? now : c->end_ns) - c->start_ns;
}

uint64_t
capture_duration_ns(const struct capture *c)
{
	return c->end_ns - c->start_ns;
}

int64_t
capture_start_ms(const struct capture *c)
{
	return c->start_ms;
}
