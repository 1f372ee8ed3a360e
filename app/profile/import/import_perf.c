/*
 * Reads the output of `perf script`: a line for each sample, a line for each
 * frame, leaf first, and an empty line.
 *
 *	[COMM] [PID[/TID]] [CPU] [TIME:] [PERIOD] [EVENT:] [FRAME]
 *		ADDRESS SYMBOL+OFFSET (MODULE)
 *		[FILE:LINE]
 *
 * -F chooses the fields. Without times and events, a line begins a sample if
 * frames in perf's columns follow; if the thread is missing as well, frames
 * alone are a sample. A sample without a call chain has its frame in the first
 * line. Frames marked "(inlined)" precede the frame that they are inlined
 * into; names of Java's maps have "->" between a function and those inlined
 * into it. Other lines are skipped; a sample is kept if one of its frames is
 * readable.
 *
 * Source: tools/perf/builtin-script.c of Linux 6.1; report_sample.py of
 * simpleperf; stackcollapse-perf.pl, which takes the first event, too.
 */
#include "perf_samples.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define LOOK       ((size_t)1 << 20) /* bytes examined */
#define MAX_TOKENS 64
#define NAMELESS   "event" /* used if the output does not name events */
#define ADDRESS    16      /* columns of an address, after one or two blanks */
#define PERIOD     10      /* columns of a period, after a blank */

struct head {
	struct perf_head of;   /* event without its colon */
	struct perf_text rest; /* rest of the line */
};

struct reader {
	struct perf_samples s;
	const char *next, *stop; /* the lines after this one */
	bool headless;           /* no line of the file has an event or time */
	bool open;               /* within a sample */
	bool torn;               /* it has a frame that is unreadable */
	bool named;              /* frames are more than addresses */
	struct import_frame frame; /* read, but not yet pushed */
	bool held;                 /* there is one */
};

static size_t
tokenize(const char *p, size_t n, struct perf_text *out)
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
numeric(struct perf_text t, const char *extra)
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
value(struct perf_text t)
{
	char text[32];

	if (t.n >= sizeof(text))
		return -1;
	memcpy(text, t.p, t.n);
	text[t.n] = '\0';
	return strtod(text, NULL);
}

static bool
is_time(struct perf_text t)
{
	return t.n > 2 && t.p[t.n - 1] == ':' && numeric(t, ".:") &&
	       memchr(t.p, '.', t.n);
}

static bool
ends_in_colon(struct perf_text t)
{
	return t.n > 1 && t.p[t.n - 1] == ':';
}

/* True for lines that --show-task-events and similar options add. */
static bool
is_record(struct perf_text t)
{
	static const char with[] = "PERF_RECORD_";

	return t.n > sizeof(with) && !memcmp(t.p, with, sizeof(with) - 1);
}

/* True for an address that perf has right-aligned. */
static bool
is_column(const char *p, const char *end)
{
	size_t n = 0, blanks;

	while (p + n < end && n < ADDRESS + 2 && p[n] == ' ')
		n++;
	blanks = n;
	while (p + n < end && n < ADDRESS + 2 && isxdigit((unsigned char)p[n]))
		n++;
	return blanks && n > blanks && n > ADDRESS &&
	       (p + n == end || isspace((unsigned char)p[n]));
}

/* True for a line that perf has indented as a frame of a call chain. */
static bool
is_aligned_frame(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && (p[n] == ' ' || p[n] == '\t'))
		n++;
	while (p + n < end && isxdigit((unsigned char)p[n]))
		n++;
	return p < end && *p == '\t' && n == ADDRESS + 1 &&
	       isxdigit((unsigned char)p[n - 1]) &&
	       (p + n == end || isspace((unsigned char)p[n]));
}

/* Returns the end of the token before token i, or the line's start. */
static const char *
after(const struct perf_text *t, size_t i)
{
	return i ? t[i - 1].p + t[i - 1].n : t->p;
}

/*
 * Reads what follows the thread, from token i on. A period is distinguished
 * from the number of a thread by the time before it, or by its columns.
 */
