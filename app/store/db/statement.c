#include "sqlite.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>

static int
statement(struct db *db, enum sql sql, sqlite3_stmt **out)
{
	sqlite3_stmt **slot = &db->link.stmts[sql];

	if (db->fail_after && !--db->fail_after) {
		snprintf(db->why, sizeof(db->why), "failed on purpose");
		return -EIO;
	}
	if (!*slot) {
		int code = sqlite3_prepare_v3(
			db->link.conn, sql_queries[sql].text[SQL_SQLITE], -1,
			SQLITE_PREPARE_PERSISTENT, slot, NULL);

		if (code != SQLITE_OK)
			return sqlite_errno(db, code);
	}
	assert(!sqlite3_stmt_busy(*slot));
	*out = *slot;
	return 0;
}

static int
bind(sqlite3_stmt *stmt, int i, const struct db_value *v)
{
	switch (v->kind) {
	case DB_INT:
		return sqlite3_bind_int64(stmt, i, v->i);
	case DB_REAL:
		return sqlite3_bind_double(stmt, i, v->r);
	case DB_TEXT:
		return sqlite3_bind_text(stmt, i, v->s, -1, SQLITE_TRANSIENT);
	}
	return SQLITE_MISUSE;
}

int
db_query(struct db *db, enum sql sql, const struct db_value *v, size_t n,
         struct db_rows *out)
{
	sqlite3_stmt *stmt = NULL;
	int code = SQLITE_OK, rc = statement(db, sql, &stmt);

	if (rc)
		return rc;
	assert((int)n == sql_queries[sql].nparams);
	for (size_t i = 0; i < n && code == SQLITE_OK; i++)
		code = bind(stmt, (int)i + 1, &v[i]);
	if (code != SQLITE_OK)
		return sqlite_errno(db, code);
	*out = (struct db_rows){.db = db, .stmt = stmt};
	return 0;
}

int
db_next(struct db_rows *rows)
{
	int rc, code = sqlite3_step(rows->stmt);

	if (code == SQLITE_ROW)
		return 1;
	rc = sqlite_errno(rows->db, code);
	db_finish(rows);
	return rc;
}

void
db_finish(struct db_rows *rows)
{
	if (!rows->stmt)
		return;
	sqlite3_reset(rows->stmt); /* else it would keep its lock */
	sqlite3_clear_bindings(rows->stmt);
	rows->stmt = NULL;
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
	rc = sqlite3_changes(db->link.conn);
	if (rc && !db->depth)
		sqlite_announce(db);
	return rc;
}

const char *
db_col_text(const struct db_rows *rows, int column)
{
	const unsigned char *s = sqlite3_column_text(rows->stmt, column);

	return s ? (const char *)s : "";
}

const char *
db_col_name(const struct db_rows *rows, int column)
{
	return sqlite3_column_name(rows->stmt, column);
}

int64_t
db_col_int(const struct db_rows *rows, int column)
{
	return sqlite3_column_int64(rows->stmt, column);
}

double
db_col_real(const struct db_rows *rows, int column)
{
	return sqlite3_column_double(rows->stmt, column);
}
