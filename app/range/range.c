#include "range/range.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "profile/types.h"
#include "store/history.h"
#include "store/names.h"

#include <errno.h>
#include <string.h>

struct range
range_question(const struct range *r)
{
	struct range q = {0};

	memcpy(&q, r, offsetof(struct range, trend_level));
	return q;
}

void
range_done(struct range *r)
{
	for (size_t i = 0; r->plans && i < r->series.n; i++)
		window_list_done(&r->plans[i]);
	free(r->plans);
	free(r->parts);
	free(r->sums);
	host_cursors_done(&r->cursors);
	series_list_done(&r->series);
	session_list_done(&r->sessions);
}

bool
range_labels_match(const struct range *r, const char *json)
{
	CLEANUP_JSON json_t *have = NULL;

	if (!r->nlabels)
		return true;
	have = json_loads(json, 0, NULL);
	for (size_t i = 0; i < r->nlabels; i++) {
		const char *v = json_string_value(
			json_object_get(have, r->labels[i].key));

		if (!v || strcmp(v, r->labels[i].value) != 0)
			return false;
	}
	return true;
}

bool
range_is_pushed(const struct series *s)
{
	return !strcmp(s->host, WINDOW_PUSHED);
}

static bool
asks_for(const struct range *r, const char *origin)
{
	return r->origin && !strcmp(r->origin, origin);
}

static bool
is_admitted(const struct range *r, const char *host, const char *labels)
{
	return range_labels_match(r, labels) &&
	       (!r->only.passes || r->only.passes(r, host, labels));
}

static bool
wants(const struct range *r, const struct series *s)
{
	return !asks_for(r, range_is_pushed(s) ? "captured" : "pushed") &&
	       is_admitted(r, s->host, s->labels);
}

/* Finds the series that the filters allow; RANGE_MAX_SERIES is checked
 * later. */
static int
find_series(struct range *r)
{
	const struct series_filter f = {
		.tenant = r->tenant,
		.service = r->service,
		.type = r->type,
		.host = r->host,
	};
	int rc = series_list(r->store, &f, &r->series);
	size_t n = 0;

	if (rc)
		return rc == -E2BIG ? -EUSERS : rc;
	for (size_t i = 0; i < r->series.n; i++) {
		struct series *s = &r->series.items[i];

		if (wants(r, s))
			r->series.items[n++] = *s;
		else
			series_done(s);
	}
	r->series.n = n;
	return 0;
}

int
range_series(struct range *r)
{
	return find_series(r) ?: r->series.n > RANGE_MAX_SERIES ? -EUSERS : 0;
}

/* --- sums over hosts ------------------------------------------------------ */

static bool
is_sum(const struct series *s)
{
	return !strcmp(s->host, HOST_SUM);
}

/* Returns the time up to which sums include a series; INT64_MIN: not at all. */
static int64_t
summed_until(const struct range *r, const struct series *s)
{
	for (size_t i = 0; i < r->cursors.n; i++)
		if (!strcmp(r->cursors.items[i].host, s->host))
			return window_floor(WINDOW_HOUR,
			                    r->cursors.items[i].end_ms);
	return INT64_MIN;
}

/*
 * Finds the next span, from *at on, that is read from a series, and sets *at to
 * its end. A series of sums is read where sums are valid, other series where
 * they are not. False if there is none.
 */
static bool
next_stretch(const struct range *r, const struct series *s, int64_t until_ms,
             int64_t *at, int64_t *from_ms)
{
	for (size_t i = 0; i < r->nsums; i++) {
		const struct sum_span *sum = &r->sums[i];
		int64_t end = is_sum(s) || sum->to_ms < until_ms ? sum->to_ms
		                                                 : until_ms;

		if (end <= *at || end <= sum->from_ms)
			continue;
		if (is_sum(s)) {
			*from_ms = sum->from_ms;
			*at = end;
			return true;
		}
		if (*at < sum->from_ms) {
			*from_ms = *at;
			*at = sum->from_ms;
			return true;
		}
		*at = end;
	}
	*from_ms = *at;
	*at = r->to_ms;
	return !is_sum(s) && *from_ms < r->to_ms;
}

