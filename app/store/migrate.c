#include "sqlite.h"

#include <errno.h>

/* The one row of a statement: n whole numbers. */
static int
ask(struct db *db, enum sql sql, int64_t *out, int n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(db, sql, NO_ARGS, &rows);

	if (!rc)
		rc = db_next(&rows);
	for (int i = 0; i < n && rc > 0; i++)
		out[i] = db_col_int(&rows, i);
	return rc < 0 ? rc : 0;
}

/* 0, 0 for a new database. */
static int
schema_version(struct db *db, int64_t *out_version, int64_t *out_compatible)
{
	int64_t exists = 0, v[2] = {0, 0};
	int rc = ask(db, SQL_SCHEMA_EXISTS, &exists, 1);

	if (!rc && exists)
		rc = ask(db, SQL_SCHEMA_VERSION, v, 2);
	if (rc)
		return rc;
	*out_version = v[0];
	*out_compatible = v[1];
	return 0;
}

static int
apply(struct db *db, int version)
{
	const struct sql_migration *m = &sql_migrations[version];
	int rc = sqlite_do(db, m->text[SQL_SQLITE]);

	if (!rc)
		rc = db_run(db, SQL_SCHEMA_APPLIED,
		            ARGS(V(version + 1), V(m->compatible), V(m->name)));
	return rc < 0 ? rc : 0;
}

static int
upgrade(struct db *db, struct buf *why)
{
	int64_t version = 0, compatible = 0;
	int rc = schema_version(db, &version, &compatible);

	if (!rc && compatible > SQL_VERSION) {
		buf_addf(why,
		         "%s has schema %lld, which works with schema %lld and "
		         "later; this release has schema %d: install a newer "
		         "one, or restore a backup",
		         db->path, (long long)version, (long long)compatible,
		         SQL_VERSION);
		return -EPROTONOSUPPORT;
	}
	for (; !rc && version < SQL_VERSION; version++)
		rc = apply(db, (int)version);
	return rc;
}

int
sqlite_migrate(struct db *db, struct buf *why)
{
	int rc = db_begin(db);

	if (!rc) {
		rc = upgrade(db, why);
		if (rc)
			db_rollback(db);
		else
			rc = db_commit(db);
	}
	if (rc && !why->len)
		buf_addf(why, "%s: %s", db->path, db->why);
	return rc;
}
