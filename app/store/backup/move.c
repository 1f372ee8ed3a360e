/*
 * Moves a store from SQLite to a server, table by table, in the order of
 * moved.def. Rows are sent as JSON lists: the server parses numbers like
 * literals, so none is rounded.
 */
#include "store/move.h"

#include "base/counted.h"
#include "base/json_out.h"
#include "store/blob.h"
#include "store/db/sqlite.h"
#include "store/files/digest.h"
#include "store/s3.h"
#include "store/window.h"
#include "store/windows/window_private.h"
#include "unused.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES   ((size_t)1 << 20)   /* of rows written at once */
#define ROWS_MAX      ((size_t)256 << 20) /* of a batch in memory */
#define WINDOW_ROWS   ((size_t)8 << 20)   /* of the rows of a segment */
#define SEGMENT_BYTES ((int64_t)16 << 20) /* then the next begins */

static const struct {
	const char *name;
	enum sql sql; /* reads from SQLite; the same name writes to a server */
} tables[] = {
#define MOVED(name, NAME) {#name, SQL_MOVE_##NAME},
#include "moved.def"
#undef MOVED
};
static_assert(ARRAY_LEN(tables) <= MOVE_TABLES_MAX, "room for all tables");

/* Bytes in the segment being written: their old and new places. */
struct moved {
	char segment[ID_MAX];
	int64_t start, there;
};

struct moving {
	const struct conf *conf;
	struct store from, to;
	struct s3 *s3;
	struct segment segment;
	struct moved *bases; /* bases of counted windows in that segment */
	size_t nbases;
	struct buf rows; /* a JSON list, not yet written */
	struct buf bytes, again;
	struct move_report report;
	struct buf *why;
};

static void
moving_done(struct moving *m)
{
	store_close(&m->from);
	store_close(&m->to);
	s3_free(m->s3);
	segment_close(&m->segment);
	free(m->bases);
	buf_done(&m->rows);
	buf_done(&m->bytes);
	buf_done(&m->again);
}
#define CLEANUP_MOVING CLEANUP(moving_done)

/* --- bytes ---------------------------------------------------------------- */

static int
damaged(struct moving *m, const char *what, const char *id, int rc)
{
	if (!m->why->len)
		buf_addf(m->why, "%s %s: %s", what, id,
		         rc == -EBADMSG ? "its length or checksum is wrong"
		                        : strerror(-rc));
	return rc == -EBADMSG || rc == -ENOENT ? -EUCLEAN : rc;
}

static int
read_verified(const struct store *s, const struct blob *b, struct buf *out)
{
	const struct piece all = {b->length, 0, b->length};
	char checksum[DIGEST_CHARS];
	int rc;

	buf_clear(out);
	rc = bytes_get(s, b->store, b->name, &all, out)
	             ?: digest(out->p, out->len, checksum);
	return rc ? rc : strcmp(checksum, b->checksum) != 0 ? -EBADMSG : 0;
}

/* Bytes that already have this name are from an earlier attempt. */
static int
copy_bytes(struct moving *m, const struct blob *b)
{
	struct blob moved = *b;
	int hold = -1, rc = read_verified(&m->from, b, &m->bytes);

	if (rc)
		return damaged(m, "profile", b->id, rc);
	snprintf(moved.store, sizeof(moved.store), "%s", m->to.bytes);
	rc = bytes_put(&m->to, moved.store, moved.name, m->bytes.p,
	               m->bytes.len, &hold);
	close_ptr(&hold);
	if (!rc || rc == -EAGAIN)
		rc = read_verified(&m->to, &moved, &m->again);
	if (rc)
		return damaged(m, "profile there", b->id, rc);
	m->report.profiles++;
	m->report.profile_bytes += b->length;
	return 0;
}

/* --- rows ----------------------------------------------------------------- */

static int
column_of(const struct db_rows *rows, const char *name)
{
	const char *found;
	int i = 0;

	while ((found = db_col_name(rows, i)) && strcmp(found, name) != 0)
		i++;
	return i;
}

