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
 * key is NULL for the outermost value and inside lists. Commas are written
 * automatically: the last byte of the buffer shows whether a value precedes. A
 * document must therefore start in an empty buffer, or after a text that ends
 * in one of "{[:,". Errors are those of the buffer.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

/* Opens a list or an object; bracket is '[' or '{'. */
void json_open(struct buf *b, const char *key, char bracket);
/* Closes a list or an object; bracket is ']' or '}'. */
void json_close(struct buf *b, char bracket);
/* Writes a string. Bytes that are not UTF-8 become U+FFFD; NULL means "". */
void json_put_text(struct buf *b, const char *key, const char *s);
void json_put_int(struct buf *b, const char *key, int64_t v);
/* Writes a number with at most 6 decimals, without trailing zeros. A value that
 * is not finite is written as 0. */
void json_put_real(struct buf *b, const char *key, double v);
/* As json_put_real(), or null if the value is not known. */
void json_put_known(struct buf *b, const char *key, double v, bool known);
void json_put_bool(struct buf *b, const char *key, bool v);
void json_put_null(struct buf *b, const char *key);
/* Writes epoch milliseconds as RFC 3339. */
void json_put_time(struct buf *b, const char *key, int64_t epoch_ms);
/* As json_put_time(), or null if the time is 0. */
void json_put_time_or_null(struct buf *b, const char *key, int64_t epoch_ms);
/* Writes text that already is JSON, or or_else if it is empty. */
void json_put_raw(struct buf *b, const char *key, const char *json,
                  const char *or_else);
