/*
 * Keyset pagination: lists that are newest first continue after (time, id).
 */
#pragma once

#include "store/store.h"

struct cursor {
	int64_t ms;
	char id[ID_MAX];
};

/* Reads a cursor; "" is the first page, -EINVAL when it is ill-formed. */
MUST_CHECK int cursor_parse(const char *text, struct cursor *out);
/*
 * Makes the cursor of the next page from item [limit - 1], if limit + 1 items
 * were read; NULL on the last page.
 *   Errors   -ENOMEM
 */
MUST_CHECK int cursor_make(int64_t ms, const char *id, char **out);
/* Returns -EINVAL unless the limit is in 1..STORE_PAGE_MAX. */
MUST_CHECK int page_check(const struct page *p);