static const char *
text_of(const struct db_rows *rows, const char *name)
{
	return db_col_text(rows, column_of(rows, name));
}

static int64_t
int_of(const struct db_rows *rows, const char *name)
{
	return db_col_int(rows, column_of(rows, name));
}

/* Values that replace the source row's. */
struct instead {
	const char *column, *text;
	int64_t i; /* used when text is NULL */
};

static void
put_value(struct buf *out, const struct db_rows *rows, int i)
{
	const char *name = db_col_name(rows, i);
	char number[32];

	switch (sqlite_col_kind(rows, i)) {
	case DB_INT:
		json_put_int(out, name, db_col_int(rows, i));
		break;
	case DB_REAL:
		snprintf(number, sizeof(number), "%.17g", db_col_real(rows, i));
		json_put_raw(out, name, number, "0");
		break;
	default:
		json_put_text(out, name, db_col_text(rows, i));
	}
}

static void
put_row(struct buf *out, const struct db_rows *rows, const struct instead *w,
        size_t n)
{
	const char *name;

	json_open(out, NULL, '{');
	for (int i = 1; (name = db_col_name(rows, i)); i++) {
		size_t k = 0;

		while (k < n && strcmp(w[k].column, name) != 0)
			k++;
		if (k == n)
			put_value(out, rows, i);
		else if (w[k].text)
			json_put_text(out, name, w[k].text);
		else
			json_put_int(out, name, w[k].i);
	}
	json_close(out, '}');
}

static void
begin_list(struct moving *m)
{
	buf_clear(&m->rows);
	json_open(&m->rows, NULL, '[');
}

/* Writes the buffered rows. */
static int
flush(struct moving *m, enum sql sql)
{
	int rc;

	if (m->rows.len <= 1)
		return 0;
	json_close(&m->rows, ']');
	rc = buf_err(&m->rows);
	if (!rc)
		rc = db_do(m->to.db, sql, ARGS(V(buf_str(&m->rows))));
	begin_list(m);
	return rc;
}

/* --- profiles ------------------------------------------------------------- */

static void
read_blob(const struct db_rows *rows, struct blob *out)
{
	*out = (struct blob){.start = int_of(rows, "start"),
	                     .length = int_of(rows, "length")};
	snprintf(out->id, sizeof(out->id), "%s", text_of(rows, "id"));
	snprintf(out->store, sizeof(out->store), "%s", text_of(rows, "store"));
	snprintf(out->name, sizeof(out->name), "%s", text_of(rows, "name"));
	snprintf(out->checksum, sizeof(out->checksum), "%s",
	         text_of(rows, "checksum"));
}

/* True for bytes that must be copied: bytes stay where they are if new bytes
 * would go there too, or if they are in an object store. */
static bool
is_copied(const struct moving *m, const struct blob *b)
{
	return strcmp(b->store, m->to.bytes) != 0 &&
	       strcmp(b->store, BYTES_S3) != 0;
}

static int
move_blob(struct moving *m, const struct db_rows *rows)
{
	bool in_files;
	struct instead w[2] = {{.column = "store"}, {.column = "host"}};
	struct blob b;
	int rc = 0;

	read_blob(rows, &b);
	if (is_copied(m, &b)) {
		if (strcmp(m->to.bytes, BYTES_S3) != 0)
			rc = copy_bytes(m, &b);
		snprintf(b.store, sizeof(b.store), "%s", m->to.bytes);
	}
	in_files = !strcmp(b.store, BYTES_FILE);
	w[0].text = b.store;
	w[1].text = in_files ? m->to.host : "";
	put_row(&m->rows, rows, w, ARRAY_LEN(w));
	return rc;
}

/* --- windows -------------------------------------------------------------- */

