#include "perf_samples.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define MOST_NAME 64 /* bytes of an event's name in notes */
/* If time goes back at more than one in this many samples, the times are
 * differences, as written with --deltatime. */
#define BACKWARDS 10

int
perf_samples_init(struct perf_samples *s, const struct import_ask *ask,
                  struct buf *why)
{
	s->chosen = PERF_MAX_EVENTS;
	return import_init(&s->im, ask, why);
}

/* --- events --------------------------------------------------------------- */

static bool
is(struct perf_text a, const char *text)
{
	return a.n == strlen(text) && !memcmp(a.p, text, a.n);
}

static bool
same(struct perf_text a, struct perf_text b)
{
	return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

/* Returns an event's name without its modifiers: "cycles" of "cycles:ppp". */
static struct perf_text
bare(struct perf_text event)
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
is_clock(struct perf_text event)
{
	struct perf_text name = bare(event);

	return is(name, "cpu-clock") || is(name, "task-clock");
}

static bool
is_asked(const struct perf_samples *s, struct perf_text event)
{
	const char *ask = s->im.ask->event;

	if (!ask || !*ask)
		ask = s->first;
	return !ask || is(event, ask) || is(bare(event), ask);
}

/* Counts a sample of an event. Returns its index, or PERF_MAX_EVENTS. */
static size_t
count_event(struct perf_samples *s, struct perf_text name)
{
	size_t i = 0;

	while (i < s->nevents && !same(s->events[i].name, name))
		i++;
	if (i == PERF_MAX_EVENTS)
		return i;
	if (i == s->nevents)
		s->events[s->nevents++].name = name;
	s->events[i].samples++;
	return i;
}

static int
shown(struct perf_text name)
{
	return (int)(name.n < MOST_NAME ? name.n : MOST_NAME);
}

static void
put_events(const struct perf_samples *s, size_t but, struct buf *out)
{
	const char *between = "";

	for (size_t i = 0; i < s->nevents; i++) {
		uint64_t n = s->events[i].samples;

		if (i == but)
			continue;
		buf_addf(out, "%s%.*s (%llu sample%s)", between,
		         shown(s->events[i].name), s->events[i].name.p,
		         (unsigned long long)n, n == 1 ? "" : "s");
		between = ", ";
	}
}

/* --- samples -------------------------------------------------------------- */

/* Sets the values of an event that is not a clock. The CPU time of cycles is
 * known if the rate is. */
static int
event_types(struct perf_samples *s, struct perf_text event)
{
	struct perf_text name = bare(event);
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	struct profile *p = s->im.p;
	int r = profile_type(p, "samples", "count");

	buf_add(&text, name.p, name.n);
	if (!r && s->im.ask->rate > 0 && strstr(buf_str(&text), "cycles"))
		r = profile_type(p, "cpu", "nanoseconds");
	return r ? r : profile_type(p, buf_str(&text), buf_str(&text));
}

/* Refuses to read an event of the CPU as a type other than cpu. Other events
 * may stand for any type. */
static int
check_type(struct perf_samples *s, struct perf_text event)
{
	static const char *const of_cpu[] = {"cpu-clock", "task-clock",
	                                     "cycles", "instructions"};
	const char *type = s->im.ask->type;

	if (!*type || !strcmp(type, "cpu"))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(of_cpu); i++)
		if (memmem(event.p, event.n, of_cpu[i], strlen(of_cpu[i]))) {
			buf_addf(s->im.why,
			         "it has no values of a %s profile; its types "
			         "are cpu",
			         type);
			return -EBADMSG;
		}
	return 0;
}

static int
set_unit(struct perf_samples *s, const struct perf_head *h)
{
	int r = check_type(s, h->event);

	if (r)
		return r;
	if (h->period < 0 ||
	    (*s->im.ask->type && strcmp(s->im.ask->type, "cpu")))
		s->kind = PERF_SAMPLES;
	else
		s->kind = is_clock(h->event) ? PERF_TIME : PERF_EVENTS;
	s->first_s = h->time_s;
	return profile_cstring(s->im.p, "thread", &s->thread.key)
	               ?: (s->kind == PERF_EVENTS
	                           ? event_types(s, h->event)
	                           : import_unit(&s->im, s->kind == PERF_TIME
	                                                         ? "nanoseconds"
	                                                         : ""));
}

