/*
 * Reads recordings of Java Flight Recorder, as a JVM and async-profiler write
 * them: samples of the CPU and of the clock, allocations, and waits for locks.
 * The profile has one of these types: the requested one, or else the first that
 * the file has.
 *
 *	jdk.ExecutionSample, jdk.CPUTimeSample            cpu
 *	profiler.WallClockSample                          wall
 *	jdk.ObjectAllocationInNewTLAB, ...OutsideTLAB, ...Sample   alloc
 *	jdk.JavaMonitorEnter                              mutex
 *	jdk.ThreadPark                                    block
 *
 * A recording is read twice, since its events decide the type of the profile.
 * The settings of a chunk say how much time a sample represents.
 *
 * Source: jfr metadata of OpenJDK 17 and 25; flightRecorder.cpp of
 * async-profiler 4.0; pprof/parser.go of grafana/jfr-parser, for the types.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/table.h"
#include "import_build.h"
#include "jfr_chunk.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ASYNC_CPU_NS  (10 * NS_PER_MS) /* intervals of async-profiler, */
#define ASYNC_WALL_NS (50 * NS_PER_MS) /* unless its user sets others */

enum kind {
	EXECUTION,
	CPU_TIME,
	WALL,
	IN_TLAB,
	OUTSIDE_TLAB,
	ALLOCATION,
	MONITOR,
	PARK,
	NATIVE,
	SETTING,
	LOST_SAMPLES,
	LOST_DATA,
	KINDS
};
static const char *const kind_names[KINDS] = {
	"jdk.ExecutionSample",
	"jdk.CPUTimeSample",
	"profiler.WallClockSample",
	"jdk.ObjectAllocationInNewTLAB",
	"jdk.ObjectAllocationOutsideTLAB",
	"jdk.ObjectAllocationSample",
	"jdk.JavaMonitorEnter",
	"jdk.ThreadPark",
	"jdk.NativeMethodSample",
	"jdk.ActiveSetting",
	"jdk.CPUTimeSamplesLost",
	"jdk.DataLoss",
};

/* Types of profile, in the order of preference, and their values. */
enum of { OF_CPU, OF_WALL, OF_ALLOC, OF_MUTEX, OF_BLOCK, OF_COUNT };
static const struct {
	const char *type, *count, *sample, *unit;
} profiles[OF_COUNT] = {
	{"cpu", "samples", "cpu", "nanoseconds"},
	{"wall", "samples", "wall", "nanoseconds"},
	{"alloc", "alloc_samples", "alloc_space", "bytes"},
	{"mutex", "mutex_count", "mutex_duration", "nanoseconds"},
	{"block", "contentions", "delay", "nanoseconds"},
};

/* The sum of the events of a chunk with one stack and thread. */
struct tally {
	uint64_t stack; /* id of the constant */
	uint32_t class; /* of the constant */
	uint32_t thread;
	int64_t values[2];
};

struct reader {
	struct import im;
	struct buf text; /* text of a name */
	uint64_t named;  /* bytes of names that were made */
	struct label thread;
	uint64_t counts[KINDS];
	uint64_t cut, failed; /* stacks that are incomplete; stacks that are
	                         missing */
	uint64_t lost_samples, lost_bytes; /* reported by the recorder */
	double cpu_ns, wall_ns;            /* time of a sample; 0 unknown */
	/* settings of this chunk or an earlier one; 0: none */
	double interval_ns, asked_wall_ns, period_ns;
	char event[32]; /* event of async-profiler */
	bool has[OF_COUNT];
	enum of of; /* the profile that is made */
	int64_t start_ns, end_ns;
	/* of the current chunk */
	struct jfr_chunk chunk;
	uint32_t classes[KINDS]; /* or JFR_NONE */
	struct jfr_value v[JFR_NAMES];
	struct tally *tallies;
	uint32_t ntallies, tally_room;
	struct table tally_table;
	uint64_t key; /* for hashes */
};

bool
input_jfr_looks(const char *p, size_t n)
{
	return n >= 4 && !memcmp(p, "FLR\0", 4);
}

/* --- contents of a recording ---------------------------------------------- */

/* Reads text as a string. */
static void
text_of(struct reader *r, const struct jfr_value *v)
{
	buf_clear(&r->text);
	jfr_text(&r->chunk, v, &r->text);
	r->named += r->text.len;
}

