#include "sqlite.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Iterates over the objects of a database, in order: the rows of stmt or, if
 * made is set, the sql_objects from there on. */
struct listing {
	const struct sql_object *made;
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
	if (l->made)
		l->code = (++l->made)->what ? SQLITE_ROW : SQLITE_DONE;
	else
		l->code = sqlite3_step(l->stmt);
}

/* Returns SQLite's code of an error. */
static int
listing_init(struct listing *l, sqlite3 *conn)
{
	l->code = sqlite3_prepare_v2(
		conn, sql_queries[SQL_SCHEMA_OBJECTS].text[SQL_SQLITE], -1,
		&l->stmt, NULL);
	if (l->code == SQLITE_OK)
		listing_next(l);
	return l->code == SQLITE_ROW || l->code == SQLITE_DONE ? SQLITE_OK
	                                                       : l->code;
}

static const char *
what_of(const struct listing *l)
{
	return l->made ? l->made->what
	               : (const char *)sqlite3_column_text(l->stmt, 0) ?: "";
}

static const char *
text_of(const struct listing *l)
{
	return l->made ? l->made->text
	               : (const char *)sqlite3_column_text(l->stmt, 1) ?: "";
}

/* ALTER TABLE adds white space and quotes. */
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

/* Returns the length of a word, text or sign; 0 at the end, and for comments
 * and other operators, which no plain definition has. */
static size_t
token_len(const char *at)
{
	size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz"
	                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	const char *end;

	if (n)
		return n;
	if (*at == '\'' || *at == '"') {
		end = strchr(at + 1, *at);
		return end ? (size_t)(end - at) + 1 : 0;
	}
	if (*at == '-' && (at[1] == '-' || at[1] == '>'))
		return 0;
	return *at && strchr("(),.=<>+-", *at);
}

struct token {
	const char *at;
	size_t len;
};

/* Returns false at the end of the text, or before something that no plain
 * definition has. */
static bool
token_next(struct token *t)
{
	t->at += t->len;
	t->at += strspn(t->at, " \t\r\n");
	t->len = token_len(t->at);
	return t->len;
}

static bool
token_is(const struct token *t, const char *word)
{
	return strlen(word) == t->len && !strncasecmp(t->at, word, t->len);
}

static bool
token_among(const struct token *t, const char *const words[])
{
	while (*words && !token_is(t, *words))
		words++;
	return *words;
}

/* False for a bracket after a name, which makes a call. */
static bool
opens_no_call(const struct token *last, const struct token *before)
{
	static const char *const words[] = {"CHECK", "IN", "KEY", "UNIQUE",
	                                    "AND",   "OR", "NOT", NULL};

	return strchr("(,=<>+-", *last->at) || token_among(last, words) ||
	       token_is(before, "REFERENCES");
}

/*
 * True for a table or an index that computes only comparisons: whether a value
 * is in a list, equals another, or is more or less. It has no function, no
 * concatenation or pattern match, and no computed column or default. The first
 * bracket opens the columns.
 */
static bool
is_plain(const char *text)
{
	static const char *const computing[] = {"AS", "SELECT", "LIKE", "GLOB",
	                                        NULL};
	struct token t = {text, 0}, last, before;
	bool has_columns = false;

	if (!token_next(&t) || !token_is(&t, "CREATE") || !token_next(&t))
		return false;
	if (token_is(&t, "UNIQUE") && !token_next(&t))
		return false;
	if (!token_is(&t, "TABLE") && !token_is(&t, "INDEX"))
		return false;
	for (before = last = t; token_next(&t); before = last, last = t) {
		if (token_among(&t, computing))
			return false;
		if (*t.at == '(' && has_columns &&
		    !opens_no_call(&last, &before))
			return false;
		has_columns |= *t.at == '(';
	}
	return !*t.at;
}

/* Returns which of two sorted lists has the lesser next name: -1 ours, 1
 * given, 0 both. */
static int
first_of(const struct listing *ours, const struct listing *given)
{
	if (ours->code != SQLITE_ROW)
		return 1;
	if (given->code != SQLITE_ROW)
		return -1;
	return strcmp(what_of(ours), what_of(given));
}

/* True if the next row of one or both lists is allowed as it is. A later
 * release may have another index in place of one of ours. */
static bool
is_agreed(const struct listing *ours, const struct listing *given, int order,
          bool later)
{
	if (order < 0)
		return later && !strncmp(what_of(ours), "index ", 6);
	if (!order && same_text(text_of(ours), text_of(given)))
		return true;
	return later && is_plain(text_of(given));
}

/* Finds the first difference between two sorted lists. */
static int
differ(struct listing *ours, struct listing *given, bool later, char *what,
       size_t size)
{
	while (ours->code == SQLITE_ROW || given->code == SQLITE_ROW) {
		int order = first_of(ours, given);

		if (!is_agreed(ours, given, order, later)) {
			snprintf(what, size, "%s",
			         what_of(order < 0 ? ours : given));
			return SQLITE_OK;
		}
		if (order <= 0)
			listing_next(ours);
		if (order >= 0)
			listing_next(given);
	}
	return ours->code != SQLITE_DONE    ? ours->code
	       : given->code != SQLITE_DONE ? given->code
	                                    : SQLITE_OK;
}

static void
close_conn(sqlite3 **conn)
{
	sqlite3_close(*conn);
}

/* Makes an empty database in memory with the first `version` migrations. This
 * takes far longer than opening a database. */
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
	return code;
}

/* Lists what the first `version` migrations make; what all of them make was
 * listed at build time. */
static int
list_ours(int version, sqlite3 **made, struct listing *out)
{
	if (version < SQL_VERSION)
		return make(version, made) ?: listing_init(out, *made);
	*out = (struct listing){.made = sql_objects, .code = SQLITE_ROW};
	return SQLITE_OK;
}

int
sqlite_differs(sqlite3 *conn, int version, char *what, size_t size)
{
	CLEANUP(close_conn) sqlite3 *made = NULL;
	CLEANUP(listing_done) struct listing ours = {0};
	CLEANUP(listing_done) struct listing given = {0};

	*what = 0;
	return list_ours(version, &made, &ours)
	               ?: listing_init(&given, conn)
	               ?: differ(&ours, &given, version > SQL_VERSION, what,
	                         size);
}