/* Leaves out series that the sums include entirely. */
static void
leave_summed_out(struct range *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->series.n; i++) {
		struct series *s = &r->series.items[i];
		int64_t at = r->from_ms, from_ms;

		if (next_stretch(r, s, summed_until(r, s), &at, &from_ms))
			r->series.items[n++] = *s;
		else
			series_done(s);
	}
	r->series.n = n;
}

/* Adds the series of sums that the filters allow. */
static int
add_sums(struct range *r)
{
	CLEANUP_SERIES_LIST struct series_list l = {0};
	const struct series_filter f = {
		.tenant = r->tenant,
		.service = r->service,
		.type = r->type,
		.host = HOST_SUM,
	};
	struct series *p;
	int rc = series_list(r->store, &f, &l);

	if (rc)
		return rc;
	p = reallocarray(r->series.items, r->series.n + l.n + 1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	r->series.items = p;
	for (size_t i = 0; i < l.n; i++) {
		if (!wants(r, &l.items[i]))
			continue;
		p[r->series.n++] = TAKE(l.items[i]);
	}
	return 0;
}

/* Finds the series to read, and the spans to read from sums. Reads cursors
 * first: an hour that a host sends meanwhile is then read from the host. */
static int
series_and_sums(struct range *r)
{
	int rc = find_series(r);

	if (!rc && !*r->host && !r->only.by_host && !asks_for(r, "pushed"))
		rc = host_cursors(r->store, r->tenant, &r->cursors);
	if (!rc && r->cursors.n)
		rc = host_sum_spans(r->store, r->tenant, r->service, r->from_ms,
		                    r->to_ms, &r->sums, &r->nsums);
	if (!rc && r->nsums) {
		leave_summed_out(r);
		rc = add_sums(r);
	}
	if (rc)
		return rc;
	return r->series.n > RANGE_MAX_SERIES ? -EUSERS : 0;
}

/* --- what is too much ----------------------------------------------------- */

static int
too_large(struct range *r, int64_t parts, int64_t bytes, int64_t fits_ms)
{
	r->excess = (struct range_excess){parts, bytes, fits_ms};
	return -EFBIG;
}

int
range_check_size(struct range *r)
{
	int64_t bytes = 0, fits_ms = 0;
	size_t fit = 0;

	for (size_t i = r->n; i-- > 0;) {
		bytes += r->parts[i].length;
		if (bytes > RANGE_MAX_STORED || r->n - i > RANGE_MAX_PARTS)
			continue;
		fits_ms = r->parts[i].span.start_ms;
		fit++;
	}
	return fit == r->n ? 0 : too_large(r, (int64_t)r->n, bytes, fits_ms);
}

/* --- what there is -------------------------------------------------------- */

static int
room(struct range *r, size_t more)
{
	struct range_part *p =
		reallocarray(r->parts, r->n + more + 1, sizeof(*r->parts));

	if (!p)
		return -ENOMEM;
	r->parts = p;
	return 0;
}

struct range_part
range_part_of(const struct series *s, const struct window *w)
{
	int64_t each = w->windows > 0 ? w->duration_ms / w->windows : 0;
	int64_t end = w->end_ms > w->start_ms ? w->end_ms : w->start_ms + 1;

	/* pushes may be longer than the minute in which they are added up */
	if (end - w->start_ms < each)
		end = w->start_ms + each;
	/* a snapshot, which takes no time, covers its moment */
	return (struct range_part){
		.span = {w->start_ms, end,
	                 w->duration_ms > 0 ? w->duration_ms : 1},
		.windows = w->windows > 0 ? w->windows : 1,
		.at_once = 1,
		.samples = w->sample_count,
		.value = w->value,
		.length = w->length,
		.window = w,
		.series = s,
	};
}

/* Leaves out pushed windows if there are captured ones, since the same samples
 * would count twice. */
static void
leave_pushed_out(struct range *r)
{
	size_t n = 0;
	bool captured = false;

	for (size_t i = 0; i < r->n; i++)
		captured |= !range_is_pushed(r->parts[i].series);
	for (size_t i = 0; i < r->n; i++)
		if (!captured || !range_is_pushed(r->parts[i].series))
			r->parts[n++] = r->parts[i];
	r->left_out = r->n - n;
	r->n = n;
}

static enum window_level
top_of(const struct range *r)
{
	return r->with_ids ? WINDOW_HOUR : WINDOW_DAY;
}

/* Handles too many windows in one series: finds a start from which the range
 * fits. */
static int
halve(struct range *r, const char *series)
{
	int64_t from = r->from_ms;
	int rc = -E2BIG;

	while (rc == -E2BIG && from < r->to_ms) {
		CLEANUP_WINDOWS struct window_list l = {0};

		from += (r->to_ms - from + 1) / 2;
		rc = window_plan(r->store, series, from, r->to_ms, top_of(r),
		                 &l);
	}
	return rc && rc != -E2BIG ? rc
	                          : too_large(r, RANGE_MAX_PARTS + 1, 0, from);
}

/* Finds windows of one series within a span. */
typedef int find_windows(struct range *r, const char *series, int64_t from_ms,
                         int64_t to_ms, struct window_list *out);

static int
find_plan(struct range *r, const char *series, int64_t from_ms, int64_t to_ms,
          struct window_list *out)
{
	int rc = window_plan(r->store, series, from_ms, to_ms, top_of(r), out);

	return rc == -E2BIG ? halve(r, series) : rc;
}

static int
find_of_series(struct range *r, const struct series *s, find_windows *find,
               struct window_list *out)
{
	int64_t at = r->from_ms, from_ms, until_ms = summed_until(r, s);
	int rc = 0;

	while (!rc && next_stretch(r, s, until_ms, &at, &from_ms)) {
		CLEANUP_WINDOWS struct window_list l = {0};

		rc = find(r, s->id, from_ms, at, &l)
		             ?: window_list_take(out, &l);
	}
	return rc;
}

/* Returns the largest number of hosts in any hour of the span that has this
 * window. */
static int64_t
hosts_at_once(const struct range *r, const struct window *w)
{
	for (size_t i = 0; i < r->nsums; i++)
		if (r->sums[i].from_ms <= w->start_ms &&
		    r->sums[i].to_ms > w->start_ms)
			return r->sums[i].hosts;
	return 1;
}

static int
plan_windows(struct range *r, find_windows *find)
{
	int rc = 0;

	r->plans = calloc(r->series.n + 1, sizeof(*r->plans));
	if (!r->plans)
		return -ENOMEM;
	for (size_t i = 0; i < r->series.n && !rc; i++) {
		const struct series *s = &r->series.items[i];
		struct window_list *l = &r->plans[i];

		rc = find_of_series(r, s, find, l) ?: room(r, l->n);
		for (size_t k = 0; k < l->n && !rc; k++) {
			struct range_part *p = &r->parts[r->n++];

			*p = range_part_of(s, &l->items[k]);
			if (is_sum(s))
				p->at_once = hosts_at_once(r, p->window);
		}
	}
	if (!rc && asks_for(r, "auto"))
		leave_pushed_out(r);
	return rc;
}

static int
add_session(struct range *r, const struct session *s)
{
	/* a snapshot, which takes no time, covers its moment */
	int64_t ms = s->duration_ms || !type_is_gauge(r->type) ? s->duration_ms
	                                                       : 1;
	struct blob b;
	int rc;

	if ((*r->host && strcmp(s->host, r->host)) ||
	    !is_admitted(r, s->host, s->labels))
		return 0;
	rc = blob_of_session(r->store, s->id, BLOB_PPROF, &b);
	if (rc)
		return rc == -ENOENT ? 0 : rc; /* its bytes are gone */
	r->parts[r->n++] = (struct range_part){
		.span = {s->started_ms, s->started_ms + ms, ms},
		.windows = 1,
		.at_once = 1,
		.samples = s->sample_count,
		.length = b.length,
		.session = s,
		.blob = b,
	};
	return 0;
}

static int
plan_sessions(struct range *r)
{
	const struct session_filter f = {
		.tenant = r->tenant,
		.service = r->service,
		.type = r->type,
		.status = SESSION_COMPLETED,
		.from_ms = r->from_ms,
		.to_ms = r->to_ms,
	};
	int rc = session_history(
		r->store, &f, (struct page){STORE_PAGE_MAX, ""}, &r->sessions);
	const struct session_list *l = &r->sessions;

	if (!rc)
		rc = room(r, l->n);
	for (size_t i = 0; i < l->n && !rc; i++)
		rc = add_session(r, &l->items[i]);
	if (!rc && l->next)
		rc = too_large(r, STORE_PAGE_MAX + 1, 0,
		               l->items[l->n - 1].started_ms);
	return rc;
}

static int
by_time(const void *a, const void *b)
{
	const struct range_part *x = a, *y = b;

	return (x->span.start_ms > y->span.start_ms) -
	       (x->span.start_ms < y->span.start_ms);
}

void
range_parts_sort(struct range_part *parts, size_t n)
{
	if (n)
		qsort(parts, n, sizeof(*parts), by_time);
}

struct span
range_part_span(const struct range_part *p)
{
	struct span span = p->span;

	span.covered_ms /= p->at_once;
	return span;
}

int
range_cover(struct range *r)
{
	CLEANUP_FREE struct span *spans = calloc(r->n + 1, sizeof(*spans));
	int64_t from = INT64_MAX, to = INT64_MIN;

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		spans[i] = range_part_span(&r->parts[i]);
		from = spans[i].start_ms < from ? spans[i].start_ms : from;
		to = spans[i].end_ms > to ? spans[i].end_ms : to;
	}
	return to <= from ? 0
	                  : coverage_of(spans, r->n, from, to - from, 1,
	                                &r->covered_ms);
}

