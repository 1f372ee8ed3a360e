/*
 * Measures, cuts and wraps text for a screen.
 *
 * Names come from profiled programs and other users: control characters, and
 * characters that set the direction of text, are shown as '?'. Wide characters
 * count as one column, because function names hardly ever contain any.
 */
#pragma once

#include "base/buf.h"

#define ELLIPSIS "…" /* replaces the part that was cut */

size_t text_columns(const char *s);
/* Appends s without control characters; safe_lines() keeps tabs and ends of
 * lines. */
void safe_puts(struct buf *out, const char *s);
void safe_lines(struct buf *out, const char *s);
/* Appends s in at most width columns; a longer text keeps its beginning and
 * its last `tail` columns. */
void text_cut(struct buf *out, const char *s, size_t width, size_t tail);
/*
 * Appends s, wrapped at spaces to lines of at most width columns (0: one line).
 * The first line starts in column `at`; later lines are indented by `indent`.
 */
void text_wrap(struct buf *out, const char *s, size_t at, size_t indent,
               size_t width);
/* Appends n spaces. */
void text_pad(struct buf *out, size_t n);
