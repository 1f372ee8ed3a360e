/*
 * Access to the database. Statements of sql/query/ are called by their enum,
 * and prepared once per connection.
 *
 *	if ((rc = db_begin(db)))
 *		return rc;
 *	rc = db_run(db, SQL_TOKEN_REVOKE, ARGS(V(id), V(now)));
 *	rc = rc < 0 ? rc : db_commit(db);
 *
 * There are two drivers (driver.h). A path names an SQLite file, the embedded
 * default; postgres://... names a database of PostgreSQL 15 or later, which
 * the API processes of several hosts share. The worker refuses it: its sandbox
 * lets it connect to no server once it runs. All programs are linked with both
 * drivers, and libcurl needs nearly all libraries that libpq needs.
 *
 * Writes belong in a transaction. On SQLite that is BEGIN IMMEDIATE, since a
 * read that becomes a write can't wait for the lock and fails at once, and so
 * there is one writer at a time. On PostgreSQL there are many (READ COMMITTED):
 * code that reads and then writes must let a row decide, by ON CONFLICT or by
 * a WHERE that is false for the loser, never its earlier read. After an error
 * in a transaction of PostgreSQL, only db_rollback() is possible. Commits are
 * on disk when db_commit() returns.
 *
 * Only plain SQL is used on PostgreSQL, so that other databases with its
 * protocol work too: no advisory locks; NOTIFY only speeds up what a check
 * every second finds anyway; a transaction that the server aborts (40001,
 * 40P01) returns -EBUSY, and the caller may repeat it.
 *
 *   Threads  one connection per thread, never shared
 *   Errors   -EBUSY when a lock did not come within DB_BUSY_MAX_MS, or the
 *            server aborted the transaction for others' sake; -EEXIST for a
 *            broken unique or foreign key, -EROFS, -ENOSPC, -EIO (also if
 *            PostgreSQL does not answer), -EBADMSG for a damaged file, -EILSEQ
 *            for text that is not UTF-8; db_why() for the log
 */
#pragma once

#include "base/buf.h"
#include "store/sql.h"

#include <stdbool.h>
#include <stdint.h>

#define DB_BUSY_MAX_MS 5000
#define DB_LATE_MS     3000

struct db;

