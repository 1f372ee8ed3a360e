#include "db_test.h"

#include "base/clock.h"
#include "base/version.h"
#include "driver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MIGRATE_TRIES 3
#define LOOK_MAX_NS   NS_PER_S /* wait for a look at the schema */
#define SCHEMA_MAX    9999     /* above the number of any release */

int64_t db_look_ns = 5 * NS_PER_S;

/* --- transactions --------------------------------------------------------- */

int
db_begin(struct db *db)
{
	int rc = 0;

	if (!db->depth) {
		db->doomed = false;
		rc = db->driver->begin(db);
	}
	if (!rc)
		db->depth++;
	return rc;
}

int
db_commit(struct db *db)
{
	bool doomed = db->doomed || db->driver->is_lost(db);
	int rc;

	assert(db->depth > 0);
	if (--db->depth)
		return doomed ? -ECANCELED : 0;
	rc = doomed ? -ECANCELED : db->driver->commit(db);
	if (rc)
		db->driver->abandon(db);
	return rc;
}

void
db_rollback(struct db *db)
{
	assert(db->depth > 0);
	db->doomed = true;
	if (!--db->depth)
		db->driver->abandon(db);
}

/* --- statements ----------------------------------------------------------- */

int
db_query(struct db *db, enum sql sql, const struct db_value *v, size_t n,
         struct db_rows *out)
{
	assert((int)n == sql_queries[sql].nparams);
	*db->why = '\0';
	if (db->fail_after && !--db->fail_after) {
		snprintf(db->why, sizeof(db->why), "failed on purpose");
		return -EIO;
	}
	return db->driver->query(db, sql, v, n, out);
}

int
db_next(struct db_rows *rows)
{
	return rows->db->driver->next(rows);
}

void
db_finish(struct db_rows *rows)
{
	if (rows->stmt)
		rows->db->driver->finish(rows);
	rows->stmt = NULL;
}

int
db_first(struct db *db, enum sql sql, const struct db_value *v, size_t n,
         struct db_rows *out)
{
	int rc = db_query(db, sql, v, n, out) ?: db_next(out);

	return rc < 0 ? rc : rc ? 0 : -ENOENT;
}

int
db_run(struct db *db, enum sql sql, const struct db_value *v, size_t n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(db, sql, v, n, &rows);

	while (!rc && (rc = db_next(&rows)) > 0)
		rc = 0;
	if (rc)
		return rc;
	rc = db->driver->changes(db);
	if (rc && !db->depth)
		db->driver->announce(db);
	return rc;
}

int
db_do(struct db *db, enum sql sql, const struct db_value *v, size_t n)
{
	int rc = db_run(db, sql, v, n);

	return rc < 0 ? rc : 0;
}

int
db_change(struct db *db, int none, enum sql sql, const struct db_value *v,
          size_t n)
{
	int rc = db_run(db, sql, v, n);

	return rc < 0 ? rc : rc ? 0 : none;
}

const char *
db_col_text(const struct db_rows *rows, int column)
{
	return rows->db->driver->col_text(rows, column);
}

int64_t
db_col_int(const struct db_rows *rows, int column)
{
	return rows->db->driver->col_int(rows, column);
}

double
db_col_real(const struct db_rows *rows, int column)
{
	return rows->db->driver->col_real(rows, column);
}

int
db_col_bytes(const struct db_rows *rows, int column, struct buf *out)
{
	return rows->db->driver->col_bytes(rows, column, out);
}

const char *
db_col_name(const struct db_rows *rows, int column)
{
	return rows->db->driver->col_name(rows, column);
}

/* --- changes and upkeep --------------------------------------------------- */

int64_t
db_data_version(struct db *db)
{
	return db->driver->data_version(db);
}

int
db_wake_fd(struct db *db)
{
	return db->driver->wake_fd(db);
}

bool
db_woken(struct db *db)
{
	return db->driver->woken(db);
}

bool
db_is_shared(const struct db *db)
{
	return !db->driver->migrates;
}

