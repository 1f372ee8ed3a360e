/*
 * Reads the output of `perf script`: a line for each sample, a line for each
 * frame, leaf first, and an empty line.
 *
 *	COMM PID[/TID] [CPU] [TIME:] [PERIOD] EVENT: [FRAME]
 *		ADDRESS SYMBOL+OFFSET (MODULE)
 *		[FILE:LINE]
 *
 * A sample without a call chain has its frame in the first line. Frames marked
 * "(inlined)" precede the frame that they are inlined into; names of Java's
 * maps have "->" between a function and those inlined into it. Other lines are
 * skipped; a sample is kept if one of its frames is readable.
 *
 * The profile has the samples of one event: nanoseconds of a clock are CPU
 * time; other events are counted under their own name, which is also their
 * unit, so that nothing adds them to values of another kind. A text without
 * periods has numbers of samples.
 *
 * Source: tools/perf/builtin-script.c of Linux 6.1; report_sample.py of
 * simpleperf; stackcollapse-perf.pl, which takes the first event, too.
 */
#include "base/clock.h"
#include "import_build.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define LOOK       ((size_t)1 << 20) /* bytes examined */
#define MAX_TOKENS 64
#define MAX_EVENTS 16 /* named in notes */

struct token {
	const char *p;
	size_t n;
};

struct head {
	struct token comm, event; /* event without its colon */
	struct token rest;        /* of the line */
	double time_s;            /* -1 unknown */
	double period;            /* -1 unknown */
};

struct event {
	struct token name;
	uint64_t samples;
};

struct reader {
	struct import im;
	struct label thread;
	double first_s, last_s; /* -1 unknown */
	double period;          /* of the sample */
	struct event events[MAX_EVENTS];
	size_t nevents, chosen; /* chosen: MAX_EVENTS before its first sample */
	enum { SAMPLES, TIME, EVENTS } kind; /* of values */
	bool open;                           /* in a sample */
	bool other;                /* it is of an event that is left out */
	bool torn;                 /* it has a frame that is unreadable */
	struct import_frame frame; /* read, but not yet pushed */
	bool held;                 /* there is one */
};

static size_t
tokenize(const char *p, size_t n, struct token *out)
{
	const char *end = p + n;
	size_t count = 0;

	while (count < MAX_TOKENS) {
		while (p < end && isspace((unsigned char)*p))
			p++;
		if (p == end)
			break;
		out[count].p = p;
		while (p < end && !isspace((unsigned char)*p))
			p++;
		out[count].n = (size_t)(p - out[count].p);
		count++;
	}
	return count;
}

/* True for digits with at most one character of extra: "12.5:", "7/8". */
static bool
numeric(struct token t, const char *extra)
{
	bool digit = false;

	for (size_t i = 0; i < t.n; i++) {
		if (isdigit((unsigned char)t.p[i]))
			digit = true;
		else if (!memchr(extra, t.p[i], strlen(extra)))
			return false;
	}
	return digit;
}

static double
value(struct token t)
{
	char text[32];

	if (t.n >= sizeof(text))
		return -1;
	memcpy(text, t.p, t.n);
	text[t.n] = '\0';
	return strtod(text, NULL);
}

static bool
is_time(struct token t)
{
	return t.n > 2 && t.p[t.n - 1] == ':' && numeric(t, ".:") &&
	       memchr(t.p, '.', t.n);
}

static bool
ends_in_colon(struct token t)
{
	return t.n > 1 && t.p[t.n - 1] == ':';
}

/* Reads what follows the token with the pid. */
static bool
read_tail(const struct token *t, size_t count, const char *end,
          struct head *out)
{
	size_t i = 0;

	if (i < count && t[i].p[0] == '[')
		i++;
	if (i + 1 < count && !numeric(t[i], "") && is_time(t[i + 1]))
		i++; /* the mode, as U or K */
	if (i < count && is_time(t[i]))
		out->time_s = value(t[i++]);
	if (i + 1 < count && numeric(t[i], ""))
		out->period = value(t[i++]);
	if (i >= count || !isalpha((unsigned char)t[i].p[0]))
		return false;
	out->event = t[i];
	if (ends_in_colon(t[i]))
		out->event.n--;
	else if (i + 1 < count || out->time_s < 0 || out->period < 0)
		return false;
	out->rest.p = t[i].p + t[i].n;
	out->rest.n = (size_t)(end - out->rest.p);
	return true;
}

static struct token
trimmed(struct token t)
{
	import_skip_blanks(&t.p, &t.n);
	while (t.n && isspace((unsigned char)t.p[t.n - 1]))
		t.n--;
	return t;
}

/* Finds " (MODULE)" at the end of a line. The module is a path, or matches its
 * last parenthesis: "/a (b)/x", "/memfd:pool (deleted)", "[vdso]". */
