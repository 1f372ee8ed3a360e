/*
 * Reads speedscope files, sampled and evented, in two passes: first the frames,
 * then the profiles that refer to them. Parallel lists are read side by side,
 * wherever they are in the object.
 *
 * The profiles of a file are merged into one; if there are several, each
 * sample has the name of its profile as the label "thread". Profiles whose
 * unit cannot be added to that of the profile shown first are left out.
 *
 * The list "counts", our extension, has the number of samples of each row; it
 * is empty if they are unknown. Without it, rows that all have the same weight
 * are samples. Rows of different weights may be sums, as speedscope writes
 * them of other formats, and events are not samples at all: such a file does
 * not say how many samples it has.
 *
 * Source: file-format-schema.json of speedscope 1.22.
 */
#include "base/json_scan.h"
#include "import_build.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SAME 1e-6 /* of a weight: smaller differences are rounding errors */

struct reader {
	struct import im;
	struct buf text;
	uint32_t *frames; /* indexes of locations */
	uint32_t nframes, cap;
	uint32_t *path; /* locations of the frames that events have opened,
	                   root first */
	uint32_t depth, path_room;
	struct label thread;
	const char *from; /* the file */
	size_t size;
	unsigned profiles, other;
	const char *unit;        /* kind of the profiles that are kept */
	double active;           /* index of the profile that is shown first */
	struct buf note;         /* about profiles that are left out */
	double weight;           /* weight of the rows so far; 0: none yet */
	unsigned long long open; /* frames that no event closes */
};

/* Scans at the start of the parts of a profile. */
struct parts {
	struct json_scan samples, weights, counts, events;
	char name[256], unit[16];
	double end; /* NAN: unknown */
};

bool
input_speedscope_looks(const char *p, size_t n)
{
	import_skip_blanks(&p, &n);
	return n && *p == '{';
}

static int
broken(struct reader *d, const struct json_scan *s)
{
	return import_bad_json(d->im.why, "a speedscope file", s, d->from,
	                       d->size);
}

static void
copy_text(const struct reader *d, char *out, size_t size)
{
	size_t n = d->text.len < size - 1 ? d->text.len : size - 1;

	memcpy(out, buf_str(&d->text), n);
	out[n] = '\0';
}

/* --- frames --------------------------------------------------------------- */

static int
frames_room(struct reader *d)
{
	uint32_t most = d->im.ask->limits.strings;

	if (d->nframes >= most)
		return import_over(&d->im, "it has too many frames", most,
		                   "max_strings");
	return ROWS_ROOM(d->frames, d->cap, d->nframes, 1);
}

/* The members of a frame that are kept. */
struct frame_text {
	struct buf name, file;
	int64_t line;
};

static void
frame_text_done(struct frame_text *t)
{
	buf_done(&t->name);
	buf_done(&t->file);
}

static bool
frame_member(struct reader *d, struct json_scan *s, struct frame_text *t)
{
	bool name = !strcmp(buf_str(&d->text), "name");
	bool file = !strcmp(buf_str(&d->text), "file");
	bool line = !strcmp(buf_str(&d->text), "line");
	enum json_token value = json_scan_next(s);

	if (value == JSON_STRING && (name || file)) {
		struct buf *to = name ? &t->name : &t->file;

		buf_clear(to);
		buf_add(to, buf_str(&d->text), d->text.len);
	}
	if (value == JSON_NUMBER && line && s->number >= 0 && s->number < 1e9)
		t->line = (int64_t)s->number;
	return json_scan_skip(s, value);
}

static int
add_frame(struct reader *d, const struct frame_text *t)
{
	const struct import_frame f = {
		.name = t->name.len ? buf_str(&t->name) : "(anonymous)",
		.nname = t->name.len ? t->name.len : strlen("(anonymous)"),
		.file = buf_str(&t->file),
		.nfile = t->file.len,
		.line = t->line,
	};
	int r = frames_room(d);

	if (!r)
		r = buf_err(&t->name) ? buf_err(&t->name) : buf_err(&t->file);
	return r ? r : import_location(&d->im, &f, &d->frames[d->nframes++]);
}

static int
read_frames(struct reader *d, struct json_scan *s)
{
	CLEANUP(frame_text_done)
	struct frame_text t = {BUF_INIT(JSON_SCAN_TEXT),
	                       BUF_INIT(JSON_SCAN_TEXT), 0};
	enum json_token k;
	int r = 0;

	if (json_scan_next(s) != JSON_ARRAY)
		return broken(d, s);
	while (!r && (k = json_scan_next(s)) == JSON_OBJECT) {
		buf_clear(&t.name);
		buf_clear(&t.file);
		t.line = 0;
		while ((k = json_scan_next(s)) == JSON_NAME)
			if (!frame_member(d, s, &t))
				return broken(d, s);
		r = k == JSON_OBJECT_END ? add_frame(d, &t) : broken(d, s);
	}
	return r ? r : k == JSON_ARRAY_END ? 0 : broken(d, s);
}

