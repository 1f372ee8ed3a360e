#include "cursor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int
cursor_parse(const char *text, struct cursor *out)
{
	struct cursor c = {.ms = INT64_MAX};
	char *end;
	long long ms;

	if (!*text) {
		*out = c;
		return 0;
	}
	errno = 0;
	ms = strtoll(text, &end, 10);
	if (errno || end == text || ms < 0 || *text < '0' || *text > '9' ||
	    *end != '.' || !id_valid("", end + 1))
		return -EINVAL;
	c.ms = ms;
	snprintf(c.id, sizeof(c.id), "%s", end + 1);
	*out = c;
	return 0;
}

int
cursor_make(int64_t ms, const char *id, char **out)
{
	return asprintf(out, "%lld.%s", (long long)ms, id) < 0 ? -ENOMEM : 0;
}

static void *
field_of(const struct row_type *t, void *row, const char *name)
{
	size_t i = 0;

	while (strcmp(t->fields[i].name, name) != 0)
		i++;
	return (char *)row + t->fields[i].offset;
}

int
cursor_read(struct db *db, const struct row_type *t, const char *time,
            int limit, void **out_items, size_t *out_n, char **out_next,
            enum sql sql, const struct db_value *v, size_t nv)
{
	void *items = NULL;
	size_t n = 0;
	char *next = NULL;
	int rc = row_all(db, t, &items, &n, sql, v, nv);

	if (!rc && n > (size_t)limit) {
		char *more = (char *)items + --n * t->size;
		char *last = more - t->size;

		row_done(t, more);
		rc = cursor_make(*(int64_t *)field_of(t, last, time),
		                 *(char **)field_of(t, last, "id"), &next);
	}
	if (rc) {
		row_free_all(t, items, n);
		return rc;
	}
	*out_items = items;
	*out_n = n;
	*out_next = next;
	return 0;
}

int
page_check(const struct page *p)
{
	return p->limit < 1 || p->limit > STORE_PAGE_MAX ? -EINVAL : 0;
}
