#include "row.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void *
field_of(void *row, const struct row_field *f)
{
	return (char *)row + f->offset;
}

static int
load_field(const struct db_rows *rows, int column, const struct row_field *f,
           void *row)
{
	switch (f->kind) {
	case ROW_TEXT: {
		char *s = strdup(db_col_text(rows, column));

		*(char **)field_of(row, f) = s;
		return s ? 0 : -ENOMEM;
	}
	case ROW_INT:
		*(int64_t *)field_of(row, f) = db_col_int(rows, column);
		break;
	case ROW_REAL:
		*(double *)field_of(row, f) = db_col_real(rows, column);
		break;
	}
	return 0;
}

static int
row_load(const struct db_rows *rows, const struct row_type *t, void *out)
{
	int rc = 0;

	memset(out, 0, t->size);
	for (size_t i = 0; i < t->n && !rc; i++)
		rc = load_field(rows, (int)i, &t->fields[i], out);
	if (rc)
		row_done(t, out);
	return rc;
}

void
row_done(const struct row_type *t, void *row)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->fields[i].kind == ROW_TEXT)
			free(*(char **)field_of(row, &t->fields[i]));
	memset(row, 0, t->size);
}

static int
check_columns(const struct db_rows *rows, const struct row_type *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const char *name = db_col_name(rows, (int)i);

		if (!name || strcmp(name, t->fields[i].name) != 0)
			return -EPROTO;
	}
	return 0;
}

int
row_one(struct db *db, const struct row_type *t, void *out, enum sql sql,
        const struct db_value *v, size_t n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(db, sql, v, n, &rows) ?: check_columns(&rows, t);

	if (!rc)
		rc = db_next(&rows);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	return row_load(&rows, t, out);
}

static int
grow(const struct row_type *t, void **items, size_t n, size_t *cap)
{
	size_t more = *cap ? *cap * 2 : 16;
	void *p;

	if (n < *cap)
		return 0;
	p = reallocarray(*items, more, t->size);
	if (!p)
		return -ENOMEM;
	*items = p;
	*cap = more;
	return 0;
}

int
row_int(struct db *db, int64_t *out, enum sql sql, const struct db_value *v,
        size_t n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(db, sql, v, n, &rows) ?: db_next(&rows);

	if (rc < 0)
		return rc;
	*out = rc ? db_col_int(&rows, 0) : 0;
	return 0;
}

int
row_ints(struct db *db, int64_t *out, int columns, enum sql sql,
         const struct db_value *v, size_t n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_first(db, sql, v, n, &rows);

	for (int i = 0; i < columns && !rc; i++)
		out[i] = db_col_int(&rows, i);
	return rc;
}

int
row_any(struct db *db, enum sql sql, const struct db_value *v, size_t n)
{
	CLEANUP_ROWS struct db_rows rows = {0};

	return db_query(db, sql, v, n, &rows) ?: db_next(&rows);
}

int
row_id(struct db *db, char out[static ID_MAX], enum sql sql,
       const struct db_value *v, size_t n)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_first(db, sql, v, n, &rows);

	if (rc)
		return rc;
	snprintf(out, ID_MAX, "%s", db_col_text(&rows, 0));
	return 0;
}

int
row_all(struct db *db, const struct row_type *t, void **out_items,
        size_t *out_n, enum sql sql, const struct db_value *v, size_t nv)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	size_t n = 0, cap = 0;
	void *items = NULL;
	int rc = db_query(db, sql, v, nv, &rows) ?: check_columns(&rows, t);

	while (!rc && (rc = db_next(&rows)) > 0) {
		rc = grow(t, &items, n, &cap);
		if (!rc)
			rc = row_load(&rows, t, (char *)items + n * t->size);
		n += !rc;
	}
	if (rc) {
		row_free_all(t, items, n);
		return rc;
	}
	*out_items = items;
	*out_n = n;
	return 0;
}

void
row_free_all(const struct row_type *t, void *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		row_done(t, (char *)items + i * t->size);
	free(items);
}
