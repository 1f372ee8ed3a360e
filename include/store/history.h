/*
 * Windows as lists and trends want them: newest first, or by how fine they
 * are. See window.h for what windows are.
 */
#pragma once

#include "store/window.h"

/* In place of a level: of each time the coarsest window there is. */
#define HISTORY_TOP WINDOW_LEVELS

/*
 * Windows of one series before a place of a list, newest first.
 *
 *   Shape    at most limit; cursor is that of a list, "" its first page
 *   Errors   -EINVAL for an ill-formed cursor
 */
MUST_CHECK int
history_windows(struct store *s, const char *series, enum window_level level,
                int64_t from_ms, int64_t to_ms, struct page page,
                struct window_list *out);
/* Where a list goes on after an item that is listed by this time. */
MUST_CHECK int history_cursor(int64_t ms, const char *id, char **out);
/*
 * What adds up to a range of one series, no coarser than a level where finer
 * windows are still kept: each sample once.
 *
 *   Shape    in order of time; windows may reach past both ends
 *   Errors   -E2BIG past WINDOW_PLAN_MAX
 */
MUST_CHECK int
history_trend(struct store *s, const char *series, enum window_level level,
              int64_t from_ms, int64_t to_ms, struct window_list *out);
