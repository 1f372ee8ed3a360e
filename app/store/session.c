#include "store/session.h"

#include "session_private.h"
#include "store/baseline.h"
#include "store/block.h"
#include "store/db/cursor.h"
#include "store/db/row.h"
#include "store/quota.h"

#include <errno.h>
#include <string.h>

static const struct row_field fields[] = {
	ROW_FIELD(session, id),
	ROW_FIELD(session, tenant),
	ROW_FIELD(session, service),
	ROW_FIELD(session, type),
	ROW_FIELD(session, origin),
	ROW_FIELD(session, status),
	ROW_FIELD(session, labels),
	ROW_FIELD(session, created_by),
	ROW_FIELD(session, top_functions),
	ROW_FIELD(session, quality),
	ROW_FIELD(session, phase),
	ROW_FIELD(session, error_code),
	ROW_FIELD(session, error_message),
	ROW_FIELD(session, host),
	ROW_FIELD(session, ordinal),
	ROW_FIELD(session, asked_seconds),
	ROW_FIELD(session, asked_rate),
	ROW_FIELD(session, created_ms),
	ROW_FIELD(session, started_ms),
	ROW_FIELD(session, completed_ms),
	ROW_FIELD(session, duration_ms),
	ROW_FIELD(session, sample_count),
	ROW_FIELD(session, cancel_requested),
	ROW_FIELD(session, has_profile),
	ROW_FIELD(session, rate),
	ROW_FIELD(session, progress),
	ROW_FIELD(session, pinned),
};
static const struct row_type type = ROW_TYPE(session, fields);

ROW_DONE(session, type)
ROW_PAGE_DONE(session_list, type)

int
session_get(struct store *s, const char *tenant, const char *id,
            struct session *out)
{
	return row_one(s->db, &type, out, SQL_SESSION_GET,
	               ARGS(V(id), V(tenant)));
}

int
session_before(struct store *s, const struct session *of, struct session *out)
{
	return row_one(s->db, &type, out, SQL_SESSION_BEFORE,
	               ARGS(V(of->tenant), V(of->service), V(of->type),
	                    V(of->created_ms), V(of->id), V(of->ordinal)));
}

static const struct row_field listed_fields[] = {
	ROW_FIELD(listed_session, id),
	ROW_FIELD(listed_session, started_ms),
};
static const struct row_type listed_type =
	ROW_TYPE(listed_session, listed_fields);

ROW_LIST_DONE(listed_sessions, listed_type)

int
session_listed(struct store *s, const char *tenant, const char *service,
               struct listed_sessions *out)
{
	return ROW_LIST(s->db, &listed_type, out, SQL_SESSION_LISTED,
	                ARGS(V(tenant), V(service)));
}

int
session_samply_newest(struct store *s, const char *tenant, const char *service,
                      int64_t ordinal, struct session *out)
{
	return row_one(s->db, &type, out, SQL_SAMPLY_NEWEST,
	               ARGS(V(tenant), V(service), V(ordinal)));
}

int
session_samply_good(struct store *s, const char *tenant, const char *service,
                    int64_t ordinal, struct session *out)
{
	return row_one(s->db, &type, out, SQL_SAMPLY_GOOD,
	               ARGS(V(tenant), V(service), V(ordinal)));
}

int
session_find(struct store *s, const char *tenant, const char *prefix,
             struct session_list *out)
{
	return ROW_LIST(s->db, &type, out, SQL_SESSION_FIND,
	                ARGS(V(tenant), V(prefix), V(SESSION_FOUND_MAX)));
}

/* The order of a list: by creation or by start. */
enum order { MADE, BEGAN };

static int
read_page(struct store *s, const struct session_filter *f, enum order order,
          int limit, const struct cursor *c, struct session_list *out)
{
	const struct db_value v[] = {
		V(f->tenant),
		V(c->ms),
		V(c->id),
		V(f->from_ms),
		V(f->type),
		V(f->status),
		V(f->origin ? f->origin : ""),
		*f->service ? V(f->service) : V(limit + 1),
		V(limit + 1),
	};
	enum sql sql = order == BEGAN ? SQL_SESSION_HISTORY
	               : *f->service  ? SQL_SESSION_LIST_SERVICE
	                              : SQL_SESSION_LIST;

	return CURSOR_LIST(s->db, &type,
	                   order == BEGAN ? "started_ms" : "created_ms", limit,
	                   out, sql, v, ARRAY_LEN(v) - !*f->service);
}

static int
list(struct store *s, const struct session_filter *f, enum order order,
     struct page page, struct session_list *out)
{
	struct cursor c;
	int rc = page_check(&page) ?: cursor_parse(page.cursor, &c);

	if (rc)
		return rc;
	if (f->to_ms && c.ms > f->to_ms)
		c = (struct cursor){.ms = f->to_ms};
	return read_page(s, f, order, page.limit, &c, out);
}

int
session_list(struct store *s, const struct session_filter *f, struct page page,
             struct session_list *out)
{
	return list(s, f, MADE, page, out);
}

int
session_history(struct store *s, const struct session_filter *f,
                struct page page, struct session_list *out)
{
	return *f->service ? list(s, f, BEGAN, page, out) : -EINVAL;
}