/* --- samples -------------------------------------------------------------- */

static int
frame_at(struct reader *d, const struct json_scan *s, uint32_t *out)
{
	if (!(s->number >= 0 && s->number < d->nframes))
		return import_bad(&d->im, "it refers to a frame that is not "
		                          "there");
	*out = d->frames[(uint32_t)s->number];
	return 0;
}

static int
sample(struct reader *d, int64_t count, double value)
{
	return import_sample(&d->im, &d->thread, d->thread.str != 0, count,
	                     value);
}

/* Reads the number of samples of the next row. */
static int
read_count(struct reader *d, struct json_scan *c, int64_t *out)
{
	*out = 1;
	if (!c->p)
		return 0;
	if (json_scan_next(c) != JSON_NUMBER)
		return import_bad(&d->im, "a sample has no count");
	if (!(c->number >= 0 && c->number < 0x1p53))
		return import_bad(&d->im, "a count is out of range");
	*out = llround(c->number);
	return 0;
}

/* Reads one stack, root first. */
static int
read_stack(struct reader *d, struct json_scan *s)
{
	uint32_t last[PROFILE_MAX_FRAMES]; /* a ring */
	enum json_token k;
	uint64_t n = 0;
	int r = 0;

	while (!r && (k = json_scan_next(s)) == JSON_NUMBER)
		r = frame_at(d, s, &last[n++ % PROFILE_MAX_FRAMES]);
	if (!r && k != JSON_ARRAY_END)
		r = broken(d, s);
	while (!r && n > 0 && !import_full(&d->im))
		r = import_push(&d->im, last[--n % PROFILE_MAX_FRAMES]);
	return r;
}

static int
read_sampled(struct reader *d, struct parts *p)
{
	struct json_scan *s = &p->samples, *w = &p->weights;
	enum json_token k;
	int64_t count = 1;
	int r = 0;

	if (json_scan_next(s) != JSON_ARRAY ||
	    json_scan_next(w) != JSON_ARRAY ||
	    (p->counts.p && json_scan_next(&p->counts) != JSON_ARRAY))
		return broken(d, s);
	while (!r && (k = json_scan_next(s)) == JSON_ARRAY) {
		r = read_stack(d, s);
		if (!r && json_scan_next(w) != JSON_NUMBER)
			return import_bad(&d->im, "a sample has no weight");
		if (!r)
			r = read_count(d, &p->counts, &count);
		if (!r)
			r = sample(d, count, w->number);
	}
	if (r || k != JSON_ARRAY_END)
		return r ? r : broken(d, s);
	if (json_scan_next(w) == JSON_NUMBER)
		return import_bad(&d->im, "a weight has no sample");
	return 0;
}

/* --- events --------------------------------------------------------------- */

struct event {
	char type;
	double at;
	struct json_scan frame; /* positioned at the frame's number */
};

static bool
read_event(struct reader *d, struct json_scan *s, struct event *e)
{
	enum json_token k;

	*e = (struct event){.frame.number = -1};
	while ((k = json_scan_next(s)) == JSON_NAME) {
		bool at = !strcmp(buf_str(&d->text), "at");
		bool frame = !strcmp(buf_str(&d->text), "frame");
		bool type = !strcmp(buf_str(&d->text), "type");

		k = json_scan_next(s);
		if (k == JSON_NUMBER && at)
			e->at = s->number;
		else if (k == JSON_NUMBER && frame)
			e->frame.number = s->number;
		else if (k == JSON_STRING && type)
			e->type = d->text.len == 1 ? *buf_str(&d->text) : 0;
		if (!json_scan_skip(s, k))
			return false;
	}
	return k == JSON_OBJECT_END;
}

/* Opens a frame or closes the innermost one. */
static int
apply_event(struct reader *d, const struct event *e)
{
	uint32_t location = 0;
	int r = frame_at(d, &e->frame, &location);

	if (!r && e->type == 'O')
		r = ROWS_ROOM(d->path, d->path_room, d->depth, 1);
	if (r)
		return r;
	if (e->type == 'O') {
		d->path[d->depth++] = location;
		return 0;
	}
	if (e->type != 'C' || !d->depth || d->path[d->depth - 1] != location) {
		buf_puts(d->im.why, "its events are not nested");
		return -EBADMSG;
	}
	d->depth--;
	return 0;
}

