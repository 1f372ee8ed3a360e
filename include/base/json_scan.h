/*
 * Reads JSON token by token, for documents too big for a tree: memory is
 * that of one string. A scan can be copied to come back to a place later;
 * copies share the text buffer.
 *
 * Source: RFC 8259; grammar mistakes, and nesting past JSON_SCAN_DEPTH, are
 * JSON_BAD, once and for ever.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

#define JSON_SCAN_DEPTH 32
#define JSON_SCAN_TEXT  ((size_t)1 << 20) /* most bytes of one string */

enum json_token {
	JSON_BAD = -1,
	JSON_END, /* after the document's only value */
	JSON_OBJECT,
	JSON_OBJECT_END,
	JSON_ARRAY,
	JSON_ARRAY_END,
	JSON_NAME,   /* of a member; its value follows */
	JSON_STRING, /* both: decoded into text */
	JSON_NUMBER,
	JSON_WORD, /* true, false, null */
};

struct json_scan {
	const char *p, *end;
	struct buf *text; /* of the last name or string */
	double number;    /* the last one */
	int depth;
	char open[JSON_SCAN_DEPTH]; /* '{' or '[' of each level */
	bool name_next;             /* in an object: a name must follow */
	bool first;                 /* no value yet at this level */
};

/* Starts at p[n], which need not be NUL-terminated; text is the caller's. */
void
json_scan_init(struct json_scan *s, const void *p, size_t n, struct buf *text);
enum json_token json_scan_next(struct json_scan *s);
/* Reads on to the end of the value whose first token was t; false: bad. */
bool json_scan_skip(struct json_scan *s, enum json_token t);
