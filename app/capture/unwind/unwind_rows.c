#include "unwind_rows.h"

#include "base/rows.h"

#include <errno.h>

struct list {
	struct unwind_row *rows;
	uint32_t n, cap;
};

static int
push(struct list *l, int64_t function, int64_t entry)
{
	int rc;

	if (function != (int32_t)function || entry != (int32_t)entry)
		return 0; /* no row can express this */
	rc = ROWS_ROOM_OF(l->rows, l->cap, l->n, 1, UNWIND_MAX_ROWS);
	if (rc)
		return rc;
	l->rows[l->n++] =
		(struct unwind_row){(int32_t)function, (int32_t)entry};
	return 0;
}

static int
by_function(const void *a, const void *b)
{
	const struct unwind_row *x = a, *y = b;

	return (x->function > y->function) - (x->function < y->function);
}

static int
list_entries(const struct cfi_section *s, size_t from, uint64_t base,
             struct list *l)
{
	struct cfi_cursor section = {
		.in = &s->bytes, .at = from, .end = s->bytes.size};
	struct cfi_cursor inside;
	struct cfi_entry e;
	size_t at = from;
	int r = 0;

	while (!r && cfi_next(&section, &inside)) {
		if (!cfi_entry_read(s, at, &e))
			r = push(l, (int64_t)(e.start - base),
			         (int64_t)(at - from));
		at = section.at;
	}
	return r;
}

int
unwind_rows(const struct cfi_section *s, size_t from, uint64_t base,
            struct unwind_row **rows, uint32_t *n)
{
	struct list l = {0};
	int r = from > s->bytes.size ? -ENODATA
	                             : list_entries(s, from, base, &l);

	if (!r && !l.n)
		r = -ENODATA;
	if (r) {
		free(l.rows);
		return r;
	}
	qsort(l.rows, l.n, sizeof(*l.rows), by_function);
	*rows = l.rows;
	*n = l.n;
	return 0;
}
