/*
 * The database behind a dozen functions. Statements of sql/query/ are called by
 * their enum, and prepared once per connection.
 *
 *	if ((rc = db_begin(db)))
 *		return rc;
 *	rc = db_run(db, SQL_TOKEN_REVOKE, ARGS(V(id), V(now)));
 *	rc = rc < 0 ? rc : db_commit(db);
 *
 * Writes belong in a transaction, which is BEGIN IMMEDIATE, since a read that
 * becomes a write can't wait for the lock and fails at once. Commits are on
 * disk when db_commit() returns. Only a connection opened with checkpoints =
 * true moves the WAL into the database: SQLite 3.40.1 has a race between two of
 * them (fixed in 3.51.3, "WAL-reset"). A commit touches the database file, so
 * that inotify (IN_ATTRIB) wakes processes that wait for it.
 *
 *   Threads  one connection per thread, never shared
 *   Errors   -EBUSY when the lock did not come within DB_BUSY_MAX_MS,
 *            -EEXIST for a broken unique or foreign key, -EROFS, -ENOSPC,
 *            -EIO, -EBADMSG for a damaged file; db_why() for the log
 */
#pragma once

#include "base/buf.h"
#include "store/sql.h"

#include <stdbool.h>
#include <stdint.h>

#define DB_BUSY_MAX_MS 5000

struct db;

/* A parameter; V() makes one of a text, a whole number or a double. */
struct db_value {
	enum { DB_INT, DB_REAL, DB_TEXT } kind;
	int64_t i;
	double r;
	const char *s;
};

static inline struct db_value
db_int(int64_t i)
{
	return (struct db_value){.kind = DB_INT, .i = i};
}

static inline struct db_value
db_real(double r)
{
	return (struct db_value){.kind = DB_REAL, .r = r};
}

static inline struct db_value
db_text(const char *s)
{
	return (struct db_value){.kind = DB_TEXT, .s = s};
}

#define V(x) \
	_Generic((x),               \
		char *: db_text,    \
		const char *: db_text, \
		float: db_real,     \
		double: db_real,    \
		default: db_int)(x)
/* The values of $1, $2, ... in order; borrowed for the call. */
#define ARGS(...)                                          \
	(const struct db_value[]){__VA_ARGS__},            \
		sizeof((struct db_value[]){__VA_ARGS__}) / \
			sizeof(struct db_value)
#define NO_ARGS NULL, 0

/* The rows of one statement; one reader per statement at a time. */
struct db_rows {
	struct db *db;
	void *stmt;
};
#define CLEANUP_ROWS CLEANUP(db_finish)

struct db_options {
	const char *path;
	bool checkpoints; /* the worker: the only one that may */
	/* Opens the database read-only: it is neither created nor migrated, and
	 * neither waits for writers nor makes them wait. */
	bool look;
};

/*
 * Opens or creates the database and brings its schema up to date.
 *
 *   Owns     *out is the caller's; db_close() it
 *   Errors   -errno, -EPROTONOSUPPORT when a later release has changed the
 *            schema beyond what this one can use, -EMEDIUMTYPE when look is set
 *            and the file is no database of ours; with one line in *why
 */
MUST_CHECK int
db_open(const struct db_options *o, struct db **out, struct buf *why);
void db_close(struct db *db);
/*
 * Reopens the database when another file has taken its place (a restored
 * backup).
 *   Errors   as db_open(); the old connection stays in use
 */
MUST_CHECK int db_refresh(struct db *db);

/*
 * Transactions nest: the outermost pair is the real one, and an inner
 * rollback makes the outer commit fail with -ECANCELED.
 */
MUST_CHECK int db_begin(struct db *db);
MUST_CHECK int db_commit(struct db *db);
void db_rollback(struct db *db);

/* Runs a statement to its end. Returns the number of changed
 * rows, or -errno. */
MUST_CHECK int
db_run(struct db *db, enum sql sql, const struct db_value *v, size_t n);
/* Starts reading rows; call db_finish() also after an error. */
MUST_CHECK int db_query(struct db *db, enum sql sql, const struct db_value *v,
                        size_t n, struct db_rows *out);
/* Returns 1 when there is a row, 0 when there are no more, or -errno. */
MUST_CHECK int db_next(struct db_rows *rows);
void db_finish(struct db_rows *rows);
/* Return columns of the current row, from 0; text is valid until db_next(). */
const char *db_col_text(const struct db_rows *rows, int column);
int64_t db_col_int(const struct db_rows *rows, int column);
double db_col_real(const struct db_rows *rows, int column);
/* Returns the column's name; NULL when the statement has no such column. */
const char *db_col_name(const struct db_rows *rows, int column);

/* The newest migration that was applied, and the oldest release (its newest
 * migration) that still works with the schema. */
struct db_schema {
	int64_t version, compatible;
};
MUST_CHECK int db_schema(struct db *db, struct db_schema *out);
/*
 * Writes the database as of one moment to the empty file at path. No writer
 * waits, since this is one read transaction. (SQLite's backup API, called for
 * some pages at a time, starts anew with each commit of another process, and so
 * never ends beside a busy writer.) The copy is compact, needs no WAL, and is
 * not synced.
 *   Errors   -errno; the written file is then unusable
 */
MUST_CHECK int db_copy(struct db *db, const char *path);
/*
 * Examines every page and index, then every foreign key. Calls found with a
 * line for each damage, at most DB_DAMAGES_MAX of either kind.
 */
#define DB_DAMAGES_MAX 100
enum db_damage { DB_DAMAGE_PAGE, DB_DAMAGE_KEY };
typedef void db_found(void *arg, enum db_damage kind, const char *line);
MUST_CHECK int db_examine(struct db *db, db_found *found, void *arg);

/* Returns a number that changes when another connection commits, and never by
 * our own writes. */
int64_t db_data_version(struct db *db);
/*
 * Moves the WAL into the database, and empties it if no reader is in the way.
 *   Errors   -EBUSY, -errno; harmless, since the next checkpoint does the work
 */
MUST_CHECK int db_checkpoint(struct db *db);
/* Returns the last failure in the database's words: for logs, never for
 * clients. */
const char *db_why(const struct db *db);
