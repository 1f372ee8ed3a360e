/*
 * Tables, objects and errors as text for people. The text cannot drive the
 * terminal, whatever characters the values hold.
 */
#pragma once

#include "base/json.h"
#include "screen.h"

#include <stdbool.h>

#define TABLE_COLUMNS_MAX 8
#define CELL_MAX          ((size_t)8 << 10) /* a whole command line */
#define TOP_ROWS          20

struct column {
	const char *title;
	const char *key; /* member of the row's object; "a.b" looks inside */
	enum { LEFT, RIGHT } align;
	/* How a cell is shown, and cut: PLAIN at its end, MIDDLE there, NAME as
	 * name.h says, TIME never, ID at its end when nothing else can be. */
	enum { PLAIN, MIDDLE, NAME, TIME, ID, PERCENT } show;
};

/*
 * Lines for the rows of a list of objects, columns as wide as they need be.
 * Where a line would exceed the screen the last column is cut, then other
 * texts; numbers never are. A row's text of the name TABLE_NOTE stands below
 * the row, as long as it is.
 */
#define TABLE_NOTE "note"
/* Adds a member to each row's note, for members that a line has no room for. */
void table_note(json_t *rows, const char *key);
void table_show(struct buf *out, const struct column *columns, size_t n,
                const json_t *rows, const struct screen *s);
/* Shows a table without the columns that are empty in all rows. */
void table_show_used(struct buf *out, const struct column *columns, size_t n,
                     const json_t *rows, const struct screen *s);
/* A value as people read it: text bare, lists joined, objects as k=v. */
void value_show(struct buf *out, const json_t *v);
/* Appends a value without the quotes of a text that is JSON itself. */
void value_bare(struct buf *out, const json_t *v);
/* A member as text, "" when it is none. */
const char *json_member(const json_t *j, const char *key);
/* "name:  value", values below each other; nothing where v has nothing. */
void member_show(struct buf *out, const char *name, const json_t *v,
                 const struct screen *s);

/* "name:", and a link on a line of its own: links are longer than any line. */
void link_show(struct buf *out, const char *name, const char *url);

/* An error reply: "stoker: message (ErrorCode)" and a line per detail. */
void
error_show(struct buf *out, long status, const json_t *reply, long retry_after);
/* The top functions of a ProfileResult, at most limit (< 0: TOP_ROWS), with
 * their values where they have some: values.h. */
void top_show(struct buf *out, const json_t *result, int64_t limit,
              const struct screen *s);
/* Its quality report at a glance, in a line; nothing when there is none. How
 * stacks were unwound is left out where none was: a program that counts by
 * itself tells its stacks. */
void quality_show(struct buf *out, const json_t *result);
/* Why a result must not be taken for a true one, and what else its reader
 * should know before: a line each, nothing of one that is good. */
void
reasons_show(struct buf *out, const json_t *result, const struct screen *s);
