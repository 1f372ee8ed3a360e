/*
 * The embedded driver: a connection to SQLite, and the file of the database. A
 * commit changes the file's attributes, so that inotify (IN_ATTRIB) wakes
 * waiting processes.
 */
#pragma once

#include "driver.h"

#include <assert.h>
#include <sqlite3.h>
#include <sys/types.h>

#define WAL_MAX_BYTES ((int64_t)4 << 20) /* a larger WAL is moved at once */
#define WAL_MAX_PAGES (WAL_MAX_BYTES / 4096)

/* One open file; replaced when the file is replaced. */
struct sqlite_link {
	sqlite3 *conn;
	sqlite3_stmt *stmts[SQL_COUNT]; /* prepared at first use */
	/* Further statements, also prepared at first use. */
	sqlite3_stmt *begin, *commit, *version;
	dev_t dev;
	ino_t ino;
};

struct sqlite {
	struct db db;
	struct sqlite_link link;
	bool checkpoints;
	int wal_pages;       /* in the WAL at the last commit; 0: moved */
	int64_t moved_bytes; /* size of the WAL when all was moved */
	int wake_fd;         /* an inotify of the file; -1: none yet */
	int64_t upkeep_ns;   /* when upkeep is due */
	int64_t busy_since_ns;
	int64_t unsure_ns; /* CPU time when the file was opened */
	uint32_t jitter;
	int64_t skew_ms;
};

static inline struct sqlite *
sqlite_of(struct db *db)
{
	assert(db->driver == &db_sqlite);
	return (struct sqlite *)(void *)db;
}

/* Returns -errno for a result code of SQLite, and keeps its message for
 * db_why(). */
int sqlite_errno(struct db *db, int code);
/*
 * Makes every process that is about to open the database at path wait until
 * *out_fd is closed.
 */
MUST_CHECK int sqlite_lock_setup(const char *path, int *out_fd);
/*
 * Finds a process that has the database at path open. Does not find connections
 * of this process; these would lose their locks.
 *   Shape    *out is the pid, -1 for a process of another PID namespace, 0 when
 *            there is none
 *   Source   https://sqlite.org/lockingv3.html, os.h of SQLite 3.40.1: a
 *            connection to a database in WAL mode has a shared lock on these
 *            bytes from its first transaction until it is closed
 */
MUST_CHECK int sqlite_in_use(const char *path, pid_t *out);

/* The kind of value that a row has in a column: DB_INT, DB_REAL or DB_TEXT. */
int sqlite_col_kind(const struct db_rows *rows, int column);

/*
 * Writes a snapshot of the database to the empty file at path. No writer
 * waits, since this is one read transaction. (SQLite's backup API, called for
 * some pages at a time, restarts at each commit of another process, and so
 * never ends beside a busy writer.) The copy is compact, needs no WAL, and is
 * not synced.
 *   Errors   -errno; the written file is then unusable
 */
MUST_CHECK int sqlite_copy(struct db *db, const char *path);
/*
 * Examines every page and index, then every foreign key. Calls found with a
 * line for each flaw, at most DB_DAMAGES_MAX of either kind.
 */
#define DB_DAMAGES_MAX 100
enum db_damage { DB_DAMAGE_PAGE, DB_DAMAGE_KEY };
typedef void db_found(void *arg, enum db_damage kind, const char *line);
MUST_CHECK int sqlite_examine(struct db *db, db_found *found, void *arg);
/*
 * Compares tables and indexes with those that the first version migrations
 * make: a condition or a computed column that somebody added would run whenever
 * Stoker uses the table. Objects of a later release may differ, but compute
 * nothing.
 *   Shape    what: the kind and name of one that is not allowed, or ""
 *   Errors   a result code of SQLite
 */
MUST_CHECK int
sqlite_differs(sqlite3 *conn, int version, char *what, size_t size);
