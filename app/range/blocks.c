/*
 * Makes blocks of parts of a range that are short enough to show how the range
 * varies over time. A plan takes the coarsest windows: a day may be one part.
 * Blocks use the windows that the day was made of instead, if these still
 * exist.
 */
#include "range/range.h"

#include "ahead.h"
#include "base/clock.h"
#include "profile/types.h"

#include <errno.h>
#include <string.h>

/* Parts are split until they are worth this many equal ones. */
#define WORTH 16
/* Limits of reading parts, in addition to those of the range itself. */
#define MAX_STORED ((int64_t)24 << 20) /* bytes, as stored */
#define MAX_NS     (4 * NS_PER_S)

/* Parts, and the windows that they point to, except those of the range. */
struct finer {
	struct range_part *parts;
	size_t n, cap;
	struct window_list *lists;
	size_t nlists;
};

static void
finer_done(struct finer *f)
{
	for (size_t i = 0; i < f->nlists; i++)
		window_list_done(&f->lists[i]);
	free(f->lists);
	free(f->parts);
}
#define CLEANUP_FINER CLEANUP(finer_done)

static int
add_part(struct finer *f, const struct range_part *p)
{
	if (f->n == f->cap) {
		size_t cap = f->cap ? 2 * f->cap : 64;
		struct range_part *parts =
			reallocarray(f->parts, cap, sizeof(*parts));

		if (!parts)
			return -1;
		f->parts = parts;
		f->cap = cap;
	}
	f->parts[f->n++] = *p;
	return 0;
}

/* Finds the windows that a rollup was made of; -1 if some are gone. */
static int
children_of(struct store *s, const struct window *w, struct window_list *out)
{
	int64_t from = window_floor((enum window_level)w->level, w->start_ms);
	int64_t to = from + window_span_ms((enum window_level)w->level);
	int64_t windows = 0;
	size_t n = 0;

	if (window_between(s, w->series, (enum window_level)(w->level - 1),
	                   from, to, out))
		return -1;
	for (size_t i = 0; i < out->n; i++) {
		struct window *one = &out->items[i];

		if (strcmp(one->parent, w->id) != 0) {
			window_done(one); /* it came too late */
			continue;
		}
		windows += one->windows > 0 ? one->windows : 1;
		out->items[n++] = *one;
	}
	out->n = n;
	return windows == w->windows ? 0 : -1;
}

static int
add_children(struct store *s, struct finer *f, const struct range_part *p)
{
	struct window_list *l = &f->lists[f->nlists];
	struct window_list none = {0};

	if (children_of(s, p->window, l)) {
		window_list_done(l);
		*l = none;
		return add_part(f, p);
	}
	f->nlists++;
	for (size_t i = 0; i < l->n; i++) {
		struct range_part one = range_part_of(p->series, &l->items[i]);

		if (add_part(f, &one))
			return -1;
	}
	return 0;
}

/* Copies the parts; replaces each window of this level by its children. */
static int
split(struct store *s, const struct range_part *parts, size_t n,
      enum window_level level, struct finer *out)
{
	int rc = 0;

	out->lists = calloc(n + 1, sizeof(*out->lists));
	if (!out->lists)
		return -1;
	for (size_t i = 0; i < n && !rc; i++)
		rc = parts[i].window && parts[i].window->level == level
		             ? add_children(s, out, &parts[i])
		             : add_part(out, &parts[i]);
	if (!rc)
		range_parts_sort(out->parts, out->n);
	return rc;
}

static bool
is_too_much(const struct finer *f)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < f->n; i++)
		bytes += f->parts[i].length;
	return bytes > MAX_STORED || f->n > RANGE_MAX_PARTS;
}

/* --- their blocks --------------------------------------------------------- */

struct blocks_part *
range_outline(const struct range_part *parts, size_t n, bool gauge)
{
	struct blocks_part *out = calloc(n + 1, sizeof(*out));

	for (size_t i = 0; out && i < n; i++) {
		const struct range_part *p = &parts[i];

		out[i] = (struct blocks_part){
			.start_ms = p->span.start_ms,
			.end_ms = p->span.end_ms,
			.seconds = (double)p->span.covered_ms /
		                   (double)MS_PER_S,
			.samples = (double)p->samples,
			.each = gauge ? (double)p->span.covered_ms /
		                                (double)MS_PER_S /
		                                (double)p->windows
		                      : 1,
		};
	}
	return out;
}

static bool
is_worth(const struct range_part *parts, size_t n)
{
	CLEANUP_FREE struct blocks_part *of = range_outline(parts, n, false);

	return of && blocks_worth(of, n) >= WORTH;
}

struct reading {
	struct ahead *ahead;
	struct ahead_unit *unit; /* NULL: none yet */
	size_t at;               /* its next part */
	int64_t end_ns;
};

static int
next_part(void *arg, size_t *part, const struct packed **out)
{
	struct reading *r = arg;
	CLEANUP_BUF struct buf why = BUF_INIT(1024);

	while (!r->unit || r->at == r->unit->n) {
		int rc = clock_mono_ns() > r->end_ns
		                 ? -ETIME
		                 : ahead_next(r->ahead, &r->unit, &why);

		if (rc)
			return rc;
		r->at = 0;
	}
	*part = r->unit->parts[r->at];
	return ahead_profile(r->unit, r->at++, out);
}

static struct blocks *
make(const struct range *r, const struct tree *t, enum blocks_what what)
{
	CLEANUP_FREE struct blocks_part *of =
		range_outline(r->parts, r->n, type_is_gauge(r->type));
	CLEANUP_AHEAD struct ahead *a = NULL;
	struct reading reading = {.end_ns = clock_mono_ns() + MAX_NS};
	const struct blocks_parts all = {of, r->n, next_part, &reading};
	struct blocks *b = NULL;

	if (!of || ahead_new(r, &a))
		return NULL;
	reading.ahead = a;
	return blocks_of_parts(t, &all, what, &b) ? NULL : b;
}

struct blocks *
range_blocks(const struct range *r, const struct tree *t, enum blocks_what what)
{
	CLEANUP_FINER struct finer days = {0};
	CLEANUP_FINER struct finer hours = {0};
	CLEANUP_FINER struct finer minutes = {0};
	struct finer *by_level[WINDOW_LEVELS] = {
		[WINDOW_DAY] = &days,
		[WINDOW_HOUR] = &hours,
		[WINDOW_MINUTE] = &minutes,
	};
	struct range fine = *r;

	for (int level = WINDOW_DAY;
	     level > WINDOW_CAPTURED && !is_worth(fine.parts, fine.n);
	     level--) {
		struct finer *f = by_level[level];

		if (split(r->store, fine.parts, fine.n,
		          (enum window_level)level, f))
			return NULL;
		if (is_too_much(f))
			break;
		fine.parts = f->parts;
		fine.n = f->n;
	}
	return make(&fine, t, what);
}

struct blocks *
range_window_blocks(struct store *s, const char *tenant, const char *id,
                    const struct tree *t, enum blocks_what what)
{
	CLEANUP_WINDOW struct window w = {0};
	CLEANUP_SERIES struct series of = {0};
	struct range_part part;
	struct range r = {.store = s, .tenant = tenant, .parts = &part, .n = 1};

	if (window_get(s, tenant, id, &w, &of) || w.level == WINDOW_CAPTURED)
		return NULL;
	part = range_part_of(&of, &w);
	r.type = of.type;
	return range_blocks(&r, t, what);
}
