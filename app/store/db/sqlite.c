#include "sqlite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int
constraint_errno(int code)
{
	switch (code) {
	case SQLITE_CONSTRAINT_UNIQUE:
	case SQLITE_CONSTRAINT_PRIMARYKEY:
	case SQLITE_CONSTRAINT_FOREIGNKEY:
		return -EEXIST;
	}
	return -EINVAL;
}

/* Source: https://sqlite.org/rescode.html */
static int
code_errno(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CONSTRAINT:
		return constraint_errno(code);
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
		return -EACCES;
	}
	return -EIO;
}

int
sqlite_errno(struct db *db, int code)
{
	int rc = code_errno(code);

	if (rc)
		snprintf(db->why, sizeof(db->why), "%s",
		         db->link.conn ? sqlite3_errmsg(db->link.conn)
		                       : sqlite3_errstr(code));
	return rc;
}

int
sqlite_do(struct db *db, const char *text)
{
	return sqlite_errno(
		db, sqlite3_exec(db->link.conn, text, NULL, NULL, NULL));
}

static void
disconnect(struct sqlite_link *link)
{
	for (int i = 0; i < SQL_COUNT; i++)
		sqlite3_finalize(link->stmts[i]);
	sqlite3_finalize(link->version);
	sqlite3_close(link->conn);
	*link = (struct sqlite_link){0};
}

static int
connect_and_migrate(struct db *db, struct buf *why)
{
	int rc = sqlite_connect(db);

	if (rc)
		buf_addf(why, "%s: %s", db->path,
		         *db->why ? db->why : strerror(-rc));
	if (rc)
		return rc;
	return db->look ? sqlite_look(db, why) : sqlite_migrate(db, why);
}

void
db_close(struct db *db)
{
	if (!db)
		return;
	disconnect(&db->link);
	free(db->path);
	free(db);
}

static void
close_db(struct db **db)
{
	db_close(*db);
}

int
db_open(const struct db_options *o, struct db **out, struct buf *why)
{
	CLEANUP(close_db) struct db *db = calloc(1, sizeof(*db));
	int rc;

	if (!db || !(db->path = strdup(o->path)))
		return -ENOMEM;
	db->checkpoints = o->checkpoints;
	db->look = o->look;
	db->jitter = (uint32_t)getpid();
	rc = connect_and_migrate(db, why);
	if (rc)
		return rc;
	*out = TAKE(db);
	return 0;
}

int
db_refresh(struct db *db)
{
	CLEANUP_BUF struct buf why = BUF_INIT(BUF_MAX_SMALL);
	struct sqlite_link old = db->link;
	struct stat st;
	int rc;

	assert(!db->depth);
	if (stat(db->path, &st))
		return -errno;
	if (st.st_ino == old.ino && st.st_dev == old.dev)
		return 0;
	db->link = (struct sqlite_link){0};
	rc = connect_and_migrate(db, &why);
	if (!rc) {
		disconnect(&old);
		return 0;
	}
	disconnect(&db->link);
	db->link = old;
	snprintf(db->why, sizeof(db->why), "%s", buf_str(&why));
	return rc;
}

int
db_begin(struct db *db)
{
	int rc = 0;

	if (!db->depth) {
		db->doomed = false;
		rc = sqlite_do(db, "BEGIN IMMEDIATE");
	}
	if (!rc)
		db->depth++;
	return rc;
}

/* A full disk or failed read has SQLite roll back by itself. */
static bool
is_doomed(struct db *db)
{
	return db->doomed || sqlite3_get_autocommit(db->link.conn);
}

static void
abandon(struct db *db)
{
	if (!sqlite3_get_autocommit(db->link.conn))
		(void)sqlite3_exec(db->link.conn, "ROLLBACK", NULL, NULL, NULL);
}

void
sqlite_announce(struct db *db)
{
	(void)!utimensat(AT_FDCWD, db->path, NULL, 0);
}

int
db_commit(struct db *db)
{
	int rc;

	assert(db->depth > 0);
	if (--db->depth)
		return is_doomed(db) ? -ECANCELED : 0;
	rc = is_doomed(db) ? -ECANCELED : sqlite_do(db, "COMMIT");
	if (rc)
		abandon(db);
	else
		sqlite_announce(db);
	return rc;
}

void
db_rollback(struct db *db)
{
	assert(db->depth > 0);
	db->doomed = true;
	if (!--db->depth)
		abandon(db);
}

int64_t
db_data_version(struct db *db)
{
	sqlite3_stmt **stmt = &db->link.version;
	int64_t version = -1;

	if (!*stmt && sqlite3_prepare_v3(db->link.conn, "PRAGMA data_version",
	                                 -1, SQLITE_PREPARE_PERSISTENT, stmt,
	                                 NULL) != SQLITE_OK)
		return -1;
	if (sqlite3_step(*stmt) == SQLITE_ROW)
		version = sqlite3_column_int64(*stmt, 0);
	sqlite3_reset(*stmt);
	return version;
}

int
db_checkpoint(struct db *db)
{
	assert(db->checkpoints && !db->depth);
	/* passive: waits for nobody; the next writer starts the WAL over
	 * when all of it was moved */
	return sqlite_errno(db, sqlite3_wal_checkpoint_v2(
					db->link.conn, NULL,
					SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));
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
	db->skew_ms = ms;
}