int
session_insert(struct store *s, const struct session_ask *ask, const char *host,
               const char *status, char out[static ID_MAX])
{
	char id[ID_MAX];
	int rc;

	id_new(SESSION_PREFIX, id);
	rc = db_change(s->db, -ENOENT, SQL_SESSION_INSERT,
	               ARGS(V(id), V(ask->type), V(ask->origin), V(status),
	                    V(ask->ordinal), V(ask->seconds), V(ask->rate),
	                    V(ask->labels), V(ask->created_by), V(host),
	                    V(ask->tenant), V(ask->service)))
	             ?: quota_check(s, ask->tenant, QUOTA_profiles, 1);
	if (!rc)
		memcpy(out, id, ID_MAX);
	return rc;
}

int
session_store_result(struct store *s, const char *id,
                     const struct session_result *r)
{
	return db_do(s->db, SQL_SESSION_RESULT,
	             ARGS(V(r->duration_ms), V(r->rate), V(r->sample_count),
	                  V(r->top_functions), V(r->quality), V(r->age_ms),
	                  V(id)));
}

int
session_store_blob(struct store *s, const char *id, const struct blob *b)
{
	return db_do(s->db, SQL_BLOB_MARK_KIND, ARGS(V(id), V(b->kind)))
	               ?: db_do(s->db, SQL_BLOB_INSERT,
	                        ARGS(V(b->id), V(id), V(b->kind), V(b->store),
	                             V(b->name), V(b->start), V(b->length),
	                             V(b->checksum), V(s->host)));
}

int
session_end(struct store *s, const char *id, const char *status)
{
	return db_do(s->db, SQL_SESSION_ENDED, ARGS(V(status), V(id)));
}

static int
upload(struct store *s, const struct session_ask *ask,
       const struct session_result *result, const struct blob *blob,
       char out[static ID_MAX])
{
	int rc = session_insert(s, ask, "", SESSION_COMPLETED, out);

	if (!rc)
		rc = session_store_result(s, out, result);
	if (!rc)
		rc = session_store_blob(s, out, blob);
	if (!rc)
		rc = session_end(s, out, SESSION_COMPLETED);
	if (!rc)
		rc = quota_check(s, ask->tenant, QUOTA_bytes, blob->length);
	if (rc || !ask->started_ms)
		return rc;
	return db_do(s->db, SQL_SESSION_TIMES,
	             ARGS(V(ask->started_ms), V(ask->completed_ms), V(out)));
}

int
session_upload(struct store *s, const struct session_ask *ask,
               const struct session_result *result, const struct blob *blob,
               char out[static ID_MAX])
{
	return store_begin(s)
	               ?: store_end(s, upload(s, ask, result, blob, out));
}

static int
add_labels(struct store *s, const char *id, json_t *labels)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	CLEANUP_JSON json_t *all = NULL;
	CLEANUP_FREE char *text = NULL;
	int rc = db_first(s->db, SQL_SESSION_LABELS, ARGS(V(id)), &rows);

	if (rc)
		return rc;
	all = json_loads(db_col_text(&rows, 0), 0, NULL) ?: json_object();
	db_finish(&rows);
	if (json_object_update_missing(all, labels))
		return -ENOMEM;
	text = json_dumps(all, JSON_SORT_KEYS | JSON_COMPACT);
	if (!text)
		return -ENOMEM;
	if (strlen(text) >= BLOCK_LABELS_MAX)
		return -E2BIG;
	return db_do(s->db, SQL_SESSION_RELABEL, ARGS(V(text), V(id)));
}

int
session_add_labels(struct store *s, const char *id, json_t *labels)
{
	int rc;

	if (!json_object_size(labels))
		return 0;
	rc = store_begin(s);
	return rc ? rc : store_end(s, add_labels(s, id, labels));
}

/* Returns why an existing session was not deleted: -EBUSY or -ETXTBSY. */
static int
why_kept(struct store *s, const char *tenant, const char *id)
{
	CLEANUP_BASELINE struct baseline holder = {0};
	int rc = row_any(s->db, SQL_SESSION_STATUS, ARGS(V(id), V(tenant)));

	if (rc <= 0)
		return rc ? rc : -ENOENT;
	rc = baseline_of_session(s, tenant, id, &holder);
	return rc == -ENOENT ? -EBUSY : rc ? rc : -ETXTBSY;
}

int
session_drop(struct store *s, const char *tenant, const char *id)
{
	int deleted = db_run(s->db, SQL_SESSION_DELETE, ARGS(V(id), V(tenant)));
	int rc = 0;

	if (deleted > 0)
		rc = db_do(s->db, SQL_BLOB_MARK_SESSION, ARGS(V(id)))
		             ?: db_do(s->db, SQL_DELIVERY_END, ARGS(V(id)));
	return rc ? rc : deleted;
}

static int
delete_row(struct store *s, const char *tenant, const char *id)
{
	int rc = session_drop(s, tenant, id);

	return rc < 0 ? rc : rc ? 0 : why_kept(s, tenant, id);
}

int
session_delete(struct store *s, const char *tenant, const char *id)
{
	return store_begin(s) ?: store_end(s, delete_row(s, tenant, id));
}

static int
pin(struct store *s, const char *tenant, const char *id, bool pinned)
{
	int rc = db_change(s->db, -ENOENT, SQL_SESSION_PIN,
	                   ARGS(V((int64_t)pinned), V(id), V(tenant)));

	return rc || !pinned ? rc : quota_check(s, tenant, QUOTA_pins, 1);
}

int
session_pin(struct store *s, const char *tenant, const char *id, bool pinned)
{
	return store_begin(s) ?: store_end(s, pin(s, tenant, id, pinned));
}
