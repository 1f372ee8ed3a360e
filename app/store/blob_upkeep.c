#include "store/blob.h"
#include "store/db/holding.h"
#include "store/db/row.h"
#include "store/files/orphans.h"
#include "store/session.h"

#include <errno.h>
#include <string.h>

#define BATCH 100 /* sessions per call: others need the write lock, too */

struct marked {
	char *id, *name;
};
static const struct row_field marked_fields[] = {
	ROW_FIELD(marked, id),
	ROW_FIELD(marked, name),
};
static const struct row_type marked_type = ROW_TYPE(marked, marked_fields);

/* Drops the bytes first: a row without bytes can be found again, bytes without
 * a row cannot. Returns the number dropped before one failed. */
static size_t
drop_marked(struct store *s, const char *driver, const struct marked *m,
            size_t n, int *rc)
{
	size_t i;

	for (i = 0; i < n && !(*rc = bytes_drop(s, driver, m[i].name)); i++)
		;
	return i;
}

static int
forget_marked(struct store *s, const struct marked *m, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = db_do(s->db, SQL_BLOB_FORGET, ARGS(V(m[i].id)));
	return rc;
}

int
blob_reap(struct store *s, const char *driver)
{
	void *items = NULL;
	size_t n = 0, gone;
	int failed = 0,
	    rc = row_all(s->db, &marked_type, &items, &n, SQL_BLOB_MARKED,
	                 ARGS(V(driver), V(s->host)));

	if (rc)
		return rc;
	gone = drop_marked(s, driver, items, n, &failed);
	if (gone)
		rc = store_begin(s)
		             ?: store_end(s, forget_marked(s, items, gone));
	row_free_all(&marked_type, items, n);
	return rc ? rc : failed ? failed : (int)gone;
}

/* --- orphans -------------------------------------------------------------- */

struct sweep {
	struct store *s;
	int n;
};

static int
sweep_one(void *arg, const char *name)
{
	struct sweep *w = arg;
	const char *file = strrchr(name, '/');
	int rc =
		orphans_known(w->s->db, SQL_BLOB_KNOWN, file ? file + 1 : name);

	if (rc)
		return rc < 0 ? rc : 0;
	w->n++;
	return 1;
}

int
blob_sweep_part(struct store *s, const char *driver, struct bytes_at *at)
{
	struct sweep w = {s, 0};
	int rc = bytes_list(s, driver, at, sweep_one, &w);

	return rc ? rc : w.n;
}

int
blob_sweep(struct store *s, const char *driver)
{
	struct bytes_at at = {0};
	int n, all = 0;

	do {
		n = blob_sweep_part(s, driver, &at);
		all += n;
	} while (n >= 0 && at.more);
	return n < 0 ? n : all;
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
 * bytes are free. A tenant without deletable sessions counts as holding
 * nothing. Adds to *done, which stays within BATCH.
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
	int64_t usage[2];
	int rc = row_ints(s->db, usage, 2, SQL_BLOB_USAGE, NO_ARGS);

	if (rc)
		return rc;
	*out_bytes = usage[0];
	*out_n = usage[1];
	return 0;
}
