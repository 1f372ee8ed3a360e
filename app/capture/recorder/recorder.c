#include "capture/recorder.h"

#include "base/clock.h"
#include "rate.h"
#include "recorder_private.h"

#include <errno.h>

void
recorder_blame(const struct recorder *c, uint32_t slot)
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
	breaks_done(&c->breaks);
	tape_free(c->tape);
	buf_done(&c->began);
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
	free(c);
}

/* What was worked since this was last asked. */
int64_t
recorder_cpu_spent(struct recorder *c)
{
	int64_t before = c->cpu_ns;

	c->cpu_ns = clock_cpu_ns();
	return c->cpu_ns - before;
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
		.kept = &c->filter,
	};
	int rc;

	if (!rate)
		return -ENOMEM;
	rate->all = c;
	rate->period_ns = period_ns;
	rc = sampler_open(c->host, &ask, &rate->sampler);
	if (!rc) {
		rate->procs = procs_new(c->modules, rate->sampler,
		                        rate_proc_seen, rate);
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

		watched += !rc;
		if (rc == -EACCES || rc == -EPERM)
			last = -EXDEV;
		else if (rc && rc != -ESRCH)
			return rc;
	}
	capture_began_with(c, host, ask->pids, watched ? ask->npids : 0);
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
	c->began = BUF_INIT(CAPTURE_MAX_BEGAN);
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
	recorder_blame(c, ask->slot);
	recorder_cpu_spent(c);
	if (!c->modules)
		rc = modules_new(c->host, &c->modules);
	if (!rc)
		rc = capture_new(c, ask, &one);
	if (!rc) {
		c->slots[ask->slot] = one;
		one->rate->slots |= UINT64_C(1) << ask->slot;
		set_time(one, ask->duration_ns);
		c->known_ns = one->start_ns + NS_PER_S;
		one->tape = tape_new(one->start_ns, ask->timeline_bytes);
		rc = watch_all(one, c->host, ask);
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
