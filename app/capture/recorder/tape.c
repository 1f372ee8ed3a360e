#include "tape.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

static uint32_t
rows_in(size_t bytes, size_t row, uint32_t most)
{
	return bytes / row < most ? (uint32_t)(bytes / row) : most;
}

/* Divides the memory: half is for samples. */
static struct tape_room
share_out(size_t bytes)
{
	return (struct tape_room){
		.samples = rows_in(bytes / 2, sizeof(struct timeline_sample),
	                           TIMELINE_MAX_SAMPLES),
		.events = rows_in(bytes / 4, sizeof(struct timeline_event),
	                          TIMELINE_MAX_EVENTS),
		.threads = rows_in(bytes / 8, sizeof(struct timeline_thread),
	                           TIMELINE_MAX_THREADS),
		.counters = rows_in(bytes / 8, sizeof(struct timeline_counter),
	                            TIMELINE_MAX_COUNTERS),
	};
}

struct tape *
tape_new(uint64_t start_ns, size_t max_bytes)
{
	struct tape *t = max_bytes ? calloc(1, sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	t->room = share_out(max_bytes);
	t->start_ns = start_ns;
	t->keys.max = t->room.threads;
	t->sampled = calloc(t->room.threads + 1, sizeof(*t->sampled));
	t->line = timeline_new();
	if (t->line && t->sampled)
		return t;
	tape_free(t);
	return NULL;
}

void
tape_begin(struct tape *t, uint64_t start_ns)
{
	if (t)
		t->start_ns = start_ns;
}

void
tape_free(struct tape *t)
{
	if (!t)
		return;
	timeline_free(t->line);
	free(t->sampled);
	pairs_done(&t->keys);
	free(t->latest);
	free(t);
}

static uint64_t
us_of(struct tape *t, uint64_t time_ns)
{
	uint64_t us = time_ns < t->start_ns
	                      ? 0
	                      : (time_ns - t->start_ns) / (uint64_t)NS_PER_US;

	if (us > t->last_us)
		t->last_us = us;
	return t->last_us;
}

/* Adds the event TIMELINE_FULL, for which one event's room is reserved. */
static void
stop(struct tape *t)
{
	const struct timeline_event e = {.time_us = t->last_us,
	                                 .kind = TIMELINE_FULL};

	if (t->full)
		return;
	t->full = true;
	if (timeline_event(t->line, &e))
		t->last_us = e.time_us; /* out of memory: the reason can't be
		                           recorded */
}

/* --- threads -------------------------------------------------------------- */

static int
room_for_key(struct tape *t)
{
	uint32_t *more;

	if (t->keys.n <= t->latest_cap)
		return 0;
	more = reallocarray(t->latest, t->keys.cap, sizeof(*more));
	if (!more)
		return -ENOMEM;
	for (uint32_t i = t->latest_cap; i < t->keys.cap; i++)
		more[i] = TAPE_NONE;
	t->latest = more;
	t->latest_cap = t->keys.cap;
	return 0;
}

/* Returns the place for the thread's current row; NULL: no room. */
static uint32_t *
place_of(struct tape *t, uint32_t pid, uint32_t tid)
{
	uint32_t key;
	int rc = pairs_intern(&t->keys, pid, tid, &key);

	if (!rc)
		rc = room_for_key(t);
	if (!rc)
		return &t->latest[key];
	stop(t);
	return NULL;
}

static bool
add_thread(struct tape *t, const struct timeline_thread *row, uint32_t *place)
{
	if (t->line->nthreads >= t->room.threads ||
	    timeline_thread(t->line, row)) {
		stop(t);
		return false;
	}
	*place = t->line->nthreads - 1;
	return true;
}

/* Returns the thread's row, even if it has ended; NULL if it has none. */
static struct timeline_thread *
row_at(const struct tape *t, const uint32_t *place)
{
	return *place == TAPE_NONE ? NULL : &t->line->threads[*place];
}

/* Returns the row of a thread that lives, or NULL when there is no room. */
static struct timeline_thread *
thread_of(struct tape *t, uint32_t pid, uint32_t tid)
{
	struct timeline_thread row = {.pid = pid,
	                              .tid = tid,
	                              .started_us = TIMELINE_UNSEEN,
	                              .ended_us = TIMELINE_UNSEEN};
	uint32_t *place = place_of(t, pid, tid);
	struct timeline_thread *old = place ? row_at(t, place) : NULL;

	if (old && old->ended_us == TIMELINE_UNSEEN)
		return old;
	return place && add_thread(t, &row, place) ? row_at(t, place) : NULL;
}

void
tape_born(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns,
          uint32_t ppid, uint32_t ptid)
{
	struct timeline_thread row = {
		.pid = pid, .tid = tid, .ended_us = TIMELINE_UNSEEN};
	const struct timeline_thread *maker;
	uint32_t *place;

	if (!t || t->full)
		return;
	maker = thread_of(t, ppid, ptid);
	if (maker)
		memcpy(row.name, maker->name, sizeof(row.name));
	row.started_us = us_of(t, time_ns);
	place = place_of(t, pid, tid);
	if (place)
		add_thread(t, &row, place);
}

void
tape_died(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct timeline_thread *row;

	if (!t || t->full)
		return;
	row = thread_of(t, pid, tid);
	if (row)
		row->ended_us = us_of(t, time_ns);
}

void
tape_named(struct tape *t, uint32_t pid, uint32_t tid, const char *name,
           size_t n)
{
	struct timeline_thread *row;

	if (!t || t->full)
		return;
	row = thread_of(t, pid, tid);
	if (!row)
		return;
	n = strnlen(name, n < sizeof(row->name) ? n : sizeof(row->name) - 1);
	memset(row->name, 0, sizeof(row->name));
	memcpy(row->name, name, n);
}

void
tape_executed(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns,
              const char *name, size_t n)
{
	struct timeline_thread *row = !t || t->full ? NULL
	                                            : thread_of(t, pid, tid);

	if (row && t->sampled[row - t->line->threads]) {
		tape_died(t, pid, tid, time_ns);
		row = thread_of(t, pid, tid);
		if (row)
			row->started_us = us_of(t, time_ns);
	}
	tape_named(t, pid, tid, name, n);
}

/* --- events, counters and the result -------------------------------------- */

/* Returns the row of a thread that is sampled: it may have ended just before,
 * since a thread runs for a moment after it is reported to have ended. */
static struct timeline_thread *
sampled_thread(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_us)
{
	uint32_t *place = place_of(t, pid, tid);
	struct timeline_thread *row = place ? row_at(t, place) : NULL;

	if (!row || row->ended_us == TIMELINE_UNSEEN)
		return thread_of(t, pid, tid);
	row->ended_us = time_us;
	return row;
}

void
tape_sample(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time_ns,
            uint32_t node, uint64_t weight_ns)
{
	struct timeline_sample s = {.sample = node, .weight_ns = weight_ns};
	const struct timeline_thread *thread;

	if (!t || t->full)
		return;
	s.time_us = us_of(t, time_ns);
	thread = sampled_thread(t, pid, tid, s.time_us);
	if (!thread)
		return;
	s.thread = (uint32_t)(thread - t->line->threads);
	t->sampled[s.thread] = true;
	if (t->line->nsamples >= t->room.samples ||
	    timeline_sample(t->line, &s))
		stop(t);
}

void
tape_event(struct tape *t, uint64_t time_ns, const struct timeline_event *e)
{
	struct timeline_event row = *e;

	if (!t || t->full)
		return;
	row.time_us = us_of(t, time_ns);
	if (t->line->nevents + 1 >= t->room.events ||
	    timeline_event(t->line, &row))
		stop(t);
}

void
tape_counter(struct tape *t, uint64_t time_ns, const struct timeline_counter *c)
{
	struct timeline_counter row = *c;

	if (!t || t->full)
		return;
	row.time_us = us_of(t, time_ns);
	if (t->line->ncounters >= t->room.counters ||
	    timeline_counter(t->line, &row))
		stop(t);
}

static int
copy_samples(const struct timeline *from, const uint32_t *rows,
             struct timeline *to)
{
	int rc = 0;

	for (uint32_t i = 0; i < from->nsamples && !rc; i++) {
		struct timeline_sample s = from->samples[i];

		s.sample = rows[s.sample];
		if (s.sample != TAPE_NO_ROW)
			rc = timeline_sample(to, &s);
	}
	return rc;
}

int
tape_timeline(const struct tape *t, const uint32_t *rows, struct timeline **out)
{
	CLEANUP_TIMELINE struct timeline *to = timeline_new();
	const struct timeline *from = t->line;
	int rc = to ? copy_samples(from, rows, to) : -ENOMEM;

	for (uint32_t i = 0; i < from->nthreads && !rc; i++)
		rc = timeline_thread(to, &from->threads[i]);
	for (uint32_t i = 0; i < from->nevents && !rc; i++)
		rc = timeline_event(to, &from->events[i]);
	for (uint32_t i = 0; i < from->ncounters && !rc; i++)
		rc = timeline_counter(to, &from->counters[i]);
	if (!rc)
		*out = TAKE(to);
	return rc;
}
