/* Captures without an end: cut into windows, and kept from growing. */
#include "base/clock.h"
#include "recorder_private.h"

#include <errno.h>
#include <stdlib.h>

/* Further from where it should be, the clock has been set. */
#define CLOCK_SET_MS INT64_C(1000)
/* A thread may outlive the first one of its process. */
#define GONE_NS (60 * (uint64_t)NS_PER_S)

int
capture_watch(struct recorder *c, struct capture *one, int32_t pid)
{
	uint64_t bit = UINT64_C(1) << one->slot;
	int rc;

	if (procs_follows(one->rate->procs, (uint32_t)pid, bit))
		return 0;
	recorder_blame(c, one->slot);
	rc = procs_watch(one->rate->procs, (uint32_t)pid, bit);
	if (!rc)
		rc = sampler_add(one->rate->sampler, c->host, pid);
	if (!rc)
		capture_began_with(one, c->host, &pid, 1);
	recorder_blame(c, CAPTURES_MAX);
	return rc == -EACCES || rc == -EPERM ? -EXDEV : rc;
}

void
capture_leave(struct capture *one, int32_t pid)
{
	procs_drop(one->rate->procs, (uint32_t)pid, UINT64_C(1) << one->slot);
}

/* What the next window starts with. */
static void
restart(struct capture *one, uint64_t now_ns, int64_t now_ms)
{
	const struct quality was = one->quality;
	bool lowered = was.run_rate &&
	               sampler_asked(one->rate->sampler)->period_ns !=
	                       one->rate->period_ns;

	one->start_ns = now_ns;
	one->start_ms = now_ms;
	one->quality = (struct quality){
		.asked_rate = was.asked_rate,
		.run_rate = was.run_rate,
		.notes = lowered ? QUALITY_NOTE_OF(LOWERED) : 0,
		.processes = one->alive,
	};
}

/* Windows join without a gap, unless the clock was set meanwhile: those that
 * follow then lie where it is now. */
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
	int rc = cut ? trie_init(&fresh, c->conf.max_nodes) : -ENOMEM;

	if (rc) {
		free(TAKE(cut));
		return rc;
	}
	*cut = *one;
	cut->end_ns = until;
	cut->tape = NULL;
	cut->began = (struct buf)BUF_INIT(0);
	one->breaks = (struct breaks){0}; /* they are the other's now */
	cut->window = true;
	one->trie = fresh;
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
		if (!c->rates[i])
			continue;
		procs_forget_gone(c->rates[i]->procs, now - GONE_NS);
		procs_modules(c->rates[i]->procs, in_use);
	}
	for (unsigned i = 0; i < CAPTURES_MAX; i++)
		if (c->slots[i])
			mark_samples(c->slots[i], in_use);
	modules_sweep(c->modules, in_use);
}
