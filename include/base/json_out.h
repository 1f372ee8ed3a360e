/*
 * JSON written straight into a buffer: no tree, no allocation per value.
 *
 *	json_open(b, NULL, '{');
 *	json_put_text(b, "id", id);
 *	json_open(b, "items", '[');
 *	json_put_int(b, NULL, 3);
 *	json_close(b, ']');
 *	json_close(b, '}');
 *
 * key is NULL for the outermost value and inside lists. Commas put
 * themselves: a value that follows another one is told by the byte before
 * it. So a document starts in an empty buffer, or after a text that ends
 * with one of "{[:,". Errors are the buffer's.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* bracket is '{' or '['. */
void json_open(struct buf *b, const char *key, char bracket);
/* bracket is '}' or ']'. */
void json_close(struct buf *b, char bracket);
/* Bytes that are not UTF-8 become U+FFFD; NULL is "". */
void json_put_text(struct buf *b, const char *key, const char *s);
void json_put_int(struct buf *b, const char *key, int64_t v);
/* Finite or 0; at most 6 digits after the point, trailing zeros dropped. */
void json_put_real(struct buf *b, const char *key, double v);
/* The same, or null where the number is not known. */
void json_put_known(struct buf *b, const char *key, double v, bool known);
void json_put_bool(struct buf *b, const char *key, bool v);
void json_put_null(struct buf *b, const char *key);
/* RFC 3339; epoch milliseconds. */
void json_put_time(struct buf *b, const char *key, int64_t epoch_ms);
/* What already is JSON; or_else when that is empty. */
void json_put_raw(struct buf *b, const char *key, const char *json,
                  const char *or_else);