/* Reads a setting such as "10 ms". */
static double
span_of(const char *text)
{
	char *unit;
	double v = strtod(text, &unit);
	int64_t scale = 1;
	const char *ours = import_unit_find(unit + strspn(unit, " "), &scale);

	return v > 0 && (!*unit || (ours && !strcmp(ours, "nanoseconds")))
	               ? v * (double)scale
	               : 0;
}

/* Notes the settings that say how samples were taken. Settings of a JVM belong
 * to a class of events. */
static void
read_setting(struct reader *r, struct jfr_cursor *at)
{
	uint32_t samples = r->classes[EXECUTION];
	char name[32];

	jfr_fields(&r->chunk, r->classes[SETTING], at, r->v);
	text_of(r, &r->v[JFR_name]);
	snprintf(name, sizeof(name), "%s", buf_str(&r->text));
	text_of(r, &r->v[JFR_value]);
	if (!strcmp(name, "event"))
		snprintf(r->event, sizeof(r->event), "%s", buf_str(&r->text));
	if (!strcmp(name, "interval"))
		r->interval_ns = span_of(buf_str(&r->text));
	if (!strcmp(name, "wall"))
		r->asked_wall_ns = span_of(buf_str(&r->text));
	if (!strcmp(name, "period") && samples != JFR_NONE &&
	    r->chunk.classes[samples].id == r->v[JFR_id].n)
		r->period_ns = span_of(buf_str(&r->text));
}

/* Adds up the losses that the recorder reports. */
static void
read_lost(struct reader *r, int kind, struct jfr_cursor *at)
{
	bool samples = kind == LOST_SAMPLES;
	uint64_t *to = samples ? &r->lost_samples : &r->lost_bytes;

	jfr_fields(&r->chunk, r->classes[kind], at, r->v);
	if (__builtin_add_overflow(
		    *to, r->v[samples ? JFR_lostSamples : JFR_amount].n, to))
		*to = UINT64_MAX;
}

static int
count_events(struct reader *r)
{
	const char *at = NULL;
	struct jfr_cursor e;
	uint64_t type;
	int rc;

	while ((rc = jfr_event(&r->chunk, &at, &type, &e)) > 0)
		for (int k = 0; k < KINDS; k++) {
			uint32_t class = r->classes[k];

			if (class == JFR_NONE ||
			    r->chunk.classes[class].id != type)
				continue;
			r->counts[k]++;
			if (k == SETTING)
				read_setting(r, &e);
			if (k > SETTING)
				read_lost(r, k, &e);
		}
	return rc;
}

/* Opens the chunk at p. Sets *size to its bytes. */
static int
open_chunk(struct reader *r, const char *p, const char *end, size_t *size)
{
	int rc;

	jfr_close(&r->chunk);
	rc = jfr_open(&r->chunk, p, (size_t)(end - p));
	for (int k = 0; !rc && k < KINDS; k++)
		r->classes[k] = jfr_class(&r->chunk, kind_names[k]);
	*size = (size_t)(r->chunk.end - p);
	return rc;
}

static void
add_span(struct reader *r)
{
	const struct jfr_chunk *c = &r->chunk;
	int64_t end;

	if (c->start_ns <= 0 || c->duration_ns < 0 ||
	    __builtin_add_overflow(c->start_ns, c->duration_ns, &end))
		return;
	if (!r->start_ns || c->start_ns < r->start_ns)
		r->start_ns = c->start_ns;
	if (end > r->end_ns)
		r->end_ns = end;
}

static bool
is_wall(const struct reader *r)
{
	return !strcmp(r->event, "wall");
}

/* Finds the time that a sample stands for. */
static void
set_periods(struct reader *r)
{
	static const char *const clocks[] = {"cpu", "itimer", "ctimer"};
	double rate = r->im.ask->rate;

	if (!*r->event)
		r->cpu_ns = r->period_ns;
	for (size_t i = 0; i < ARRAY_LEN(clocks); i++)
		if (!strcmp(r->event, clocks[i]))
			r->cpu_ns = r->interval_ns > 0 ? r->interval_ns
			                               : (double)ASYNC_CPU_NS;
	if (!(r->cpu_ns > 0) && rate > 0)
		r->cpu_ns = NS_PER_S / rate;
	r->wall_ns = r->asked_wall_ns > 0               ? r->asked_wall_ns
	             : is_wall(r) && r->interval_ns > 0 ? r->interval_ns
	                                                : (double)ASYNC_WALL_NS;
}

