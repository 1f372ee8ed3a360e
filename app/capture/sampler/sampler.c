#include "sampler.h"

#include "base/clock.h"
#include "sampler_private.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

DEFINE_CLEANUP(struct sampler *, sampler_close)

/* Calls an ioctl on the events that sample now, and on the owners of rings,
 * which report when processes start and end. */
static int
each_fd(const struct sampler *s, unsigned long request)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (ioctl(s->streams[i].ring.fd, request, 0))
			return -errno;
	for (uint32_t i = s->first; i < s->nevents; i++)
		if (ioctl(s->events[i], request, 0))
			return -errno;
	return 0;
}

int
sampler_open(const struct host *host, const struct sampler_ask *ask,
             struct sampler **out)
{
	CLEANUP(sampler_close_ptr) struct sampler *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->ask = *ask;
	if (!ask->ncpus || ask->ncpus > SAMPLER_MAX_CPUS)
		return -EINVAL;
	s->before_ns = ask->period_ns;
	if (ask->kind == SAMPLER_CLOCK)
		s->filter = filter_take(ask, host);
	rc = ask->kind == SAMPLER_CLOCK ? 0
	                                : emitter_open(host, ask, &s->emitter);
	if (!rc)
		rc = sampler_open_all(s, host);
	if (!rc)
		rc = each_fd(s, PERF_EVENT_IOC_ENABLE);
	if (rc)
		return rc;
	s->ask.pids = NULL; /* owned by the caller */
	s->ask.npids = 0;
	*out = TAKE(s);
	return 0;
}

void
sampler_stop(struct sampler *s)
{
	/* An event that can't be stopped is closed later. */
	(void)!each_fd(s, PERF_EVENT_IOC_DISABLE);
}

size_t
sampler_poll(const struct sampler *s, struct pollfd *out, size_t max)
{
	size_t n = 0;

	if (s->filter && s->filter->rings && n < max)
		out[n++] = (struct pollfd){s->filter->wakes_fd, POLLIN, 0};
	for (uint32_t i = 0; i < s->n && n < max; i++)
		out[n++] = (struct pollfd){s->streams[i].ring.fd, POLLIN, 0};
	return n;
}

/* --- lost records --------------------------------------------------------- */

/*
 * The kernel counts records that find no room in a ring, and reports them
 * before the next record that does. Losses after the last record can only be
 * read from the events.
 *   Source   perf_event_open(2), PERF_RECORD_LOST; linux/perf_event.h,
 *            PERF_FORMAT_LOST: Linux 6.0. Before, losses at the end are not
 *            known.
 */
struct counts {
	uint64_t value, lost;
};

static uint64_t
lost_of(int fd)
{
	struct counts c;

	return read(fd, &c, sizeof(c)) == sizeof(c) ? c.lost : 0;
}

/* Subtracts from a record's count what was reported already; false when nothing
 * is new. */
static bool
count_lost(struct sampler *s, struct record *r)
{
	s->lost_recorded += r->lost;
	if (s->lost_recorded <= s->lost_reported)
		return false;
	r->lost = s->lost_recorded - s->lost_reported;
	s->lost_reported = s->lost_recorded;
	return true;
}

void
sampler_report_lost(struct sampler *s, uint64_t time_ns, sampler_sink *sink,
                    void *arg)
{
	struct record r = {.kind = RECORD_LOST, .time_ns = time_ns};
	uint64_t all = 0;

	for (uint32_t i = 0; i < s->n; i++)
		all += lost_of(s->streams[i].ring.fd);
	for (uint32_t i = 0; i < s->nevents; i++)
		all += lost_of(s->events[i]);
	if (all <= s->lost_reported)
		return;
	r.lost = all - s->lost_reported;
	s->lost_reported = all;
	sink(arg, &r);
}

/* --- records -------------------------------------------------------------- */

static void
peek(struct stream *st)
{
	st->next_ns = UINT64_MAX;
	if (ring_peek(&st->ring, &st->next, &st->next_size))
		st->next_ns = record_time(st->next, st->next_size);
}

/* Finds the stream with the oldest record, if that is older than until_ns. */
static struct stream *
oldest(const struct sampler *s, uint64_t until_ns)
{
	struct stream *best = NULL;

	for (uint32_t i = 0; i < s->nstreams; i++) {
		if (s->streams[i].next_ns >= until_ns)
			continue;
		best = &s->streams[i];
		until_ns = best->next_ns;
	}
	return best;
}

static void
add_found(struct record *r, const struct interp_stack *found)
{
	if (!found)
		return;
	if (found->end != INTERP_NONE)
		r->sample.interp = found;
	r->sample.context = (const uint8_t *)&found->frames[found->n];
	r->sample.context_len = found->context;
}