int
perf_sample_begin(struct perf_samples *s, const struct perf_head *h)
{
	size_t event = count_event(s, h->event);
	int r = 0;

	if (s->chosen == PERF_MAX_EVENTS && event < PERF_MAX_EVENTS &&
	    is_asked(s, h->event)) {
		s->chosen = event;
		r = set_unit(s, h);
	}
	s->other = event != s->chosen;
	if (r || s->other)
		return r;
	s->samples++;
	s->backwards += h->time_s < s->last_s;
	s->last_s = h->time_s;
	if (s->kind == PERF_SAMPLES)
		s->period = 1;
	else if (h->period >= 0)
		s->period = h->period;
	return profile_string(s->im.p, h->comm.p, h->comm.n, &s->thread.str);
}

/* Sets the values of a sample whose event is not a clock. */
static int
event_values(struct perf_samples *s, int64_t values[static PROFILE_MAX_TYPES])
{
	if (s->period >= 0x1p62)
		return import_bad(&s->im, "a value is out of range");
	memset(values, 0, PROFILE_MAX_TYPES * sizeof(*values));
	values[0] = 1;
	values[s->im.p->ntypes - 1] = (int64_t)s->period;
	return 0;
}

int
perf_sample_end(struct perf_samples *s)
{
	int64_t values[PROFILE_MAX_TYPES];
	uint32_t nlabels = s->thread.str != 0;

	if (s->kind != PERF_EVENTS)
		return import_sample(&s->im, &s->thread, nlabels, 1, s->period);
	return event_values(s, values)
	               ?: import_values(&s->im, &s->thread, nlabels, values);
}

int
perf_sample_again(struct perf_samples *s, uint32_t row)
{
	int64_t values[PROFILE_MAX_TYPES];

	if (s->kind != PERF_EVENTS)
		return import_sample_again(&s->im, row, 1, s->period);
	return event_values(s, values)
	               ?: import_values_again(&s->im, row, values);
}

/* --- the profile ---------------------------------------------------------- */

/* Divides the CPU time of all samples in proportion to their cycles. */
static void
divide_time(const struct perf_samples *s)
{
	struct profile *p = s->im.p;
	double all = (double)profile_total(p, 2);
	double time = (double)profile_total(p, 0) * NS_PER_S / s->im.ask->rate;

	for (size_t i = 0; i < p->nsamples; i++) {
		int64_t *v = &p->values[3 * i];

		v[1] = all > 0 ? llround((double)v[2] / all * time) : 0;
	}
}

static int
no_event(struct perf_samples *s)
{
	struct buf *why = s->im.why;

	buf_addf(why, "it has no samples of the event %s, but ",
	         s->im.ask->event);
	put_events(s, PERF_MAX_EVENTS, why);
	return -EBADMSG;
}

static void
note_events(struct perf_samples *s)
{
	CLEANUP_BUF struct buf note = BUF_INIT(BUF_MAX_SMALL);
	struct perf_text kept = s->events[s->chosen].name;

	buf_addf(&note, "only the event %.*s is kept, without ", shown(kept),
	         kept.p);
	put_events(s, s->chosen, &note);
	buf_puts(&note, "; the parameter event selects another");
	import_note(&s->im, buf_str(&note));
}

int
perf_samples_end(struct perf_samples *s, struct profile **out)
{
	double took_s = s->last_s - s->first_s;
	struct profile *p = s->im.p;

	if (s->nevents && s->chosen == PERF_MAX_EVENTS)
		return no_event(s);
	if (s->first_s >= 0 && took_s > 0 && took_s < 1e8 &&
	    s->backwards * BACKWARDS <= s->samples)
		p->duration_ns = llround(took_s * NS_PER_S);
	if (p->ntypes == 3)
		divide_time(s);
	if (p->nsamples && s->nevents > 1)
		note_events(s);
	return import_end(&s->im, out);
}