/* Returns the profile to which events of a kind belong, or OF_COUNT. */
static enum of
of_kind(const struct reader *r, int kind)
{
	switch (kind) {
	case EXECUTION:
		return is_wall(r)            ? OF_WALL
		       : r->counts[CPU_TIME] ? OF_COUNT
		                             : OF_CPU;
	case CPU_TIME:
		return OF_CPU;
	case WALL:
		return OF_WALL;
	case ALLOCATION:
		return r->counts[IN_TLAB] || r->counts[OUTSIDE_TLAB] ? OF_COUNT
		                                                     : OF_ALLOC;
	case IN_TLAB:
	case OUTSIDE_TLAB:
		return OF_ALLOC;
	case MONITOR:
		return OF_MUTEX;
	case PARK:
		return OF_BLOCK;
	default:
		return OF_COUNT;
	}
}

static void
put_types(const struct reader *r, enum of except, struct buf *out)
{
	const char *between = "";

	for (int i = 0; i < OF_COUNT; i++) {
		if (!r->has[i] || i == (int)except)
			continue;
		buf_addf(out, "%s%s", between, profiles[i].type);
		between = ", ";
	}
}

/* Finds the profile to make. */
static int
choose(struct reader *r)
{
	const char *asked = r->im.ask->type;
	bool any = false;

	for (int k = 0; k < KINDS; k++)
		if (r->counts[k] && of_kind(r, k) != OF_COUNT)
			any = r->has[of_kind(r, k)] = true;
	if (!any)
		return import_bad(&r->im,
		                  "it has no events of CPU time, wall time, "
		                  "allocations or locks: record with "
		                  "-XX:StartFlightRecording=settings=profile");
	while (r->of < OF_COUNT &&
	       (!r->has[r->of] ||
	        (*asked && strcmp(asked, profiles[r->of].type) != 0)))
		r->of++;
	if (r->of < OF_COUNT)
		return 0;
	buf_addf(r->im.why, "it has no values of a %s profile; its types are ",
	         asked);
	put_types(r, OF_COUNT, r->im.why);
	return -ENODATA;
}

/* True if the time that a sample stands for is known. */
static bool
is_timed(const struct reader *r)
{
	return r->of != OF_CPU || r->counts[CPU_TIME] || r->cpu_ns > 0;
}

static int
set_types(struct reader *r)
{
	struct profile *p = r->im.p;
	int rc = profile_type(p, profiles[r->of].count, "count");

	if (!rc && is_timed(r))
		rc = profile_type(p, profiles[r->of].sample,
		                  profiles[r->of].unit);
	if (!rc && r->of == OF_CPU && !r->counts[CPU_TIME] && r->cpu_ns >= 1) {
		p->period = llround(r->cpu_ns);
		p->period_type = p->types[1];
	}
	p->time_ns = r->start_ns;
	p->duration_ns = r->end_ns - r->start_ns;
	return rc ? rc : profile_cstring(p, "thread", &r->thread.key);
}

/* --- stacks --------------------------------------------------------------- */

/* Bounds the bytes of names: constants could repeat a long one. */
static int
check_text(struct reader *r)
{
	if (buf_err(&r->text) == -ENOMEM)
		return -ENOMEM;
	if (buf_err(&r->text))
		return import_bad(&r->im, "a name is too long");
	if (r->named > r->im.ask->limits.memory)
		return import_over(&r->im, "its names take too much memory",
		                   r->im.ask->limits.memory, "max_memory");
	return 0;
}

/* Cuts off the part of a hidden class's name that differs from run to run:
 * W$$Lambda$88+0x7fa7d800. */
static void
cut_hidden(struct buf *class)
{
	static const char *const marks[] = {"$$Lambda", "+0x", "/0x"};

	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		char *at = class->len ? strstr(class->p, marks[i]) : NULL;
		size_t kept = i ? 0 : strlen(marks[i]);

		if (!at)
			continue;
		class->len = (size_t)(at - class->p) + kept;
		class->p[class->len] = '\0';
	}
}