/* Completes the segment, and writes the rows of its windows. */
static int
end_segment(struct moving *m)
{
	const struct segment *g = &m->segment;
	struct piece all = {g->length, 0, g->length};
	int rc;

	if (!g->name[0])
		return 0;
	buf_clear(&m->again);
	rc = segment_sync(&m->segment)
	             ?: bytes_get(&m->to, BYTES_DB, g->name, &all, &m->again);
	if (!rc &&
	    (m->again.len != g->bytes.len ||
	     (g->length && memcmp(m->again.p, g->bytes.p, g->bytes.len))))
		rc = -EBADMSG;
	if (rc)
		return damaged(m, "segment there", g->id, rc);
	rc = db_do(m->to.db, SQL_SEGMENT_PUT,
	           ARGS(V((const char *)g->id), V(""), V(BYTES_DB),
	                V((const char *)g->name), V(g->length)));
	m->report.window_bytes += g->length;
	segment_close(&m->segment);
	m->segment = (struct segment)SEGMENT_INIT;
	m->nbases = 0;
	return rc ? rc : flush(m, SQL_MOVE_PROFILE_WINDOW);
}

/* Reads a window, and finds the place of its base. */
static int
read_window(struct moving *m, const struct db_rows *rows,
            const struct window *w, struct window *base)
{
	int rc;

	buf_clear(&m->bytes);
	rc = window_read_own(&m->from, w, base, &m->bytes);
	return rc ? damaged(m, "window", text_of(rows, "id"), rc) : 0;
}

static const struct moved *
find_moved(const struct moving *m, const struct window *w)
{
	for (size_t i = m->nbases; i-- > 0;)
		if (m->bases[i].start == w->start &&
		    !strcmp(m->bases[i].segment, w->segment))
			return &m->bases[i];
	return NULL;
}

/* Remembers the new place of the bytes of a window or base. */
static int
note_moved(struct moving *m, const struct window *w, int64_t there)
{
	struct moved *p =
		reallocarray(m->bases, m->nbases + 1, sizeof(*m->bases));

	if (!p)
		return -ENOMEM;
	m->bases = p;
	p += m->nbases++;
	*p = (struct moved){.start = w->start, .there = there};
	snprintf(p->segment, sizeof(p->segment), "%s", w->segment);
	return 0;
}

/* Moves a base, unless it was moved already, and makes the counts refer to
 * it. */
static int
move_base(struct moving *m, const struct window *base)
{
	const struct moved *to = find_moved(m, base);
	struct window_ask at;

	if (!to) {
		int rc;

		buf_clear(&m->again);
		rc = window_read_base(&m->from, base, &m->again)
		             ?: segment_append(&m->segment, m->again.p,
		                               m->again.len, &at)
		             ?: note_moved(m, base, at.start);
		if (rc)
			return rc;
		to = &m->bases[m->nbases - 1];
	}
	counted_refer(m->bytes.p, (uint32_t)(m->segment.length - to->there));
	return 0;
}

/* Moves the bytes of a window, unless they were already moved as a base. */
static int
move_bytes(struct moving *m, const struct window *w, const struct window *base,
           struct window_ask *at)
{
	const struct moved *to = find_moved(m, w);
	int rc = 0;

	if (to && w->level > WINDOW_CAPTURED && w->length) {
		at->start = to->there;
		at->length = w->length;
		snprintf(at->checksum, sizeof(at->checksum), "%s", w->checksum);
		return 0;
	}
	if (base->length)
		rc = move_base(m, base);
	rc = rc ?: segment_append(&m->segment, m->bytes.p, m->bytes.len, at);
	return rc || base->length || w->level == WINDOW_CAPTURED || !w->length
	               ? rc
	               : note_moved(m, w, at->start);
}

