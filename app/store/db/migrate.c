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
int
db_schema(struct db *db, struct db_schema *out)
{
	int64_t exists = 0, v[2] = {0, 0};
	int rc = ask(db, SQL_SCHEMA_EXISTS, &exists, 1);

	if (!rc && exists)
		rc = ask(db, SQL_SCHEMA_VERSION, v, 2);
	if (rc)
		return rc;
	*out = (struct db_schema){v[0], v[1]};
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

/* The schema, unless a later release has put it out of this one's reach. */
static int
usable_schema(struct db *db, struct db_schema *out, struct buf *why)
{
	struct db_schema schema = {0};
	int rc = db_schema(db, &schema);

	if (!rc && schema.compatible > SQL_VERSION) {
		buf_addf(why,
		         "%s was changed by a newer release of Stoker: it has "
		         "schema %lld, and Stoker " STOKER_VERSION
		         " knows schema %d; install the newer release again, "
		         "or restore a backup made before the upgrade (stoker "
		         "restore)",
		         db->path, (long long)schema.version, SQL_VERSION);
		rc = -EPROTONOSUPPORT;
	}
	if (!rc)
		*out = schema;
	return rc;
}

static int
upgrade(struct db *db, struct buf *why)
{
	struct db_schema schema = {0};
	int rc = usable_schema(db, &schema, why);

	for (; !rc && schema.version < SQL_VERSION; schema.version++)
		rc = apply(db, (int)schema.version);
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

int
sqlite_look(struct db *db, struct buf *why)
{
	struct db_schema schema = {0};
	int rc = usable_schema(db, &schema, why);

	if (!rc && !schema.version) {
		buf_addf(why, "%s is not a database of Stoker", db->path);
		rc = -EMEDIUMTYPE;
	}
	if (rc && !why->len)
		buf_addf(why, "%s: %s", db->path, db->why);
	return rc;
}
