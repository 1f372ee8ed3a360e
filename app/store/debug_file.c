#include "store/debug_file.h"

#include "session_private.h"
#include "store/db/cursor.h"
#include "store/db/holding.h"
#include "store/db/row.h"
#include "store/quota.h"
#include "store/symbolize.h"

#include <errno.h>
#include <string.h>

#define BATCH 100 /* files per call: others need the write lock, too */

static const struct row_field fields[] = {
	ROW_FIELD(debug_file, id),      ROW_FIELD(debug_file, tenant),
	ROW_FIELD(debug_file, name),    ROW_FIELD(debug_file, build_id),
	ROW_FIELD(debug_file, go_id),   ROW_FIELD(debug_file, htlhash),
	ROW_FIELD(debug_file, state),   ROW_FIELD(debug_file, created_by),
	ROW_FIELD(debug_file, bytes),   ROW_FIELD(debug_file, created_ms),
	ROW_FIELD(debug_file, used_ms),
};
static const struct row_type type = ROW_TYPE(debug_file, fields);

ROW_DONE(debug_file, type)
ROW_PAGE_DONE(debug_file_list, type)

/* --- adding --------------------------------------------------------------- */

/* Deletes a file in the caller's transaction. */
static int
drop(struct store *s, const char *tenant, const char *id)
{
	return db_change(s->db, -ENOENT, SQL_DEBUG_FILE_DELETE,
	                 ARGS(V(tenant), V(id)))
	               ?: db_do(s->db, SQL_BLOB_MARK_SESSION, ARGS(V(id)));
}

/* Deletes the file that the new one replaces. */
static int
replace(struct store *s, const struct debug_file *f)
{
	char old[ID_MAX];
	int rc = row_id(s->db, old, SQL_DEBUG_FILE_SAME,
	                ARGS(V(f->tenant), V(f->build_id)));

	return rc == -ENOENT ? 0 : rc ?: drop(s, f->tenant, old);
}

/* A session, and where it was captured. */
struct place {
	char *tenant, *service, *host;
};
static const struct row_field place_fields[] = {
	ROW_FIELD(place, tenant),
	ROW_FIELD(place, service),
	ROW_FIELD(place, host),
};
static const struct row_type place_type = ROW_TYPE(place, place_fields);

static int
ask(struct store *s, const struct place *of, const char *session)
{
	CLEANUP_DEBUG_FILE_USES struct debug_file_uses l = {0};
	CLEANUP_FREE char *host = NULL;
	int rc = debug_file_of_session(s, of->tenant, session, &l);

	if (rc || !l.n)
		return rc;
	return symbolize_host(s, of->tenant, of->service, of->host, &host)
	               ?: symbolize_ask(s, of->tenant, session, host);
}

/* Queues a session, if there is a file for it, and a worker that can name
 * it. */
static int
queue_session(struct store *s, const char *session)
{
	struct place of = {0};
	int rc = row_one(s->db, &place_type, &of, SQL_SYMBOLIZE_OF,
	                 ARGS(V(session)));

	if (!rc)
		rc = ask(s, &of, session);
	row_done(&place_type, &of);
	return rc == -ENOENT ? 0 : rc;
}

struct wanting {
	char *id;
};
static const struct row_field wanting_fields[] = {ROW_FIELD(wanting, id)};
static const struct row_type wanting_type = ROW_TYPE(wanting, wanting_fields);

struct wanting_list {
	struct wanting *items;
	size_t n;
};

/* Queues the sessions that want the file and have never been queued. */
static int
queue_new(struct store *s, const struct debug_file *f)
{
	struct wanting_list l = {0};
	int rc = ROW_LIST(s->db, &wanting_type, &l, SQL_DEBUG_FILE_NEW_SESSIONS,
	                  ARGS(V(f->tenant), V(f->build_id), V(f->go_id),
	                       V(f->htlhash), V((int64_t)DEBUG_FILE_SESSIONS)));

	for (size_t i = 0; i < l.n && !rc; i++)
		rc = queue_session(s, l.items[i].id);
	row_free_all(&wanting_type, l.items, l.n);
	return rc;
}

/* Queues sessions again whose frames the file may name. */
static int
queue(struct store *s, const struct debug_file *f)
{
	return db_do(s->db, SQL_DEBUG_FILE_NAMES,
	             ARGS(V(f->tenant), V(f->build_id), V(f->go_id),
	                  V(f->htlhash)))
	               ?: db_do(s->db, SQL_DEBUG_FILE_SESSIONS,
	                        ARGS(V(f->tenant), V(f->build_id), V(f->go_id),
	                             V(f->htlhash)))
	               ?: queue_new(s, f);
}

static int
insert(struct store *s, const struct debug_file *f, const struct blob *b,
       const char *id)
{
	return db_do(s->db, SQL_DEBUG_FILE_INSERT,
	             ARGS(V(id), V(f->tenant), V(f->name), V(f->build_id),
	                  V(f->go_id), V(f->htlhash), V(f->created_by),
	                  V(b->length)))
	               ?: session_store_blob(s, id, b);
}

