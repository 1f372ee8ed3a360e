#include "profile/timeline.h"

#include "profile/model/build.h"

#include <errno.h>

struct timeline *
timeline_new(void)
{
	return calloc(1, sizeof(struct timeline));
}

void
timeline_free(struct timeline *t)
{
	if (!t)
		return;
	free(t->samples);
	free(t->threads);
	free(t->events);
	free(t->counters);
	free(t);
}

/* Room for one more row of an array that may have most. */
#define ONE_MORE(t, field, most)                                               \
	((t)->n##field >= (most)                                               \
	         ? -E2BIG                                                      \
	         : rows_room(&(t)->field, &(t)->field##_cap, (t)->n##field, 1, \
	                     sizeof(*(t)->field)))

int
timeline_thread(struct timeline *t, const struct timeline_thread *row)
{
	int rc = ONE_MORE(t, threads, TIMELINE_MAX_THREADS);

	if (!rc)
		t->threads[t->nthreads++] = *row;
	return rc;
}

int
timeline_sample(struct timeline *t, const struct timeline_sample *row)
{
	int rc = ONE_MORE(t, samples, TIMELINE_MAX_SAMPLES);

	if (!rc)
		t->samples[t->nsamples++] = *row;
	return rc;
}

int
timeline_event(struct timeline *t, const struct timeline_event *row)
{
	int rc = ONE_MORE(t, events, TIMELINE_MAX_EVENTS);

	if (!rc)
		t->events[t->nevents++] = *row;
	return rc;
}

int
timeline_counter(struct timeline *t, const struct timeline_counter *row)
{
	int rc = ONE_MORE(t, counters, TIMELINE_MAX_COUNTERS);

	if (!rc)
		t->counters[t->ncounters++] = *row;
	return rc;
}

int
timeline_fits(const struct timeline *t, const struct profile *p)
{
	for (uint32_t i = 0; i < t->nsamples; i++)
		if (t->samples[i].sample >= p->nsamples)
			return -EBADMSG;
	return 0;
}
