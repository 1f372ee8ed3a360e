/* Blocks as the centre keeps them: rows, and bytes of the store's driver. */
#include "block_private.h"

#include "base/clock.h"
#include "store/db/row.h"
#include "store/host_sum.h"
#include "store/quota.h"
#include "store/s3.h"

#include <errno.h>
#include <string.h>

/* A block whose bytes are stored, but not its rows. */
struct arrival {
	struct store *s;
	const char *host;
	const struct block *b;
	struct blob blob;
};

/* Columns of a block to be deleted. */
struct old_block {
	char *id, *tenant;
	int64_t tier, start_ms, windows, length;
};
static const struct row_field old_fields[] = {
	ROW_FIELD(old_block, id),      ROW_FIELD(old_block, tenant),
	ROW_FIELD(old_block, tier),    ROW_FIELD(old_block, start_ms),
	ROW_FIELD(old_block, windows), ROW_FIELD(old_block, length),
};
static const struct row_type old_type = ROW_TYPE(old_block, old_fields);

static int64_t
day_of(int64_t ms)
{
	return window_floor(WINDOW_DAY, ms);
}

/* --- deleting ------------------------------------------------------------- */

/* Deletes the rows; blob_reap() drops the bytes later. */
static int
delete_block(struct store *s, const struct old_block *o)
{
	int n = db_run(s->db, SQL_BLOCK_DELETE, ARGS(V(o->id)));

	if (n <= 0) /* another process deleted it */
		return n;
	return db_do(s->db, SQL_BLOB_MARK_SESSION, ARGS(V(o->id)))
	               ?: db_do(s->db, SQL_RUN_DELETE, ARGS(V(o->id)))
	               ?: db_do(s->db, SQL_BLOCK_USAGE_TAKE,
	                        ARGS(V(o->windows), V(o->length), V(o->tenant),
	                             V(day_of(o->start_ms)), V(o->tier)));
}

static int
delete_all(struct store *s, const struct old_block *o, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = delete_block(s, &o[i]);
	return rc;
}

/* Deletes the blocks that a statement finds. Returns their number. */
static int
delete_by(struct store *s, enum sql sql, const struct db_value *v, size_t nv)
{
	void *items = NULL;
	size_t n = 0;
	int rc = row_all(s->db, &old_type, &items, &n, sql, v, nv);

	if (!rc && n)
		rc = store_begin(s) ?: store_end(s, delete_all(s, items, n));
	row_free_all(&old_type, items, n);
	return rc ? rc : (int)n;
}

int
block_expire(struct store *s, const struct window_keep *keep)
{
	int n = 0;

	for (int64_t tier = 0; tier < BLOCK_TIERS && n >= 0; tier++) {
		int64_t level_ms = keep->level_ms[tier];
		int more = 0;

		if (tier != BLOCK_FRESH && tier != BLOCK_DAYS && level_ms)
			more = delete_by(s, SQL_BLOCK_EXPIRED,
			                 ARGS(V(tier), V(level_ms)));
		n = more < 0 ? more : n + more;
		if (n >= 0 && keep->all_ms) {
			more = delete_by(s, SQL_BLOCK_AGED,
			                 ARGS(V(tier), V(keep->all_ms)));
			n = more < 0 ? more : n + more;
		}
		if (n >= 0) {
			more = db_run(s->db, SQL_RUN_EXPIRED, ARGS(V(tier)));
			n = more < 0 ? more : n;
		}
	}
	if (n >= 0 && db_run(s->db, SQL_BLOCK_USAGE_PRUNE, NO_ARGS) < 0)
		n = -EIO;
	return n;
}

static int
ask(struct store *s, enum sql sql)
{
	int rc = row_any(s->db, sql, NO_ARGS);

	return rc < 0 ? rc : 0;
}

int
block_partitions(struct store *s)
{
	return ask(s, SQL_RUN_DAYS_MAKE) ?: ask(s, SQL_RUN_DAYS_DROP);
}

/* --- accepting ------------------------------------------------------------ */

int
block_cursor(struct store *s, const char *tenant, const char *host,
             enum block_tier tier, int64_t *out_ms)
{
	return row_int(s->db, out_ms, SQL_BLOCK_CURSOR_GET,
	               ARGS(V(tenant), V(host), V((int64_t)tier)));
}