/* Makes the function of a method: "java.lang.Thread.run", or a library's. / */
static int
make_function(struct reader *r, const struct jfr_value *method, uint32_t *out)
{
	struct jfr_value m[JFR_NAMES], class[JFR_NAMES];
	struct function f = {0};
	uint32_t named;
	size_t n;
	int rc;

	buf_clear(&r->text);
	if (jfr_refer(&r->chunk, method, m) &&
	    jfr_refer(&r->chunk, &m[JFR_type], class))
		jfr_text(&r->chunk, &class[JFR_name], &r -> text);
	cut_hidden(&r->text);
	for (size_t i = 0; i < r->text.len; i++)
		if (r->text.p[i] == '/')
			r->text.p[i] = '.';
	n = r->text.len;
	if (n)
		buf_putc(&r->text, '.');
	jfr_text(&r->chunk, &m[JFR_name], &r->text);
	if (r->text.len <= n + 1)
		buf_puts(&r->text, n ? "(unknown)" : "(unknown method)");
	r->named += r->text.len;
	rc = check_text(r)
	             ?: profile_string(r->im.p, buf_str(&r->text), r->text.len,
	                               &named);
	f.name = f.system_name = named;
	return rc ? rc
	          : profile_function(r->im.p, &f, out)
	                    ?: import_check_names(&r->im);
}

static int
push_frame(struct reader *r, uint32_t class, struct jfr_cursor *at)
{
	struct jfr_value frame[JFR_NAMES];
	const struct jfr_value *method = &frame[JFR_method];
	struct jfr_constant *k;
	struct line line = {0};
	uint32_t location;
	int rc = 0;

	jfr_fields(&r->chunk, class, at, frame);
	if (at->bad)
		return import_bad(&r->im, "a stack is damaged");
	k = jfr_constant(&r->chunk, method->class, method->n);
	if (!k || k->made == JFR_NONE)
		rc = make_function(r, method, &line.function);
	else
		line.function = k->made;
	if (!rc && k)
		k->made = line.function;
	if (frame[JFR_lineNumber].n < INT32_MAX)
		line.line = (int64_t)frame[JFR_lineNumber].n;
	if (!rc)
		rc = profile_location(r->im.p, PROFILE_NONE, 0, &line, 1,
		                      &location);
	return rc ? rc : import_push(&r->im, location);
}

/* Reads the stack that an event refers to, if any. */
static int
push_stack(struct reader *r, const struct jfr_value *trace)
{
	struct jfr_value stack[JFR_NAMES];
	struct jfr_value *frames = &stack[JFR_frames];
	uint64_t n;
	int rc = 0;

	if (!jfr_refer(&r->chunk, trace, stack) || frames->class == JFR_NONE ||
	    !frames->at.p)
		return 0;
	r->cut += stack[JFR_truncated].n != 0;
	for (n = jfr_int(&frames->at); n && !rc && !import_full(&r->im); n--)
		rc = push_frame(r, frames->class, &frames->at);
	return rc;
}

/* Sets the label of an event's thread. */
static int
set_thread(struct reader *r)
{
	const struct jfr_value *v = r->v[JFR_sampledThread].n
	                                    ? &r->v[JFR_sampledThread]
	                                    : &r->v[JFR_eventThread];
	struct jfr_constant *k = jfr_constant(&r->chunk, v->class, v->n);
	struct jfr_value thread[JFR_NAMES];
	int rc;

	r->thread.str = 0;
	if (k && k->made != JFR_NONE)
		r->thread.str = k->made;
	if (!k || k->made != JFR_NONE || !jfr_refer(&r->chunk, v, thread))
		return 0;
	text_of(r, &thread[JFR_javaName]);
	if (!r->text.len)
		text_of(r, &thread[JFR_osName]);
	rc = check_text(r)
	             ?: profile_string(r->im.p, buf_str(&r->text), r->text.len,
	                               &r->thread.str);
	k->made = r->thread.str;
	return rc ? rc : import_check_names(&r->im);
}

/* --- events --------------------------------------------------------------- */

static double
ticks_ns(const struct reader *r, uint64_t ticks)
{
	return (double)ticks / r->chunk.ticks_per_s * (double)NS_PER_S;
}

/* Returns the number of events that an event represents, and its measure. */
static uint64_t
measure(const struct reader *r, int kind, double *out)
{
	const struct jfr_value *v = r->v;
	uint64_t n = kind == WALL && v[JFR_samples].n ? v[JFR_samples].n : 1;

	switch (kind) {
	case EXECUTION:
		*out = is_wall(r) ? r->wall_ns : r->cpu_ns;
		break;
	case CPU_TIME:
		*out = ticks_ns(r, v[JFR_samplingPeriod].n);
		break;
	case WALL:
		*out = (double)n * r->wall_ns;
		break;
	case MONITOR:
	case PARK:
		*out = ticks_ns(r, v[JFR_duration].n);
		break;
	case ALLOCATION:
		*out = (double)v[JFR_weight].n;
		break;
	default: /* a new buffer stands for the allocations in the last one */
		*out = (double)(v[JFR_tlabSize].n ? v[JFR_tlabSize].n
		                                  : v[JFR_allocationSize].n);
	}
	return n;
}

