/*
 * Adapts a running sampler to the samples that it took.
 *
 * When more than 1 % of the stacks are deeper than their dump, dumps grow; they
 * cost about 2 us each at 16 KiB, 8 us at 64 KiB. When the analyser can't keep
 * up, or the kernel throttles, the period doubles. Each sample then stands for
 * twice the time, which the report says; lost samples would be missing from the
 * busiest moments.
 */
#include "base/clock.h"
#include "capture/event.h"
#include "recorder_private.h"

#include <errno.h>

#define STACKS_WINDOW 200
#define MAX_CUT       (STACKS_WINDOW / 100)
#define WINDOW_NS     ((uint64_t)NS_PER_S)
#define MAX_CPU_SHARE 4   /* costly: above this fraction (1/N) of a CPU */
#define MAX_COSTLY    2   /* costly windows in a row */
#define MAX_LOSS      100 /* one in N samples may be lost */
#define SLOWEST_NS    ((uint64_t)NS_PER_S / 25)

uint32_t
recorder_deeper(uint32_t bytes)
{
	return bytes * 2 < EVENT_MAX_STACK ? bytes * 2 : EVENT_MAX_STACK;
}

static bool
want_deeper(struct adapt *a, uint32_t bytes)
{
	bool want = a->cut > MAX_CUT && bytes < EVENT_MAX_STACK && !a->no_room;

	if (want || a->stacks >= STACKS_WINDOW)
		a->stacks = a->cut = 0;
	return want;
}

/* True when work was too expensive for several windows in a row. Reading a new
 * program's tables is expensive as well, but does not last. */
static bool
stays_costly(struct adapt *a)
{
	bool costly = a->cpu_ns > WINDOW_NS / MAX_CPU_SHARE;

	a->costly = costly ? a->costly + 1 : 0;
	return a->costly >= MAX_COSTLY;
}

static void
start_window(struct adapt *a, uint64_t now_ns)
{
	a->since_ns = now_ns;
	a->cpu_ns = a->samples = a->lost = a->throttled = 0;
}

void
source_adapt_anew(struct source *source, uint64_t now_ns)
{
	start_window(&source->adapt, now_ns);
}

static bool
want_slower(struct adapt *a, uint64_t now_ns, uint64_t period_ns)
{
	bool want;

	if (now_ns - a->since_ns < WINDOW_NS)
		return false;
	want = stays_costly(a) || a->throttled ||
	       a->lost * MAX_LOSS > a->samples + a->lost;
	start_window(a, now_ns);
	return want && period_ns * 2 <= SLOWEST_NS;
}

bool
source_adapt(struct source *source, const struct host *host, uint64_t now_ns)
{
	const struct sampler_ask *ask = sampler_asked(source->sampler);
	struct adapt *a = &source->adapt;
	bool slower = want_slower(a, now_ns, ask->period_ns) &&
	              !sampler_slow(source->sampler, ask->period_ns * 2);

	if (want_deeper(a, ask->stack_bytes) &&
	    sampler_deepen(source->sampler, host,
	                   recorder_deeper(ask->stack_bytes)))
		a->no_room = true;
	return slower;
}
