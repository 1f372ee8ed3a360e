#include "sqlite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Prepares a statement outside sql/query: a PRAGMA, or VACUUM. */
static int
prepare(struct db *db, const char *text, sqlite3_stmt **out)
{
	return sqlite_errno(db, sqlite3_prepare_v2(sqlite_of(db)->link.conn,
	                                           text, -1, out, NULL));
}

static void
finalize(sqlite3_stmt **stmt)
{
	sqlite3_finalize(*stmt);
}

int
sqlite_copy(struct db *db, const char *path)
{
	CLEANUP(finalize) sqlite3_stmt *stmt = NULL;
	int rc = prepare(db, "VACUUM INTO ?1", &stmt);

	if (rc)
		return rc;
	if (sqlite3_bind_text(stmt, 1, path, -1, SQLITE_STATIC) != SQLITE_OK)
		return -ENOMEM;
	return sqlite_errno(db, sqlite3_step(stmt));
}

static const char *
text(sqlite3_stmt *stmt, int column)
{
	const unsigned char *s = sqlite3_column_text(stmt, column);

	return s ? (const char *)s : "?";
}

/* Reports a line of integrity_check; "ok" means no damage. */
static void
page_line(sqlite3_stmt *stmt, char *line, size_t size)
{
	snprintf(line, size, "%s",
	         strcmp(text(stmt, 0), "ok") ? text(stmt, 0) : "");
	for (char *p = line; *p; p++)
		if (*p == '\n')
			*p = ' ';
}

static void
key_line(sqlite3_stmt *stmt, char *line, size_t size)
{
	snprintf(line, size, "row %s of %s refers to a row of %s that is gone",
	         text(stmt, 1), text(stmt, 0), text(stmt, 2));
}

int
sqlite_examine(struct db *db, db_found *found, void *arg)
{
	static const struct {
		const char *pragma;
		void (*line_of)(sqlite3_stmt *stmt, char *line, size_t size);
	} checks[] = {
		[DB_DAMAGE_PAGE] = {"PRAGMA integrity_check", page_line},
		[DB_DAMAGE_KEY] = {"PRAGMA foreign_key_check", key_line},
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(checks) && !rc; i++) {
		CLEANUP(finalize) sqlite3_stmt *stmt = NULL;
		int code = SQLITE_ROW;

		rc = prepare(db, checks[i].pragma, &stmt);
		for (int n = 0; !rc && n < DB_DAMAGES_MAX; n++) {
			char line[200];

			code = sqlite3_step(stmt);
			if (code != SQLITE_ROW)
				break;
			checks[i].line_of(stmt, line, sizeof(line));
			if (*line)
				found(arg, (enum db_damage)i, line);
		}
		rc = rc ?: sqlite_errno(db, code);
	}
	return rc;
}
