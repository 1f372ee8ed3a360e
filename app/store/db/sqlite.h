/* The connection behind db.h, and the file that SQLite keeps the database in.
 */
#pragma once

#include "db.h"

#include <sqlite3.h>
#include <sys/types.h>

/* One open file; replaced when the file is replaced. */
struct sqlite_link {
	sqlite3 *conn;
	sqlite3_stmt *stmts[SQL_COUNT]; /* prepared at first use */
	sqlite3_stmt *version;          /* statement of db_data_version(),
	                                   prepared likewise */
	dev_t dev;
	ino_t ino;
};

struct db {
	struct sqlite_link link;
	char *path;
	bool checkpoints, look;
	int depth;   /* depth of nested transactions */
	bool doomed; /* an inner transaction was rolled back */
	int64_t busy_since_ns;
	uint32_t jitter;
	int fail_after;
	int64_t skew_ms;
	char why[200];
};

/* Returns -errno for a result code of SQLite, and keeps its message for
 * db_why(). */
int sqlite_errno(struct db *db, int code);
/*
 * Makes every process that is about to open the database at path wait until
 * *out_fd is closed.
 */
MUST_CHECK int sqlite_lock_setup(const char *path, int *out_fd);
/*
 * Finds a process that has the database at path open. Connections of this
 * process are not found, and would lose their locks.
 *   Shape    *out is the pid, -1 for a process of another PID namespace, 0 when
 *            there is none
 *   Source   https://sqlite.org/lockingv3.html, os.h of SQLite 3.40.1: a
 *            connection to a database in WAL mode has a shared lock on these
 *            bytes from its first transaction until it is closed
 */
MUST_CHECK int sqlite_in_use(const char *path, pid_t *out);
