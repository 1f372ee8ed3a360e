#include "range/range.h"

#include "base/clock.h"
#include "base/hash.h"
#include "profile/model/types.h"
#include "profile/pprof.h"
#include "store/history.h"
#include "store/service.h"
#include "endpoint/profile/window_session.h"

#include <errno.h>
#include <string.h>

void
range_done(struct range *r)
{
	for (size_t i = 0; r->plans && i < r->series.n; i++)
		window_list_done(&r->plans[i]);
	free(r->plans);
	free(r->parts);
	series_list_done(&r->series);
	session_list_done(&r->sessions);
}

int
range_check(struct call *c, const struct range *r)
{
	CLEANUP_SERVICE struct service s = {0};
	char to[RFC3339_LEN];
	int rc;

	if (r->from_ms > r->to_ms) {
		clock_format(r->to_ms, to);
		return fail_param(c, "from", "a time not after to", to);
	}
	rc = service_get(&c->env->store, c->caller.tenant, r->service, &s);
	if (rc != -ENOENT)
		return rc ? fail_store(c, rc) : 0;
	detail_text(c, "service", r->service);
	return fail(c, UnknownService, r->service);
}

bool
range_labels_match(const struct call *c, enum param labels, const char *json)
{
	CLEANUP_JSON json_t *have = NULL;
	struct query_pair want;

	if (!param_given(c, labels))
		return true;
	have = json_loads(json, 0, NULL);
	for (size_t i = 0; param_match(c, labels, i, &want); i++) {
		const char *v =
			json_string_value(json_object_get(have, want.name));

		if (!v || strcmp(v, want.value))
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
wants(const struct call *c, const struct range *r, const struct series *s)
{
	return !asks_for(r, range_is_pushed(s) ? "captured" : "pushed") &&
	       range_labels_match(c, r->labels, s->labels);
}

static int
too_many_series(struct call *c, const struct range *r)
{
	detail_text(c, "service", r->service);
	detail_int(c, "maxSeries", RANGE_MAX_SERIES);
	return fail(c, TooManySeries, r->service, RANGE_MAX_SERIES);
}

int
range_series(struct call *c, struct range *r)
{
	const struct series_filter f = {
		.tenant = c->caller.tenant,
		.service = r->service,
		.type = r->type,
		.host = r->host,
	};
	int rc = series_list(&c->env->store, &f, &r->series);
	size_t n = 0;

	if (rc)
		return rc == -E2BIG ? too_many_series(c, r) : fail_store(c, rc);
	for (size_t i = 0; i < r->series.n; i++) {
		struct series *s = &r->series.items[i];

		if (wants(c, r, s))
			r->series.items[n++] = *s;
		else
			series_done(s);
	}
	r->series.n = n;
	return n > RANGE_MAX_SERIES ? too_many_series(c, r) : 0;
}

/* --- what is too much ----------------------------------------------------- */

static int
too_large(struct call *c, int64_t parts, int64_t bytes, int64_t fits_ms)
{
	char fits[RFC3339_LEN];

	clock_format(fits_ms, fits);
	detail_int(c, "windows", parts);
	detail_int(c, "bytes", bytes);
	detail_int(c, "maxWindows", RANGE_MAX_PARTS);
	detail_int(c, "maxBytes", RANGE_MAX_STORED);
	detail_text(c, "fitsFrom", fits);
	return fail(c, RangeTooLarge, fits);
}

int
range_check_size(struct call *c, const struct part *parts, size_t n)
{
	int64_t bytes = 0, fits_ms = 0;
	size_t fit = 0;

	for (size_t i = n; i-- > 0;) {
		bytes += parts[i].length;
		if (bytes > RANGE_MAX_STORED || n - i > RANGE_MAX_PARTS)
			continue;
		fits_ms = parts[i].span.start_ms;
		fit++;
	}
	return fit == n ? 0 : too_large(c, (int64_t)n, bytes, fits_ms);
}

/* --- what there is -------------------------------------------------------- */

static int
room(struct range *r, size_t more)
{
	struct part *p =
		reallocarray(r->parts, r->n + more + 1, sizeof(*r->parts));

	if (!p)
		return -ENOMEM;
	r->parts = p;
	return 0;
}

struct part
part_of_window(const struct series *s, const struct window *w)
{
	int64_t end = w->end_ms > w->start_ms ? w->end_ms : w->start_ms + 1;

	/* what took no time, a snapshot, still covers its moment */
	return (struct part){
		.span = {w->start_ms, end,
	                 w->duration_ms > 0 ? w->duration_ms : 1},
		.windows = w->windows > 0 ? w->windows : 1,
		.samples = w->sample_count,
		.value = w->value,
		.length = w->length,
		.window = w,
		.series = s,
	};
}

/* Both would count twice what both saw. */
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

/* Too many windows in one series: how far back half of them reaches. */
static int
halve(struct call *c, const struct range *r, const char *series)
{
	int64_t from = r->from_ms;
	int rc = -E2BIG;

	while (rc == -E2BIG && from < r->to_ms) {
		CLEANUP_WINDOWS struct window_list l = {0};

		from += (r->to_ms - from + 1) / 2;
		rc = window_plan(&c->env->store, series, from, r->to_ms, &l);
	}
	if (rc && rc != -E2BIG)
		return fail_store(c, rc);
	return too_large(c, RANGE_MAX_PARTS + 1, 0, from);
}

static int
plan_windows(struct call *c, struct range *r)
{
	if (range_series(c, r))
		return -1;
	r->plans = calloc(r->series.n + 1, sizeof(*r->plans));
	if (!r->plans)
		return fail_store(c, -ENOMEM);
	for (size_t i = 0; i < r->series.n; i++) {
		const struct series *s = &r->series.items[i];
		int rc = window_plan(&c->env->store, s->id, r->from_ms,
		                     r->to_ms, &r->plans[i]);

		if (rc == -E2BIG)
			return halve(c, r, s->id);
		if (!rc)
			rc = room(r, r->plans[i].n);
		if (rc)
			return fail_store(c, rc);
		for (size_t k = 0; k < r->plans[i].n; k++)
			r->parts[r->n++] =
				part_of_window(s, &r->plans[i].items[k]);
	}
	if (asks_for(r, "auto"))
		leave_pushed_out(r);
	return 0;
}

static int
add_session(struct call *c, struct range *r, const struct session *s)
{
	/* a snapshot, which takes no time, covers its moment */
	int64_t ms = s->duration_ms || !type_is_gauge(r->type) ? s->duration_ms
	                                                       : 1;
	struct blob b;
	int rc;

	if ((*r->host && strcmp(s->host, r->host)) ||
	    !range_labels_match(c, r->labels, s->labels))
		return 0;
	rc = blob_of_session(&c->env->store, s->id, BLOB_PPROF, &b);
	if (rc)
		return rc == -ENOENT ? 0 : rc; /* its bytes are gone */
	r->parts[r->n++] = (struct part){
		.span = {s->started_ms, s->started_ms + ms, ms},
		.windows = 1,
		.samples = s->sample_count,
		.length = b.length,
		.session = s,
		.blob = b,
	};
	return 0;
}

static int
plan_sessions(struct call *c, struct range *r)
{
	const struct session_filter f = {
		.tenant = c->caller.tenant,
		.service = r->service,
		.type = r->type,
		.status = SESSION_COMPLETED,
		.from_ms = r->from_ms,
		.to_ms = r->to_ms,
	};
	int rc = session_history(&c->env->store, &f,
	                         (struct page){STORE_PAGE_MAX, ""},
	                         &r->sessions);
	const struct session_list *l = &r->sessions;

	if (!rc)
		rc = room(r, l->n);
	for (size_t i = 0; i < l->n && !rc; i++)
		rc = add_session(c, r, &l->items[i]);
	if (rc)
		return fail_store(c, rc);
	if (l->next)
		return too_large(c, STORE_PAGE_MAX + 1, 0,
		                 l->items[l->n - 1].started_ms);
	return 0;
}

static int
by_time(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->span.start_ms > y->span.start_ms) -
	       (x->span.start_ms < y->span.start_ms);
}

void
parts_sort(struct part *parts, size_t n)
{
	if (n)
		qsort(parts, n, sizeof(*parts), by_time);
}

int
range_nothing(struct call *c, const struct range *r)
{
	char from[RFC3339_LEN], to[RFC3339_LEN];

	clock_format(r->from_ms, from);
	clock_format(r->to_ms, to);
	detail_text(c, "service", r->service);
	detail_text(c, "profileType", r->type);
	detail_text(c, "from", from);
	detail_text(c, "to", to);
	return fail(c, EmptyRange, r->type, r->service);
}

/* Parts may reach past the end of the range: all of each counts. */
static int
cover(struct range *r)
{
	CLEANUP_FREE struct span *spans = calloc(r->n + 1, sizeof(*spans));
	int64_t from = INT64_MAX, to = INT64_MIN;

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < r->n; i++) {
		spans[i] = r->parts[i].span;
		from = spans[i].start_ms < from ? spans[i].start_ms : from;
		to = spans[i].end_ms > to ? spans[i].end_ms : to;
	}
	return to <= from ? 0
	                  : coverage_of(spans, r->n, from, to - from, 1,
	                                &r->covered_ms);
}