/* Adds the time since the previous event to the open stack. */
static int
pass_time(struct reader *d, double span)
{
	uint32_t n = d->depth;
	int r = 0;

	if (span < 0)
		return import_bad(&d->im, "its events are not in order");
	if (!n || !(span > 0))
		return 0;
	while (!r && n > 0 && !import_full(&d->im))
		r = import_push(&d->im, d->path[--n]);
	return r ? r : sample(d, 1, span);
}

static int
read_evented(struct reader *d, struct parts *p)
{
	struct event e, last = {0};
	unsigned long long n = 0;
	enum json_token k;
	int r = 0;

	d->depth = 0;
	if (json_scan_next(&p->events) != JSON_ARRAY)
		return broken(d, &p->events);
	while (!r && (k = json_scan_next(&p->events)) == JSON_OBJECT) {
		if (!read_event(d, &p->events, &e))
			return broken(d, &p->events);
		r = pass_time(d, d->depth ? e.at - last.at : 0)
		            ?: apply_event(d, &e);
		n++;
		last = e;
	}
	if (r == -EBADMSG)
		buf_addf(d->im.why, ": see event %llu of %s", n, p->name);
	if (r || k != JSON_ARRAY_END)
		return r ? r : broken(d, &p->events);
	d->open += d->depth;
	return p->end > last.at ? pass_time(d, p->end - last.at) : 0;
}

/* --- profiles ------------------------------------------------------------- */

static bool
profile_member(struct reader *d, struct json_scan *s, struct parts *p)
{
	static const char *const names[] = {"samples", "weights", "counts",
	                                    "events"};
	struct json_scan *const lists[] = {&p->samples, &p->weights, &p->counts,
	                                   &p->events};
	bool name = !strcmp(buf_str(&d->text), "name");
	bool unit = !strcmp(buf_str(&d->text), "unit");
	bool end = !strcmp(buf_str(&d->text), "endValue");
	enum json_token k;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(buf_str(&d->text), names[i]))
			*lists[i] = *s;
	k = json_scan_next(s);
	if (k == JSON_STRING && name)
		copy_text(d, p->name, sizeof(p->name));
	if (k == JSON_STRING && unit)
		copy_text(d, p->unit, sizeof(p->unit));
	if (k == JSON_NUMBER && end)
		p->end = s->number;
	return json_scan_skip(s, k);
}

static int
find_parts(struct reader *d, struct json_scan *s, struct parts *p)
{
	enum json_token k;

	*p = (struct parts){.end = NAN};
	while ((k = json_scan_next(s)) == JSON_NAME)
		if (!profile_member(d, s, p))
			return broken(d, s);
	return k == JSON_OBJECT_END ? 0 : broken(d, s);
}

/* Returns a unit of types.def, or "" for plain numbers: "none", and units that
 * speedscope does not have, either. */
static const char *
kind(const struct parts *p)
{
	int64_t scale;
	const char *ours = import_unit_find(p->unit, &scale);

	return ours && strcmp(ours, "count") != 0 ? ours : "";
}

static bool
is_kept(const struct reader *d, const struct parts *p)
{
	return !d->unit || !strcmp(kind(p), d->unit);
}

/* Sets the unit of a profile. */
static int
begin_profile(struct reader *d, const struct parts *p)
{
	const char *unit = *kind(p) ? p->unit : "";
	int r = profile_cstring(d->im.p, "thread", &d->thread.key);

	if (!r)
		r = profile_cstring(d->im.p, p->name, &d->thread.str);
	return r ? r : import_unit(&d->im, unit);
}

static int
read_profile(struct reader *d, struct json_scan *s)
{
	struct parts p;
	int r = find_parts(d, s, &p);

	if (r || !is_kept(d, &p))
		return r;
	r = begin_profile(d, &p);
	if (r)
		return r;
	if (d->profiles == 1)
		d->thread.str = 0;
	if (d->im.uncounted)
		p.counts.p = NULL;
	if (p.samples.p && p.weights.p)
		return read_sampled(d, &p);
	if (p.samples.p)
		return import_bad(&d->im, "its samples have no weights");
	return p.events.p ? read_evented(d, &p) : broken(d, s);
}

/* Finds out if the rows of a profile are samples. w is a copy. */
static void
look_at_weights(struct reader *d, struct json_scan w)
{
	if (json_scan_next(&w) != JSON_ARRAY)
		return;
	while (json_scan_next(&w) == JSON_NUMBER) {
		if (!d->weight)
			d->weight = w.number;
		if (fabs(w.number - d->weight) > SAME * d->weight)
			d->im.uncounted = true;
	}
}

/* Finds out if counts are known: one is above 0. */
static void
look_at_counts(struct reader *d, const struct json_scan *counts)
{
	struct json_scan c = *counts;

	if (json_scan_next(&c) != JSON_ARRAY)
		return;
	while (json_scan_next(&c) == JSON_NUMBER)
		if (c.number > 0)
			return;
	d->im.uncounted = true;
}