int
db_upkeep(struct db *db)
{
	assert(!db->depth);
	return db->driver->upkeep(db);
}

void
db_until(struct db *db, int64_t until_ns)
{
	db->until_ns = until_ns;
}

const char *
db_why(const struct db *db)
{
	return db->why;
}

void
db_fail_after(struct db *db, int n)
{
	db->fail_after = n;
}

void
db_skew_clock(struct db *db, int64_t ms)
{
	db->driver->skew_clock(db, ms);
}

/* --- the schema ----------------------------------------------------------- */

/* Reads the only row of a statement: n integers. */
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

/* Sets both versions to 0 for a new database. */
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

	return db->driver->text(db, m->text[db->driver->dialect])
	               ?: db_do(db, SQL_SCHEMA_APPLIED,
	                        ARGS(V(version + 1), V(m->compatible),
	                             V(m->name)));
}

/* Reads the schema, and refuses it if a later release has made it unusable for
 * this one. */
static int
usable_schema(struct db *db, struct db_schema *out, struct buf *why)
{
	struct db_schema schema = {0};
	int rc = db_schema(db, &schema);

	if (!rc && (schema.version < 0 || schema.version > SCHEMA_MAX ||
	            schema.compatible > SCHEMA_MAX)) {
		buf_addf(why,
		         "%s has schema %lld, which no release of Stoker has: "
		         "restore a backup",
		         db->name, (long long)schema.version);
		rc = -EUCLEAN;
	} else if (!rc && schema.compatible > SQL_VERSION) {
		buf_addf(why,
		         "%s was changed by a newer release of Stoker: it has "
		         "schema %lld, and Stoker %s"
		         " knows schema %d; install the newer release again, "
		         "or restore a backup made before the upgrade%s",
		         db->name, (long long)schema.version, stoker_version,
		         SQL_VERSION,
		         db->driver->migrates ? " (stoker restore)" : "");
		rc = -EPROTONOSUPPORT;
	}
	if (!rc)
		*out = schema;
	return rc;
}

/* True if one text begins with the other, except for white space. */
static bool
begins(const char *text, const char *with)
{
	for (;; text++, with++) {
		text += strspn(text, " \t\n");
		with += strspn(with, " \t\n");
		if (!*with || *text != *with)
			return !*with;
	}
}

/* True if a migration makes an object with this text. */
static bool
is_ours(const struct db *db, const char *text)
{
	for (int i = 0; i < SQL_VERSION; i++) {
		const char *at = sql_migrations[i].text[db->driver->dialect];

		for (; *at; at++)
			if (begins(at, text))
				return true;
	}
	return false;
}

/*
 * Refuses a database to which somebody else has added code that runs with
 * Stoker's statements: triggers, views, functions. The views of a later release
 * are not known here.
 */
static int
check_foreign(struct db *db, struct buf *why)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	struct db_schema schema = {0};
	int rc = db_query(db, SQL_SCHEMA_FOREIGN, NO_ARGS, &rows);

	while (!rc && (rc = db_next(&rows)) > 0) {
		const char *text = db_col_text(&rows, 2);

		if (*text && is_ours(db, text))
			rc = 0;
		else if (!db_col_int(&rows, 1))
			rc = -EUCLEAN;
		else if (!(rc = db_schema(db, &schema)) &&
		         schema.version <= SQL_VERSION)
			rc = -EUCLEAN;
	}
	if (rc == -EUCLEAN)
		buf_addf(why,
		         "%s: the %s is not Stoker's, and may change what "
		         "Stoker does: drop it, or use another database",
		         db->name, db_col_text(&rows, 0));
	return rc;
}

/* True if later checks refuse the schema: it is too new, invalid or, for a
 * look, missing. */
static bool
is_refused(const struct db *db, const struct db_schema *schema)
{
	return schema->compatible > SQL_VERSION || schema->version < 0 ||
	       (db->look && !schema->version);
}

/* Refuses tables and indexes that somebody else has changed. Repeats this if
 * another process migrated meanwhile. */
