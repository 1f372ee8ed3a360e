#include "capture/recorder.h"

#include "base/clock.h"
#include "rate.h"
#include "recorder_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Larger differences mean that the clock was set. */
#define CLOCK_SET_MS INT64_C(1000)
/* Rings for BPF programs have room for a sample of each CPU every ms. */
#define RINGS_NS ((uint64_t)NS_PER_MS)
/* How long ended processes are kept, since a thread may outlive the first
 * thread of its process. */
#define GONE_NS (60 * (uint64_t)NS_PER_S)

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
	c->hindrances = BUF_INIT(0);
	recorder_blame(c, CAPTURES_MAX);
	*out = c;
	return 0;
}

void
capture_free(struct capture *c)
{
	if (!c)
		return;
	trie_done(&c->trie);
	context_rows_done(&c->contexts);
	breaks_done(&c->breaks);
	tape_free(c->tape);
	buf_done(&c->began);
	free(c->joining.pids);
	free(c->rows);
	free(c);
}

void
recorder_free(struct recorder *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < CAPTURES_MAX; i++)
		if (c->slots[i])
			recorder_remove(c, c->slots[i]);
	sampler_filter_free(c->filter);
	buf_done(&c->hindrances);
	free(c);
}

size_t
recorder_poll(const struct recorder *c, struct pollfd *out, size_t max)
{
	size_t n = 0;

	for (unsigned i = 0; i < CAPTURES_MAX_SAMPLERS; i++)
		if (c->sources[i])
			n += sampler_poll(c->sources[i]->sampler, out + n,
			                  max - n);
	return n;
}

/* --- starting and ending -------------------------------------------------- */

static void
source_close(struct recorder *c, struct source *source)
{
	if (!source)
		return;
	c->ring_left += source->ring_bytes;
	procs_free(source->procs);
	sampler_close(source->sampler);
	free(source);
}

#define ANY_CLASS UINT32_MAX

/* How types are sampled; a type without a row is not. classes: bits of enum
 * emit_class, the events that a capture of the type counts. */
static const struct sampled {
	enum sampler_kind kind;
	uint32_t classes;
} sampled[TYPES] = {
	[TYPE_cpu] = {SAMPLER_CLOCK, ANY_CLASS},
	[TYPE_memory] = {SAMPLER_INUSE, ANY_CLASS},
	[TYPE_alloc] = {SAMPLER_ALLOCS, ANY_CLASS},
	[TYPE_block] = {SAMPLER_WAITS, ANY_CLASS},
	[TYPE_mutex] = {SAMPLER_WAITS, 1U << EMIT_LOCK | 1U << EMIT_FUTEX},
	[TYPE_io] = {SAMPLER_CALLS, 1U << EMIT_IO},
};

#define LOW_RATE_NS ((uint64_t)5 * NS_PER_MS) /* between samples */

/* At low rates copies cost next to nothing, and there are few samples from
 * which to learn that stacks are deeper. */
static uint32_t
first_stack_bytes(const struct recorder_conf *conf, enum sampler_kind kind,
                  uint64_t period_ns)
{
	if (kind != SAMPLER_CLOCK || period_ns < LOW_RATE_NS)
		return conf->stack_bytes;
	return recorder_deeper(conf->stack_bytes);
}

static int
source_new(struct recorder *c, enum sampler_kind kind, uint64_t period_ns,
           const struct capture_ask *asked, struct source **out)
{
	struct source *source = calloc(1, sizeof(*source));
	struct sampler_ask ask = {
		.kind = kind,
		.period_ns = period_ns,
		.ncpus = c->conf.ncpus,
		.stack_bytes = first_stack_bytes(&c->conf, kind, period_ns),
		.ring_bytes = c->ring_left /
	                      2, /* the rest is for other sources */
		.pids = asked->pids,
		.npids = asked->npids,
		.kept = &c->filter,
	};
	int rc;

	if (!source)
		return -ENOMEM;
	source->all = c;
	source->kind = kind;
	source->period_ns = period_ns;
	rc = sampler_open(c->host, &ask, &source->sampler);
	if (!rc) {
		source->procs = procs_new(c->modules, source->sampler,
		                          source_proc_seen, source);
		rc = source->procs ? 0 : -ENOMEM;
	}
	if (rc) {
		source_close(c, source);
		return rc;
	}
	/* Every source gets at least RING_MIN_BYTES. */
	source->ring_bytes = sampler_ring_bytes(source->sampler);
	if (source->ring_bytes > c->ring_left)
		source->ring_bytes = c->ring_left;
	c->ring_left -= source->ring_bytes;
	source->adapt.since_ns = (uint64_t)clock_mono_ns();
	*out = source;
	return 0;
}

