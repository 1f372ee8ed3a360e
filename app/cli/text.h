/*
 * Text in columns of a screen: how wide it is, cut, wrapped.
 *
 * Names come from profiled programs and other users: bytes that could drive
 * a terminal are shown as '?'. Wide characters count as one column, since
 * function names hardly hold any.
 */
#pragma once

#include "base/buf.h"

#define ELLIPSIS "…" /* stands for what was cut */

size_t text_columns(const char *s);
/* Appends s, harmless for a terminal. */
void safe_puts(struct buf *out, const char *s);
/* Appends at most width columns of s; of a longer one its beginning and its
 * last tail columns. */
void text_cut(struct buf *out, const char *s, size_t width, size_t tail);
/*
 * Appends s in lines of at most width columns (0: one line), broken at its
 * blanks. The cursor stands in column at; lines after the first begin with
 * indent blanks.
 */
void text_wrap(struct buf *out, const char *s, size_t at, size_t indent,
               size_t width);
/* Appends n blanks. */
void text_pad(struct buf *out, size_t n);
