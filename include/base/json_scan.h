/*
 * Reads JSON token by token, for documents too big for a tree: only one string
 * is in memory at a time. A scan can be copied to return to a place later;
 * copies share the text buffer.
 *
 * Source: RFC 8259; after a grammar mistake, or nesting past JSON_SCAN_DEPTH,
 * every further token is JSON_BAD.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define JSON_SCAN_DEPTH 32
#define JSON_SCAN_TEXT  ((size_t)1 << 20) /* most bytes in one string */

enum json_token {
	JSON_BAD = -1,
	JSON_END, /* after the document's only value */
	JSON_OBJECT,
	JSON_OBJECT_END,
	JSON_ARRAY,
	JSON_ARRAY_END,
	JSON_NAME,   /* of a member; its value follows */
	JSON_STRING, /* both are decoded into text */
	JSON_NUMBER,
	JSON_WORD, /* true, false, null */
};

struct json_scan {
	const char *p, *end;
	struct buf *text; /* of the last name or string */
	double number;    /* the last number */
	int depth;
	char open[JSON_SCAN_DEPTH]; /* '{' or '[' of each level */
	bool name_next;             /* in an object: a name must follow */
	bool first;                 /* no value yet at this level */
};

/* Starts at p[n], which need not be NUL-terminated; the text buffer is the
 * caller's. */
void
json_scan_init(struct json_scan *s, const void *p, size_t n, struct buf *text);
enum json_token json_scan_next(struct json_scan *s);
/* Skips to the end of the value whose first token was t; false when the
 * document is malformed. */
bool json_scan_skip(struct json_scan *s, enum json_token t);