/* Finds the source with this kind and period, or creates it. */
static int
source_of(struct recorder *c, uint64_t period_ns, const struct capture_ask *ask,
          struct source **out)
{
	struct source **unused = NULL;
	enum sampler_kind kind = sampled[ask->type].kind;
	int rc;

	for (unsigned i = 0; i < CAPTURES_MAX_SAMPLERS; i++) {
		if (!c->sources[i]) {
			unused = &c->sources[i];
		} else if (c->sources[i]->kind == kind &&
		           c->sources[i]->period_ns == period_ns &&
		           sampler_shared(c->sources[i]->sampler)) {
			*out = c->sources[i];
			return 0;
		}
	}
	if (!unused)
		return -EBUSY;
	rc = source_new(c, kind, period_ns, ask, unused);
	if (!rc)
		*out = *unused;
	return rc;
}

static void
close_unused(struct recorder *c)
{
	bool any = false;

	for (unsigned i = 0; i < CAPTURES_MAX_SAMPLERS; i++) {
		if (c->sources[i] && !c->sources[i]->slots) {
			source_close(c, c->sources[i]);
			c->sources[i] = NULL;
		}
		any |= c->sources[i] != NULL;
	}
	if (any)
		return;
	modules_free(c->modules);
	c->modules = NULL;
}

/* Samples the kernel's threads while a capture of the source wants them. */
static void
set_kernel(struct recorder *c, struct source *source)
{
	uint64_t slots = source->slots;
	bool with = false;

	while (slots)
		with |= c->slots[next_slot(&slots)]->titles ==
		        TITLES_WITH_KERNEL;
	procs_with_kernel(source->procs, with);
}

static int
capture_new(struct recorder *all, const struct capture_ask *ask,
            struct capture **out)
{
	CLEANUP(capture_free_ptr) struct capture *c = calloc(1, sizeof(*c));
	const struct sampled *by = &sampled[ask->type];
	bool clock = by->kind == SAMPLER_CLOCK;
	uint64_t period = clock ? rate_period_ns(ask->rate) : RINGS_NS;
	int rc;

	if (!c)
		return -ENOMEM;
	if (!by->classes)
		return -EINVAL;
	c->slot = ask->slot;
	c->classes = by->classes;
	c->began = BUF_INIT(CAPTURE_MAX_BEGAN);
	c->type = ask->type;
	c->titles = ask->titles;
	c->threads = ask->threads;
	c->start_ns = c->end_ns = CAPTURE_NOT_BEGUN;
	c->duration_ns = ask->duration_ns;
	c->tape = tape_new(c->start_ns, ask->timeline_bytes);
	if (clock) {
		c->quality.asked_rate = (int64_t)ask->rate * 1000;
		c->quality.run_rate = rate_millihertz(period);
	}
	rc = trie_init(&c->trie, all->conf.max_nodes);
	if (!rc && by->kind == SAMPLER_INUSE) {
		c->rows = calloc(INUSE_ROWS, sizeof(*c->rows));
		rc = c->rows ? 0 : -ENOMEM;
	}
	if (!rc)
		rc = capture_follow(c, ask->pids, ask->npids);
	c->joining.opened = c->joining.n;
	if (!rc)
		rc = source_of(all, period, ask, &c->source);
	if (rc)
		return rc;
	c->modules = all->modules;
	if (sampler_asked(c->source->sampler)->period_ns != period)
		c->quality.notes |= QUALITY_NOTE_OF(LOWERED);
	*out = TAKE(c);
	return 0;
}

int
recorder_start(struct recorder *c, const struct capture_ask *ask,
               struct capture **out)
{
	struct capture *one = NULL;
	int rc = 0;