struct tally_key {
	const struct reader *r;
	const struct tally *t;
};

static bool
same_tally(const void *key, uint32_t row)
{
	const struct tally_key *k = key;
	const struct tally *t = &k->r->tallies[row];

	return t->stack == k->t->stack && t->class == k->t->class &&
	       t->thread == k->t->thread;
}

/* Adds to the tally with the same stack and thread. */
static int
add_tally(struct reader *r, const struct tally *t)
{
	const uint64_t words[] = {t->stack, t->class, t->thread};
	const struct tally_key key = {r, t};
	uint64_t hash = hash_keyed(r->key, words, sizeof(words));
	uint32_t at = table_find(&r->tally_table, hash, same_tally, &key);
	uint32_t most = r->im.ask->limits.samples;
	int rc;

	for (int i = 0; at != TABLE_NONE && i < 2; i++)
		if (__builtin_add_overflow(r->tallies[at].values[i],
		                           t->values[i],
		                           &r->tallies[at].values[i]))
			return import_bad(&r->im, "a sum is out of range");
	if (at != TABLE_NONE)
		return 0;
	if (r->ntallies >= most)
		return import_over(&r->im, "it has too many stacks", most,
		                   "max_samples");
	rc = ROWS_ROOM(r->tallies, r->tally_room, r->ntallies, 1)
	             ?: table_room(&r->tally_table);
	if (rc)
		return rc;
	r->tallies[r->ntallies] = *t;
	table_put(&r->tally_table, hash, r->ntallies++);
	return 0;
}

/* Adds the samples of a chunk. */
static int
add_samples(struct reader *r)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->ntallies && !rc; i++) {
		const struct tally *t = &r->tallies[i];
		const struct jfr_value trace = {.class = t->class,
		                                .n = t->stack};

		r->thread.str = t->thread;
		rc = push_stack(r, &trace)
		             ?: import_values(&r->im, &r->thread,
		                              t->thread != 0, t->values);
	}
	table_done(&r->tally_table);
	r->ntallies = 0;
	return rc;
}

static int
add_event(struct reader *r, int kind, struct jfr_cursor *at)
{
	const struct jfr_value *trace = &r->v[JFR_stackTrace];
	struct tally t;
	double measured;
	uint64_t n;
	int rc;

	if (of_kind(r, kind) != r->of)
		return 0;
	jfr_fields(&r->chunk, r->classes[kind], at, r->v);
	if (at->bad)
		return import_bad(&r->im, "an event is damaged");
	r->failed += r->v[JFR_failed].n != 0;
	n = measure(r, kind, &measured);
	if (n >= 1ull << 53 || !(measured >= 0 && measured < 0x1p62))
		return import_bad(&r->im, "a value is out of range");
	rc = set_thread(r);
	if (rc)
		return rc;
	t = (struct tally){
		.stack = trace->n,
		.class = trace->class,
		.thread = r->thread.str,
		.values = {(int64_t)n, llround(measured)},
	};
	return add_tally(r, &t);
}

/* Sets the period of the chunk's samples: chunks may have different
 * settings. */
static int
find_period(struct reader *r)
{
	uint32_t settings = r->classes[SETTING];
	struct profile *p = r->im.p;
	const char *at = NULL;
	struct jfr_cursor e;
	uint64_t type;
	int rc;

	if (settings == JFR_NONE)
		return 0;
	while ((rc = jfr_event(&r->chunk, &at, &type, &e)) > 0)
		if (r->chunk.classes[settings].id == type)
			read_setting(r, &e);
	set_periods(r);
	if (p->period != llround(r->cpu_ns)) { /* chunks differ */
		p->period_type = (struct value_type){0};
		p->period = 0;
	}
	return rc;
}

