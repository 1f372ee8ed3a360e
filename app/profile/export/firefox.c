#include "firefox.h"

#include "base/json_out.h"
#include "base/path.h"
#include "base/version.h"
#include "exports.h"
#include "firefox_thread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FX_MARKER "StokerEvent" /* the only row of meta.markerSchema */

/* Rows of a process as a list: each row has the index of the next, and FX_NONE
 * ends it. */
struct chain {
	uint32_t first, last;
};

struct process {
	uint32_t pid, thread; /* index of its first thread */
	struct chain events, counters;
};

/* The document, with values that its threads share. */
struct document {
	struct fx x;
	const struct firefox_meta *meta;
	const struct timeline *t;  /* or NULL */
	uint32_t type;             /* value type used as weight */
	double scale;              /* converts a value to a weight */
	struct process *processes; /* sorted by pid */
	uint32_t nprocesses;
	uint32_t *next_event, *next_counter;
};

/* Markers of one thread, written in one pass for each column. */
struct markers {
	const struct timeline_event **rows;
	uint32_t n;
};

#define GECKO_VERSION 29 /* version of the raw format, which readers ignore */
#define UUID_BYTES    16

/* --- meta ----------------------------------------------------------------- */

static void
put_categories(struct buf *b)
{
	static const char *const rows[][2] = {
		{"Other", "grey"},
		{"User", "yellow"},
		{"Kernel", "orange"},
		{"Blocked", "blue"},
	};

	json_open(b, "categories", '[');
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_open(b, NULL, '{');
		json_put_text(b, "name", rows[i][0]);
		json_put_text(b, "color", rows[i][1]);
		json_open(b, "subcategories", '[');
		json_put_text(b, NULL, "Other");
		json_close(b, ']');
		json_close(b, '}');
	}
	json_close(b, ']');
}

static void
put_marker_schema(struct buf *b)
{
	buf_puts(b, ",\"markerSchema\":[{\"name\":\"" FX_MARKER "\","
	            "\"chartLabel\":\"{marker.data.text}\","
	            "\"tooltipLabel\":\"{marker.name}\","
	            "\"tableLabel\":\"{marker.data.text}\","
	            "\"display\":[\"marker-chart\",\"marker-table\","
	            "\"timeline-overview\"],"
	            "\"fields\":[{\"key\":\"text\",\"label\":\"Details\","
	            "\"format\":\"string\"}]}]");
}

/* Returns the milliseconds between samples; 1 if unknown. */
static double
interval(const struct document *d)
{
	const struct profile *p = d->x.p;
	const char *unit = profile_text(p, p->period_type.unit);

	if (d->t && d->t->period_ns)
		return (double)d->t->period_ns / 1e6;
	return p->period > 0 && !strcmp(unit, "nanoseconds")
	               ? (double)p->period / 1e6
	               : 1;
}

static double
start_ms(const struct document *d)
{
	return d->t ? (double)d->t->start_ns / 1e6 : (double)d->meta->time_ms;
}

static void
put_meta(const struct document *d)
{
	struct buf *b = d->x.out;
	char from[VERSION_MAX];

	json_open(b, "meta", '{');
	json_put_real(b, "interval", interval(d));
	json_put_real(b, "startTime", start_ms(d));
	json_put_int(b, "processType", 0);
	json_put_text(b, "product", d->meta->product);
	snprintf(from, sizeof(from), "Stoker %s", stoker_version);
	json_put_text(b, "importedFrom", from);
	if (*d->meta->oscpu)
		json_put_text(b, "oscpu", d->meta->oscpu);
	if (d->meta->cpus)
		json_put_int(b, "logicalCPUs", d->meta->cpus);
	json_put_int(b, "stackwalk", 1);
	json_put_bool(b, "debug", false);
	json_put_int(b, "version", GECKO_VERSION);
	json_put_int(b, "preprocessedProfileVersion", FIREFOX_VERSION);
	json_put_bool(b, "symbolicated", true);
	json_put_bool(b, "usesOnlyOneStackType", true);
	json_put_bool(b, "doesNotUseFrameImplementation", true);
	json_put_bool(b, "sourceCodeIsNotOnSearchfox", true);
	buf_puts(b, ",\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],"
	            "\"name\":[]},\"sampleUnits\":{\"time\":\"ms\","
	            "\"eventDelay\":\"ms\",\"threadCPUDelta\":\"µs\"}");
	put_categories(b);
	put_marker_schema(b);
	json_close(b, '}');
}

