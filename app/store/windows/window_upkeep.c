#include "base/clock.h"
#include "store/bytes.h"
#include "store/db/holding.h"
#include "store/files/orphans.h"
#include "store/quota.h"
#include "window_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Approximate number of windows deleted in one transaction: other processes
 * need the write lock too. */
#define BATCH 200

static int
pin(struct store *s, const char *tenant, const char *id, bool pinned)
{
	int rc = run_window_is(id) ? run_window_pin(s, tenant, id, pinned)
	                           : db_change(s->db, -ENOENT, SQL_WINDOW_PIN,
	                                       ARGS(V((int64_t)pinned), V(id),
	                                            V(tenant)));

	return rc || !pinned ? rc : quota_check(s, tenant, QUOTA_pins, 1);
}

int
window_pin(struct store *s, const char *tenant, const char *id, bool pinned)
{
	return store_begin(s) ?: store_end(s, pin(s, tenant, id, pinned));
}

int
window_usage(struct store *s, int64_t *out_bytes, int64_t *out_n)
{
	int64_t usage[2];
	int rc = row_ints(s->db, usage, 2, SQL_WINDOW_USAGE, NO_ARGS);

	if (rc)
		return rc;
	*out_bytes = usage[0];
	*out_n = usage[1];
	return 0;
}

/* --- deleting ------------------------------------------------------------- */

struct named {
	char *id;
};
static const struct row_field named_fields[] = {ROW_FIELD(named, id)};
static const struct row_type named_type = ROW_TYPE(named, named_fields);

static int
delete_window(struct store *s, const char *id)
{
	return db_do(s->db, SQL_HOLE_OF_WINDOW, ARGS(V(id)))
	               ?: db_do(s->db, SQL_WINDOW_DELETE, ARGS(V(id)));
}

static int
delete_named(struct store *s, const struct named *w, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = delete_window(s, w[i].id);
	return rc;
}

/* Deletes the windows that a statement finds. Returns their number. */
static int
delete_by(struct store *s, enum sql sql, const struct db_value *v, size_t nv)
{
	void *items = NULL;
	size_t n = 0;
	int rc = row_all(s->db, &named_type, &items, &n, sql, v, nv);

	if (rc)
		return rc;
	if (n)
		rc = store_begin(s) ?: store_end(s, delete_named(s, items, n));
	row_free_all(&named_type, items, n);
	return rc ? rc : (int)n;
}

int
window_forget(struct store *s, const char *series, enum window_level level,
              int64_t start_ms)
{
	int n = delete_by(s, SQL_WINDOW_AT,
	                  ARGS(V(series), V((int64_t)level), V(start_ms)));

	return n < 0 ? n : 0;
}

struct window_keep
window_keep_of(const struct conf *c)
{
	return (struct window_keep){
		.level_ms = {[WINDOW_CAPTURED] = c->continuous_keep_windows *
	                                         MS_PER_S,
	                     [WINDOW_MINUTE] = c->continuous_keep_minutes *
	                                       MS_PER_S,
	                     [WINDOW_HOUR] = c->continuous_keep_hours *
	                                     MS_PER_S},
		.all_ms = c->store_max_age * MS_PER_S,
	};
}

int
window_expire(struct store *s, const struct window_keep *keep)
{
	/* a service may limit days even if the configuration does not */
	int64_t all_ms = keep->all_ms ? keep->all_ms : INT64_MAX / 2;
	int n = delete_by(s, SQL_WINDOW_EXPIRED,
	                  ARGS(V(all_ms), V(segment_host(s))));

	for (int level = 0; level < WINDOW_LEVELS && n >= 0; level++) {
		int more = 0;

		if (keep->level_ms[level])
			more = delete_by(s, SQL_WINDOW_FADED,
			                 ARGS(V(level),
			                      V(keep->level_ms[level]),
			                      V(segment_host(s))));
		n = more < 0 ? more : n + more;
	}
	return n;
}

struct old_window {
	char *id;
	int64_t bytes;
};
static const struct row_field old_fields[] = {
	ROW_FIELD(old_window, id),
	ROW_FIELD(old_window, bytes),
};
static const struct row_type old_type = ROW_TYPE(old_window, old_fields);

/* Deletes the oldest windows of a tenant, until the requested bytes are free.
 * Adds to *freed and *done. Frees 0 bytes if no window of the tenant may be
 * deleted. */
static int
take_oldest(struct store *s, const char *tenant, int64_t bytes, int64_t *freed,
            int *done)
{
	void *items = NULL;
	size_t n = 0;
	int rc = row_all(s->db, &old_type, &items, &n, SQL_WINDOW_OLDEST,
	                 ARGS(V(tenant), V(bytes)));
	const struct old_window *w = items;

	for (size_t i = 0; i < n && !rc; i++) {
		rc = delete_window(s, w[i].id);
		*freed += w[i].bytes;
		++*done;
	}
	row_free_all(&old_type, items, n);
	return rc;
}

/*
 * Deletes windows of the tenant that holds the most until it holds no more than
 * the next one, and repeats this until surplus bytes are free or BATCH windows
 * are deleted. A tenant without deletable windows counts as holding nothing.
 */
