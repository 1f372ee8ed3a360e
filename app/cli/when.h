/*
 * Times as people write them: "1h" (ago, or from now), "14:03" and "2026-01-31
 * 14:03" in the local time zone, "today", "yesterday", and the formats of the
 * API: RFC 3339, "now-1h", seconds since 1970.
 */
#pragma once

#include "base/buf.h"

enum when { WHEN_PAST, WHEN_FUTURE };

/*
 * Appends a time in a format of the API.
 *
 *   Shape    way decides whether a span counts back or ahead from now, and
 *            whether a time of day is the last or the next one
 *   Errors   -EINVAL; *out untouched
 */
MUST_CHECK int
when_read(const char *text, enum when way, int64_t now_ms, struct buf *out);
/* For messages about times that cannot be read. */
#define WHEN_EXPECTED \
	"a time such as 1h, 14:03, 2026-01-31 or 2026-01-31T14:03:00Z"
