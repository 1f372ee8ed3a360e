/*
 * The kernel counts what finds no room in a ring, and tells of it before the
 * next record that does. Of what is lost after the last one it only tells who
 * reads the events.
 *   Source   perf_event_open(2), PERF_RECORD_LOST; linux/perf_event.h,
 *            PERF_FORMAT_LOST: Linux 6.0. Before, the end stays untold.
 */
#include "sampler_private.h"

struct counts {
	uint64_t value, lost;
};

static uint64_t
lost_of(int fd)
{
	struct counts c;

	return read(fd, &c, sizeof(c)) == sizeof(c) ? c.lost : 0;
}

bool
sampler_count_lost(struct sampler *s, struct record *r)
{
	s->lost_recorded += r->lost;
	if (s->lost_recorded <= s->lost_told)
		return false;
	r->lost = s->lost_recorded - s->lost_told;
	s->lost_told = s->lost_recorded;
	return true;
}

void
sampler_tell_lost(struct sampler *s, uint64_t time_ns, sampler_sink *sink,
                  void *arg)
{
	struct record r = {.kind = RECORD_LOST, .time_ns = time_ns};
	uint64_t all = 0;

	for (uint32_t i = 0; i < s->n; i++)
		all += lost_of(s->streams[i].ring.fd);
	for (uint32_t i = 0; i < s->nevents; i++)
		all += lost_of(s->events[i]);
	if (all <= s->lost_told)
		return;
	r.lost = all - s->lost_told;
	s->lost_told = all;
	sink(arg, &r);
}