/* --- libs ----------------------------------------------------------------- */

/* Writes Breakpad's id: the first bytes of the build-id as a GUID, whose first
 * three parts are little-endian, and an age of 0. */
static void
breakpad_id(const char *build_id, size_t n, char out[static 34])
{
	static const uint8_t order[UUID_BYTES] = {3, 2, 1,  0,  5,  4,  7,  6,
	                                          8, 9, 10, 11, 12, 13, 14, 15};

	memset(out, '0', 33);
	out[33] = '\0';
	for (size_t i = 0; i < UUID_BYTES; i++)
		for (size_t k = 0; k < 2; k++) {
			size_t from = 2 * order[i] + k;
			char c = from < n ? build_id[from] : '0';

			out[2 * i + k] = c >= 'a' && c <= 'f'
			                         ? (char)(c - 'a' + 'A')
			                         : c;
		}
}

static void
put_lib(const struct profile *p, const struct mapping *m, struct buf *b)
{
	const char *path = profile_text(p, m->file);
	const char *id;
	char breakpad[34];
	size_t n;

	id = strings_get(p->strings, m->build_id, &n);
	breakpad_id(id, n, breakpad);
	json_open(b, NULL, '{');
	json_put_text(b, "name", path_name(path));
	json_put_text(b, "path", path);
	json_put_text(b, "debugName", path_name(path));
	json_put_text(b, "debugPath", path);
	json_put_text(b, "breakpadId", breakpad);
	if (n)
		json_put_text(b, "codeId", id);
	else
		json_put_null(b, "codeId");
	json_put_null(b, "arch");
	json_close(b, '}');
}

static void
put_libs(const struct document *d)
{
	const struct profile *p = d->x.p;

	json_open(d->x.out, "libs", '[');
	for (uint32_t i = 0; i < p->nmappings; i++)
		put_lib(p, &p->mappings[i], d->x.out);
	json_close(d->x.out, ']');
}

/* --- markers -------------------------------------------------------------- */

static const struct {
	const char *name, *text; /* text is a format with one number */
} events[TIMELINE_EVENT_KINDS] = {
	[TIMELINE_FORK] = {"Fork", "forked by process %llu"},
	[TIMELINE_EXEC] = {"Exec", ""},
	[TIMELINE_EXIT] = {"Exit", "process ended"},
	[TIMELINE_LOST] = {"Samples lost", "%llu records"},
	[TIMELINE_THROTTLED] = {"Throttled", "the kernel paused sampling"},
	[TIMELINE_LOWERED] = {"Rate lowered", "to a period of %llu ns"},
	[TIMELINE_FULL] = {"Recording full", "samples end here"},
};

static void
put_marker_data(struct buf *b, const struct timeline_event *e)
{
	char text[TIMELINE_NAME_MAX + 64];

	if (e->kind == TIMELINE_EXEC)
		snprintf(text, sizeof(text), "%.*s", TIMELINE_NAME_MAX,
		         e->name);
	else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(text, sizeof(text), events[e->kind].text,
		         (unsigned long long)e->value);
#pragma GCC diagnostic pop
	json_open(b, NULL, '{');
	json_put_text(b, "type", FX_MARKER);
	json_put_text(b, "text", text);
	json_close(b, '}');
}

static int
put_markers(struct document *d, const struct markers *m)
{
	struct buf *b = d->x.out;
	int r = 0;

	json_open(b, "markers", '{');
	json_put_int(b, "length", m->n);
	json_open(b, "name", '[');
	for (uint32_t i = 0; i < m->n && !r; i++) {
		const char *name = events[m->rows[i]->kind].name;
		uint32_t id = 0;

		r = fx_string(&d->x, name, strlen(name), &id);
		json_put_int(b, NULL, id);
	}
	json_close(b, ']');
	json_open(b, "data", '[');
	for (uint32_t i = 0; i < m->n; i++)
		put_marker_data(b, m->rows[i]);
	json_close(b, ']');
	json_open(b, "startTime", '[');
	for (uint32_t i = 0; i < m->n; i++)
		json_put_real(b, NULL, (double)m->rows[i]->time_us / 1e3);
	json_close(b, ']');
	json_open(b, "endTime", '[');
	for (uint32_t i = 0; i < m->n; i++)
		json_put_null(b, NULL);
	json_close(b, ']');
	json_open(b, "phase", '[');
	for (uint32_t i = 0; i < m->n; i++)
		json_put_int(b, NULL, 0); /* phase 0: an instant */
	json_close(b, ']');
	json_open(b, "category", '[');
	for (uint32_t i = 0; i < m->n; i++)
		json_put_int(b, NULL, FX_OTHER);
	json_close(b, ']');
	json_close(b, '}');
	return r;
}

