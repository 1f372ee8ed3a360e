#include "profile/timeline.h"

#include "profile/gzip.h"
#include "timeline_fields.h"
#include "wire.h"

#include <string.h>

struct number {
	uint32_t field;
	uint64_t value;
};

static void
put_row(struct buf *out, uint32_t field, const struct number *n, size_t count,
        uint32_t name_field, const char *name)
{
	size_t place = wire_open(out, field);

	for (size_t i = 0; i < count; i++)
		wire_put_number(out, n[i].field, n[i].value);
	if (name && *name)
		wire_put_bytes(out, name_field, name,
		               strnlen(name, TIMELINE_NAME_MAX - 1));
	wire_close(out, place);
}

/* TIMELINE_UNSEEN becomes 0, which is not written. */
static void
put_thread(struct buf *out, const struct timeline_thread *t)
{
	const struct number n[] = {{THREAD_PID, t->pid},
	                           {THREAD_TID, t->tid},
	                           {THREAD_STARTED, t->started_us + 1},
	                           {THREAD_ENDED, t->ended_us + 1}};

	put_row(out, TIMELINE_FIELD_THREAD, n, ARRAY_LEN(n), THREAD_NAME,
	        t->name);
}

static void
put_event(struct buf *out, const struct timeline_event *e)
{
	const struct number n[] = {{EVENT_TIME, e->time_us},
	                           {EVENT_KIND, e->kind},
	                           {EVENT_PID, e->pid},
	                           {EVENT_TID, e->tid},
	                           {EVENT_VALUE, e->value}};

	put_row(out, TIMELINE_FIELD_EVENT, n, ARRAY_LEN(n), EVENT_NAME,
	        e->name);
}

static void
put_counter(struct buf *out, const struct timeline_counter *c)
{
	const struct number n[] = {{COUNTER_TIME, c->time_us},
	                           {COUNTER_PID, c->pid},
	                           {COUNTER_RSS, c->rss_bytes},
	                           {COUNTER_CPU, c->cpu_us}};

	put_row(out, TIMELINE_FIELD_COUNTER, n, ARRAY_LEN(n), 0, NULL);
}

static uint64_t
zigzag(uint64_t delta)
{
	return delta << 1 ^ -(delta >> 63);
}

static uint64_t
cell(const struct timeline *t, uint32_t row, unsigned column)
{
	static const struct timeline_sample none;
	const struct timeline_sample *s = &t->samples[row];
	const struct timeline_sample *last = row ? s - 1 : &none;

	switch (column) {
	case COLUMN_TIME:
		return s->time_us - last->time_us;
	case COLUMN_THREAD:
		return s->thread;
	case COLUMN_SAMPLE:
		return s->sample;
	case COLUMN_WEIGHT:
		return zigzag(s->weight_ns - last->weight_ns);
	default:
		return s->kind;
	}
}

static void
put_column(struct buf *out, const struct timeline *t, unsigned column)
{
	size_t place = wire_open(out, TIMELINE_COLUMN_FIRST + column);

	for (uint32_t i = 0; i < t->nsamples; i++)
		wire_put_varint(out, cell(t, i, column));
	wire_close(out, place);
}

int
timeline_encode(const struct timeline *t, struct buf *out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(TIMELINE_MAX_BYTES);

	wire_put_number(&raw, TIMELINE_FIELD_VERSION, TIMELINE_VERSION);
	wire_put_number(&raw, TIMELINE_FIELD_START, (uint64_t)t->start_ns);
	wire_put_number(&raw, TIMELINE_FIELD_DURATION, t->duration_us);
	wire_put_number(&raw, TIMELINE_FIELD_PERIOD, t->period_ns);
	wire_put_number(&raw, TIMELINE_FIELD_CPUS, t->cpus);
	for (uint32_t i = 0; i < t->nthreads; i++)
		put_thread(&raw, &t->threads[i]);
	for (uint32_t i = 0; i < t->nevents; i++)
		put_event(&raw, &t->events[i]);
	for (uint32_t i = 0; i < t->ncounters; i++)
		put_counter(&raw, &t->counters[i]);
	for (unsigned i = 0; i < COLUMNS; i++)
		put_column(&raw, t, i);
	if (buf_err(&raw))
		return out->err = buf_err(&raw);
	return gzip_deflate(raw.p, raw.len, out);
}
