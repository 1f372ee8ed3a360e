/*
 * The driver of bytes in the database: rows of blob_bytes.
 *
 * Bytes in the database have no lock: they count as held while younger than
 * SETTLED_MS by its clock.
 */
#include "bytes_db.h"

#include "store/db/row.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SETTLED_MS  (INT64_C(3600) * 1000)
#define PIECE_BYTES ((int64_t)4 << 20) /* most bytes read from a row at once */

static int
put(struct store *s, const char *name, const void *p, size_t n, int *out_hold)
{
	int rc = db_run(s->db, SQL_BYTES_DB_PUT, ARGS(V(name), db_bytes(p, n)));

	if (rc == 1)
		*out_hold = -1;
	return rc == 1 ? 0 : rc < 0 ? rc : -EAGAIN;
}

/* Appends a piece that fits into one row. */
static int
get_row(const struct store *s, const char *name, const struct piece *piece,
        struct buf *out)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	size_t before = out->len;
	int rc = db_first(s->db, SQL_BYTES_DB_GET,
	                  ARGS(V(piece->start + 1), V(piece->n), V(name)),
	                  &rows);

	if (rc)
		return rc;
	if (piece->whole != BYTES_WHOLE_UNKNOWN &&
	    db_col_int(&rows, 0) != piece->whole)
		return -EBADMSG;
	rc = db_col_bytes(&rows, 1, out);
	if (!rc && out->len - before != (size_t)piece->n)
		rc = -EBADMSG;
	return rc;
}

static int
get(const struct store *s, const char *name, const struct piece *piece,
    struct buf *out)
{
	struct piece row = *piece;
	int64_t end = piece->start + piece->n;
	int rc;

	do {
		row.n = end - row.start < PIECE_BYTES ? end - row.start
		                                      : PIECE_BYTES;
		rc = get_row(s, name, &row, out);
		row.start += row.n;
	} while (!rc && row.start < end);
	return rc;
}

static int
drop(struct store *s, const char *name)
{
	return db_do(s->db, SQL_BYTES_DB_DROP, ARGS(V(name)));
}

struct named {
	char *name;
};
static const struct row_field named_fields[] = {ROW_FIELD(named, name)};
static const struct row_type named_type = ROW_TYPE(named, named_fields);

static int
see(struct store *s, const struct named *row, bytes_listed *fn, void *arg)
{
	int rc = fn(arg, row->name);

	return rc > 0 ? drop(s, row->name) : rc;
}

static int
list(struct store *s, struct bytes_at *at, bytes_listed *fn, void *arg)
{
	void *items = NULL;
	const struct named *rows;
	size_t n = 0;
	int rc = row_all(s->db, &named_type, &items, &n, SQL_BYTES_DB_AFTER,
	                 ARGS(V((const char *)at->last), V(SETTLED_MS)));

	rows = items;
	for (size_t i = 0; i < n && !rc; i++)
		rc = see(s, &rows[i], fn, arg);
	if (n)
		snprintf(at->last, sizeof(at->last), "%s", rows[n - 1].name);
	row_free_all(&named_type, items, n);
	at->more = !rc && n;
	return rc;
}

const struct bytes_driver bytes_db = {BYTES_DB, put, get, drop, list};
