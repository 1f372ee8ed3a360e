#include "base/json_out.h"
#include "firefox_document.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void
markers_done(struct markers *m)
{
	free(m->rows);
}

/* --- threads -------------------------------------------------------------- */

static void
put_time_or_null(struct buf *b, const char *key, uint64_t us)
{
	if (us == TIMELINE_UNSEEN)
		json_put_null(b, key);
	else
		json_put_real(b, key, (double)us / 1e3);
}

static void
put_thread_head(struct document *d, const struct timeline_thread *t,
                const char *process)
{
	struct buf *b = d->x.out;
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", t->pid);
	json_put_text(b, "processType", "default");
	json_put_real(b, "processStartupTime",
	              t->started_us == TIMELINE_UNSEEN
	                      ? 0
	                      : (double)t->started_us / 1e3);
	put_time_or_null(b, "processShutdownTime", t->ended_us);
	json_put_real(b, "registerTime",
	              t->started_us == TIMELINE_UNSEEN
	                      ? 0
	                      : (double)t->started_us / 1e3);
	put_time_or_null(b, "unregisterTime", t->ended_us);
	json_open(b, "pausedRanges", '[');
	json_close(b, ']');
	json_put_text(b, "name", *t->name ? t->name : process);
	json_put_text(b, "processName", process);
	json_put_bool(b, "isMainThread", t->pid == t->tid);
	json_put_bool(b, "showMarkersInTimeline", t->pid == t->tid);
	json_put_text(b, "pid", pid);
	json_put_int(b, "tid", t->tid);
}

static int
put_thread(struct document *d, const struct timeline_thread *t,
           const char *process, const struct fx_sample *s, uint32_t n,
           const struct markers *m)
{
	int r;

	json_open(d->x.out, NULL, '{');
	put_thread_head(d, t, process);
	r = fx_thread(&d->x, s, n, d->t != NULL);
	if (!r)
		r = fx_put_markers(d, m);
	json_close(d->x.out, '}');
	return r ? r : buf_err(d->x.out);
}

static int
by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid)
	               ?: (x->thread > y->thread) - (x->thread < y->thread);
}

static struct process *
process_of(const struct document *d, uint32_t pid)
{
	uint32_t low = 0, high = d->nprocesses;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (d->processes[mid].pid == pid)
			return &d->processes[mid];
		if (d->processes[mid].pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* The thread that bears the pid is the first, else the first seen. */
static void
find_processes(struct document *d)
{
	const struct timeline *t = d->t;
	struct process *p = d->processes;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nthreads; i++)
		p[i] = (struct process){t->threads[i].pid,
		                        i,
		                        {FX_NONE, FX_NONE},
		                        {FX_NONE, FX_NONE}};
	qsort(p, t->nthreads, sizeof(*p), by_pid);
	for (uint32_t i = 0; i < t->nthreads; i++) {
		uint32_t pid = p[i].pid;

		if (!n || p[n - 1].pid != pid)
			p[n++] = p[i];
		else if (t->threads[p[i].thread].tid == pid &&
		         t->threads[p[n - 1].thread].tid != pid)
			p[n - 1].thread = p[i].thread;
	}
	d->nprocesses = n;
}

static void
chain(struct chain *c, uint32_t *next, uint32_t row)
{
	next[row] = FX_NONE;
	if (c->last == FX_NONE)
		c->first = row;
	else
		next[c->last] = row;
	c->last = row;
}

/* Events of no process are told with the first thread's. */
static int
sort_by_process(struct document *d)
{
	const struct timeline *t = d->t;
	struct process *p;

	d->processes = calloc(t->nthreads, sizeof(*d->processes));
	d->next_event = calloc((size_t)t->nevents + 1, sizeof(uint32_t));
	d->next_counter = calloc((size_t)t->ncounters + 1, sizeof(uint32_t));
	if (!d->processes || !d->next_event || !d->next_counter)
		return -ENOMEM;
	find_processes(d);
	for (uint32_t i = 0; i < t->nevents; i++) {
		p = process_of(d, t->events[i].pid ?: t->threads[0].pid);
		if (p)
			chain(&p->events, d->next_event, i);
	}
	for (uint32_t i = 0; i < t->ncounters; i++) {
		p = process_of(d, t->counters[i].pid);
		if (p)
			chain(&p->counters, d->next_counter, i);
	}
	return 0;
}

static const char *
process_name(const struct document *d, uint32_t pid)
{
	const struct process *p = process_of(d, pid);
	const char *name = p ? d->t->threads[p->thread].name : "";

	return *name ? name : d->meta->process;
}

/* Events of a process stand in its first thread. */
static void
choose_markers(const struct document *d, uint32_t thread, struct markers *m)
{
	const struct process *p = process_of(d, d->t->threads[thread].pid);

	m->n = 0;
	if (!p || p->thread != thread)
		return;
	for (uint32_t i = p->events.first; i != FX_NONE; i = d->next_event[i])
		m->rows[m->n++] = &d->t->events[i];
}

/* Samples sorted by thread: those of i are from first[i] to first[i + 1]. */
struct by_thread {
	struct fx_sample *rows;
	uint32_t *first;
};

static void
by_thread_done(struct by_thread *b)
{
	free(b->rows);
	free(b->first);
}

static int
sort_by_thread(const struct document *d, struct by_thread *b)
{
	const struct timeline *t = d->t;
	CLEANUP_FREE uint32_t *at = NULL;

	b->rows = calloc((size_t)t->nsamples + 1, sizeof(*b->rows));
	b->first = calloc((size_t)t->nthreads + 1, sizeof(*b->first));
	at = calloc((size_t)t->nthreads + 1, sizeof(*at));
	if (!b->rows || !b->first || !at)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nsamples; i++)
		b->first[t->samples[i].thread + 1]++;
	for (uint32_t i = 0; i < t->nthreads; i++)
		at[i + 1] = b->first[i + 1] += b->first[i];
	for (uint32_t i = 0; i < t->nsamples; i++) {
		const struct timeline_sample *s = &t->samples[i];
		bool blocked = s->kind == TIMELINE_BLOCKED;

		b->rows[at[s->thread]++] = (struct fx_sample){
			.time_ms = (double)s->time_us / 1e3,
			.weight = (double)s->weight_ns / 1e6,
			.cpu_ns = blocked ? 0 : s->weight_ns,
			.row = s->sample,
			.blocked = blocked,
		};
	}
	return 0;
}

