#include "store/host_sum.h"

#include "base/clock.h"
#include "window_runs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct row_field due_fields[] = {
	ROW_FIELD(sum_due, tenant),
	ROW_FIELD(sum_due, service),
	ROW_FIELD(sum_due, hour_ms),
	ROW_FIELD(sum_due, changes),
};
static const struct row_type due_type = ROW_TYPE(sum_due, due_fields);

static const struct row_field group_fields[] = {
	ROW_FIELD(sum_group, type),
	ROW_FIELD(sum_group, labels),
};
static const struct row_type group_type = ROW_TYPE(sum_group, group_fields);

static const struct row_field cursor_fields[] = {
	ROW_FIELD(host_cursor, host),
	ROW_FIELD(host_cursor, end_ms),
};
static const struct row_type cursor_type = ROW_TYPE(host_cursor, cursor_fields);

ROW_LIST_DONE(sum_due_list, due_type)

void
sum_groups_done(struct sum_groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		window_list_done(&g->items[i].windows);
	row_free_all(&group_type, g->items, g->n);
	*g = (struct sum_groups){0};
}

ROW_LIST_DONE(host_cursors, cursor_type)

int
host_cursors(struct store *s, const char *tenant, struct host_cursors *out)
{
	return ROW_LIST(s->db, &cursor_type, out, SQL_HOST_CURSORS,
	                ARGS(V(tenant)));
}

/* --- hours that need a sum ------------------------------------------------ */

int
host_sum_changed(struct store *s, const char *tenant, const char *service,
                 int64_t hour_ms)
{
	return db_do(s->db, SQL_HOST_SUM_CHANGED,
	             ARGS(V(hour_ms), V(tenant), V(service)));
}

int
host_sum_prune(struct store *s, int64_t age_ms)
{
	return age_ms ? db_run(s->db, SQL_HOST_SUM_PRUNE, ARGS(V(age_ms))) : 0;
}

int
host_sum_due(struct store *s, int64_t before_ms, int max,
             struct sum_due_list *out)
{
	return ROW_LIST(s->db, &due_type, out, SQL_HOST_SUM_DUE,
	                ARGS(V(window_floor(WINDOW_HOUR, before_ms)), V(max)));
}

int
host_sum_parts(struct store *s, const struct sum_due *due,
               struct sum_groups *out)
{
	CLEANUP_SUM_GROUPS struct sum_groups g = {0};
	int rc = ROW_LIST(s->db, &group_type, &g, SQL_HOST_SUM_GROUPS,
	                  ARGS(V(due->tenant), V(due->service)));

	for (size_t i = 0; i < g.n && !rc; i++) {
		struct window_list *l = &g.items[i].windows;

		rc = run_windows_of_hosts(s, due, g.items[i].type,
		                          g.items[i].labels, l);
		/* a host has one series for a type and labels */
		if ((int64_t)l->n > g.hosts)
			g.hosts = (int64_t)l->n;
	}
	if (rc)
		return rc;
	*out = TAKE(g);
	return 0;
}

/* --- sums that were made -------------------------------------------------- */

/* Detaches the hours of a day whose sum is removed. */
static int
forget_old(struct store *s, const char *series, int64_t hour_ms)
{
	int64_t day_ms = window_floor(WINDOW_DAY, hour_ms);
	int64_t next_ms = day_ms + window_span_ms(WINDOW_DAY);

	return db_do(s->db, SQL_WINDOW_DISOWN,
	             ARGS(V(series), V((int64_t)WINDOW_HOUR), V(day_ms),
	                  V(next_ms)))
	               ?: window_forget(s, series, WINDOW_DAY, day_ms)
	               ?: window_forget(s, series, WINDOW_HOUR, hour_ms);
}

static int
store_all(struct store *s, const struct sum_due *due,
          const struct sum_groups *groups, const struct segment *g,
          const struct window_ask *asks)
{
	int64_t hosts = asks ? groups->hosts : 0;
	int rc = db_change(s->db, -ESTALE, SQL_HOST_SUM_MADE,
	                   ARGS(V(hosts), V(due->tenant), V(due->service),
	                        V(due->hour_ms), V(due->changes)));

	for (size_t i = 0; i < groups->n && asks && !rc; i++) {
		const struct sum_group *of = &groups->items[i];
		struct window_ask w = asks[i];
		char series[ID_MAX];

		rc = series_of(s, due->tenant, due->service, of->type, HOST_SUM,
		               of->labels, series);
		w.series = series;
		rc = rc ?: forget_old(s, series, due->hour_ms);
		if (!rc && of->windows.n)
			rc = window_commit(s, g, &w, 1, NULL);
	}
	return rc;
}

int
host_sum_store(struct store *s, const struct sum_due *due,
               const struct sum_groups *groups, const struct segment *g,
               const struct window_ask *asks)
{
	return store_begin(s)
	               ?: store_end(s, store_all(s, due, groups, g, asks));
}

/* --- sums for readers ----------------------------------------------------- */

int
host_sum_spans(struct store *s, const char *tenant, const char *service,
               int64_t from_ms, int64_t to_ms, struct sum_span **out,
               size_t *out_n)
{
	const int64_t span_ms = window_span_ms(WINDOW_HOUR);
	CLEANUP_ROWS struct db_rows rows = {0};
	CLEANUP_FREE struct sum_span *l = NULL;
	size_t n = 0;
	int rc = db_query(
		s->db, SQL_HOST_SUM_VALID,
		ARGS(V(tenant), V(service),
	             V(window_floor(WINDOW_HOUR, from_ms + span_ms - 1)),
	             V(window_floor(WINDOW_HOUR, to_ms))),
		&rows);

	while (!rc && (rc = db_next(&rows)) > 0) {
		int64_t at = db_col_int(&rows, 0);
		int64_t hosts = db_col_int(&rows, 1);
		struct sum_span *p;

		rc = 0;
		if (n && l[n - 1].to_ms == at) {
			l[n - 1].to_ms += span_ms;
			if (l[n - 1].hosts < hosts)
				l[n - 1].hosts = hosts;
			continue;
		}
		p = reallocarray(l, n + 1, sizeof(*l));
		if (!p)
			return -ENOMEM;
		l = p;
		l[n++] = (struct sum_span){at, at + span_ms, hosts};
	}
	if (rc)
		return rc;
	*out = TAKE(l);
	*out_n = n;
	return 0;
}