/* --- counters ------------------------------------------------------------- */

enum counted { RSS, CPU };

static double
counted(const struct timeline_counter *c, enum counted what)
{
	return what == RSS ? (double)c->rss_bytes : (double)c->cpu_us;
}

/* Writes counts as differences from the one before; the first is from 0. */
static void
put_counter_samples(struct document *d, uint32_t from, enum counted what)
{
	const struct timeline *t = d->t;
	struct buf *b = d->x.out;
	double last = what == RSS ? 0 : counted(&t->counters[from], what);
	uint32_t n = 0;

	json_open(b, "samples", '{');
	json_open(b, "time", '[');
	for (uint32_t i = from; i != FX_NONE; i = d->next_counter[i], n++)
		json_put_real(b, NULL, (double)t->counters[i].time_us / 1e3);
	json_close(b, ']');
	json_open(b, "count", '[');
	for (uint32_t i = from; i != FX_NONE; i = d->next_counter[i]) {
		json_put_real(b, NULL, counted(&t->counters[i], what) - last);
		last = counted(&t->counters[i], what);
	}
	json_close(b, ']');
	json_put_int(b, "length", n);
	json_close(b, '}');
}

static void
put_counter(struct document *d, const struct process *p, enum counted what)
{
	static const char *const names[][3] = {
		[RSS] = {"RSS", "Memory", "Resident memory"},
		[CPU] = {"processCPU", "CPU", "CPU time of the process, µs"},
	};
	struct buf *b = d->x.out;
	char text[16];

	snprintf(text, sizeof(text), "%u", p->pid);
	json_open(b, NULL, '{');
	json_put_text(b, "name", names[what][0]);
	json_put_text(b, "category", names[what][1]);
	json_put_text(b, "description", names[what][2]);
	json_put_text(b, "pid", text);
	json_put_int(b, "mainThreadIndex", p->thread);
	put_counter_samples(d, p->counters.first, what);
	json_close(b, '}');
}

static void
put_counters(struct document *d)
{
	json_open(d->x.out, "counters", '[');
	for (uint32_t i = 0; i < d->nprocesses; i++) {
		const struct process *p = &d->processes[i];

		if (p->counters.first == FX_NONE)
			continue;
		put_counter(d, p, RSS);
		put_counter(d, p, CPU);
	}
	json_close(d->x.out, ']');
}

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
		r = put_markers(d, m);
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

/* Finds the processes, and the first thread of each: the one whose tid is the
 * pid, or else the first seen. */
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

/* Sorts events and counters by process. Events without a process go to the
 * first thread of all. */
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

/* Chooses the events to show in a thread: those of its process, if it is the
 * first thread. */
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

/* Samples sorted by thread: those of thread i begin at first[i] and end before
 * first[i + 1]. */
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

/* Places the rows one after the other, each for its share of the duration. */
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

/* --- the document --------------------------------------------------------- */

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
	const char *unit = profile_text(p, p->types[d->type].unit);

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
	put_meta(d);
	put_libs(d);
	json_open(b, "pages", '[');
	json_close(b, ']');
	put_counters(d);
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

int
export_firefox(const struct tree *t, const struct export_meta *meta,
               struct buf *out)
{
	const struct firefox_meta m = {
		.product = meta->title,
		.process = meta->service,
		.oscpu = "Linux",
		.time_ms = meta->time_ms,
		.duration_ms = meta->duration_ms,
		.cpus = meta->timeline ? (int)meta->timeline->cpus : 0,
	};

	return firefox_write(t->profile, t->type, meta->timeline, &m, out);
}
