/*
 * Windows (store/window.h) for lists and trends: newest first, or by level.
 */
#pragma once

#include "store/window.h"

/* Stands for a level: the coarsest window that exists for each time. */
#define HISTORY_TOP WINDOW_LEVELS

/*
 * Lists windows of one series, newest first, from a cursor on: those that begin
 * in the range or, for HISTORY_TOP, reach into it.
 *
 *   Shape    at most limit; cursor is the list's; "" starts at the newest
 *   Errors   -EINVAL for an ill-formed cursor
 */
MUST_CHECK int
history_windows(struct store *s, const char *series, enum window_level level,
                int64_t from_ms, int64_t to_ms, struct page page,
                struct window_list *out);
/* Makes the cursor of a list that continues after the item with this time and
 * id. */
MUST_CHECK int history_cursor(int64_t ms, const char *id, char **out);
/*
 * Finds windows that add up to a range of one series, each sample once, and no
 * coarser than a level where finer windows are still kept.
 *
 *   Shape    in order of time; the outer ones may reach past the range
 *   Errors   -E2BIG past WINDOW_PLAN_MAX
 */
MUST_CHECK int
history_trend(struct store *s, const char *series, enum window_level level,
              int64_t from_ms, int64_t to_ms, struct window_list *out);
