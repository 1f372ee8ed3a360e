#include "profile/timeline.h"

#include "profile/gzip.h"
#include "profile/model/build.h"
#include "wire.h"

#include <errno.h>
#include <string.h>

/* Field numbers: see include/profile/timeline.h. */
enum {
	TIMELINE_FIELD_VERSION = 1,
	TIMELINE_FIELD_START,
	TIMELINE_FIELD_DURATION,
	TIMELINE_FIELD_PERIOD,
	TIMELINE_FIELD_THREAD,
	TIMELINE_FIELD_EVENT,
	TIMELINE_FIELD_COUNTER,
	TIMELINE_COLUMN_FIRST, /* columns of the samples, in this order */
	TIMELINE_FIELD_CPUS = 13,
};

/* Columns of the samples. */
enum {
	COLUMN_TIME,
	COLUMN_THREAD,
	COLUMN_SAMPLE,
	COLUMN_WEIGHT,
	COLUMN_KIND,
	COLUMNS
};

enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME, THREAD_STARTED, THREAD_ENDED };

enum {
	EVENT_TIME = 1,
	EVENT_KIND,
	EVENT_PID,
	EVENT_TID,
	EVENT_VALUE,
	EVENT_NAME,
};

enum { COUNTER_TIME = 1, COUNTER_PID, COUNTER_RSS, COUNTER_CPU };

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

int
timeline_thread(struct timeline *t, const struct timeline_thread *row)
{
	int rc = ROWS_ONE_MORE(t, threads, TIMELINE_MAX_THREADS);

	if (!rc)
		t->threads[t->nthreads++] = *row;
	return rc;
}

int
timeline_sample(struct timeline *t, const struct timeline_sample *row)
{
	int rc = ROWS_ONE_MORE(t, samples, TIMELINE_MAX_SAMPLES);

	if (!rc)
		t->samples[t->nsamples++] = *row;
	return rc;
}

int
timeline_event(struct timeline *t, const struct timeline_event *row)
{
	int rc = ROWS_ONE_MORE(t, events, TIMELINE_MAX_EVENTS);

	if (!rc)
		t->events[t->nevents++] = *row;
	return rc;
}

int
timeline_counter(struct timeline *t, const struct timeline_counter *row)
{
	int rc = ROWS_ONE_MORE(t, counters, TIMELINE_MAX_COUNTERS);

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

/* Writes times plus one: TIMELINE_UNSEEN becomes 0, which is left out. */
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

struct decode {
	struct timeline *t;
	uint64_t version;
	struct wire columns[COLUMNS]; /* the last field of each column of the
	                                 samples */
};

/* --- threads, events and counters ----------------------------------------- */

static int
take_pid(uint64_t v, uint32_t *out)
{
	if (v > INT32_MAX)
		return -EBADMSG;
	*out = (uint32_t)v;
	return 0;
}

static int
take_time(uint64_t v, uint64_t *out)
{
	if (v >= TIMELINE_MAX_US)
		return -EBADMSG;
	*out = v;
	return 0;
}

static int
take_name(struct wire w, char out[static TIMELINE_NAME_MAX])
{
	size_t n = (size_t)(w.end - w.p);

	if (n >= TIMELINE_NAME_MAX)
		return -EBADMSG;
	memcpy(out, w.p, n);
	out[n] = '\0';
	return 0;
}

static int
thread_field(void *row, const struct wire_field *f)
{
	struct timeline_thread *t = row;

	switch (f->key) {
	case WIRE_KEY(THREAD_PID, WIRE_VARINT):
		return take_pid(f->value, &t->pid);
	case WIRE_KEY(THREAD_TID, WIRE_VARINT):
		return take_pid(f->value, &t->tid);
	case WIRE_KEY(THREAD_NAME, WIRE_BYTES):
		return take_name(f->bytes, t->name);
	case WIRE_KEY(THREAD_STARTED, WIRE_VARINT):
		return f->value ? take_time(f->value - 1, &t->started_us) : 0;
	case WIRE_KEY(THREAD_ENDED, WIRE_VARINT):
		return f->value ? take_time(f->value - 1, &t->ended_us) : 0;
	}
	return 0;
}

static int
event_field(void *row, const struct wire_field *f)
{
	struct timeline_event *e = row;

	switch (f->key) {
	case WIRE_KEY(EVENT_TIME, WIRE_VARINT):
		return take_time(f->value, &e->time_us);
	case WIRE_KEY(EVENT_KIND, WIRE_VARINT):
		if (f->value >= TIMELINE_EVENT_KINDS)
			return -EBADMSG;
		e->kind = (uint32_t)f->value;
		return 0;
	case WIRE_KEY(EVENT_PID, WIRE_VARINT):
		return take_pid(f->value, &e->pid);
	case WIRE_KEY(EVENT_TID, WIRE_VARINT):
		return take_pid(f->value, &e->tid);
	case WIRE_KEY(EVENT_VALUE, WIRE_VARINT):
		e->value = f->value;
		return 0;
	case WIRE_KEY(EVENT_NAME, WIRE_BYTES):
		return take_name(f->bytes, e->name);
	}
	return 0;
}

static int
counter_field(void *row, const struct wire_field *f)
{
	struct timeline_counter *c = row;

	switch (f->key) {
	case WIRE_KEY(COUNTER_TIME, WIRE_VARINT):
		return take_time(f->value, &c->time_us);
	case WIRE_KEY(COUNTER_PID, WIRE_VARINT):
		return take_pid(f->value, &c->pid);
	case WIRE_KEY(COUNTER_RSS, WIRE_VARINT):
		c->rss_bytes = f->value;
		return 0;
	case WIRE_KEY(COUNTER_CPU, WIRE_VARINT):
		c->cpu_us = f->value;
		return 0;
	}
	return 0;
}

static int
fill(struct wire w, int (*field)(void *, const struct wire_field *), void *row)
{
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&w, &f)) > 0) {
		rc = field(row, &f);
		if (rc)
			return rc;
	}
	return rc;
}