static int
move_window(struct moving *m, const struct db_rows *rows)
{
	CLEANUP_FREE char *segment = strdup(text_of(rows, "segment"));
	CLEANUP_FREE char *checksum = strdup(text_of(rows, "checksum"));
	const struct window w = {
		.segment = segment,
		.checksum = checksum,
		.level = int_of(rows, "level"),
		.start = int_of(rows, "start"),
		.length = int_of(rows, "length"),
	};
	struct instead to[] = {{.column = "segment"},
	                       {.column = "start"},
	                       {.column = "length"},
	                       {.column = "checksum"}};
	struct window_ask at = {0};
	struct window base;
	int rc = segment && checksum ? read_window(m, rows, &w, &base)
	                             : -ENOMEM;

	if (!rc &&
	    (m->rows.len > WINDOW_ROWS ||
	     (m->segment.length &&
	      m->segment.length + (int64_t)m->bytes.len > SEGMENT_BYTES)))
		rc = end_segment(m);
	if (!rc && !m->segment.name[0])
		rc = segment_create(&m->to, "", &m->segment);
	if (!rc)
		rc = move_bytes(m, &w, &base, &at);
	if (rc)
		return rc;
	to[0].text = m->segment.id;
	to[1].i = at.start;
	to[2].i = at.length;
	to[3].text = at.checksum;
	put_row(&m->rows, rows, to, ARRAY_LEN(to));
	return 0;
}

/* --- tables --------------------------------------------------------------- */

static int
move_row(struct moving *m, enum sql sql, const struct db_rows *rows)
{
	if (sql == SQL_MOVE_BLOB)
		return move_blob(m, rows);
	if (sql == SQL_MOVE_PROFILE_WINDOW)
		return move_window(m, rows);
	put_row(&m->rows, rows, NULL, 0);
	return 0;
}

/* Moves up to 500 rows that follow *last. Returns their number. */
static int
move_some(struct moving *m, enum sql sql, int64_t *last,
          int (*fn)(struct moving *m, enum sql sql, const struct db_rows *rows))
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int n = 0, rc = db_query(m->from.db, sql, ARGS(V(*last)), &rows);

	while (!rc && (rc = db_next(&rows)) > 0) {
		*last = db_col_int(&rows, 0);
		n++;
		rc = fn(m, sql, &rows);
		/* rows of windows are written with their segment */
		if (!rc && m->rows.len > BATCH_BYTES &&
		    sql != SQL_MOVE_PROFILE_WINDOW)
			rc = flush(m, sql);
	}
	return rc < 0 ? rc : n;
}

static int
move_all(struct moving *m, enum sql sql,
         int (*fn)(struct moving *m, enum sql sql, const struct db_rows *rows))
{
	int64_t last = INT64_MIN;
	int rc;

	begin_list(m);
	while ((rc = move_some(m, sql, &last, fn)) > 0)
		;
	if (!rc && sql == SQL_MOVE_PROFILE_WINDOW)
		rc = end_segment(m);
	return rc < 0 ? rc : flush(m, sql);
}

static int
move_tables(struct moving *m)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(tables) && !rc; i++) {
		rc = move_all(m, tables[i].sql, move_row);
		if (rc && !m->why->len)
			buf_addf(m->why, "table %s: %s", tables[i].name,
			         *db_why(m->to.db) ? db_why(m->to.db)
			                           : strerror(-rc));
	}
	return rc;
}

/* Stores objects before the transaction, which must not wait for them. */
static int
put_object(struct moving *m, enum sql sql, const struct db_rows *rows)
{
	struct blob b;

	(void)sql;
	read_blob(rows, &b);
	return is_copied(m, &b) ? copy_bytes(m, &b) : 0;
}

/* --- counting ------------------------------------------------------------- */

static int
count(struct moving *m, struct db *db, bool after)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	struct move_report *r = &m->report;
	size_t i = 0;
	int rc = db_query(db, SQL_MOVE_COUNTS, NO_ARGS, &rows);

	while (!rc && (rc = db_next(&rows)) > 0) {
		int64_t n = db_col_int(&rows, 1);

		if (i == ARRAY_LEN(tables) ||
		    strcmp(db_col_text(&rows, 0), tables[i].name) != 0)
			return -EPROTO;
		r->counts[i].table = tables[i].name;
		*(after ? &r->counts[i].after : &r->counts[i].before) = n;
		i++;
		rc = 0;
	}
	r->n = i;
	return rc < 0 ? rc : i == ARRAY_LEN(tables) ? 0 : -EPROTO;
}

