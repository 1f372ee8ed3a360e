#include "base/folder.h"
#include "store/blob.h"
#include "store/db/holding.h"
#include "store/files/orphans.h"
#include "store/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BATCH 100 /* per call, since others need the write lock, too */

static int
next_marked(struct store *s, struct blob *out)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(s->db, SQL_BLOB_MARKED, NO_ARGS, &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	snprintf(out->id, sizeof(out->id), "%s", db_col_text(&rows, 0));
	snprintf(out->name, sizeof(out->name), "%s", db_col_text(&rows, 1));
	return 0;
}

static int
reap_one(struct store *s)
{
	struct blob b;
	int rc = next_marked(s, &b);

	if (rc)
		return rc;
	if (blob_name_valid(b.name) && unlinkat(s->profiles_fd, b.name, 0) &&
	    errno != ENOENT)
		return -errno;
	rc = db_run(s->db, SQL_BLOB_FORGET, ARGS(V(b.id)));
	return rc < 0 ? rc : 0;
}

static int
reap_batch(struct store *s, int *n)
{
	int rc = 0;

	while (*n < BATCH && !(rc = reap_one(s)))
		++*n;
	return rc == -ENOENT ? 0 : rc;
}

int
blob_reap(struct store *s)
{
	struct blob any;
	int n = 0, rc = next_marked(s, &any);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = store_begin(s);
	if (!rc)
		rc = store_end(s, reap_batch(s, &n));
	return rc ? rc : n;
}

/* --- orphans -------------------------------------------------------------- */

struct sweep {
	struct store *s;
	int n;
};

static int
sweep_folder(void *arg, const char *name)
{
	struct sweep *w = arg;

	return orphans_sweep(w->s->db, w->s->profiles_fd, name, SQL_BLOB_KNOWN,
	                     &w->n);
}

int
blob_sweep(struct store *s)
{
	struct sweep w = {s, 0};
	int rc = folder_each(s->profiles_fd, sweep_folder, &w);

	return rc ? rc : w.n;
}

/* --- retention ------------------------------------------------------------ */

struct old_session {
	char *id, *tenant;
	int64_t bytes;
};
static const struct row_field old_fields[] = {
	ROW_FIELD(old_session, id),
	ROW_FIELD(old_session, tenant),
	ROW_FIELD(old_session, bytes),
};
static const struct row_type old_type = ROW_TYPE(old_session, old_fields);

/* Deletes the session that a statement finds; *freed gets the size of its
 * profile. */
static int
delete_oldest(struct store *s, enum sql sql, const struct db_value *v,
              size_t nv, int64_t *freed)
{
	struct old_session o = {0};
	int rc = row_one(s->db, &old_type, &o, sql, v, nv);

	if (!rc) {
		*freed = o.bytes;
		rc = session_delete(s, o.tenant, o.id);
		row_done(&old_type, &o);
	}
	return rc;
}

/*
 * Deletes the oldest session of the tenant that holds the most, until surplus
 * bytes are free. A tenant of which nothing may be deleted counts as one that
 * holds nothing. Adds to *done, which stays within BATCH.
 */
static int
shrink(struct store *s, int64_t surplus, int *done)
{
	CLEANUP_HOLDINGS struct holdings h = {0};
	struct holding *most;
	int64_t freed, lead;
	int rc = holdings_read(s, SQL_SESSION_HOLDINGS, &h);

	while (!rc && surplus > 0 && *done < BATCH &&
	       (most = holdings_largest(&h, &lead))) {
		rc = delete_oldest(s, SQL_SESSION_OLDEST, ARGS(V(most->tenant)),
		                   &freed);
		if (rc == -ENOENT) {
			most->bytes = 0;
			rc = 0;
			continue;
		}
		if (rc)
			return rc;
		most->bytes -= freed;
		surplus -= freed;
		++*done;
	}
	return rc;
}

int
blob_retain(struct store *s, int64_t max_bytes, int64_t max_age_ms)
{
	int64_t bytes, n, freed;
	int done = 0, rc = 0;

	while (!rc && done < BATCH) {
		rc = delete_oldest(s, SQL_SESSION_EXPIRED, ARGS(V(max_age_ms)),
		                   &freed);
		done += !rc;
	}
	if (rc && rc != -ENOENT)
		return rc;
	rc = blob_usage(s, &bytes, &n);
	if (!rc && bytes > max_bytes)
		rc = shrink(s, bytes - max_bytes, &done);
	return rc ? rc : done;
}

int
blob_usage(struct store *s, int64_t *out_bytes, int64_t *out_n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(s->db, SQL_BLOB_USAGE, NO_ARGS, &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc < 0)
		return rc;
	*out_bytes = db_col_int(&rows, 0);
	*out_n = db_col_int(&rows, 1);
	return 0;
}
