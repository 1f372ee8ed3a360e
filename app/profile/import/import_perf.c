/*
 * Reads the output of `perf script`: a line for each sample, a line for each
 * frame, leaf first, and an empty line.
 *
 *	COMM PID[/TID] [CPU] TIME: [PERIOD] EVENT:
 *		ADDRESS SYMBOL+OFFSET (MODULE)
 *
 * Frames marked "(inlined)" precede the frame that they are inlined into. Other
 * lines are skipped; a sample is kept if one of its frames is readable.
 * Source: tools/perf/builtin-script.c of Linux 6.1; stackcollapse-perf.pl.
 */
#include "import_build.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#define LOOK       16384 /* bytes examined */
#define MAX_TOKENS 64

struct token {
	const char *p;
	size_t n;
};

struct head {
	struct token comm, event;
	double time_s; /* -1 unknown */
	double period; /* -1 unknown */
};

struct reader {
	struct import im;
	struct label thread;
	double first_s, last_s, period;
	bool open, begun, timed; /* in a sample; unit set; values in ns */
	bool torn;               /* the sample has a frame that is unreadable */
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

/* Returns the index of the token with the pid, before "[CPU]" or the time. */
static size_t
pid_before(const struct token *t, size_t at)
{
	if (at && t[at - 1].p[0] == '[')
		at--;
	return at && numeric(t[at - 1], "/-") ? at - 1 : 0;
}

static bool
read_head(const char *line, size_t n, struct head *out)
{
	struct token t[MAX_TOKENS];
	size_t count = tokenize(line, n, t), time = 1, pid;

	if (!n || isspace((unsigned char)*line) || *line == '#')
		return false;
	while (time < count && !is_time(t[time]))
		time++;
	if (time + 1 >= count)
		return false;
	*out = (struct head){.time_s = value(t[time]), .period = -1};
	pid = pid_before(t, time);
	if (!pid)
		return false;
	out->comm = (struct token){
		t[0].p, (size_t)(t[pid - 1].p + t[pid - 1].n - t[0].p)};
	time++;
	if (numeric(t[time], "") && time + 1 < count)
		out->period = value(t[time++]);
	out->event = t[time];
	return out->event.n > 1 && out->event.p[out->event.n - 1] == ':';
}

bool
input_perf_looks(const char *p, size_t n)
{
	const char *end = p + (n < LOOK ? n : LOOK), *line;
	struct head head;

	while (import_line(&p, end, &line, &n))
		if (n && *line != '#')
			return read_head(line, n, &head);
	return false;
}

/* True for events that count nanoseconds. */
static bool
is_clock(struct token event)
{
	static const char *const clocks[] = {"cpu-clock", "task-clock"};

	for (size_t i = 0; i < ARRAY_LEN(clocks); i++) {
		size_t n = strlen(clocks[i]);

		if (event.n > n && !memcmp(event.p, clocks[i], n) &&
		    event.p[n] == ':')
			return true;
	}
	return false;
}

static int
begin(struct reader *d, const struct head *h)
{
	int r = 0;

	if (!d->begun) {
		d->timed = h->period >= 0 && is_clock(h->event);
		r = import_unit(&d->im, d->timed ? "nanoseconds" : "");
		d->first_s = h->time_s;
		if (!r)
			r = profile_cstring(d->im.p, "thread", &d->thread.key);
	}
	d->begun = d->open = true;
	d->torn = false;
	d->last_s = h->time_s;
	d->period = d->timed ? h->period : 1;
	return r ? r
	         : profile_string(d->im.p, h->comm.p, h->comm.n,
	                          &d->thread.str);
}

static int
end(struct reader *d)
{
	if (!d->open)
		return 0;
	d->open = false;
	if (d->torn && !d->im.depth)
		return 0;
	return import_sample(&d->im, &d->thread, d->thread.str != 0, 1,
	                     d->period);
}

/* Finds " (MODULE)" at the end of a line. The mark of a deleted file has
 * parentheses inside these. */
static const char *
module_at(const char *p, size_t n)
{
	static const char deleted[] = " (deleted))";
	size_t tail = sizeof(deleted) - 1;

	if (n > tail && !memcmp(p + n - tail, deleted, tail))
		n -= tail;
	while (n > 1) {
		const char *open = memrchr(p, '(', n);

		if (!open || open == p)
			return NULL;
		if (open[-1] == ' ')
			return open;
		n = (size_t)(open - p);
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

static bool
parse_frame(const char *p, size_t n, struct import_frame *f)
{
	char text[20] = "";
	const char *module, *stop = p + n;
	size_t digits = 0;

	while (digits < n && isxdigit((unsigned char)p[digits]))
		digits++;
	if (!digits || digits >= sizeof(text) || digits == n ||
	    p[digits] != ' ')
		return false;
	memcpy(text, p, digits);
	f->address = strtoull(text, NULL, 16);
	module = module_at(p, n);
	f->name = p + digits + 1;
	if (module) {
		stop = module;
		f->module = module + 1;
		f->nmodule = (size_t)(p + n - f->module);
		f->nmodule -= f->nmodule && f->module[f->nmodule - 1] == ')';
	}
	while (stop > f->name && stop[-1] == ' ')
		stop--;
	f->nname = stop > f->name ? (size_t)(stop - f->name) : 0;
	return true;
}

static int
read_frame(struct reader *d, const char *line, size_t n)
{
	struct import_frame f = {0};
	uint32_t location;
	int r;

	while (n && isspace((unsigned char)*line))
		line++, n--;
	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	if (!d->open || !parse_frame(line, n, &f)) {
		import_skip(&d->im, line, n);
		d->torn = true;
		return 0;
	}
	if (is(f.module, f.nmodule, "inlined") ||
	    is(f.module, f.nmodule, "[unknown]"))
		f.nmodule = 0;
	drop_offset(&f);
	if (is(f.name, f.nname, "[unknown]"))
		f.nname = 0;
	r = import_location(&d->im, &f, &location);
	return r ? r : import_push(&d->im, location);
}

static int
read_line(struct reader *d, const char *line, size_t n)
{
	struct head head;
	int r;

	if (n && *line == '#')
		return 0;
	if (!n)
		return end(d);
	if (isspace((unsigned char)*line))
		return read_frame(d, line, n);
	if (!read_head(line, n, &head)) {
		import_skip(&d->im, line, n);
		return 0;
	}
	r = end(d);
	return r ? r : begin(d, &head);
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
	CLEANUP(reader_done) struct reader d = {0};
	const char *stop = p + n, *line;
	int r = import_init(&d.im, ask, why);

	while (!r && import_next(&d.im, &p, stop, &line, &n))
		r = read_line(&d, line, n);
	if (!r)
		r = end(&d);
	if (!r && d.last_s > d.first_s && d.last_s - d.first_s < 1e8)
		d.im.p->duration_ns = llround((d.last_s - d.first_s) * 1e9);
	return r ? r : import_end(&d.im, out);
}