static int
check_empty(struct moving *m)
{
	int rc = count(m, m->to.db, true);

	for (size_t i = 0; i < m->report.n && !rc; i++) {
		if (!m->report.counts[i].after)
			continue;
		buf_addf(m->why,
		         "%s has data (%lld rows of %s): a store moves to a "
		         "database that has none, as createdb makes it",
		         m->to.db->name, (long long)m->report.counts[i].after,
		         m->report.counts[i].table);
		rc = -EEXIST;
	}
	return rc;
}

static int
check_counts(struct moving *m)
{
	int rc = count(m, m->to.db, true);

	for (size_t i = 0; i < m->report.n && !rc; i++) {
		const struct move_count *c = &m->report.counts[i];

		if (c->before == c->after)
			continue;
		buf_addf(m->why,
		         "table %s: %lld rows, and %lld have arrived; nothing "
		         "has moved",
		         c->table, (long long)c->before, (long long)c->after);
		rc = -EUCLEAN;
	}
	return rc;
}

/* --- both stores ---------------------------------------------------------- */

static int
open_source(struct moving *m)
{
	struct conf conf = *m->conf;
	char path[PATH_MAX];
	int rc;

	conf.store_database = NULL;
	if (snprintf(path, sizeof(path), "%s/" STORE_DB, conf.store_dir) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	rc = store_check_unused(m->conf->store_dir, path, m->why);
	return rc ? rc : store_open(&conf, false, &m->from, m->why);
}

/* Refuses the store of a host of a fleet: its jobs are the centre's. */
static int
check_source(struct moving *m)
{
	int64_t own;
	int rc = row_int(m->from.db, &own, SQL_MOVE_HOSTS_OWN, NO_ARGS);

	if (rc || !own)
		return rc;
	buf_addf(m->why,
	         "%s is the store of a host of a fleet: what it has goes to "
	         "its centre by itself",
	         m->conf->store_dir);
	return -EPERM;
}

static int
open_target(struct moving *m)
{
	int rc = store_open(m->conf, false, &m->to, m->why)
	                 ?: bytes_configure(&m->to, m->conf, m->why);

	m->s3 = m->to.s3;
	m->from.s3 = m->s3;
	return rc;
}

/* Moves everything within transactions of both databases. */
static int
move_rows(struct moving *m)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	int rc = db_query(m->to.db, SQL_SCHEMA_LOCK, NO_ARGS, &rows);

	if (!rc)
		rc = db_next(&rows);
	if (rc < 0)
		return rc;
	return check_empty(m) ?: move_tables(m) ?: check_counts(m);
}

int
store_move(const struct conf *conf, struct move_report *out, struct buf *why)
{
	CLEANUP_MOVING struct moving m = {
		.conf = conf,
		.segment = SEGMENT_INIT,
		.rows = BUF_INIT(ROWS_MAX),
		.bytes = BUF_INIT((size_t)BLOB_MAX_BYTES),
		.again = BUF_INIT((size_t)BLOB_MAX_BYTES),
		.why = why,
	};
	int rc = open_source(&m) ?: check_source(&m)
	                            ?: open_target(&m)
	                            ?: store_begin(&m.from);

	if (rc)
		return rc;
	rc = count(&m, m.from.db, false) ?: check_empty(&m);
	if (!rc && !strcmp(m.to.bytes, BYTES_S3))
		rc = move_all(&m, SQL_MOVE_BLOB, put_object);
	if (!rc)
		rc = store_begin(&m.to);
	if (!rc)
		rc = store_end(&m.to, move_rows(&m));
	store_rollback(&m.from);
	if (!rc)
		*out = m.report;
	return rc;
}