static const char *
module_at(const char *p, size_t n)
{
	const char *path = memmem(p, n, " (/", 3);
	size_t open = 0;

	if (!n || p[n - 1] != ')')
		return NULL;
	if (path)
		return path + 1;
	for (size_t i = n; i-- > 1;) {
		open += p[i] == ')';
		if (p[i] == '(' && !--open)
			return isspace((unsigned char)p[i - 1]) ? p + i : NULL;
	}
	return NULL;
}

static void
drop_offset(struct import_frame *f)
{
	const char *plus = memrchr(f->name, '+', f->nname);

	if (plus && plus > f->name && f->name + f->nname - plus > 3 &&
	    !memcmp(plus, "+0x", 3))
		f->nname = (size_t)(plus - f->name);
}

static bool
is(const char *p, size_t n, const char *text)
{
	return n == strlen(text) && !memcmp(p, text, n);
}

/* Reads "ADDRESS SYMBOL (MODULE)"; the module may be missing. */
static bool
read_frame(struct token line, struct import_frame *f)
{
	char text[20] = "";
	const char *stop = line.p + line.n, *module;
	size_t digits = 0;

	while (digits < line.n && isxdigit((unsigned char)line.p[digits]))
		digits++;
	if (!digits || digits >= sizeof(text) || digits == line.n ||
	    !isspace((unsigned char)line.p[digits]))
		return false;
	memcpy(text, line.p, digits);
	*f = (struct import_frame){.address = strtoull(text, NULL, 16),
	                           .name = line.p + digits + 1};
	module = module_at(f->name - 1, (size_t)(stop - f->name) + 1);
	if (module) {
		f->module = module + 1;
		f->nmodule = (size_t)(stop - f->module) - 1;
		stop = module;
	}
	while (f->name < stop && isspace((unsigned char)*f->name))
		f->name++;
	while (stop > f->name && isspace((unsigned char)stop[-1]))
		stop--;
	f->nname = stop > f->name ? (size_t)(stop - f->name) : 0;
	if (is(f->module, f->nmodule, "inlined") ||
	    is(f->module, f->nmodule, "[unknown]"))
		f->nmodule = 0;
	drop_offset(f);
	if (is(f->name, f->nname, "[unknown]"))
		f->nname = 0;
	return true;
}

/* Reads the frame of a sample without a call chain: other events have text
 * there. */
static bool
read_only_frame(const struct head *h, struct import_frame *f)
{
	struct token rest = trimmed(h->rest);

	return rest.n && rest.p[rest.n - 1] == ')' && read_frame(rest, f);
}

static bool
read_head(const char *line, size_t n, struct head *out)
{
	struct token t[MAX_TOKENS], text = trimmed((struct token){line, n});
	struct import_frame f;
	size_t count;

	/* most frames are recognized by this */
	if (!memmem(text.p, text.n, ": ", 2) &&
	    !memmem(text.p, text.n, ":\t", 2) && !ends_in_colon(text) &&
	    memrchr(text.p, ')', text.n))
		return false;
	count = tokenize(text.p, text.n, t);
	for (size_t i = 1; i < count; i++) {
		*out = (struct head){.time_s = -1, .period = -1};
		if (!numeric(t[i], "/-") ||
		    !read_tail(&t[i + 1], count - i - 1, text.p + text.n, out))
			continue;
		out->comm = (struct token){
			t[0].p, (size_t)(t[i - 1].p + t[i - 1].n - t[0].p)};
		return out->time_s >= 0 || !trimmed(out->rest).n ||
		       read_only_frame(out, &f);
	}
	return false;
}

/* A line like a head, but without a time, has to be followed by a frame. */
bool
input_perf_looks(const char *p, size_t n)
{
	const char *end = p + (n < LOOK ? n : LOOK), *line;
	struct import_frame f;
	struct head head;
	bool before = false;

	while (import_line(&p, end, &line, &n)) {
		if (!n || *line == '#')
			continue;
		if (before && read_frame(trimmed((struct token){line, n}), &f))
			return true;
		before = read_head(line, n, &head);
		if (before && (head.time_s >= 0 || trimmed(head.rest).n))
			return true;
	}
	return false;
}

/* --- events ------------------------------------------------------------------ */

