/*
 * Reads JSON token by token, for documents too big for a tree: only one string
 * is in memory at a time. Copy the struct to return to the same place later;
 * copies share the text buffer.
 *
 * After a syntax error, or nesting past JSON_SCAN_DEPTH, p stays where it was
 * noticed, and every further token is JSON_BAD. Source: RFC 8259.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define JSON_SCAN_DEPTH 2112 /* 1024 frames of two levels, and some spare */
#define JSON_SCAN_TEXT  ((size_t)1 << 20) /* most bytes in one string */

enum json_token {
	JSON_BAD = -1,
	JSON_END, /* after the document's only value */
	JSON_OBJECT,
	JSON_OBJECT_END,
	JSON_ARRAY,
	JSON_ARRAY_END,
	JSON_NAME,   /* a member's name; its value follows */
	JSON_STRING, /* as JSON_NAME, decoded into text */
	JSON_NUMBER,
	JSON_WORD, /* true, false, null */
};

struct json_scan {
	const char *p, *end;
	struct buf *text; /* the last name or string */
	double number;    /* the last JSON_NUMBER */
	int depth;
	uint8_t objects[JSON_SCAN_DEPTH / 8]; /* bit by level: not an array */
	bool name_next; /* inside an object, before a member */
	bool first;     /* this level has no value yet */
	bool too_deep;  /* nesting past JSON_SCAN_DEPTH made a token JSON_BAD */
};

/* Starts to scan p[n], which need not be NUL-terminated; the caller owns the
 * text buffer. */
void
json_scan_init(struct json_scan *s, const void *p, size_t n, struct buf *text);
enum json_token json_scan_next(struct json_scan *s);
/* Skips the rest of the value whose first token was t. Returns false if the
 * document is malformed. */
bool json_scan_skip(struct json_scan *s, enum json_token t);
