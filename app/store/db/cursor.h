/* Keyset pagination: lists that are newest first go on at (time, id). */
#pragma once

#include "store/store.h"

struct cursor {
	int64_t ms;
	char id[ID_MAX];
};

/* "" is the first page; -EINVAL when ill-formed. */
MUST_CHECK int cursor_parse(const char *text, struct cursor *out);
/*
 * Where the page after item [limit - 1] starts, when one more than limit
 * was read; NULL on the last page.
 *   Errors   -ENOMEM
 */
MUST_CHECK int cursor_make(int64_t ms, const char *id, char **out);
/* -EINVAL unless 1..STORE_PAGE_MAX. */
MUST_CHECK int page_check(const struct page *p);
