/*
 * Times as people write them: "1h" (ago, or from now), "14:03" and
 * "2026-01-31 14:03" of the time zone here, "today", "yesterday", and what
 * the API takes: RFC 3339, "now-1h", seconds since 1970.
 */
#pragma once

#include "base/buf.h"

enum when { WHEN_PAST, WHEN_FUTURE };

/*
 * Appends a time as the API takes it.
 *
 *   Shape    a span is counted back from now, or ahead; a time of day is the
 *            last one, or the next
 *   Errors   -EINVAL; *out untouched
 */
MUST_CHECK int
when_read(const char *text, enum when way, int64_t now_ms, struct buf *out);
/* The end of an error message about a time that cannot be read. */
#define WHEN_EXPECTED \
	"a time such as 1h, 14:03, 2026-01-31 or 2026-01-31T14:03:00Z"
