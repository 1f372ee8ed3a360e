/*
 * How output is formatted: for a person at a terminal, or for a program.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct screen {
	size_t width; /* columns of a line; 0: lines are not cut or wrapped */
	bool colours; /* unless NO_COLOR is set */
	bool times; /* times are short, in the local time zone; else RFC 3339 */
	int64_t now_ms; /* short times are relative to this */
};

enum style { STYLE_HEAD, STYLE_GOOD, STYLE_WARNING, STYLE_BAD };

/* wide: format as for a program even on a terminal, except for colours. */
void screen_of(int fd, bool wide, struct screen *out);
/* Appends text in a style, or plain without colours. */
void screen_puts(const struct screen *s, enum style style, const char *text,
                 struct buf *out);
/* Appends an RFC 3339 time: "14:03:22" if it is today, "Nov 21 14:03" within
 * the last half year, "2025-11-21" before that. Other text is appended
 * unchanged. */
void screen_time(const struct screen *s, const char *rfc3339, struct buf *out);
