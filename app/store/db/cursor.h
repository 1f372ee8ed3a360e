/*
 * Keyset pagination: lists that are newest first continue after (time, id).
 */
#pragma once

#include "row.h"

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
/*
 * Reads a page of rows with an id and a time, newest first. The statement finds
 * limit + 1 rows if another page follows.
 *
 *   Shape    time is the name of a field; *next as of cursor_make()
 *   Errors   as row_all(); outputs untouched
 */
MUST_CHECK int
cursor_read(struct db *db, const struct row_type *t, const char *time,
            int limit, void **items, size_t *out_n, char **next, enum sql sql,
            const struct db_value *v, size_t n);
/* Reads a page into a list: a struct with items, n and next. */
#define CURSOR_LIST(db, t, time, limit, list, ...)                        \
	({                                                                \
		void *cursor_items_ = NULL;                               \
		int cursor_rc_ = cursor_read(db, t, time, limit,          \
		                             &cursor_items_, &(list)->n,  \
		                             &(list)->next, __VA_ARGS__); \
		if (!cursor_rc_)                                          \
			(list)->items = cursor_items_;                    \
		cursor_rc_;                                               \
	})
/* Returns -EINVAL unless the limit is in 1..STORE_PAGE_MAX. */
MUST_CHECK int page_check(const struct page *p);
