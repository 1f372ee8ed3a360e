#include "store/bytes.h"
#include "window_runs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int
window_select(struct store *s, const struct run_want *want, enum sql sql,
              const struct db_value *v, size_t n, struct window_list *out)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	int rc = window_rows(s, sql, v, n, &l) ?: window_add_runs(s, want, &l);

	if (rc)
		return rc;
	*out = TAKE(l);
	return 0;
}

int
window_between(struct store *s, const char *series, enum window_level level,
               int64_t from_ms, int64_t to_ms, struct window_list *out)
{
	const struct run_want want = {
		.series = series,
		.level = level,
		.from_ms = from_ms,
		.to_ms = to_ms - 1,
		.limit = WINDOW_PLAN_MAX,
	};

	return window_select(s, &want, SQL_WINDOW_BETWEEN,
	                     ARGS(V(series), V((int64_t)level), V(from_ms),
	                          V(to_ms), V(WINDOW_PLAN_MAX)),
	                     out);
}

int
window_find_ids(struct store *s, const char *tenant, const char *prefix,
                struct window_list *out)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	int rc = window_rows(s, SQL_WINDOW_FIND,
	                     ARGS(V(prefix), V(tenant), V(WINDOW_FOUND_MAX)),
	                     &l)
	                 ?: run_window_find(s, tenant, prefix, &l);

	if (rc)
		return rc;
	*out = TAKE(l);
	return 0;
}

/* --- writing -------------------------------------------------------------- */

int
window_put_segment(struct store *s, const struct segment *g)
{
	const char *store = segment_in_db(g->id) ? BYTES_DB : BYTES_FILE;

	return db_do(
		s->db, SQL_SEGMENT_PUT,
		ARGS(V(g->id), V(g->host), V(store), V(g->name), V(g->length)));
}

int
window_insert(struct store *s, const struct segment *g,
              const struct window_ask *w, const char *id)
{
	return db_change(s->db, -ENOENT, SQL_WINDOW_INSERT,
	                 ARGS(V(id), V(g->id), V(w->checksum),
	                      V((int64_t)w->level), V(w->start_ms),
	                      V(w->end_ms), V(w->duration_ms), V(w->windows),
	                      V(w->sample_count), V(w->value), V(w->start),
	                      V(w->length), V(w->quota_ms), V(w->series)));
}

/* Queues a window that this host captured for its service's collector. */
static int
queue(struct store *s, const struct segment *g, const char *id,
      const char *series)
{
	return db_do(s->db, SQL_DELIVERY_ADD_WINDOW,
	             ARGS(V(id), V(series), V(g->host)));
}

static int
commit(struct store *s, const struct segment *g, const struct window_ask *w,
       size_t n, size_t *stored)
{
	int rc = window_put_segment(s, g);

	for (size_t i = 0; i < n && !rc; i++) {
		char id[ID_MAX];

		id_new(WINDOW_PREFIX, id);
		rc = window_insert(s, g, &w[i], id);
		*stored += !rc;
		if (!rc && w[i].level == WINDOW_CAPTURED && w[i].length)
			rc = queue(s, g, id, w[i].series);
		if (rc == -ENOENT)
			rc = 0;
	}
	return rc;
}

int
window_commit(struct store *s, const struct segment *g,
              const struct window_ask *w, size_t n, size_t *out)
{
	size_t stored = 0;
	int rc = store_begin(s);

	if (!rc)
		rc = store_end(s, commit(s, g, w, n, &stored));
	if (!rc && out)
		*out = stored;
	return rc;
}

/* --- rollups -------------------------------------------------------------- */

static void
add(int64_t *to, int64_t v)
{
	if (__builtin_add_overflow(*to, v, to))
		*to = v < 0 ? INT64_MIN : INT64_MAX;
}

/* Returns false if a window of the level below includes this one. */
static bool
is_added(const struct window *w, enum window_level level)
{
	return w->level + 1 >= (int64_t)level;
}

struct window_ask
window_sum(enum window_level level, int64_t start_ms,
           const struct window_list *children)
{
	struct window_ask w = {
		.series = children->n ? children->items[0].series : "",
		.level = level,
		.start_ms = start_ms,
		.end_ms = start_ms + window_span_ms(level),
	};

	for (size_t i = 0; i < children->n; i++) {
		const struct window *c = &children->items[i];

		if (!is_added(c, level))
			continue;
		add(&w.duration_ms, c->duration_ms);
		add(&w.windows, c->windows);
		add(&w.sample_count, c->sample_count);
		add(&w.value, c->value);
		add(&w.quota_ms, c->quota_ms);
	}
	return w;
}

static int
open_windows(struct store *s, const char *series, enum window_level level,
             int64_t from_ms, int64_t to_ms, struct window_list *out)
{
	return window_rows(s, SQL_WINDOW_OPEN_BETWEEN,
	                   ARGS(V(series), V((int64_t)level), V(from_ms),
	                        V(to_ms), V(WINDOW_PLAN_MAX)),
	                   out);
}