static bool
read_tail(const struct perf_text *t, size_t i, size_t count, const char *end,
          struct head *out)
{
	if (i < count && t[i].p[0] == '[')
		i++;
	if (i + 1 < count && !numeric(t[i], "") && is_time(t[i + 1]))
		i++; /* the mode, as U or K */
	if (i < count && is_time(t[i]))
		out->of.time_s = value(t[i++]);
	if (i < count && numeric(t[i], "") && !is_column(after(t, i), end) &&
	    (out->of.time_s >= 0 ||
	     (i + 1 < count && t[i].p + t[i].n > after(t, i) + PERIOD)))
		out->of.period = value(t[i++]);
	if ((i >= count && out->of.time_s >= 0) ||
	    is_column(after(t, i), end)) {
		out->of.event = (struct perf_text){NAMELESS, strlen(NAMELESS)};
		out->rest.p = after(t, i);
		out->rest.n = (size_t)(end - out->rest.p);
		return true;
	}
	if (i >= count || !isalpha((unsigned char)t[i].p[0]) || is_record(t[i]))
		return false;
	out->of.event = t[i];
	if (ends_in_colon(t[i]))
		out->of.event.n--;
	else if (i + 1 < count || out->of.time_s < 0 || out->of.period < 0)
		return false;
	out->rest.p = t[i].p + t[i].n;
	out->rest.n = (size_t)(end - out->rest.p);
	return true;
}

static struct perf_text
trimmed(struct perf_text t)
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

/* Returns the length of a name without "+0x12" at its end. */
static size_t
without_offset(const char *p, size_t n)
{
	const char *plus = memrchr(p, '+', n);

	return plus && plus > p && p + n - plus > 3 && !memcmp(plus, "+0x", 3)
	               ? (size_t)(plus - p)
	               : n;
}

static bool
is(const char *p, size_t n, const char *text)
{
	return n == strlen(text) && !memcmp(p, text, n);
}

/* Reads "ADDRESS SYMBOL (MODULE)"; all but the address may be missing. The name
 * is NULL if nothing follows the address. */
