/* Lists: {"items":[...],"nextCursor":...}. */
#pragma once

#include "endpoint/call.h"

/* The page that the caller asked operation op for. */
#define PAGE_OF(c, op)                                        \
	((struct page){                                       \
		.limit = (int)param_int((c), P_##op##_limit), \
		.cursor = param_text((c), P_##op##_cursor),   \
	})

/* Starts the reply: write the items. */
struct buf *page_begin(struct call *c);
/* Ends it; next is NULL on the last page. */
MUST_CHECK int page_end(struct call *c, const char *next);
/* What a failed list call means: a bad cursor, or the store's trouble. */
int page_fail(struct call *c, int rc, const char *cursor);
