/* The connection behind db.h, and the file that SQLite keeps the database in.
 */
#pragma once

#include "db.h"

#include <sqlite3.h>
#include <sys/types.h>

/* One open file; another takes its place when the file is replaced. */
struct sqlite_link {
	sqlite3 *conn;
	sqlite3_stmt *stmts[SQL_COUNT]; /* prepared at first use */
	sqlite3_stmt *version;          /* likewise, of db_data_version */
	dev_t dev;
	ino_t ino;
};

struct db {
	struct sqlite_link link;
	char *path;
	bool checkpoints, look;
	int depth;   /* of nested transactions */
	bool doomed; /* an inner one was rolled back */
	int64_t busy_since_ns;
	uint32_t jitter;
	int fail_after;
	int64_t skew_ms;
	char why[200];
};

/* -errno for a result code of SQLite; notes its words for db_why(). */
int sqlite_errno(struct db *db, int code);
/*
 * Holds off every process that is about to open the database at path, until
 * *out_fd is closed.
 */
MUST_CHECK int sqlite_lock_setup(const char *path, int *out_fd);
/*
 * Whether a process has the database at path open; our own connections are
 * not seen, and would lose their locks.
 *   Shape    *out its pid, -1 when it is of another PID namespace, 0: nobody
 *   Source   https://sqlite.org/lockingv3.html, os.h of SQLite 3.40.1: a
 *            connection to a database in WAL mode has a shared lock on these
 *            bytes from its first transaction until it is closed
 */
MUST_CHECK int sqlite_in_use(const char *path, pid_t *out);