static int
add_events(struct reader *r)
{
	uint64_t most = r->im.ask->limits.memory / sizeof(struct jfr_constant);
	int rc = find_period(r)
	                 ?: jfr_constants(&r->chunk, most < UINT32_MAX
	                                                     ? (uint32_t)most
	                                                     : UINT32_MAX);
	const char *at = NULL;
	struct jfr_cursor e;
	uint64_t type;

	if (rc == -E2BIG)
		return import_over(&r->im, "its constants take too much memory",
		                   r->im.ask->limits.memory, "max_memory");
	while (!rc && (rc = jfr_event(&r->chunk, &at, &type, &e)) > 0) {
		rc = 0;
		for (int k = 0; k < SETTING && !rc; k++)
			if (r->classes[k] != JFR_NONE &&
			    r->chunk.classes[r->classes[k]].id == type)
				rc = add_event(r, k, &e);
	}
	return rc ? rc : add_samples(r);
}

/* --- the file ------------------------------------------------------------- */

/* Goes through all chunks: to count events, or to add them. */
static int
each_chunk(struct reader *r, const char *p, size_t n,
           int (*read)(struct reader *))
{
	const char *end = p + n;
	size_t at = 0, size, number = 0;
	int rc = 0;

	while (!rc && at < n) {
		number++;
		rc = open_chunk(r, p + at, end, &size) ?: read(r);
		if (rc == -EBADMSG && r->chunk.why)
			buf_addf(r->im.why, "chunk %zu, byte %zu: %s", number,
			         (size_t)(r->chunk.where - p), r->chunk.why);
		add_span(r);
		at += size;
	}
	return rc;
}

static void
put_left_out(struct reader *r, enum kind kind, const char *why)
{
	if (r->counts[kind])
		buf_addf(r->im.why, "%llu %s left out: %s\n",
		         (unsigned long long)r->counts[kind], kind_names[kind],
		         why);
}

static void
put_notes(struct reader *r)
{
	CLEANUP_BUF struct buf others = BUF_INIT(BUF_MAX_SMALL);

	put_types(r, r->of, &others);
	if (others.len)
		buf_addf(r->im.why, "it also has %s: --type chooses\n",
		         buf_str(&others));
	if (r->of == OF_CPU)
		put_left_out(r, NATIVE,
		             "threads in native code may be waiting");
	if (r->of == OF_CPU && r->counts[CPU_TIME])
		put_left_out(r, EXECUTION,
		             "jdk.CPUTimeSample has the CPU time");
	if (r->of == OF_ALLOC && of_kind(r, ALLOCATION) != OF_ALLOC)
		put_left_out(r, ALLOCATION,
		             "the events of buffers have all allocations");
	if (r->failed)
		buf_addf(r->im.why,
		         "samples without a stack, which the recorder could "
		         "not read: %llu\n",
		         (unsigned long long)r->failed);
	if (r->of == OF_CPU && r->lost_samples)
		buf_addf(r->im.why,
		         "samples of CPU time that the JVM lost: %llu\n",
		         (unsigned long long)r->lost_samples);
	if (r->lost_bytes)
		buf_addf(r->im.why,
		         "the JVM lost %llu bytes of events: "
		         "-XX:FlightRecorderOptions=memorysize=50m loses "
		         "less\n",
		         (unsigned long long)r->lost_bytes);
	if (r->cut)
		buf_addf(
			r->im.why,
			"stacks that the recorder cut: %llu; "
			"-XX:FlightRecorderOptions=stackdepth=512 keeps more\n",
			(unsigned long long)r->cut);
}

static int
read_all(struct reader *r, const char *p, size_t n)
{
	int rc = each_chunk(r, p, n, count_events);

	if (rc)
		return rc;
	set_periods(r);
	rc = choose(r) ?: set_types(r) ?: each_chunk(r, p, n, add_events);
	if (!rc)
		put_notes(r);
	return rc;
}

static void
reader_done(struct reader **r)
{
	if (!*r)
		return;
	import_done(&(*r)->im);
	buf_done(&(*r)->text);
	table_done(&(*r)->tally_table);
	free((*r)->tallies);
	jfr_close(&(*r)->chunk);
	free(*r);
}

int
input_jfr_read(const char *p, size_t n, const struct import_ask *ask,
               struct profile **out, struct buf *why)
{
	CLEANUP(reader_done) struct reader *r = calloc(1, sizeof(*r));
	int rc = r ? import_init(&r->im, ask, why) : -ENOMEM;

	if (rc)
		return rc;
	r->text = BUF_INIT(BUF_MAX_SMALL);
	random_bytes(&r->key, sizeof(r->key));
	rc = read_all(r, p, n);
	return rc ? rc : import_end(&r->im, out);
}