static void
leave(struct range_left *left, const struct range_part *p)
{
	if (left->n++ < RANGE_LEFT_NAMED)
		left->ids[left->n - 1] = p->window ? p->window->id
		                                   : p->session->id;
}

int
range_leave_out(struct range *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct range_part *p = &r->parts[i];

		if (p->lost)
			leave(&r->lost, p);
		else if (p->unfit)
			leave(&r->unfit, p);
		else
			r->parts[n++] = *p;
	}
	if (n == r->n)
		return 0;
	r->n = n;
	return n ? range_cover(r) : r->unfit.n ? -EINVAL : -EBADMSG;
}

int
range_plan(struct range *r)
{
	int rc = series_and_sums(r) ?: plan_windows(r, find_plan);

	if (!rc && !r->n)
		rc = plan_sessions(r);
	if (!rc && !r->n)
		rc = -ENODATA;
	if (rc)
		return rc;
	range_parts_sort(r->parts, r->n);
	return range_check_size(r)
	               ?: range_cover(r)
	               ?: names_version(r->store, r->tenant, &r->names);
}

uint64_t
range_hash(const struct range *r)
{
	uint64_t h = hash_pair(r->n, (uint64_t)r->names);

	for (size_t i = 0; i < r->n; i++) {
		const char *id = r->parts[i].window ? r->parts[i].window->id
		                                    : r->parts[i].blob.id;

		h = hash_pair(h, hash_bytes(id, strlen(id)));
	}
	return h;
}

