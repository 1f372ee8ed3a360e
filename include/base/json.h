/*
 * Additions to jansson: cleanup of json_t, output into a buffer, and string
 * escaping.
 */
#pragma once

#include "base/buf.h"
#include "base/utf8.h"

#include <jansson.h>

static inline void
json_cleanup(json_t **j)
{
	json_decref(*j);
}
#define CLEANUP_JSON CLEANUP(json_cleanup)

/* Appends s as a JSON string with its quotes; bytes that are not UTF-8 become
 * U+FFFD, so that hostile symbol names can't break a document. */
void json_escape(struct buf *out, const char *s, size_t n);
/* Append j in compact form, or indented. */
MUST_CHECK int json_write(const json_t *j, struct buf *out);
MUST_CHECK int json_write_indented(const json_t *j, struct buf *out);
/* Makes a JSON string like json_string(), but never fails on bytes that are not
 * UTF-8. */
json_t *json_text(const char *s);
/* Return a member of an object, and an item of a list, if it is a text; or
 * "". */
const char *json_member(const json_t *j, const char *key);
const char *json_item(const json_t *list, size_t i);
/* Removes the first text in a list that begins with the n bytes of prefix; does
 * nothing if n is 0. */
void json_remove_prefix(json_t *list, const char *prefix, size_t n);
