#include "store/quota.h"
#include "window_runs.h"

#include <errno.h>
#include <stdio.h>

static const struct row_field fields[] = {
	ROW_FIELD(series, id),         ROW_FIELD(series, tenant),
	ROW_FIELD(series, service),    ROW_FIELD(series, type),
	ROW_FIELD(series, host),       ROW_FIELD(series, labels),
	ROW_FIELD(series, created_ms),
};
static const struct row_type type = ROW_TYPE(series, fields);

ROW_DONE(series, type)
ROW_LIST_DONE(series_list, type)

static int
find(struct store *s, const char *tenant, const char *service,
     const char *type_name, const char *host, const char *labels,
     char out[static ID_MAX])
{
	return row_id(
		s->db, out, SQL_SERIES_FIND,
		ARGS(V(tenant), V(service), V(type_name), V(host), V(labels)));
}

int
series_of(struct store *s, const char *tenant, const char *service,
          const char *type_name, const char *host, const char *labels,
          char out[static ID_MAX])
{
	char id[ID_MAX];
	int rc = find(s, tenant, service, type_name, host, labels, out);

	if (rc != -ENOENT)
		return rc;
	id_new("ser-", id);
	/* another worker may have created it meanwhile */
	return db_do(s->db, SQL_SERIES_INSERT,
	             ARGS(V(id), V(type_name), V(host), V(labels), V(tenant),
	                  V(service)))
	               ?: find(s, tenant, service, type_name, host, labels,
	                       out);
}

static int
check_number(struct store *s, const char *tenant, const char *service,
             int64_t most)
{
	int64_t n;
	int rc = row_int(s->db, &n, SQL_SERIES_COUNT,
	                 ARGS(V(tenant), V(service), V(WINDOW_PUSHED)));

	return rc ? rc : n < most ? 0 : -EDQUOT;
}

static int
add_pushed(struct store *s, const char *tenant, const char *service,
           const char *type_name, const char *labels, int64_t most,
           char out[static ID_MAX])
{
	int rc = check_number(s, tenant, service, most)
	                 ?: series_of(s, tenant, service, type_name,
	                              WINDOW_PUSHED, labels, out);

	return rc ? rc : quota_check(s, tenant, QUOTA_series, 1);
}

int
series_of_pushed(struct store *s, const char *tenant, const char *service,
                 const char *type_name, const char *labels, int64_t most,
                 char out[static ID_MAX])
{
	int rc =
		find(s, tenant, service, type_name, WINDOW_PUSHED, labels, out);

	if (rc == -ENOENT)
		rc = store_begin(s)
		             ?: store_end(s, add_pushed(s, tenant, service,
		                                        type_name, labels, most,
		                                        out));
	return rc;
}

/* Hands over the list unless it is too long. */
static int
hand_over(int rc, struct series_list *l, struct series_list *out)
{
	if (rc)
		return rc;
	if (l->n > WINDOW_MAX_SERIES) {
		series_list_done(l);
		return -E2BIG;
	}
	*out = *l;
	return 0;
}

int
series_list(struct store *s, const struct series_filter *f,
            struct series_list *out)
{
	struct series_list l = {0};
	int rc = ROW_LIST(s->db, &type, &l, SQL_SERIES_LIST,
	                  ARGS(V(f->tenant), V(f->service), V(f->type),
	                       V(f->host), V(WINDOW_MAX_SERIES + 1)));

	return hand_over(rc, &l, out);
}

int
series_list_taken(struct store *s, const char *tenant, const char *of_type,
                  struct series_list *out)
{
	struct series_list l = {0};
	int rc =
		ROW_LIST(s->db, &type, &l, SQL_SERIES_LIST_TAKEN,
	                 ARGS(V(tenant), V(of_type), V(WINDOW_MAX_SERIES + 1)));

	return hand_over(rc, &l, out);
}

static int
get_of_run(struct store *s, const char *tenant, const char *id,
           struct window *out, struct series *of)
{
	CLEANUP_WINDOW struct window w = {0};
	int rc = run_window_get(s, tenant, id, &w)
	                 ?: row_one(s->db, &type, of, SQL_SERIES_GET,
	                            ARGS(V(w.series)));

	if (rc)
		return rc;
	*out = TAKE(w);
	return 0;
}

int
window_get(struct store *s, const char *tenant, const char *id,
           struct window *out, struct series *out_series)
{
	CLEANUP_SERIES struct series of = {0};
	int rc;

	if (run_window_is(id))
		return get_of_run(s, tenant, id, out, out_series);
	rc = row_one(s->db, &type, &of, SQL_SERIES_OF_WINDOW,
	             ARGS(V(id), V(tenant)));
	if (!rc)
		rc = row_one(s->db, &window_type, out, SQL_WINDOW_GET,
		             ARGS(V(id), V(tenant)));
	if (rc)
		return rc;
	rc = window_place(out);
	if (rc) {
		window_done(out);
		return rc;
	}
	*out_series = TAKE(of);
	return 0;
}