static bool
same(struct token a, struct token b)
{
	return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

/* Returns an event's name without its modifiers: "cycles" of "cycles:ppp". */
static struct token
bare(struct token event)
{
	static const char modifiers[] = "ukhHGpPSDIWeb";
	size_t n = event.n;

	while (n && memchr(modifiers, event.p[n - 1], sizeof(modifiers) - 1))
		n--;
	if (n > 1 && n < event.n && event.p[n - 1] == ':')
		event.n = n - 1;
	return event;
}

/* True for events that count nanoseconds. */
static bool
is_clock(struct token event)
{
	struct token name = bare(event);

	return is(name.p, name.n, "cpu-clock") ||
	       is(name.p, name.n, "task-clock");
}

static bool
is_asked(const struct reader *d, struct token event)
{
	const char *ask = d->im.ask->event;
	struct token name = bare(event);

	return !ask || !*ask || is(event.p, event.n, ask) ||
	       is(name.p, name.n, ask);
}

/* Counts a sample of an event. Returns its index, or MAX_EVENTS. */
static size_t
count_event(struct reader *d, struct token name)
{
	size_t i = 0;

	while (i < d->nevents && !same(d->events[i].name, name))
		i++;
	if (i == MAX_EVENTS)
		return i;
	if (i == d->nevents)
		d->events[d->nevents++].name = name;
	d->events[i].samples++;
	return i;
}

static void
put_events(const struct reader *d, size_t but, struct buf *out)
{
	const char *between = "";

	for (size_t i = 0; i < d->nevents; i++) {
		const struct event *e = &d->events[i];

		if (i == but)
			continue;
		buf_addf(out, "%s%.*s (%llu sample%s)", between,
		         (int)(e->name.n < 64 ? e->name.n : 64), e->name.p,
		         (unsigned long long)e->samples,
		         e->samples == 1 ? "" : "s");
		between = ", ";
	}
}

/* --- samples ----------------------------------------------------------------- */

/* Sets the values of an event that is not a clock. The CPU time of cycles is
 * known if the rate is. */
static int
event_types(struct reader *d, struct token event)
{
	struct token name = bare(event);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct profile *p = d->im.p;
	int r = profile_type(p, "samples", "count");

	buf_add(&text, name.p, name.n);
	if (!r && d->im.ask->rate > 0 && strstr(buf_str(&text), "cycles"))
		r = profile_type(p, "cpu", "nanoseconds");
	return r ? r : profile_type(p, buf_str(&text), buf_str(&text));
}

static int
set_unit(struct reader *d, const struct head *h)
{
	if (h->period < 0 ||
	    (*d->im.ask->type && strcmp(d->im.ask->type, "cpu")))
		d->kind = SAMPLES;
	else
		d->kind = is_clock(h->event) ? TIME : EVENTS;
	d->first_s = h->time_s;
	return profile_cstring(d->im.p, "thread", &d->thread.key)
	               ?: (d->kind == EVENTS
	                           ? event_types(d, h->event)
	                           : import_unit(&d->im, d->kind == TIME
	                                                         ? "nanoseconds"
	                                                         : ""));
}

static int
begin(struct reader *d, const struct head *h)
{
	size_t event = count_event(d, h->event);
	int r = 0;

	d->open = true;
	d->torn = false;
	if (d->chosen == MAX_EVENTS && event < MAX_EVENTS &&
	    is_asked(d, h->event)) {
		d->chosen = event;
		r = set_unit(d, h);
	}
	d->other = event != d->chosen;
	if (r || d->other)
		return r;
	d->last_s = h->time_s;
	if (d->kind == SAMPLES)
		d->period = 1;
	else if (h->period >= 0)
		d->period = h->period;
	return profile_string(d->im.p, h->comm.p, h->comm.n, &d->thread.str);
}

/* Pushes a frame, and before it those that a name of Java's maps says are
 * inlined into it: "outer->inner". */
static int
push(struct reader *d, struct import_frame *f)
{
	static const char arrow[] = "->", map[] = ".map";
	const char *at = f->name, *next;
	bool mapped = f->nmodule > 4 &&
	              !memcmp(f->module + f->nmodule - 4, map, 4);
	struct token part[MAX_TOKENS];
	size_t n = 0, left = f->nname;
	uint32_t location;
	int r = 0;

	while (mapped && n + 1 < MAX_TOKENS &&
	       (next = memmem(at, left, arrow, 2))) {
		part[n++] = (struct token){at, (size_t)(next - at)};
		left -= (size_t)(next + 2 - at);
		at = next + 2;
	}
	part[n++] = (struct token){at, left};
	while (!r && n-- > 0) {
		f->name = part[n].p;
		f->nname = part[n].n;
		r = import_location(&d->im, f, &location)
		            ?: import_push(&d->im, location);
	}
	return r;
}

static int
push_held(struct reader *d)
{
	bool held = d->held;

	d->held = false;
	return held ? push(d, &d->frame) : 0;
}

static int
end(struct reader *d)
{
	int64_t values[PROFILE_MAX_TYPES] = {1};
	bool open = d->open;
	int r = push_held(d);

	d->open = false;
	if (r || !open || d->other || (d->torn && !d->im.depth))
		return r;
	if (d->kind != EVENTS)
		return import_sample(&d->im, &d->thread, d->thread.str != 0, 1,
		                     d->period);
	if (d->period >= 0x1p62)
		return import_bad(&d->im, "a value is out of range");
	values[d->im.p->ntypes - 1] = (int64_t)d->period;
	return import_values(&d->im, &d->thread, d->thread.str != 0, values);
}

/* Keeps "FILE:LINE", which follows its frame. Returns false if the line is not
 * of that form; "??:0" and "libc.so[27b25]" say nothing. */
static bool
read_source(struct reader *d, struct token line)
{
	static const char mark[] = " (discriminator ";
	const char *also = memmem(line.p, line.n, mark, sizeof(mark) - 1);
	const char *colon;
	size_t n = also ? (size_t)(also - line.p) : line.n, digits = n;

	if (!d->held || d->frame.nfile)
		return false;
	while (digits && isdigit((unsigned char)line.p[digits - 1]))
		digits--;
	colon = digits > 1 ? &line.p[digits - 1] : NULL;
	if (!colon || *colon != ':' || digits == n)
		return n && line.p[n - 1] == ']' && memchr(line.p, '[', n);
	if (*line.p == '?')
		return true;
	d->frame.file = line.p;
	d->frame.nfile = digits - 1;
	d->frame.line = (int64_t)value((struct token){colon + 1, n - digits});
	return true;
}

static int
frame_line(struct reader *d, const char *line, size_t n)
{
	struct token text = trimmed((struct token){line, n});
	struct import_frame f;
	int r;

	if (d->open && d->other)
		return 0;
	if (d->open && read_frame(text, &f) &&
	    (isspace((unsigned char)*line) || f.module)) {
		r = push_held(d);
		d->frame = f;
		d->held = !r;
		return r;
	}
	if (!read_source(d, text)) {
		import_skip(&d->im, line, n);
		d->torn = true;
	}
	return 0;
}

static int
read_line(struct reader *d, const char *line, size_t n)
{
	struct head head;
	bool blank = !trimmed((struct token){line, n}).n;
	int r;

	if (n && *line == '#')
		return 0;
	/* an empty line may stand between a sample and its frames */
	if (blank)
		return d->held || d->im.depth || d->other ? end(d) : 0;
	if (!read_head(line, n, &head) ||
	    (isspace((unsigned char)*line) && d->open && head.time_s < 0))
		return frame_line(d, line, n);
	r = end(d) ?: begin(d, &head);
	if (r || d->other || !read_only_frame(&head, &d->frame))
		return r;
	d->held = true;
	return end(d);
}

/* --- the profile ------------------------------------------------------------- */

/* Divides the CPU time of all samples in proportion to their cycles. */
static void
divide_time(const struct reader *d)
{
	struct profile *p = d->im.p;
	double all = (double)profile_total(p, 2);
	double time = (double)profile_total(p, 0) * NS_PER_S / d->im.ask->rate;

	for (size_t i = 0; i < p->nsamples; i++) {
		int64_t *v = &p->values[3 * i];

		v[1] = all > 0 ? llround((double)v[2] / all * time) : 0;
	}
}

static int
no_event(struct reader *d)
{
	struct buf *why = d->im.why;

	buf_addf(why, "it has no samples of the event %s, but ",
	         d->im.ask->event);
	put_events(d, MAX_EVENTS, why);
	return -EBADMSG;
}

static void
note_events(struct reader *d)
{
	CLEANUP_BUF struct buf note = BUF_INIT(BUF_MAX_SMALL);
	struct token kept = d->events[d->chosen].name;

	buf_addf(&note, "only the event %.*s is kept, without ",
	         (int)(kept.n < 64 ? kept.n : 64), kept.p);
	put_events(d, d->chosen, &note);
	buf_puts(&note, "; the parameter event selects another");
	import_note(&d->im, buf_str(&note));
}

static int
finish(struct reader *d, struct profile **out)
{
	double s = d->last_s - d->first_s;
	struct profile *p = d->im.p;
	int r = end(d);

	if (!r && d->nevents && d->chosen == MAX_EVENTS)
		r = no_event(d);
	if (r)
		return r;
	if (d->first_s >= 0 && s > 0 && s < 1e8)
		p->duration_ns = llround(s * NS_PER_S);
	if (p->ntypes == 3)
		divide_time(d);
	if (p->nsamples && d->nevents > 1)
		note_events(d);
	return import_end(&d->im, out);
}

static void
reader_done(struct reader *d)
{
	import_done(&d->im);
}

int
input_perf_read(const char *p, size_t n, const struct import_ask *ask,
                struct profile **out, struct buf *why)
{
	CLEANUP(reader_done) struct reader d = {.chosen = MAX_EVENTS};
	const char *stop = p + n, *line;
	int r = import_init(&d.im, ask, why);

	while (!r && import_next(&d.im, &p, stop, &line, &n))
		r = read_line(&d, line, n);
	return r ? r : finish(&d, out);
}