static int
check_tables(struct db *db, struct buf *why)
{
	struct db_schema schema = {0}, after = {0};
	char what[100] = "";
	int rc;

	if (!db->driver->differs)
		return 0;
	do {
		rc = db_schema(db, &schema);
		if (rc || is_refused(db, &schema))
			return rc;
		rc = db->driver->differs(db, (int)schema.version, what,
		                         sizeof(what));
		if (rc <= 0)
			return rc;
		rc = db_schema(db, &after);
		if (rc)
			return rc;
	} while (after.version != schema.version);
	buf_addf(why,
	         "%s: the %s is not Stoker's, or was changed or removed, which "
	         "may change what Stoker does: drop what was added, or restore "
	         "a backup",
	         db->name, what);
	return -EUCLEAN;
}

/* Lets one process at a time migrate: the others wait for the row of the first
 * migration. In a new database, they fail because the tables exist already. */
static int
upgrade(struct db *db, struct buf *why)
{
	struct db_schema schema = {0};
	int64_t first;
	int rc = usable_schema(db, &schema, why);

	if (!rc && schema.version)
		rc = ask(db, SQL_SCHEMA_LOCK, &first, 1)
		             ?: usable_schema(db, &schema, why);
	for (; !rc && schema.version < SQL_VERSION; schema.version++)
		rc = apply(db, (int)schema.version);
	return rc;
}

static int
migrate(struct db *db, struct buf *why)
{
	int rc = -EEXIST;

	for (int i = 0; i < MIGRATE_TRIES && rc == -EEXIST; i++) {
		rc = db_begin(db);
		if (rc)
			return rc;
		rc = upgrade(db, why);
		if (rc)
			db_rollback(db);
		else
			rc = db_commit(db);
	}
	return rc;
}

/* Checks the schema, and changes nothing. */
static int
check(struct db *db, struct buf *why)
{
	struct db_schema schema = {0};
	int rc = usable_schema(db, &schema, why);

	if (rc || schema.version >= SQL_VERSION || (schema.version && db->look))
		return rc;
	if (db->look) {
		buf_addf(why, "%s is not a database of Stoker", db->name);
		return -EMEDIUMTYPE;
	}
	buf_addf(why,
	         "%s has schema %lld, and this release needs schema %d: run "
	         "stoker migrate",
	         db->name, (long long)schema.version, SQL_VERSION);
	return -ESTALE;
}

int
db_check_schema(struct db *db, bool may_migrate, struct buf *why)
{
	int rc = check_foreign(db, why) ?: check_tables(db, why);

	if (!rc)
		rc = !db->look && (may_migrate || db->driver->migrates)
		             ? migrate(db, why)
		             : check(db, why);

	if (rc && !why->len)
		buf_addf(why, "%s: %s", db->name, db->why);
	db->look_ns = clock_mono_ns() + db_look_ns;
	return rc;
}

/* A later release may have changed the schema since this process opened the
 * database. If no answer comes soon, the caller's next statement finds out
 * why. */
static int
look_at_schema(struct db *db)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	int64_t now_ns = clock_mono_ns(), until_ns = db->until_ns;
	struct db_schema schema;
	int rc;

	if (now_ns < db->look_ns)
		return 0;
	db->look_ns = now_ns + db_look_ns;
	db_until(db, now_ns + LOOK_MAX_NS);
	rc = usable_schema(db, &schema, &why);
	db_until(db, until_ns);
	if (rc != -EPROTONOSUPPORT)
		return 0;
	db->look_ns = 0;
	snprintf(db->why, sizeof(db->why), "%s", buf_str(&why));
	return -EPROTONOSUPPORT;
}

/* --- the connection ------------------------------------------------------- */

void
db_close(struct db *db)
{
	if (db)
		db->driver->close(db);
}

int
db_refresh(struct db *db)
{
	assert(!db->depth);
	return db->driver->refresh(db) ?: look_at_schema(db);
}