static const struct row_field arrived_fields[] = {
	ROW_FIELD(arrived, tenant),
	ROW_FIELD(arrived, host),
	ROW_FIELD(arrived, level),
	ROW_FIELD(arrived, end_ms),
};
static const struct row_type arrived_type = ROW_TYPE(arrived, arrived_fields);

ROW_LIST_DONE(arrived_list, arrived_type)

int
block_arrived(struct store *s, const char *tenant, struct arrived_list *out)
{
	return ROW_LIST(s->db, &arrived_type, out, SQL_BLOCK_ARRIVED,
	                ARGS(V(tenant)));
}

/* Claims the time of a block by moving the cursor; returns why it cannot be
 * claimed. */
static int
take_time(const struct arrival *a, int64_t *cursor_ms)
{
	const struct block *b = a->b;
	int n = db_run(a->s->db, SQL_BLOCK_CURSOR_MOVE,
	               ARGS(V(b->tenant), V(a->host), V((int64_t)b->tier),
	                    V(b->end_ms), V(b->start_ms)));
	int rc;

	if (n)
		return n < 0 ? n : 0;
	rc = block_cursor(a->s, b->tenant, a->host, b->tier, cursor_ms);
	return rc ? rc : *cursor_ms >= b->end_ms ? -EALREADY : -ESTALE;
}

/* The minutes of a whole hour replace fresh blocks, including any still being
 * sent. */
static int
take_place(const struct arrival *a)
{
	const struct block *b = a->b;
	int n;

	if (b->tier != BLOCK_MINUTES)
		return 0;
	n = db_run(a->s->db, SQL_BLOCK_CURSOR_MOVE,
	           ARGS(V(b->tenant), V(a->host), V((int64_t)BLOCK_FRESH),
	                V(b->end_ms), V(b->end_ms)));
	if (n >= 0)
		n = delete_by(a->s, SQL_BLOCK_WITHIN,
		              ARGS(V(b->tenant), V(a->host),
		                   V((int64_t)BLOCK_FRESH), V(b->start_ms),
		                   V(b->end_ms)));
	return n < 0 ? n : 0;
}

static int
insert_run(const struct arrival *a, const struct block_series *of,
           const char *series)
{
	const struct block_window *w = &a->b->windows[of->first];
	int64_t duration = 0, windows = 0, samples = 0, value = 0, length = 0;
	int64_t quota = 0;

	for (size_t i = 0; i < of->n; i++) {
		/* a host may send any numbers, whose sums must not overflow */
		if (__builtin_add_overflow(duration, w[i].duration_ms,
		                           &duration) ||
		    __builtin_add_overflow(windows, w[i].windows, &windows) ||
		    __builtin_add_overflow(samples, w[i].sample_count,
		                           &samples) ||
		    __builtin_add_overflow(value, w[i].value, &value) ||
		    __builtin_add_overflow(quota, w[i].quota_ms, &quota))
			return -EBADMSG;
		length += w[i].length;
	}
	return db_do(a->s->db, SQL_RUN_INSERT,
	             ARGS(V(series), V((int64_t)a->b->tier), V(w->start_ms),
	                  V(w[of->n - 1].end_ms), V((const char *)a->blob.id),
	                  V((int64_t)of->first), V((int64_t)of->n), V(duration),
	                  V(windows), V(samples), V(value), V(w->start),
	                  V(length), V(of->n == 1 ? w->checksum : ""),
	                  V(quota)));
}

/* Skips windows of unknown services. */
static int
insert_runs(const struct arrival *a)
{
	int rc = 0;

	for (size_t i = 0; i < a->b->nseries && !rc; i++) {
		const struct block_series *of = &a->b->series[i];
		char series[ID_MAX];

		rc = series_of(a->s, a->b->tenant, of->service, of->type,
		               a->host, of->labels, series);
		if (!rc)
			rc = insert_run(a, of, series);
		else if (rc == -ENOENT)
			rc = 0;
	}
	return rc;
}