static int
put_threads_of(struct document *d)
{
	CLEANUP(by_thread_done) struct by_thread b = {0};
	CLEANUP(markers_done) struct markers m = {0};
	int r = sort_by_thread(d, &b);

	m.rows = calloc((size_t)d->t->nevents + 1, sizeof(*m.rows));
	if (!m.rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->t->nthreads && !r; i++) {
		const struct timeline_thread *t = &d->t->threads[i];

		choose_markers(d, i, &m);
		r = put_thread(d, t, process_name(d, t->pid),
		               b.rows + b.first[i], b.first[i + 1] - b.first[i],
		               &m);
	}
	return r;
}

/* --- without a timeline --------------------------------------------------- */

static double
weight_of(const struct document *d, uint32_t row)
{
	const struct profile *p = d->x.p;
	int64_t v = p->values[(size_t)row * p->ntypes + d->type];

	return (double)v * d->scale;
}

/* One after the other, as long as each weighs in the whole. */
static uint32_t
lay_out(const struct document *d, struct fx_sample *rows)
{
	const struct profile *p = d->x.p;
	double all = 0, seen = 0, length = (double)d->meta->duration_ms;
	uint32_t n = 0;

	if (p->duration_ns > 0)
		length = (double)p->duration_ns / 1e6;
	for (uint32_t i = 0; i < p->nsamples; i++)
		all += weight_of(d, i) > 0 ? weight_of(d, i) : 0;
	if (!(length > 0))
		length = p->nsamples;
	for (uint32_t i = 0; i < p->nsamples; i++) {
		double w = weight_of(d, i);

		if (!(w > 0))
			continue;
		rows[n++] = (struct fx_sample){
			.time_ms = seen / all * length, .weight = w, .row = i};
		seen += w;
	}
	return n;
}

static int
put_only_thread(struct document *d)
{
	CLEANUP_FREE struct fx_sample *rows =
		calloc((size_t)d->x.p->nsamples + 1, sizeof(*rows));
	const struct timeline_thread t = {
		.pid = 1,
		.tid = 1,
		.started_us = TIMELINE_UNSEEN,
		.ended_us = TIMELINE_UNSEEN,
	};
	const struct markers none = {0};

	if (!rows)
		return -ENOMEM;
	return put_thread(d, &t, d->meta->process, rows, lay_out(d, rows),
	                  &none);
}

/* --- all ------------------------------------------------------------------ */

static void
put_strings(struct document *d)
{
	struct buf *b = d->x.out;

	json_open(b, "shared", '{');
	json_open(b, "stringArray", '[');
	for (uint32_t i = 0; i < strings_count(d->x.strings); i++)
		json_put_text(b, NULL, strings_get(d->x.strings, i, NULL));
	json_close(b, ']');
	json_close(b, '}');
}

static void
choose_weight(struct document *d)
{
	const struct profile *p = d->x.p;
	const char *unit =
		strings_get(p->strings, p->types[d->type].unit, NULL);

	d->x.weight_type = "samples";
	d->scale = 1;
	if (d->t || !strcmp(unit, "nanoseconds")) {
		d->x.weight_type = "tracing-ms";
		d->scale = 1e-6;
	} else if (!strcmp(unit, "bytes")) {
		d->x.weight_type = "bytes";
	}
}

static int
put_document(struct document *d)
{
	struct buf *b = d->x.out;
	int r;

	json_open(b, NULL, '{');
	fx_put_meta(d);
	fx_put_libs(d);
	json_open(b, "pages", '[');
	json_close(b, ']');
	fx_put_counters(d);
	json_open(b, "threads", '[');
	r = d->t ? put_threads_of(d) : put_only_thread(d);
	json_close(b, ']');
	put_strings(d);
	json_close(b, '}');
	return r;
}

static void
document_done(struct document *d)
{
	fx_done(&d->x);
	free(d->processes);
	free(d->next_event);
	free(d->next_counter);
}

int
firefox_write(const struct profile *p, uint32_t type,
              const struct timeline *timeline, const struct firefox_meta *meta,
              struct buf *out)
{
	CLEANUP(document_done)
	struct document d = {.meta = meta, .t = timeline, .type = type};
	int r;

	if (timeline && (!timeline->nthreads || timeline_fits(timeline, p)))
		d.t = NULL;
	r = fx_init(&d.x, p, out);
	if (!r && d.t)
		r = sort_by_process(&d);
	if (!r) {
		choose_weight(&d);
		r = put_document(&d);
	}
	if (r && !buf_err(out))
		out->err = r;
	return buf_err(out);
}