int
debug_file_add(struct store *s, const struct debug_file *f,
               const struct blob *b, char out[static ID_MAX])
{
	char id[ID_MAX];
	int rc = quota_turn(s, f->tenant); /* two may send the same file */

	id_new(DEBUG_FILE_PREFIX, id);
	rc = rc ?: replace(s, f) ?: insert(s, f, b, id) ?: queue(s, f);
	rc = rc ?: quota_check(s, f->tenant, QUOTA_debug_files, 1)
	                ?: quota_check(s, f->tenant, QUOTA_debug_bytes,
	                               b->length);
	if (!rc)
		memcpy(out, id, ID_MAX);
	return rc;
}

int
debug_file_want(struct store *s, const char *session,
                const char *const *build_ids, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && i < DEBUG_FILE_WANTED && !rc; i++)
		if (strlen(build_ids[i]) <= DEBUG_FILE_ID_MAX)
			rc = db_do(s->db, SQL_SESSION_BUILD_ADD,
			           ARGS(V(session), V(build_ids[i])));
	return rc || !n ? rc : queue_session(s, session);
}

/* --- reading -------------------------------------------------------------- */

int
debug_file_get(struct store *s, const char *tenant, const char *id,
               struct debug_file *out)
{
	return row_one(s->db, &type, out, SQL_DEBUG_FILE_GET,
	               ARGS(V(tenant), V(id)));
}

int
debug_file_list(struct store *s, const char *tenant, const char *build_id,
                struct page page, struct debug_file_list *out)
{
	struct cursor c;

	return page_check(&page)
	               ?: cursor_parse(page.cursor, &c)
	               ?: CURSOR_LIST(s->db, &type, "created_ms", page.limit,
	                              out, SQL_DEBUG_FILE_LIST,
	                              ARGS(V(tenant), V(build_id), V(c.ms),
	                                   V(c.id), V(page.limit + 1)));
}

static const struct row_field use_fields[] = {
	ROW_FIELD(debug_file_use, wanted),
	ROW_FIELD(debug_file_use, id),
	ROW_FIELD(debug_file_use, build_id),
};
static const struct row_type use_type = ROW_TYPE(debug_file_use, use_fields);

ROW_LIST_DONE(debug_file_uses, use_type)

int
debug_file_of(struct store *s, const char *tenant, const char *wanted,
              struct debug_file_uses *out)
{
	return ROW_LIST(s->db, &use_type, out, SQL_DEBUG_FILE_OF,
	                ARGS(V(wanted), V(tenant)));
}

int
debug_file_any(struct store *s, const char *tenant, int64_t *out)
{
	return row_int(s->db, out, SQL_DEBUG_FILE_ANY, ARGS(V(tenant)));
}

int
debug_file_of_session(struct store *s, const char *tenant, const char *session,
                      struct debug_file_uses *out)
{
	return ROW_LIST(
		s->db, &use_type, out, SQL_DEBUG_FILE_OF_SESSION,
		ARGS(V(tenant), V(session), V((int64_t)DEBUG_FILE_WANTED)));
}

int
debug_file_report(struct store *s, const char *id, bool refused)
{
	const enum sql sql = refused ? SQL_DEBUG_FILE_REFUSE
	                             : SQL_DEBUG_FILE_USED;

	return store_begin(s) ?: store_end(s, db_do(s->db, sql, ARGS(V(id))));
}

/* --- deletion ------------------------------------------------------------- */

int
debug_file_delete(struct store *s, const char *tenant, const char *id)
{
	int rc = store_begin(s);

	return rc ?: store_end(s, drop(s, tenant, id));
}

struct old_file {
	char *id, *tenant;
	int64_t bytes;
};
static const struct row_field old_fields[] = {
	ROW_FIELD(old_file, id),
	ROW_FIELD(old_file, tenant),
	ROW_FIELD(old_file, bytes),
};
static const struct row_type old_type = ROW_TYPE(old_file, old_fields);

/* Deletes the file that a statement finds; *freed gets its size. */
static int
delete_one(struct store *s, enum sql sql, const struct db_value *v, size_t nv,
           int64_t *freed)
{
	struct old_file o = {0};
	int rc = row_one(s->db, &old_type, &o, sql, v, nv);

	if (!rc) {
		*freed = o.bytes;
		rc = debug_file_delete(s, o.tenant, o.id);
		row_done(&old_type, &o);
	}
	return rc;
}

int
debug_file_retain(struct store *s, int64_t max_bytes, int64_t max_age_ms)
{
	CLEANUP_HOLDINGS struct holdings h = {0};
	struct holding *most;
	int64_t sum = 0, freed = 0, lead;
	int done = 0, rc = 0;

	while (!rc && done < BATCH) {
		rc = delete_one(s, SQL_DEBUG_FILE_EXPIRED, ARGS(V(max_age_ms)),
		                &freed);
		done += !rc;
	}
	if (!rc || rc == -ENOENT)
		rc = holdings_read(s, SQL_DEBUG_FILE_HOLDINGS, &h);
	for (size_t i = 0; i < h.n && !rc; i++)
		sum += h.items[i].bytes;
	for (; !rc && sum > max_bytes && done < BATCH; done++) {
		most = holdings_largest(&h, &lead);
		if (!most)
			break;
		rc = delete_one(s, SQL_DEBUG_FILE_OLDEST, ARGS(V(most->tenant)),
		                &freed);
		most->bytes -= freed;
		sum -= freed;
	}
	return rc ?: done;
}
