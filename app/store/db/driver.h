/*
 * Drivers of databases, behind db.h. db.c nests transactions, applies
 * migrations and injects failures; a driver runs texts and statements.
 */
#pragma once

#include "db.h"

/* The beginning of each driver's own struct. */
struct db {
	const struct db_driver *driver;
	char *name; /* name of the database, for messages */
	bool look;
	int depth;   /* depth of nested transactions */
	bool doomed; /* an inner transaction was rolled back */
	int fail_after;
	int64_t until_ns; /* CLOCK_MONOTONIC, see db_until(); 0: none */
	int64_t look_ns;  /* when the schema is looked at again */
	char why[320];
};

struct db_driver {
	enum sql_dialect dialect;
	bool migrates; /* migrates when opened: no other process can be using it
	                */

	/* Connects. On failure, *out is set as well if db->why has a
	 * message. */
	int (*open)(const struct db_options *o, struct db **out);
	void (*close)(struct db *db);
	/* Reconnects if need be, and calls db_check_schema(). */
	int (*refresh)(struct db *db);

	/* Returns 1 if a table or index differs from what the first `version`
	 * migrations make, or computes something that no later release would.
	 * NULL: the owner may change them. On 0, removes the limits of the
	 * connection. */
	int (*differs)(struct db *db, int version, char *what, size_t size);

	/* Runs SQL that is not in sql/query. */
	int (*text)(struct db *db, const char *sql);
	int (*begin)(struct db *db);
	int (*commit)(struct db *db);
	void (*abandon)(struct db *db);
	/* True when the transaction can only be rolled back. */
	bool (*is_lost)(struct db *db);

	int (*query)(struct db *db, enum sql sql, const struct db_value *v,
	             size_t n, struct db_rows *out);
	int (*next)(struct db_rows *rows);
	void (*finish)(struct db_rows *rows);
	/* Returns the rows changed by the last completed statement. */
	int (*changes)(struct db *db);
	/* Wakes others after a statement outside a transaction. */
	void (*announce)(struct db *db);
	const char *(*col_text)(const struct db_rows *rows, int column);
	int64_t (*col_int)(const struct db_rows *rows, int column);
	double (*col_real)(const struct db_rows *rows, int column);
	int (*col_bytes)(const struct db_rows *rows, int column,
	                 struct buf *out);
	const char *(*col_name)(const struct db_rows *rows, int column);

	int64_t (*data_version)(struct db *db);
	int (*wake_fd)(struct db *db);
	bool (*woken)(struct db *db);
	int (*upkeep)(struct db *db);
	void (*skew_clock)(struct db *db, int64_t ms);
};

extern const struct db_driver db_sqlite, db_postgres;

/*
 * Refuses a schema that this release cannot use; migrates an older one if
 * migrate is set. *why gets one line.
 */
MUST_CHECK int db_check_schema(struct db *db, bool migrate, struct buf *why);