static void
add_to_sample(struct sampler *s, struct record *r)
{
	if (s->emitter) {
		emitter_weigh(s->emitter, r);
	} else {
		r->sample.amount.value = r->time_ns < s->changed_ns
		                                 ? s->before_ns
		                                 : s->ask.period_ns;
		r->sample.amount.events = AMOUNT_EVENT;
	}
	add_found(r, interp_of_sample(s, r));
}

static void
hand_on(struct sampler *s, struct stream *st, sampler_sink *sink, void *arg)
{
	struct record r;

	ring_fetch_ahead(&st->ring, st->next_size);
	if (!record_parse(st->next, st->next_size, s->emitter, &r)) {
		if (r.kind == RECORD_SAMPLE)
			add_to_sample(s, &r);
		if (r.kind != RECORD_LOST || count_lost(s, &r))
			sink(arg, &r);
	}
	ring_next(&st->ring, st->next_size);
	peek(st);
}

void
sampler_drain(struct sampler *s, uint64_t until_ns, sampler_sink *sink,
              void *arg)
{
	struct stream *st;

	if (s->filter)
		filter_awake(s->filter);
	for (uint32_t i = 0; i < s->nstreams; i++) {
		ring_look(&s->streams[i].ring);
		peek(&s->streams[i]);
	}
	while ((st = oldest(s, until_ns)))
		hand_on(s, st, sink, arg);
	if (s->emitter)
		emitter_adapt(s->emitter, (uint64_t)clock_mono_ns());
}

/* --- while it samples ----------------------------------------------------- */

/* Replaces the events: on each CPU one stops and the next starts, so that no
 * time counts twice, and at most a part of one period is missed. */
static int
take_over(struct sampler *s, uint32_t fresh)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (ioctl(s->events[s->first + i], PERF_EVENT_IOC_DISABLE, 0) ||
		    ioctl(s->events[fresh + i], PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	s->first = fresh;
	return 0;
}

int
sampler_deepen(struct sampler *s, const struct host *host, uint32_t stack_bytes)
{
	const uint32_t before = s->ask.stack_bytes, fresh = s->nevents;
	int rc;

	if (!s->shared)
		return -EOPNOTSUPP;
	if (!sampler_is_roomy(s, stack_bytes))
		return -ENOBUFS;
	s->ask.stack_bytes = stack_bytes;
	rc = sampler_open_events(s, host);
	if (rc) {
		s->ask.stack_bytes = before;
		return rc;
	}
	if (s->filter)
		filter_limit(s->filter, stack_bytes);
	return take_over(s, fresh);
}

int
sampler_slow(struct sampler *s, uint64_t period_ns)
{
	if (!s->shared || s->emitter)
		return -EOPNOTSUPP;
	s->changed_ns = (uint64_t)clock_mono_ns();
	s->before_ns = s->ask.period_ns;
	for (uint32_t i = s->first; i < s->nevents; i++)
		if (ioctl(s->events[i], PERF_EVENT_IOC_PERIOD, &period_ns))
			return -errno;
	s->ask.period_ns = period_ns;
	return 0;
}

/* Sets a bit. The kernel reads the byte meanwhile, so whole bytes are written,
 * and only here. */
static void
set_denied(struct sampler *s, uint32_t pid, bool denied)
{
	const struct sampler_filter *f = s->filter;
	uint8_t byte, bit = (uint8_t)(1u << pid % 8);

	if (!f || pid >= f->ndenied)
		return;
	byte = f->denied[pid / 8];
	byte = denied ? byte | bit : byte & (uint8_t)~bit;
	__atomic_store_n(&f->denied[pid / 8], byte, __ATOMIC_RELAXED);
}

void
sampler_deny(struct sampler *s, uint32_t pid)
{
	if (s->emitter)
		emitter_follow(s->emitter, pid, false);
	set_denied(s, pid, true);
}

void
sampler_pass(struct sampler *s, uint32_t pid)
{
	if (s->emitter)
		emitter_follow(s->emitter, pid, true);
	set_denied(s, pid, false);
}

void
sampler_pass_all(struct sampler *s)
{
	if (s->filter)
		memset(s->filter->denied, 0, s->filter->ndenied / 8);
}

const struct sampler_ask *
sampler_asked(const struct sampler *s)
{
	return &s->ask;
}

size_t
sampler_ring_bytes(const struct sampler *s)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < s->n; i++)
		sum += s->streams[i].ring.size;
	return sum;
}

quality_notes
sampler_notes(const struct sampler *s)
{
	return s->notes;
}

bool
sampler_shared(const struct sampler *s)
{
	return s->shared;
}

const struct emit_slot *
sampler_alloc_slots(const struct sampler *s)
{
	return s->emitter ? s->emitter->allocs : NULL;
}

const struct inuse_slot *
sampler_slots(const struct sampler *s)
{
	return s->emitter ? s->emitter->slots : NULL;
}

const struct inuse_set *
sampler_sets(const struct sampler *s)
{
	return s->emitter ? s->emitter->sets : NULL;
}