static int
find_trend(struct range *r, const char *series, int64_t from_ms, int64_t to_ms,
           struct window_list *out)
{
	return history_trend(r->store, series, r->trend_level, from_ms, to_ms,
	                     out);
}

int
range_trend(struct range *r, enum window_level level)
{
	int rc = level >= WINDOW_HOUR ? series_and_sums(r) : range_series(r);

	r->trend_level = level < top_of(r) ? level : top_of(r);
	rc = rc ?: plan_windows(r, find_trend);
	return rc ? rc : r->n ? 0 : plan_sessions(r);
}

bool
range_part_is_empty(const struct range_part *p)
{
	return p->window && !p->length;
}

struct store
range_files(const struct store *s, const struct range_part *parts, size_t n)
{
	struct store files = *s;

	files.db = NULL;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(parts[i].window ? parts[i].window->store
		                            : parts[i].blob.store,
		            BYTES_DB))
			files.db = s->db;
	return files;
}

int
range_part_read(const struct store *files, const struct range_part *p,
                struct packed *out, struct buf *why)
{
	CLEANUP_BUF struct buf stored = BUF_INIT(BUF_MAX_REPLY);
	int rc = p->window ? window_read(files, p->window, &stored)
	                   : blob_read(files, &p->blob, &stored);

	return rc ? rc
	          : packed_decode(stored.p, stored.len, BLOB_MAX_RAW, out, why);
}