int
range_plan(struct call *c, struct range *r)
{
	int rc;

	if (plan_windows(c, r) || (!r->n && plan_sessions(c, r)))
		return -1;
	if (!r->n)
		return range_nothing(c, r);
	parts_sort(r->parts, r->n);
	if (range_check_size(c, r->parts, r->n))
		return -1;
	rc = cover(r);
	return rc ? fail_store(c, rc) : 0;
}

uint64_t
range_hash(const struct range *r)
{
	uint64_t h = r->n;

	for (size_t i = 0; i < r->n; i++) {
		const char *id = r->parts[i].window ? r->parts[i].window->id
		                                    : r->parts[i].blob.id;

		h = hash_pair(h, hash_bytes(id, strlen(id)));
	}
	return h;
}

int
range_trend(struct call *c, struct range *r, enum window_level level)
{
	int rc = 0;

	if (range_series(c, r))
		return -1;
	r->plans = calloc(r->series.n + 1, sizeof(*r->plans));
	if (!r->plans)
		return fail_store(c, -ENOMEM);
	for (size_t i = 0; i < r->series.n && !rc; i++) {
		const struct series *s = &r->series.items[i];
		struct window_list *l = &r->plans[i];

		rc = history_trend(&c->env->store, s->id, level, r->from_ms,
		                   r->to_ms, l);
		if (!rc)
			rc = room(r, l->n);
		for (size_t k = 0; k < l->n && !rc; k++)
			r->parts[r->n++] = part_of_window(s, &l->items[k]);
	}
	if (rc == -E2BIG)
		return fail(c, RangeTooDear);
	if (rc)
		return fail_store(c, rc);
	if (asks_for(r, "auto"))
		leave_pushed_out(r);
	return r->n ? 0 : plan_sessions(c, r);
}
