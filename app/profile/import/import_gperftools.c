/*
 * Reads CPU profiles of gperftools (CPUPROFILE=) and of programs that write
 * its format: words of 4 or 8 bytes in either byte order.
 *
 *	0 3 0 PERIOD 0          the header; the period is in microseconds
 *	COUNT N PC...           a stack, leaf first; callers are return addresses
 *	0 1 0                   the end, and the text of /proc/PID/maps
 *
 * Source: cpuprofile-fileformat.html of gperftools 2.10; google/pprof,
 * profile/legacy_profile.go, parseCPU().
 */
#include "base/clock.h"
#include "import_maps.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define HEADER 5
/* As in pprof, up to HANDLERS frames that the signal's handler leaves above the
 * leaf are removed if at most one in OTHER_PARTS stacks lacks them. */
#define HANDLERS    2
#define OTHER_PARTS 32

struct words {
	const char *p, *end;
	bool wide, big;
};

struct stack {
	uint64_t count;
	const char *at; /* its words */
	uint64_t n;
};

struct reader {
	struct import im;
	struct import_maps maps;
	struct words w;
	uint64_t handlers[HANDLERS];
	size_t nhandlers;
};

/* Reads the next word. Returns false at the end. */
static bool
take(struct words *w, uint64_t *out)
{
	size_t n = w->wide ? 8 : 4;
	uint64_t v8;
	uint32_t v4;

	if ((size_t)(w->end - w->p) < n)
		return false;
	if (w->wide) {
		memcpy(&v8, w->p, n);
		*out = w->big ? be64toh(v8) : le64toh(v8);
	} else {
		memcpy(&v4, w->p, n);
		*out = w->big ? be32toh(v4) : le32toh(v4);
	}
	w->p += n;
	return true;
}

/* Reads a header of any word size and byte order. Returns its period, or 0. */
static uint64_t
read_header(const char *p, size_t n, struct words *out)
{
	for (int form = 0; form < 4; form++) {
		struct words w = {p, p + n, form & 1, form & 2};
		uint64_t v[HEADER] = {1};
		bool all = true;

		for (size_t i = 0; i < HEADER; i++)
			all = all && take(&w, &v[i]);
		if (!all || v[0] || v[1] != 3 || v[2] || v[4] ||
		    v[3] > INT32_MAX)
			continue;
		*out = w;
		return v[3];
	}
	return 0;
}

bool
input_gperftools_looks(const char *p, size_t n)
{
	struct words w;

	return read_header(p, n, &w) > 0;
}

/* Reads the next stack. Returns 1, 0 after the last one, or -EBADMSG if the
 * file ends within a stack. */
static int
take_stack(struct words *w, struct stack *out)
{
	size_t size = w->wide ? 8 : 4;
	uint64_t first = 1;
	struct words at;

	if (!take(w, &out->count) || !take(w, &out->n) ||
	    out->n > (size_t)(w->end - w->p) / size)
		return -EBADMSG;
	out->at = w->p;
	at = *w;
	w->p += out->n * size;
	return !(out->count == 0 && out->n == 1 && take(&at, &first) && !first);
}

/* Reads the frames of a stack without the handlers known so far, and without
 * the leaf's duplicate if it was both interrupted and unwound. Returns false
 * if there are too many. */
static bool
frames_of(const struct reader *r, const struct stack *s, bool doubles,
          uint64_t out[static PROFILE_MAX_FRAMES], uint32_t *n)
{
	struct words w = r->w;
	uint64_t address;
	size_t k = 0;

	*n = 0;
	w.p = s->at;
	for (uint64_t i = 0; i < s->n && take(&w, &address); i++) {
		bool handler = false;

		address -= i > 0;
		while (*n == 1 && !handler && k < r->nhandlers)
			handler = address == r->handlers[k++];
		if (handler)
			continue;
		if (*n == 1 && doubles && address + 1 == out[0]) {
			doubles = false;
			continue;
		}
		if (*n == PROFILE_MAX_FRAMES)
			return false;
		out[(*n)++] = address;
	}
	return true;
}

/* Returns the address above most leaves, by Boyer and Moore's vote, or 0. */
static uint64_t
most_callers(const struct reader *r, size_t stacks)
{
	uint64_t frames[PROFILE_MAX_FRAMES], caller = 0;
	size_t votes = 0, count = 0;
	struct stack s;
	uint32_t n;

	for (int counting = 0; counting < 2; counting++)
		for (struct words w = r->w; take_stack(&w, &s) > 0;) {
			if (!frames_of(r, &s, false, frames, &n) || n < 2)
				continue;
			if (counting) {
				count += frames[1] == caller;
				continue;
			}
			caller = votes ? caller : frames[1];
			votes = frames[1] == caller ? votes + 1 : votes - 1;
		}
	return count && count >= stacks - stacks / OTHER_PARTS ? caller : 0;
}

static int
add_stack(struct reader *r, const struct stack *s)
{
	uint64_t frames[PROFILE_MAX_FRAMES];
	int64_t v[2];
	uint32_t n, location;
	int rc = 0;

	if (s->count >= 1ull << 53 ||
	    __builtin_mul_overflow(s->count, r->im.p->period, &v[1]))
		return import_bad(&r->im, "a value is out of range");
	v[0] = (int64_t)s->count;
	if (!frames_of(r, s, true, frames, &n))
		return import_deep(&r->im);
	for (uint32_t i = 0; i < n && !rc; i++) {
		rc = profile_location(r->im.p,
		                      import_maps_find(&r->maps, frames[i]),
		                      frames[i], NULL, 0, &location);
		if (!rc)
			rc = import_push(&r->im, location);
	}
	return rc ? rc : import_values(&r->im, NULL, 0, v);
}

static int
set_types(struct profile *p, uint64_t period)
{
	int rc = profile_type(p, "samples", "count")
	                 ?: profile_type(p, "cpu", "nanoseconds");

	p->period_type = p->types[p->ntypes - 1];
	p->period = (int64_t)period * NS_PER_US;
	return rc;
}

static int
read_all(struct reader *r, const char *p, size_t n)
{
	uint64_t period = read_header(p, n, &r->w), caller;
	struct words w = r->w;
	size_t stacks = 0;
	struct stack s;
	int more, rc = period ? set_types(r->im.p, period)
	                      : import_bad(&r->im, "it has no header of a CPU "
	                                           "profile of gperftools");

	while (!rc && (more = take_stack(&w, &s)) != 0) {
		if (more < 0) {
			import_note(&r->im,
			            "it is cut off: the mappings and the last "
			            "samples are missing");
			w.p = w.end;
			break;
		}
		stacks++;
	}
	if (!rc)
		rc = import_maps_read(&r->im, w.p, p + n, &r->maps);
	for (size_t i = 0; !rc && i < HANDLERS; i++) {
		caller = most_callers(r, stacks);
		if (caller)
			r->handlers[r->nhandlers++] = caller;
	}
	w = r->w;
	while (!rc && take_stack(&w, &s) > 0)
		rc = add_stack(r, &s);
	return rc;
}

static void
reader_done(struct reader *r)
{
	import_done(&r->im);
	import_maps_done(&r->maps);
}

int
input_gperftools_read(const char *p, size_t n, const struct import_ask *ask,
                      struct profile **out, struct buf *why)
{
	CLEANUP(reader_done) struct reader r = {0};
	int rc = import_init(&r.im, ask, why);

	if (!rc)
		rc = read_all(&r, p, n);
	return rc ? rc : import_end(&r.im, out);
}