static int
shrink(struct store *s, int64_t surplus, int *done)
{
	CLEANUP_HOLDINGS struct holdings h = {0};
	struct holding *most;
	int64_t lead;
	int rc = holdings_read(s, SQL_WINDOW_HOLDINGS, &h);

	while (!rc && surplus > 0 && *done < BATCH &&
	       (most = holdings_largest(&h, &lead))) {
		int64_t freed = 0;

		if (!lead)
			lead = 1;
		rc = take_oldest(s, most->tenant,
		                 lead < surplus ? lead : surplus, &freed, done);
		most->bytes = freed ? most->bytes - freed : 0;
		surplus -= freed;
	}
	return rc;
}

int
window_shrink(struct store *s, int64_t max_bytes)
{
	int64_t bytes, n;
	int done = 0, rc = window_usage(s, &bytes, &n);

	if (rc || bytes <= max_bytes)
		return rc;
	rc = store_begin(s)
	             ?: store_end(s, shrink(s, bytes - max_bytes, &done));
	return rc ? rc : done;
}

/* --- freeing space -------------------------------------------------------- */

struct hole {
	char *segment;
	int64_t start, length;
};
static const struct row_field hole_fields[] = {
	ROW_FIELD(hole, segment),
	ROW_FIELD(hole, start),
	ROW_FIELD(hole, length),
};
static const struct row_type hole_type = ROW_TYPE(hole, hole_fields);

/* Punches a hole. A file system without holes keeps the bytes until the file is
 * removed. */
static void
punch(struct store *s, const struct hole *h)
{
	char name[SEGMENT_NAME];
	CLEANUP_FD int fd = -1;

	if (segment_name(h->segment, name) || h->length <= 0)
		return;
	fd = openat(s->segments_fd, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		(void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		                 h->start, h->length);
}

static int
forget_holes(struct store *s, const struct hole *h, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = db_do(s->db, SQL_HOLE_FORGET,
		           ARGS(V(h[i].segment), V(h[i].start)));
	return rc;
}

static int
reap_holes(struct store *s)
{
	void *items = NULL;
	size_t n = 0;
	int rc = row_all(s->db, &hole_type, &items, &n, SQL_HOLE_NEXT,
	                 ARGS(V(segment_host(s))));
	const struct hole *holes = items;

	if (rc)
		return rc;
	for (size_t i = 0; i < n; i++)
		punch(s, &holes[i]);
	if (n)
		rc = store_begin(s) ?: store_end(s, forget_holes(s, holes, n));
	row_free_all(&hole_type, items, n);
	return rc ? rc : (int)n;
}

static int
forget(struct store *s, const char *id)
{
	return db_do(s->db, SQL_SEGMENT_FORGET_HOLES, ARGS(V(id)))
	               ?: db_do(s->db, SQL_SEGMENT_FORGET, ARGS(V(id)));
}

/* A segment in the database gets all its windows in the transaction that
 * inserts it; none is added later. */
static int
remove_from_db(struct store *s, const char *id, int *n)
{
	char name[BYTES_NAME_MAX];
	int rc = bytes_name_of(id, name);

	++*n;
	return (rc ? 0 : bytes_drop(s, BYTES_DB, name)) ?: forget(s, id);
}

/* Removes the file first: a row without a file can be found again, a file
 * without a row cannot. A segment that is open, or was when its rows were
 * read, may have gained a window since. */
static int
remove_segment(struct store *s, const char *id, int *n)
{
	char name[SEGMENT_NAME];
	CLEANUP_FD int fd = -1;
	int rc = segment_name(id, name)
	                 ?: orphans_open(s->segments_fd, name, &fd);

	if (rc == -EAGAIN)
		return 0;
	rc = row_any(s->db, SQL_SEGMENT_USED, ARGS(V(id)));
	if (rc)
		return rc < 0 ? rc : 0;
	if (fd >= 0 && unlinkat(s->segments_fd, name, 0))
		return -errno;
	++*n;
	return forget(s, id);
}

static int
remove_segments(struct store *s, const struct named *g, size_t n, int *removed)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = segment_in_db(g[i].id)
		             ? remove_from_db(s, g[i].id, removed)
		             : remove_segment(s, g[i].id, removed);
	return rc;
}

static int
reap_segments(struct store *s)
{
	void *items = NULL;
	size_t n = 0;
	int removed = 0,
	    rc = row_all(s->db, &named_type, &items, &n, SQL_SEGMENT_UNUSED,
	                 ARGS(V(segment_host(s))));

	if (rc)
		return rc;
	if (n)
		rc = store_begin(s)
		             ?: store_end(s, remove_segments(s, items, n,
		                                             &removed));
	row_free_all(&named_type, items, n);
	return rc ? rc : removed;
}

int
window_reap(struct store *s)
{
	int holes = reap_holes(s), files, orphans = 0, rc;

	if (holes < 0)
		return holes;
	files = reap_segments(s);
	if (files < 0)
		return files;
	rc = orphans_sweep(s->db, s->segments_fd, ".", SQL_SEGMENT_KNOWN,
	                   &orphans);
	return rc ? rc : holes + files + orphans;
}
