/*
 * How a stream is written: for a person at a terminal, or for a program that
 * reads it.
 */
#pragma once

#include "base/buf.h"

#include <stdbool.h>

struct screen {
	size_t width;   /* columns of a line; 0: nothing is cut or wrapped */
	bool colours;   /* unless NO_COLOR is set */
	bool times;     /* short ones, of the time zone here; else RFC 3339 */
	int64_t now_ms; /* what short times are told from */
};

enum style { STYLE_HEAD, STYLE_GOOD, STYLE_WARNING, STYLE_BAD };

/* wide: as a program reads it, on a terminal as well, but for colours. */
void screen_of(int fd, bool wide, struct screen *out);
/* Appends text in a style, or as it is where there are no colours. */
void screen_puts(const struct screen *s, enum style style, const char *text,
                 struct buf *out);
/* Appends a time that is given as RFC 3339: "14:03:22" of today, "Nov 21
 * 14:03" of the last half year, "2025-11-21" before; other text as it is. */
void screen_time(const struct screen *s, const char *rfc3339, struct buf *out);