/* An hour of a service that the block contains. */
struct hour {
	const char *service;
	int64_t ms;
};

static int
by_service(const void *a, const void *b)
{
	const struct hour *x = a, *y = b;

	return strcmp(x->service, y->service)
	               ?: (x->ms > y->ms) - (x->ms < y->ms);
}

/* Marks the sums over hosts for these hours as incomplete. */
static int
change_sums(const struct arrival *a)
{
	CLEANUP_FREE struct hour *hours = NULL;
	const struct block *b = a->b;
	size_t n = 0;
	int rc = 0;

	if (b->tier != BLOCK_HOURS)
		return 0;
	hours = calloc(b->nwindows + 1, sizeof(*hours));
	if (!hours)
		return -ENOMEM;
	for (size_t i = 0; i < b->nseries; i++)
		for (size_t k = 0; k < b->series[i].n; k++)
			hours[n++] = (struct hour){
				b->series[i].service,
				b->windows[b->series[i].first + k].start_ms};
	qsort(hours, n, sizeof(*hours), by_service);
	for (size_t i = 0; i < n && !rc; i++)
		if (!i || by_service(&hours[i - 1], &hours[i]))
			rc = host_sum_changed(a->s, b->tenant, hours[i].service,
			                      hours[i].ms);
	return rc;
}

static int
insert_block(const struct arrival *a)
{
	const struct block *b = a->b;
	const struct blob *f = &a->blob;

	return db_do(a->s->db, SQL_BLOCK_INSERT,
	             ARGS(V((const char *)f->id), V(b->tenant), V(a->host),
	                  V((int64_t)b->tier), V(b->start_ms), V(b->end_ms),
	                  V((int64_t)b->nwindows), V(b->entries),
	                  V(b->entry_bytes)))
	               ?: db_do(a->s->db, SQL_BLOB_INSERT,
	                        ARGS(V((const char *)f->id),
	                             V((const char *)f->id),
	                             V((const char *)f->kind),
	                             V((const char *)f->store),
	                             V((const char *)f->name), V(f->start),
	                             V(f->length),
	                             V((const char *)f->checksum),
	                             V((const char *)a->s->host)))
	               ?: db_do(a->s->db, SQL_BLOCK_USAGE_ADD,
	                        ARGS(V(b->tenant), V(day_of(b->start_ms)),
	                             V((int64_t)b->tier),
	                             V((int64_t)b->nwindows), V(f->length)));
}

static int
insert(const struct arrival *a, int64_t *cursor_ms)
{
	const char *tenant = a->b->tenant;

	return take_time(a, cursor_ms)
	               ?: take_place(a) ?: insert_block(a) ?: insert_runs(a)
	               ?: change_sums(a)
	               ?: quota_check(a->s, tenant, QUOTA_host_series, 1)
	               ?: quota_check(a->s, tenant, QUOTA_host_bytes,
	                              a->blob.length);
}

static int
check_clock(struct store *s, const struct block *b, int64_t *cursor_ms)
{
	int64_t now_ms;
	int rc = store_now(s, &now_ms);

	if (rc)
		return rc;
	*cursor_ms = now_ms + BLOCK_AHEAD_MS;
	return b->end_ms > *cursor_ms ? -EAGAIN : 0;
}

int
block_accept(struct store *s, const char *host, const struct block *b,
             const void *p, size_t n, int64_t *out_cursor_ms)
{
	CLEANUP_BLOB_WRITER struct blob_writer w = BLOB_WRITER_INIT;
	struct arrival a = {.s = s, .host = host, .b = b};
	struct store to = *s;
	int rc = check_clock(s, b, out_cursor_ms);

	/* fresh blocks live for an hour and are too many for an object store */
	if (b->tier == BLOCK_FRESH && s->bytes && !strcmp(s->bytes, BYTES_S3))
		to.bytes = BYTES_DB;
	rc = rc ?: blob_put(&to, BLOB_BLOCK, p, n, &w, &a.blob);
	if (rc)
		return rc;
	rc = store_begin(s) ?: store_end(s, insert(&a, out_cursor_ms));
	if (rc)
		blob_discard(s, &a.blob);
	else
		s->no_runs_ns = 0;
	return rc;
}