/* A parameter; V() makes one of a text, a whole number or a double. */
struct db_value {
	enum { DB_INT, DB_REAL, DB_TEXT, DB_BYTES } kind;
	int64_t i; /* the number, for bytes */
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

static inline struct db_value
db_bytes(const void *p, size_t n)
{
	return (struct db_value){
		.kind = DB_BYTES, .s = n ? p : "", .i = (int64_t)n};
}

#define V(x) \
	_Generic((x),               \
		char *: db_text,    \
		const char *: db_text, \
		float: db_real,     \
		double: db_real,    \
		default: db_int)(x)
/* The values of $1, $2, ... in order; borrowed for the call, and bytes until
 * db_finish(). */
#define ARGS(...)                                          \
	(const struct db_value[]){__VA_ARGS__},            \
		sizeof((struct db_value[]){__VA_ARGS__}) / \
			sizeof(struct db_value)
#define NO_ARGS NULL, 0

/* The rows of one statement. A statement has one reader at a time. */
struct db_rows {
	struct db *db;
	void *stmt;
	int row; /* the current one, if the driver reads all rows at once */
};
#define CLEANUP_ROWS CLEANUP(db_finish)

struct db_options {
	const char *url;  /* a path, or postgres://... */
	bool checkpoints; /* set by the worker alone; see db_upkeep() */
	/* Opens the database read-only: it is neither created nor migrated,
	 * and readers and writers do not wait for each other. */
	bool look;
	bool migrate; /* brings the schema up to date, as SQLite always does */
};

/*
 * Statements wait for a server's answer until this time of clock_mono_ns(), and
 * for a minute at most; 0: for a minute. After that time, a statement waits
 * for DB_LATE_MS, and only on a connection that works, so that the caller can
 * still clean up.
 */
void db_until(struct db *db, int64_t until_ns);
/* True for a URL of a database on a server; others are paths. */
bool db_is_remote(const char *url);
/*
 * Opens the database, and checks that this release can use its schema: one
 * that later releases have changed is used as long as their migrations allow
 * it (sql.awk, compatible), so that the hosts of a fleet are upgraded one by
 * one, after `stoker migrate`. SQLite creates what is not there, and migrates
 * it.
 *
 *   Owns     *out is the caller's; db_close() it
 *   Errors   -errno, -EPROTONOSUPPORT when a later release has changed the
 *            schema beyond what this one can use, -ESTALE when it must be
 *            migrated first, -EMEDIUMTYPE when look is set and the file is not
 *            a Stoker database, -EDOM when texts are sorted in another order
 *            than by their bytes; with one line in *why, which never contains
 *            a password
 */
MUST_CHECK int
db_open(const struct db_options *o, struct db **out, struct buf *why);
void db_close(struct db *db);
/*
 * Reopens the database when another file has taken its place (a restored
 * backup), or when the connection to the server is lost.
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
/* Runs a statement that may change any number of rows. Returns 0, or -errno. */
MUST_CHECK int
db_do(struct db *db, enum sql sql, const struct db_value *v, size_t n);
/* Runs a statement that has to change a row. Returns 0, none if it changed no
 * row, or -errno. */
MUST_CHECK int db_change(struct db *db, int none, enum sql sql,
                         const struct db_value *v, size_t n);
/* Starts reading rows; call db_finish() even after an error. */
MUST_CHECK int db_query(struct db *db, enum sql sql, const struct db_value *v,
                        size_t n, struct db_rows *out);
/* Starts reading rows, and reads the first one; -ENOENT when there is none. */
MUST_CHECK int db_first(struct db *db, enum sql sql, const struct db_value *v,
                        size_t n, struct db_rows *out);
/* Returns 1 when there is a row, 0 when there are no more, or -errno. */
MUST_CHECK int db_next(struct db_rows *rows);
void db_finish(struct db_rows *rows);
/* Return columns of the current row, from 0; text is valid until db_next(). */
const char *db_col_text(const struct db_rows *rows, int column);
int64_t db_col_int(const struct db_rows *rows, int column);
double db_col_real(const struct db_rows *rows, int column);
/* Appends a column of bytes; -E2BIG past out->max, -ENOMEM. */
MUST_CHECK int
db_col_bytes(const struct db_rows *rows, int column, struct buf *out);
/* Returns the column's name; NULL when the statement has no such column. */
const char *db_col_name(const struct db_rows *rows, int column);

/* True for a database that several hosts may use at once. */
bool db_is_shared(const struct db *db);

/* The newest migration that was applied, and the oldest release (its newest
 * migration) that still works with the schema. */
struct db_schema {
	int64_t version, compatible;
};
MUST_CHECK int db_schema(struct db *db, struct db_schema *out);
/* Returns a number that changes when another connection commits, never by this
 * connection's writes. If the server sends no notifications, it changes every
 * second. */
int64_t db_data_version(struct db *db);
/*
 * Wait for a commit of another connection: poll db_wake_fd() for reading, then
 * call db_woken(), which drains it and returns true if another connection may
 * have committed since the last call. Call db_woken() before the first read,
 * and again before each poll. Wake-ups may be spurious, and may be missed:
 * read every DB_LOOK_MS in any case.
 *   Errors   -1: there is no descriptor to poll
 */
#define DB_LOOK_MS 1000
int db_wake_fd(struct db *db);
bool db_woken(struct db *db);
/*
 * Runs periodic maintenance if it is due: moves SQLite's WAL into the database,
 * and empties it if no reader prevents that. Only the process with checkpoints
 * set calls this, outside a transaction, at each turn of its loop: SQLite
 * 3.40.1 has a race between two checkpoints (fixed in 3.51.3, "WAL-reset").
 *   Errors   -EBUSY, -errno; harmless, since the next call does the work
 */
MUST_CHECK int db_upkeep(struct db *db);
/* Returns the last failure in the database's words: for logs, never for
 * clients. */
const char *db_why(const struct db *db);