static int
add_thread(struct timeline *t, struct wire w)
{
	struct timeline_thread row = {.started_us = TIMELINE_UNSEEN,
	                              .ended_us = TIMELINE_UNSEEN};
	int rc = fill(w, thread_field, &row);

	return rc ? rc : timeline_thread(t, &row);
}

static int
add_event(struct timeline *t, struct wire w)
{
	struct timeline_event row = {0};
	int rc = fill(w, event_field, &row);

	if (!rc && t->nevents &&
	    row.time_us < t->events[t->nevents - 1].time_us)
		rc = -EBADMSG;
	return rc ? rc : timeline_event(t, &row);
}

static int
add_counter(struct timeline *t, struct wire w)
{
	struct timeline_counter row = {0};
	int rc = fill(w, counter_field, &row);

	if (!rc && t->ncounters &&
	    row.time_us < t->counters[t->ncounters - 1].time_us)
		rc = -EBADMSG;
	return rc ? rc : timeline_counter(t, &row);
}

/* --- samples -------------------------------------------------------------- */

static uint64_t
unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

static int
read_row(struct decode *d, uint64_t cells[static COLUMNS])
{
	int rc = 0;

	for (unsigned i = 0; i < COLUMNS && !rc; i++)
		rc = wire_varint(&d->columns[i], &cells[i]);
	return rc;
}

static int
add_sample(struct decode *d, struct timeline_sample *row)
{
	uint64_t cells[COLUMNS], time;
	int rc = read_row(d, cells);

	if (rc)
		return rc;
	if (cells[COLUMN_TIME] >= TIMELINE_MAX_US ||
	    cells[COLUMN_THREAD] >= d->t->nthreads ||
	    cells[COLUMN_SAMPLE] >= PROFILE_MAX_ROWS ||
	    cells[COLUMN_KIND] >= TIMELINE_SAMPLE_KINDS)
		return -EBADMSG;
	time = row->time_us + cells[COLUMN_TIME];
	rc = take_time(time, &row->time_us);
	row->thread = (uint32_t)cells[COLUMN_THREAD];
	row->sample = (uint32_t)cells[COLUMN_SAMPLE];
	row->weight_ns += unzigzag(cells[COLUMN_WEIGHT]);
	row->kind = (uint32_t)cells[COLUMN_KIND];
	return rc ? rc : timeline_sample(d->t, row);
}

/* Reads the samples; called after all threads were read, wherever they are in
 * the file. */
static int
add_samples(struct decode *d)
{
	struct timeline_sample row = {0};
	int rc = 0;

	while (!rc && d->columns[0].p < d->columns[0].end)
		rc = add_sample(d, &row);
	for (unsigned i = 0; i < COLUMNS && !rc; i++)
		rc = d->columns[i].p < d->columns[i].end ? -EBADMSG : 0;
	return rc;
}

/* --- the file ------------------------------------------------------------- */

static int
take_field(struct decode *d, const struct wire_field *f)
{
	uint32_t column = (f->key >> 3) - TIMELINE_COLUMN_FIRST;

	switch (f->key) {
	case WIRE_KEY(TIMELINE_FIELD_VERSION, WIRE_VARINT):
		d->version = f->value;
		return 0;
	case WIRE_KEY(TIMELINE_FIELD_START, WIRE_VARINT):
		d->t->start_ns = (int64_t)f->value;
		return 0;
	case WIRE_KEY(TIMELINE_FIELD_DURATION, WIRE_VARINT):
		return take_time(f->value, &d->t->duration_us);
	case WIRE_KEY(TIMELINE_FIELD_PERIOD, WIRE_VARINT):
		d->t->period_ns = f->value;
		return 0;
	case WIRE_KEY(TIMELINE_FIELD_CPUS, WIRE_VARINT):
		d->t->cpus = f->value < TIMELINE_MAX_CPUS ? (uint32_t)f->value
		                                          : 0;
		return 0;
	case WIRE_KEY(TIMELINE_FIELD_THREAD, WIRE_BYTES):
		return add_thread(d->t, f->bytes);
	case WIRE_KEY(TIMELINE_FIELD_EVENT, WIRE_BYTES):
		return add_event(d->t, f->bytes);
	case WIRE_KEY(TIMELINE_FIELD_COUNTER, WIRE_BYTES):
		return add_counter(d->t, f->bytes);
	}
	if (column < COLUMNS && (f->key & 7) == WIRE_BYTES)
		d->columns[column] = f->bytes;
	return 0;
}

static int
read_file(struct decode *d, struct wire w)
{
	struct wire_field f;
	int rc;

	while ((rc = wire_next(&w, &f)) > 0) {
		rc = take_field(d, &f);
		if (rc)
			return rc;
	}
	if (!rc && d->version != TIMELINE_VERSION)
		rc = -EPROTONOSUPPORT;
	return rc ? rc : add_samples(d);
}

int
timeline_decode(const void *p, size_t n, size_t max_bytes,
                struct timeline **out)
{
	CLEANUP_BUF struct buf raw = BUF_INIT(max_bytes);
	CLEANUP_TIMELINE struct timeline *t = timeline_new();
	struct decode d = {.t = t};
	int rc = gzip_is(p, n) ? gzip_inflate(p, n, &raw) : -EBADMSG;

	if (!t)
		return -ENOMEM;
	if (!rc)
		rc = read_file(&d, (struct wire){(uint8_t *)raw.p,
		                                 (uint8_t *)raw.p + raw.len});
	if (!rc)
		*out = TAKE(t);
	return rc;
}