	if (ask->slot >= CAPTURES_MAX || c->slots[ask->slot])
		return -EINVAL;
	recorder_blame(c, ask->slot);
	recorder_cpu_spent(c);
	if (!c->modules)
		rc = modules_new(c->host, &c->modules);
	if (!rc)
		rc = capture_new(c, ask, &one);
	if (!rc) {
		c->slots[ask->slot] = one;
		one->source->slots |= UINT64_C(1) << ask->slot;
		set_kernel(c, one->source);
		c->joining = true;
		recorder_join(c);
		rc = one->error;
	}
	recorder_blame(c, CAPTURES_MAX);
	if (!rc) {
		one->quality.worker_cpu_ns += recorder_cpu_spent(c);
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

	procs_leave(gone->source->procs, bit);
	gone->source->slots &= ~bit;
	set_kernel(c, gone->source);
	c->slots[gone->slot] = NULL;
	capture_free(gone);
	close_unused(c);
}

void
recorder_drop_trees(struct recorder *c, const struct capture *but)
{
	for (uint32_t i = 0; i < CAPTURES_MAX; i++)
		if (c->slots[i] && c->slots[i] != but &&
		    c->slots[i]->trie.nodes.cap >=
		            RECORDER_PIECE / sizeof(struct pair))
			trie_done(&c->slots[i]->trie);
}

void
capture_stop(struct capture *c)
{
	uint64_t now = (uint64_t)clock_mono_ns();

	if (now >= c->end_ns)
		return;
	c->quality.notes |= QUALITY_NOTE_OF(STOPPED);
	if (has_begun(c))
		c->end_ns = now;
	else
		c->duration_ns = 0;
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

	if (!has_begun(c))
		return 0;
	return (now < c->end_ns ? now : c->end_ns) - c->start_ns;
}

uint64_t
capture_duration_ns(const struct capture *c)
{
	return has_begun(c) ? c->end_ns - c->start_ns : c->duration_ns;
}

int
capture_failed(const struct capture *c)
{
	return c->error;
}

int64_t
capture_start_ms(const struct capture *c)
{
	return c->start_ms;
}

/* --- endless captures: cutting windows, and bounding memory --------------- */

/* Resets a capture to the state with which the next window starts. */
static void
restart(struct capture *one, uint64_t now_ns, int64_t now_ms)
{
	const struct quality was = one->quality;
	bool lowered = was.run_rate &&
	               sampler_asked(one->source->sampler)->period_ns !=
	                       one->source->period_ns;

	one->start_ns = now_ns;
	one->start_ms = now_ms;
	one->unsure = (struct quality){0};
	one->quality = (struct quality){
		.asked_rate = was.asked_rate,
		.run_rate = was.run_rate,
		.notes = lowered ? QUALITY_NOTE_OF(LOWERED) : 0,
		.processes = one->alive,
	};
}

/* Returns the start of a window. Windows join without a gap unless the clock
 * was set meanwhile; later ones then follow the new clock. */
static int64_t
next_start_ms(const struct capture *cut, uint64_t until_ns)
{
	int64_t joins = cut->start_ms +
	                (int64_t)((until_ns - cut->start_ns) / NS_PER_MS);
	int64_t now = clock_wall_ms() -
	              (clock_mono_ns() - (int64_t)until_ns) / NS_PER_MS;

	return llabs(now - joins) < CLOCK_SET_MS ? joins : now;
}

int
capture_cut(struct recorder *c, struct capture *one, struct capture **out)
{
	CLEANUP(capture_free_ptr) struct capture *cut = malloc(sizeof(*cut));
	uint64_t until = one->drained_ns;
	struct trie fresh;
	int rc = !has_begun(one) ? -EAGAIN
	         : cut           ? trie_init(&fresh, c->conf.max_nodes)
	                         : -ENOMEM;

	if (rc) {
		free(TAKE(cut));
		return rc;
	}
	*cut = *one;
	cut->end_ns = until;
	cut->tape = NULL;
	cut->rows = NULL; /* memory in use has no windows */
	cut->joining = (struct joining){0};
	cut->began = (struct buf)BUF_INIT(0);
	one->breaks = (struct breaks){0}; /* now owned by cut */
	cut->window = true;
	capture_hindrance(one, &c->hindrances, &cut->quality);
	one->trie = fresh;
	one->contexts = (struct context_rows){0}; /* likewise */
	restart(one, until, next_start_ms(cut, until));
	*out = TAKE(cut);
	return 0;
}

static void
mark_samples(const struct capture *one, bool in_use[static MODULES_MAX])
{
	const struct pairs *places = &one->trie.places;

	for (uint32_t i = 0; i < places->n; i++)
		in_use[places->rows[i].a] = true;
}

void
recorder_tidy(struct recorder *c)
{
	uint64_t now = (uint64_t)clock_mono_ns();
	bool in_use[MODULES_MAX] = {false};

	if (!c->modules)
		return;
	for (unsigned i = 0; i < CAPTURES_MAX_SAMPLERS; i++) {
		if (!c->sources[i])
			continue;
		procs_forget_gone(c->sources[i]->procs, now - GONE_NS);
		procs_modules(c->sources[i]->procs, in_use);
	}
	for (unsigned i = 0; i < CAPTURES_MAX; i++)
		if (c->slots[i])
			mark_samples(c->slots[i], in_use);
	modules_sweep(c->modules, in_use);
}
