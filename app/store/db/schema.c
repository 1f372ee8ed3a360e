#include "sqlite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct listing {
	sqlite3_stmt *stmt;
	int code;
};

static void
listing_done(struct listing *l)
{
	sqlite3_finalize(l->stmt);
}

static void
listing_next(struct listing *l)
{
	l->code = sqlite3_step(l->stmt);
}

static int
listing_init(struct listing *l, sqlite3 *conn)
{
	l->code = sqlite3_prepare_v2(
		conn, sql_queries[SQL_SCHEMA_OBJECTS].text[SQL_SQLITE], -1,
		&l->stmt, NULL);
	if (l->code == SQLITE_OK)
		listing_next(l);
	return l->code == SQLITE_ROW || l->code == SQLITE_DONE ? 0 : -EIO;
}

static const char *
column(const struct listing *l, int i)
{
	return (const char *)sqlite3_column_text(l->stmt, i) ?: "";
}

/* ALTER TABLE puts white space and quotes where it likes. */
static bool
same_text(const char *a, const char *b)
{
	static const char ignored[] = " \t\n\"";

	for (;; a++, b++) {
		a += strspn(a, ignored);
		b += strspn(b, ignored);
		if (!*a || *a != *b)
			return *a == *b;
	}
}

/* Finds the first difference in two lists in order. */
static int
differ(struct listing *ours, struct listing *given, char *what, size_t size)
{
	while (ours->code == SQLITE_ROW || given->code == SQLITE_ROW) {
		int order = ours->code != SQLITE_ROW ? 1
		            : given->code != SQLITE_ROW
		                    ? -1
		                    : strcmp(column(ours, 0), column(given, 0));

		if (order || !same_text(column(ours, 1), column(given, 1))) {
			snprintf(what, size, "%s",
			         column(order < 0 ? ours : given, 0));
			return 1;
		}
		listing_next(ours);
		listing_next(given);
	}
	return ours->code == SQLITE_DONE && given->code == SQLITE_DONE ? 0
	                                                               : -EIO;
}

static void
close_conn(sqlite3 **conn)
{
	sqlite3_close(*conn);
}

/* Makes an empty database in memory by the first migrations. */
static int
make(int version, sqlite3 **out)
{
	int code = sqlite3_open_v2(":memory:", out,
	                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
	                                   SQLITE_OPEN_NOMUTEX,
	                           NULL);

	if (code == SQLITE_OK)
		code = sqlite3_exec(*out, "BEGIN", NULL, NULL, NULL);
	for (int i = 0; i < version && code == SQLITE_OK; i++)
		code = sqlite3_exec(*out, sql_migrations[i].text[SQL_SQLITE],
		                    NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : code == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

int
sqlite_differs(sqlite3 *conn, int version, char *what, size_t size)
{
	CLEANUP(close_conn) sqlite3 *made = NULL;
	CLEANUP(listing_done) struct listing ours = {0};
	CLEANUP(listing_done) struct listing given = {0};

	return make(version, &made)
	               ?: listing_init(&ours, made)
	               ?: listing_init(&given, conn)
	               ?: differ(&ours, &given, what, size);
}