static const struct row_field ripe_fields[] = {
	ROW_FIELD(ripe, series),
	ROW_FIELD(ripe, start_ms),
};
static const struct row_type ripe_type = ROW_TYPE(ripe, ripe_fields);

ROW_LIST_DONE(ripe_list, ripe_type)

int
window_ripe(struct store *s, enum window_level level, int64_t before_ms,
            int max, struct ripe_list *out)
{
	struct ripe_list l = {0};
	int rc = ROW_LIST(s->db, &ripe_type, &l, SQL_WINDOW_RIPE,
	                  ARGS(V((int64_t)level - 1),
	                       V(window_floor(level, before_ms)),
	                       V(segment_host(s)), V(max)));

	if (rc)
		return rc;
	for (size_t i = 0; i < l.n; i++)
		l.items[i].start_ms = window_floor(level, l.items[i].start_ms);
	*out = l;
	return 0;
}

int
window_of_parent(struct store *s, const char *id, int max,
                 struct window_list *out)
{
	return window_rows(s, SQL_WINDOW_OF_PARENT, ARGS(V(id), V(max)), out);
}

int
window_whole(struct store *s, struct window *out, struct window_list *minutes)
{
	CLEANUP_WINDOWS struct window_list l = {0};
	int64_t windows = 0;
	int rc = s->whole_ms == INT64_MAX
	                 ? -ENOENT
	                 : window_rows(s, SQL_WINDOW_WHOLE,
	                               ARGS(V(s->whole_ms),
	                                    V((const char *)s->whole_id),
	                                    V(segment_host(s))),
	                               &l);

	if (rc)
		return rc;
	s->whole_ms = l.n ? l.items[0].end_ms : INT64_MAX;
	if (!l.n)
		return -ENOENT;
	snprintf(s->whole_id, sizeof(s->whole_id), "%s", l.items[0].id);
	rc = window_of_parent(s, l.items[0].id, WINDOW_PLAN_MAX, minutes);
	for (size_t i = 0; i < minutes->n; i++)
		windows += minutes->items[i].windows;
	if (rc || windows != l.items[0].windows)
		return rc ? rc : -ENODATA;
	*out = TAKE(l.items[0]);
	return 0;
}

int
window_children(struct store *s, const struct ripe *r, enum window_level level,
                struct window_list *out)
{
	return open_windows(s, r->series, level - 1, r->start_ms,
	                    r->start_ms + window_span_ms(level), out);
}

/* Checks that the children are still the windows that the rollup adds up. */
static int
check_children(struct store *s, const struct window_ask *w,
               const struct window_list *children)
{
	CLEANUP_WINDOWS struct window_list now = {0};
	size_t n = 0;
	int rc = open_windows(s, w->series, w->level - 1, w->start_ms,
	                      w->end_ms, &now);

	for (size_t i = 0; i < children->n; i++)
		n += is_added(&children->items[i], w->level);
	return rc ? rc : now.n == n ? 0 : -ESTALE;
}

static int
adopt(struct store *s, const char *parent, enum window_level level,
      const struct window_list *children)
{
	int rc = 0;

	for (size_t i = 0; i < children->n && !rc; i++) {
		const struct window *c = &children->items[i];

		if (is_added(c, level))
			rc = db_change(s->db, -ESTALE, SQL_WINDOW_ADOPT,
			               ARGS(V(parent), V(c->id)));
	}
	return rc;
}

static int
rollup(struct store *s, const struct segment *g, const struct window_ask *w,
       const struct window_list *children)
{
	char id[ID_MAX];

	id_new(WINDOW_PREFIX, id);
	return check_children(s, w, children)
	               ?: window_put_segment(s, g)
	               ?: window_insert(s, g, w, id) ?: adopt(s, id, w->level, children);
}

int
window_replace(struct store *s, const struct segment *g, const struct window *w,
               const struct window_ask *by)
{
	return db_do(s->db, SQL_HOLE_OF_WINDOW, ARGS(V(w->id)))
	               ?: db_change(s->db, -ESTALE, SQL_WINDOW_REPLACE,
	                            ARGS(V(g->id), V(by->checksum),
	                                 V(by->start), V(by->length),
	                                 V(w->id)));
}

int
window_rollup(struct store *s, const struct segment *g,
              const struct window_ask *w, const struct window_list *children)
{
	return store_begin(s) ?: store_end(s, rollup(s, g, w, children));
}

int
window_rollup_again(struct store *s, const struct segment *g,
                    const struct window *made, const struct window_ask *w)
{
	return store_begin(s)
	               ?: store_end(s,
	                            window_put_segment(s, g)
	                                    ?: window_replace(s, g, made, w));
}