/* True if a profile of the type that is asked for may have this unit. */
static bool
fits(const struct reader *d, const char *unit)
{
	const struct type *t = type_find(d->im.ask->type);

	return !t || !*unit || !strcmp(unit, t->unit);
}

/* Finds the profiles to keep, those in the unit of the profile that speedscope
 * shows first, and whether they have samples. s is a copy. */
static int
survey(struct reader *d, struct json_scan s)
{
	struct json_scan again = s;
	struct parts p;
	int r = 0;

	if (json_scan_next(&s) != JSON_ARRAY)
		return broken(d, &s);
	for (double i = 0; (!d->unit || i <= d->active) && !r &&
	                   json_scan_next(&s) == JSON_OBJECT;
	     i++) {
		r = find_parts(d, &s, &p);
		if (!r && (!d->unit || i == d->active) && fits(d, kind(&p)))
			d->unit = kind(&p);
	}
	s = again;
	(void)json_scan_next(&s);
	for (; !r && json_scan_next(&s) == JSON_OBJECT; d->profiles++) {
		r = find_parts(d, &s, &p);
		if (r)
			break;
		if (!is_kept(d, &p)) {
			if (!d->other++)
				buf_addf(&d->note, "%s (%s)", p.name, p.unit);
			continue;
		}
		d->im.uncounted |= p.events.p != NULL;
		if (p.weights.p && p.counts.p)
			look_at_counts(d, &p.counts);
		else if (p.weights.p)
			look_at_weights(d, p.weights);
	}
	return r;
}

static int
read_profiles(struct reader *d, struct json_scan *s)
{
	enum json_token k;
	int r = survey(d, *s);

	if (r || json_scan_next(s) != JSON_ARRAY)
		return r ? r : broken(d, s);
	while (!r && (k = json_scan_next(s)) == JSON_OBJECT)
		r = read_profile(d, s);
	return r ? r : k == JSON_ARRAY_END ? 0 : broken(d, s);
}

static void
put_notes(struct reader *d)
{
	if (d->other)
		buf_addf(d->im.why,
		         "profiles in other units are left out: %s%s\n",
		         buf_str(&d->note), d->other > 1 ? " and others" : "");
	if (d->open)
		buf_addf(d->im.why,
		         "frames that no event closes last to the end: %llu\n",
		         d->open);
}

/* Moves the scan to the value of a member. */
static int
find(struct reader *d, struct json_scan *s, const char *name)
{
	enum json_token k;

	if (json_scan_next(s) != JSON_OBJECT)
		return broken(d, s);
	while ((k = json_scan_next(s)) == JSON_NAME) {
		if (!strcmp(buf_str(&d->text), name))
			return 0;
		if (!json_scan_skip(s, json_scan_next(s)))
			break;
	}
	return broken(d, s);
}

/* Reads activeProfileIndex, which may be missing. */
static void
find_active(struct reader *d, const char *p, size_t n)
{
	struct json_scan s;
	enum json_token k;

	json_scan_init(&s, p, n, &d->text);
	if (json_scan_next(&s) != JSON_OBJECT)
		return;
	while (json_scan_next(&s) == JSON_NAME) {
		bool active = !strcmp(buf_str(&d->text), "activeProfileIndex");

		k = json_scan_next(&s);
		if (active && k == JSON_NUMBER)
			d->active = s.number;
		if (!json_scan_skip(&s, k))
			return;
	}
}

static void
reader_done(struct reader *d)
{
	import_done(&d->im);
	buf_done(&d->text);
	buf_done(&d->note);
	free(d->frames);
	free(d->path);
}

int
input_speedscope_read(const char *p, size_t n, const struct import_ask *ask,
                      struct profile **out, struct buf *why)
{
	CLEANUP(reader_done) struct reader d = {0};
	struct json_scan s;
	int r = import_init(&d.im, ask, why);

	d.text = BUF_INIT(JSON_SCAN_TEXT);
	d.note = BUF_INIT(BUF_MAX_SMALL);
	d.from = p;
	d.size = n;
	json_scan_init(&s, p, n, &d.text);
	if (!r)
		r = find(&d, &s, "shared");
	if (!r)
		r = find(&d, &s, "frames");
	if (!r)
		r = read_frames(&d, &s);
	json_scan_init(&s, p, n, &d.text);
	if (!r)
		find_active(&d, p, n);
	if (!r)
		r = find(&d, &s, "profiles");
	if (!r)
		r = read_profiles(&d, &s);
	if (!r)
		put_notes(&d);
	return r ? r : import_end(&d.im, out);
}
