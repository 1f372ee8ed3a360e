/*
 * What people read: tables, the progress bar, errors. Text into buffers,
 * with nothing of a terminal in it.
 *
 * Names come from profiled programs and other users: bytes that could drive
 * a terminal are shown as '?'.
 */
#pragma once

#include "base/json.h"

#include <stdbool.h>

#define TABLE_COLUMNS_MAX 8
#define CELL_MAX          ((size_t)8 << 10) /* a whole command line */
#define TOP_ROWS          20
#define STACK_LEAVES      9 /* names shown of a deep stack: those innermost, */
#define STACK_ROOTS       2 /* and those that it began with */
#define STACK_NAME        60 /* characters of each */

struct column {
	const char *title;
	const char *key; /* member of the row's object; "a.b" looks inside */
	enum { LEFT, RIGHT } align;
	/* NAME: cut in its middle. STACK: a list of names, those in its middle
	 * left out, and counted, where there are many; a long one is cut. */
	enum { PLAIN, PERCENT, NAME, STACK } show;
};

/*
 * Lines for the rows of a list of objects, columns as wide as they need be;
 * the last one is cut where a line would exceed width (0: never), then
 * other texts.
 */
void table_show(struct buf *out, const struct column *columns, size_t n,
                const json_t *rows, size_t width);
/* The same without the columns that have nothing in any row. */
void table_show_used(struct buf *out, const struct column *columns, size_t n,
                     const json_t *rows, size_t width);
/* key: value, one line per member; "" and empty values are left out. */
void object_show(struct buf *out, const json_t *object);
/* Appends s, harmless for a terminal. */
void safe_puts(struct buf *out, const char *s);
/* A value as people read it: text bare, lists joined, objects as k=v. */
void value_show(struct buf *out, const json_t *v);

/* "capturing  [=====>    ]  52 %", exactly width characters or more. */
void
bar_show(struct buf *out, const char *phase, double progress, size_t width);
/* An error reply: "stoker: message (ErrorCode)" and a line per detail. */
void
error_show(struct buf *out, long status, const json_t *reply, long retry_after);
/* The top functions of a ProfileResult, at most limit (< 0: TOP_ROWS). */
void
top_show(struct buf *out, const json_t *result, int64_t limit, size_t width);
/* Its quality report at a glance, then its notes, a line each; nothing when
 * there is none. */
void quality_show(struct buf *out, const json_t *result);
/* Why a result must not be taken for a true one, a line each; nothing of one
 * that is good. */
void reasons_show(struct buf *out, const json_t *result);
