/*
 * Reads rows into structs: a table of fields, in the order of a query's
 * columns, loads, lists and frees every struct of the store. A column has its
 * field's name; a statement with other columns is refused, except for further
 * columns at its end, which a later release has added to a table or view.
 */
#pragma once

#include "db.h"
#include "store/store.h"

#include <stddef.h>

struct row_field {
	const char *name;
	enum { ROW_TEXT, ROW_INT, ROW_REAL } kind; /* char *, int64_t, double */
	size_t offset;
};

struct row_type {
	size_t size;
	const struct row_field *fields;
	size_t n;
};

#define ROW_FIELD(T, field)                                 \
	{                                                   \
#field, _Generic(((struct T *)0)->field,                  \
	 char *: ROW_TEXT, int64_t: ROW_INT, double: ROW_REAL), \
	 offsetof(struct T, field) \
	}
#define ROW_TYPE(T, table)                                \
	{                                                 \
		sizeof(struct T), table, ARRAY_LEN(table) \
	}

/* Frees the row's strings and zeroes it. */
void row_done(const struct row_type *t, void *row);

/* Reads one row; -ENOENT when there is none, -EPROTO for other columns. */
MUST_CHECK int row_one(struct db *db, const struct row_type *t, void *out,
                       enum sql sql, const struct db_value *v, size_t n);
/* Reads the first column of the first row; 0 if there is none. */
MUST_CHECK int row_int(struct db *db, int64_t *out, enum sql sql,
                       const struct db_value *v, size_t n);
/* Reads the first columns of the first row; -ENOENT when there is none. */
MUST_CHECK int row_ints(struct db *db, int64_t *out, int columns, enum sql sql,
                        const struct db_value *v, size_t n);
/* Returns 1 if there is a row, 0 if there is none, or -errno. */
MUST_CHECK int
row_any(struct db *db, enum sql sql, const struct db_value *v, size_t n);
/* Reads the id in the first column of the first row; -ENOENT when there is
 * none. */
MUST_CHECK int row_id(struct db *db, char out[static ID_MAX], enum sql sql,
                      const struct db_value *v, size_t n);
/* Reads all rows into an array in *out_items; the statement bounds their
 * number. Returns -EPROTO for other columns. */
MUST_CHECK int
row_all(struct db *db, const struct row_type *t, void **out_items,
        size_t *out_n, enum sql sql, const struct db_value *v, size_t n);
/*
 * Reads all rows into a list: a struct with items and n. Other members are
 * untouched.
 *   Errors   as row_all(); the list is untouched
 */
#define ROW_LIST(db, t, list, ...)                                            \
	({                                                                    \
		void *row_items_ = NULL;                                      \
		int row_rc_ =                                                 \
			row_all(db, t, &row_items_, &(list)->n, __VA_ARGS__); \
		if (!row_rc_)                                                 \
			(list)->items = row_items_;                           \
		row_rc_;                                                      \
	})
void row_free_all(const struct row_type *t, void *items, size_t n);
/* Define T_done(): for a row, for a list of rows, and for a page of a list,
 * which has next, too. */
#define ROW_DONE(T, type)               \
	void T##_done(struct T *row)    \
	{                               \
		row_done(&(type), row); \
	}
#define ROW_LIST_DONE(T, type)                               \
	void T##_done(struct T *list)                        \
	{                                                    \
		row_free_all(&(type), list->items, list->n); \
		*list = (struct T){0};                       \
	}
#define ROW_PAGE_DONE(T, type)                               \
	void T##_done(struct T *list)                        \
	{                                                    \
		free(list->next);                            \
		row_free_all(&(type), list->items, list->n); \
		*list = (struct T){0};                       \
	}