static bool
read_frame(struct perf_text line, struct import_frame *f)
{
	char text[20] = "";
	const char *stop = line.p + line.n, *module;
	size_t digits = 0;

	while (digits < line.n && isxdigit((unsigned char)line.p[digits]))
		digits++;
	if (!digits || digits >= sizeof(text) ||
	    (digits < line.n && !isspace((unsigned char)line.p[digits])))
		return false;
	memcpy(text, line.p, digits);
	*f = (struct import_frame){.address = strtoull(text, NULL, 16)};
	if (digits == line.n)
		return true;
	f->name = line.p + digits + 1;
	module = module_at(f->name - 1, (size_t)(stop - f->name) + 1);
	if (module) {
		f->module = module + 1;
		f->nmodule = without_offset(f->module,
		                            (size_t)(stop - f->module) - 1);
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
	f->nname = without_offset(f->name, f->nname);
	if (is(f->name, f->nname, "[unknown]"))
		f->nname = 0;
	return true;
}

/* Returns a frame without what follows it: branches of -F brstack, or the
 * target of a branch. */
static struct perf_text
without_branches(struct perf_text line)
{
	const char *to = memmem(line.p, line.n, " => ", 4);
	const char *end = to ? to : line.p + line.n, *at = line.p, *slash;

	line.n = (size_t)(end - line.p);
	while ((at = memmem(at, (size_t)(end - at), " 0x", 3))) {
		slash = at + 3;
		while (slash < end && isxdigit((unsigned char)*slash))
			slash++;
		if (slash < end && *slash == '/')
			line.n = (size_t)(at - line.p);
		at = slash < end && *slash == '/' ? end : slash;
	}
	return line;
}

/* Reads the frame of a sample without a call chain: other events have text
 * there. */
static bool
read_only_frame(const struct head *h, struct import_frame *f)
{
	struct perf_text rest = without_branches(h->rest);
	bool column = is_column(rest.p, rest.p + rest.n);

	rest = trimmed(rest);
	return rest.n && (column || rest.p[rest.n - 1] == ')') &&
	       read_frame(rest, f);
}

/* True for most frames: they need no closer look. */
static bool
is_surely_frame(struct perf_text t)
{
	size_t n = 0;

	while (n < t.n && isxdigit((unsigned char)t.p[n]))
		n++;
	return n && (n == t.n || isspace((unsigned char)t.p[n])) &&
	       !memmem(t.p, t.n, ": ", 2) && !memmem(t.p, t.n, ":\t", 2) &&
	       !ends_in_colon(t);
}

/* Reads the head of a sample. Its thread may be missing if it has a time. */
static bool
read_head(const char *line, size_t n, struct head *out)
{
	struct perf_text t[MAX_TOKENS],
		text = trimmed((struct perf_text){line, n});
	struct import_frame f;
	size_t count;

	if (is_surely_frame(text))
		return false;
	count = tokenize(text.p, text.n, t);
	for (size_t i = 0; i < count; i++) {
		bool pid = numeric(t[i], "/-");

		*out = (struct head){.of = {.time_s = -1, .period = -1}};
		if ((!pid && !is_time(t[i])) ||
		    !read_tail(t, i + pid, count, text.p + text.n, out) ||
		    (!i && out->of.time_s < 0))
			continue;
		out->of.comm.p = t[0].p;
		out->of.comm.n = i ? (size_t)(after(t, i) - t[0].p) : 0;
		return out->of.time_s >= 0 || !trimmed(out->rest).n ||
		       read_only_frame(out, &f);
	}
	return false;
}

/* Reads the head of a sample in a file whose samples have neither time nor
 * event: a thread's name and number, either of which may be missing, before
 * frames. Without a call chain, the frame is in the same line. */
static bool
read_bare_head(const char *line, size_t n, const char *next, const char *stop,
               struct head *out)
{
	const char *end = line + n, *at = line;
	struct perf_text t[MAX_TOKENS];
	size_t count;

	if (is_aligned_frame(line, end))
		return false;
	while (at < end && !is_column(at, end))
		at++;
	if (at == end && !is_aligned_frame(next, stop))
		return false;
	*out = (struct head){.of = {.event = {NAMELESS, strlen(NAMELESS)},
	                            .time_s = -1,
	                            .period = -1},
	                     .rest = {at, (size_t)(end - at)}};
	count = tokenize(line, (size_t)(at - line), t);
	if (count && *t[count - 1].p == '[')
		count--;
	if (count && numeric(t[count - 1], "/-"))
		count--;
	out->of.comm.p = line;
	if (count)
		out->of.comm = (struct perf_text){
			t->p, (size_t)(after(t, count) - t->p)};
	return true;
}

/* Finds a line that begins a sample. A line like a head, but without a time,
 * has to be followed by a frame. */
static bool
has_head(const char *p, size_t n)
{
	const char *end = p + (n < LOOK ? n : LOOK), *line;
	struct import_frame f;
	struct head head;
	bool before = false;

	while (import_line(&p, end, &line, &n)) {
		if (!n || *line == '#')
			continue;
		if (before &&
		    read_frame(trimmed((struct perf_text){line, n}), &f))
			return true;
		before = read_head(line, n, &head);
		if (before && (head.of.time_s >= 0 || trimmed(head.rest).n))
			return true;
	}
	return false;
}

/* Finds frames in perf's columns. Frames without a call chain have to begin
 * with the first line. */
static bool
has_frames(const char *p, size_t n)
{
	const char *end = p + (n < LOOK ? n : LOOK), *line;
	struct import_frame f;
	struct head head;
	bool first = true;

	while (import_line(&p, end, &line, &n)) {
		if (!n || *line == '#')
			continue;
		if (is_aligned_frame(line, line + n))
			return true;
		if (first && *line == ' ' &&
		    read_bare_head(line, n, p, end, &head) &&
		    read_only_frame(&head, &f) && f.nname)
			return true;
		first = false;
	}
	return false;
}

bool
input_perf_looks(const char *p, size_t n)
{
	return has_head(p, n) || has_frames(p, n);
}

/* --- samples -------------------------------------------------------------- */

/* Pushes a frame, and before it those that a name of Java's maps says are
 * inlined into it: "outer->inner". */
static int
push(struct reader *d, struct import_frame *f)
{
	static const char arrow[] = "->", map[] = ".map";
	const char *at = f->name, *next;
	bool mapped = f->nmodule > 4 &&
	              !memcmp(f->module + f->nmodule - 4, map, 4);
	struct perf_text part[MAX_TOKENS];
	size_t n = 0, left = f->nname;
	uint32_t location;
	int r = 0;

	while (mapped && n + 1 < MAX_TOKENS &&
	       (next = memmem(at, left, arrow, 2))) {
		part[n++] = (struct perf_text){at, (size_t)(next - at)};
		left -= (size_t)(next + 2 - at);
		at = next + 2;
	}
	part[n++] = (struct perf_text){at, left};
	while (!r && n-- > 0 && !import_full(&d->s.im)) {
		f->name = part[n].p;
		f->nname = part[n].n;
		r = import_location(&d->s.im, f, &location)
		            ?: import_push(&d->s.im, location);
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
	bool open = d->open;
	int r = push_held(d);

	d->open = false;
	if (r || !open || d->s.other || (d->torn && !d->s.im.depth))
		return r;
	return perf_sample_end(&d->s);
}

static int
begin(struct reader *d, const struct head *h)
{
	d->open = true;
	d->torn = false;
	return perf_sample_begin(&d->s, &h->of);
}

/* Keeps "FILE:LINE", which follows its frame. Returns false if the line is not
 * of that form; "??:0" and "libc.so[27b25]" say nothing. */
static bool
read_source(struct reader *d, struct perf_text line)
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
	d->frame.line =
		(int64_t)value((struct perf_text){colon + 1, n - digits});
	return true;
}

static int
frame_line(struct reader *d, const char *line, size_t n)
{
	struct perf_text text = trimmed((struct perf_text){line, n});
	const struct head nobody = {
		.of = {.event = {NAMELESS, strlen(NAMELESS)},
	               .comm = {line, 0},
	               .time_s = -1,
	               .period = -1}};
	struct import_frame f;
	int r = 0;

	if (!d->open && d->headless && is_aligned_frame(line, line + n))
		r = begin(d, &nobody);
	if (r)
		return r;
	if (d->open && d->s.other)
		return 0;
	if (d->open && read_frame(text, &f) &&
	    (isspace((unsigned char)*line) || f.module) &&
	    (f.name || !d->named)) {
		r = push_held(d);
		d->named = d->named || f.name;
		d->frame = f;
		d->held = !r;
		return r;
	}
	if (!read_source(d, text)) {
		import_skip(&d->s.im, line, n);
		d->torn = true;
	}
	return 0;
}

/* True if the next line is a frame, and so begins a call chain. The line
 * before it then has no frame but the address of its data (perf record -d,
 * page faults). */
static bool
chain_follows(const struct reader *d)
{
	const char *next = d->next, *line;
	struct import_frame f;
	struct head head;
	size_t n;

	return !d->headless && import_line(&next, d->stop, &line, &n) && n &&
	       isspace((unsigned char)*line) &&
	       read_frame(trimmed((struct perf_text){line, n}), &f) &&
	       !read_head(line, n, &head);
}

static int
read_line(struct reader *d, const char *line, size_t n)
{
	struct head head;
	bool blank = !trimmed((struct perf_text){line, n}).n, begins;
	int r;

	if (n && *line == '#')
		return 0;
	/* an empty line may stand between a sample and its frames */
	if (blank)
		return d->held || d->s.im.depth || d->s.other ? end(d) : 0;
	if (d->headless)
		begins = read_bare_head(line, n, d->next, d->stop, &head) &&
		         (!d->open || head.rest.n);
	else
		begins = read_head(line, n, &head) &&
		         (head.of.time_s >= 0 || !d->open ||
		          !isspace((unsigned char)*line));
	if (!begins)
		return frame_line(d, line, n);
	r = end(d) ?: begin(d, &head);
	if (r || d->s.other || !read_only_frame(&head, &d->frame) ||
	    chain_follows(d))
		return r;
	d->held = true;
	return end(d);
}

/* --- the file ------------------------------------------------------------- */

static void
reader_done(struct reader *d)
{
	import_done(&d->s.im);
}

int
input_perf_read(const char *p, size_t n, const struct import_ask *ask,
                struct profile **out, struct buf *why)
{
	CLEANUP(reader_done)
	struct reader d = {
		.next = p, .stop = p + n, .headless = !has_head(p, n)};
	const char *line;
	int r = perf_samples_init(&d.s, ask, why);

	while (!r && import_next(&d.s.im, &d.next, d.stop, &line, &n))
		r = read_line(&d, line, n);
	return (r ?: end(&d)) ?: perf_samples_end(&d.s, out);
}
