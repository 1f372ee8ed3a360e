/*
 * Tables, objects and errors as text for people. Control characters in values
 * never reach the terminal.
 */
#pragma once

#include "base/json.h"
#include "screen.h"

#include <stdbool.h>

#define TABLE_COLUMNS_MAX 16
#define CELL_MAX          ((size_t)8 << 10) /* enough for a command line */
#define TOP_ROWS          20

struct column {
	const char *title;
	const char *key; /* member of the row; "a.b" is a member of a member */
	enum { LEFT, RIGHT } align;
	/* How a cell is shown and cut: PLAIN at its end, MIDDLE in the middle,
	 * NAME by name_fit(), TIME never, ID at its end if nothing else can be
	 * cut. */
	enum { PLAIN, MIDDLE, NAME, TIME, ID, PERCENT } show;
};

/*
 * Appends a line for each object of a list, with columns as wide as necessary,
 * TABLE_COLUMNS_MAX at most. If a line would exceed the screen, the last column
 * is cut first, then other texts, but never numbers. A row's member TABLE_NOTE
 * is shown below the row, in full.
 */
#define TABLE_NOTE "note"
/* Adds a member that does not fit into the line to each row's note. */
void table_note(json_t *rows, const char *key);
void table_show(struct buf *out, const struct column *columns, size_t n,
                const json_t *rows, const struct screen *s);
/* As table_show(), without columns that are empty in all rows. */
void table_show_used(struct buf *out, const struct column *columns, size_t n,
                     const json_t *rows, const struct screen *s);
/* As table_show_used() for people, but with all columns for programs. */
void table_show_to(struct buf *out, const struct column *columns, size_t n,
                   const json_t *rows, const struct screen *s);
/* Appends a value for people: texts without quotes, lists joined, objects as
 * k=v. */
void value_show(struct buf *out, const json_t *v);
/* Appends a value; a string that holds JSON is appended without quotes. */
void value_bare(struct buf *out, const json_t *v);
/* Appends "name: value", with values aligned. Appends nothing if v is empty. */
void member_show(struct buf *out, const char *name, const json_t *v,
                 const struct screen *s);

/* Appends "name:" and, on the next line, a link, which may be longer than a
 * line; then calls tunnel_show(). */
void link_show(struct buf *out, const char *name, const char *url);

/* Appends an error reply: "stoker: message (ErrorCode)", and a line per
 * detail. */
void
error_show(struct buf *out, long status, const json_t *reply, long retry_after);
/* Appends at most limit top functions of a ProfileResult (TOP_ROWS if limit is
 * negative). */
void top_show(struct buf *out, const json_t *result, int64_t limit,
              const struct screen *s);
/* Appends a one-line summary of the quality report, if there is one. Unwinding
 * is left out for types that a program counts itself, since it records its own
 * stacks. */
void quality_show(struct buf *out, const json_t *result);
/* True if nothing was sampled. */
bool result_is_empty(const json_t *result);
/* Appends the reasons not to trust a result, and its other notes, one per line.
 * Appends nothing for a good result. */
void
reasons_show(struct buf *out, const json_t *result, const struct screen *s);
/* Appends the notices of a merged range, one per line: what it leaves out. */
void
notices_show(struct buf *out, const json_t *result, const struct screen *s);
