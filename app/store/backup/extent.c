#include "extent.h"

#include "base/file.h"
#include "base/folder.h"
#include "store/blob.h"
#include "store/db/row.h"
#include "store/files/digest.h"
#include "store/files/orphans.h"
#include "store/windows/window_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE       500 /* rows of SQL_BLOB_AFTER */
#define FOLDER_LEN 2   /* length of "ab" in "ab/blob-ab…" */

static const char *const folders[] = {
	[EXTENT_PROFILE] = "profiles",
	[EXTENT_WINDOW] = "segments",
};

/* --- places --------------------------------------------------------------- */

/* Changes the owner of a new file to the place's if root created it. */
static int
settle(const struct extent_place *p, int fd, mode_t mode)
{
	if (!geteuid() && fchown(fd, p->uid, p->gid))
		return -errno;
	return fchmod(fd, mode) ? -errno : 0;
}

/* Opens a folder, or creates it when the place has a mode for folders. */
static int
open_folder(const struct extent_place *p, int dir_fd, const char *name,
            int *out)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	CLEANUP_FD int fd = openat(dir_fd, name, flags);
	int rc;

	if (fd < 0 && errno == ENOENT && p->folder_mode) {
		if (mkdirat(dir_fd, name, p->folder_mode & 0700))
			return -errno;
		fd = openat(dir_fd, name, flags);
		rc = fd < 0 ? -errno : settle(p, fd, p->folder_mode);
		if (rc)
			return rc;
	}
	if (fd < 0)
		return -errno;
	*out = TAKE_FD(fd);
	return 0;
}

int
extent_place_open(struct extent_place *p, int dir_fd, struct buf *why)
{
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		int rc = open_folder(p, dir_fd, folders[i], &p->fds[i]);

		if (rc) {
			buf_addf(why, "%s/%s: %s", p->path, folders[i],
			         strerror(-rc));
			return rc;
		}
	}
	return 0;
}

void
extent_place_close(struct extent_place *p)
{
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		close_ptr(&p->fds[i]);
	}
}

/* --- rows ----------------------------------------------------------------- */

static const struct row_field fields[] = {
	ROW_FIELD(extent, id),    ROW_FIELD(extent, owner),
	ROW_FIELD(extent, name),  ROW_FIELD(extent, checksum),
	ROW_FIELD(extent, start), ROW_FIELD(extent, length),
};
static const struct row_type type = ROW_TYPE(extent, fields);

typedef int visit(void *arg, const struct extent *e);

/* The rows that a statement finds by a name. */
struct rows {
	struct extent *items;
	size_t n;
};

static void
rows_done(struct rows *r)
{
	row_free_all(&type, r->items, r->n);
	*r = (struct rows){0};
}

static int
visit_rows(struct db *db, enum sql sql, const char *name, struct rows *r,
           enum extent_kind kind, visit *fn, void *arg)
{
	void *items = NULL;
	int rc;

	rows_done(r);
	rc = row_all(db, &type, &items, &r->n, sql, ARGS(V(name)));
	r->items = items;
	for (size_t i = 0; i < r->n && !rc; i++) {
		r->items[i].kind = kind;
		r->items[i].first = kind == EXTENT_PROFILE || !i;
		r->items[i].last = kind == EXTENT_PROFILE || i + 1 == r->n;
		rc = fn(arg, &r->items[i]);
	}
	return rc;
}

static int
each_profile(struct db *db, visit *fn, void *arg)
{
	CLEANUP_FREE char *last = strdup("");
	int rc = last ? 0 : -ENOMEM;
	size_t n = PAGE;

	while (!rc && n == PAGE) {
		CLEANUP(rows_done) struct rows r = {0};

		rc = visit_rows(db, SQL_BLOB_AFTER, last, &r, EXTENT_PROFILE,
		                fn, arg);
		n = r.n;
		if (n) {
			free(last);
			last = TAKE(r.items[n - 1].id);
		}
	}
	return rc;
}

struct segment_row {
	char *id;
};
static const struct row_field segment_fields[] = {ROW_FIELD(segment_row, id)};
static const struct row_type segment_type =
	ROW_TYPE(segment_row, segment_fields);

static int
each_window(struct db *db, visit *fn, void *arg)
{
	CLEANUP_FREE char *last = strdup("");
	int rc = last ? 0 : -ENOMEM;

	while (!rc) {
		CLEANUP(rows_done) struct rows r = {0};
		struct segment_row next = {0};

		rc = row_one(db, &segment_type, &next, SQL_SEGMENT_AFTER,
		             ARGS(V(last)));
		if (rc)
			break;
		free(last);
		last = next.id;
		rc = visit_rows(db, SQL_WINDOW_OF_SEGMENT, last, &r,
		                EXTENT_WINDOW, fn, arg);
	}
	return rc == -ENOENT ? 0 : rc;
}

int
extent_each(struct db *db, visit *fn, void *arg)
{
	return each_profile(db, fn, arg) ?: each_window(db, fn, arg);
}

int
extent_live(struct db *db, const struct extent *e)
{
	return row_any(
		db, e->kind == EXTENT_PROFILE ? SQL_BLOB_LIVE : SQL_WINDOW_LIVE,
		ARGS(V(e->id)));
}

void
extent_path(const struct extent *e, struct buf *out)
{
	buf_addf(out, "%s/%s", folders[e->kind], e->name);
}

int
extent_explain(const struct extent_place *p, const struct extent *e, int rc,
               struct buf *why)
{
	if (why->len)
		return rc;
	buf_addf(why, "%s/", p->path);
	extent_path(e, why);
	buf_addf(why, ": %s", rc == -EBADMSG ? "damaged" : strerror(-rc));
	return rc;
}

/* --- bytes ---------------------------------------------------------------- */

static bool
is_sound(const struct extent *e)
{
	char name[SEGMENT_NAME];

	if (e->start < 0 || e->length < 0)
		return false;
	if (e->kind == EXTENT_PROFILE)
		return bytes_name_valid(e->name) && e->length <= BLOB_MAX_BYTES;
	return !segment_name(e->owner, name) && !strcmp(name, e->name) &&
	       e->length <= WINDOW_MAX_BYTES &&
	       e->start <= INT64_MAX - e->length;
}

/*
 * Opens the folder of a file, and finds the file's name in it.
 *   Owns     *own is the caller's; -1 when the folder is the place's
 */
static int
open_parent(const struct extent_place *p, const struct extent *e,
            const char **name, int *own, int *out)
{
	char folder[FOLDER_LEN + 1] = "";
	int rc;

	*name = e->name;
	*out = p->fds[e->kind];
	if (e->kind == EXTENT_WINDOW)
		return 0;
	memcpy(folder, e->name, FOLDER_LEN);
	*name += FOLDER_LEN + 1;
	rc = open_folder(p, p->fds[e->kind], folder, own);
	*out = *own;
	return rc;
}

static int
open_source(const struct extent_place *p, const struct extent *e, int *out)
{
	CLEANUP_FD int own = -1;
	CLEANUP_FD int fd = -1;
	const char *name;
	struct stat st;
	int parent, rc = is_sound(e) ? open_parent(p, e, &name, &own, &parent)
	                             : -EBADMSG;

	if (rc)
		return rc;
	fd = openat(parent, name,
	            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) ||
	    (e->kind == EXTENT_PROFILE && st.st_size != e->length))
		return -EBADMSG;
	*out = TAKE_FD(fd);
	return 0;
}

bool
extent_seems_there(const struct extent_place *p, const struct extent *e)
{
	CLEANUP_FD int fd = -1;
	struct stat st;
	int rc = open_source(p, e, &fd);

	if (rc || fstat(fd, &st))
		return rc != -ENOENT && rc != -EBADMSG;
	return st.st_size >= e->start + e->length;
}

int
extent_check(const struct extent_place *p, const struct extent *e)
{
	char checksum[DIGEST_CHARS];
	CLEANUP_FD int fd = -1;
	int rc = open_source(p, e, &fd);

	if (!rc && p->uncached && e->first)
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (!rc)
		rc = digest_piece(fd, e->start, e->length, NULL, NULL,
		                  checksum);
	if (!rc && strcmp(checksum, e->checksum) != 0)
		rc = -EBADMSG;
	return rc;
}

/* Opens the file for writing without truncating it; creates it if necessary. */
static int
open_target(const struct extent_place *p, const struct extent *e, int *out)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	CLEANUP_FD int own = -1;
	CLEANUP_FD int fd = -1;
	const char *name;
	struct stat st;
	int parent, rc = open_parent(p, e, &name, &own, &parent);

	if (rc)
		return rc;
	fd = openat(parent, name, flags | O_CREAT | O_EXCL, p->file_mode);
	if (fd < 0 && errno == EEXIST)
		fd = openat(parent, name, flags);
	else if (fd >= 0)
		rc = settle(p, fd, p->file_mode);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!rc && st.st_nlink > 1) /* perhaps a file outside of the store */
		rc = -EMLINK;
	if (!rc)
		*out = TAKE_FD(fd);
	return rc;
}

struct extent_output {
	int fd, rc;
};

static int
write_piece(void *arg, const void *p, size_t n, int64_t at)
{
	struct extent_output *t = arg;
	const char *from = p;

	while (n) {
		ssize_t put = pwrite(t->fd, from, n, at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return t->rc = -errno;
		from += put;
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

int
extent_copy(const struct extent_place *from, const struct extent_place *to,
            const struct extent *e, struct buf *why)
{
	char checksum[DIGEST_CHARS];
	struct extent_output t = {.fd = -1};
	CLEANUP_FD int source = -1;
	CLEANUP_FD int target = -1;
	int rc = open_source(from, e, &source);

	if (rc)
		return 1;
	rc = open_target(to, e, &target);
	if (rc)
		return extent_explain(to, e, rc, why);
	t.fd = target;
	rc = digest_piece(source, e->start, e->length, write_piece, &t,
	                  checksum);
	if (!rc && e->kind == EXTENT_PROFILE && ftruncate(target, e->length))
		rc = t.rc = -errno;
	if (t.rc || rc == -ENOMEM)
		return extent_explain(to, e, rc, why);
	if (rc || strcmp(checksum, e->checksum) != 0)
		return 1;
	if (e->last)
		fd_start_writing(target);
	return 0;
}

/* --- bytes without a row -------------------------------------------------- */

struct trim {
	const struct extent_place *place;
	struct db *db;
	int fd; /* the segment whose windows are visited */
	int64_t end;
	int n;
};

static int
trim_profiles(void *arg, const char *folder)
{
	struct trim *t = arg;

	return orphans_sweep(t->db, t->place->fds[EXTENT_PROFILE], folder,
	                     SQL_BLOB_LIVE, &t->n);
}

/* Cuts off the end of a segment if it held only deleted windows. */
static int
end_segment(struct trim *t)
{
	int rc = t->fd >= 0 && ftruncate(t->fd, t->end) ? -errno : 0;

	close_ptr(&t->fd);
	t->end = 0;
	return rc;
}

/* Punches a hole. A file system without holes keeps the bytes until the file is
 * removed. */
static int
trim_window(void *arg, const struct extent *e)
{
	struct trim *t = arg;
	int rc = 0;

	if (e->kind != EXTENT_WINDOW)
		return 0;
	if (e->first)
		rc = end_segment(t) ?: open_target(t->place, e, &t->fd);
	if (rc)
		return rc;
	if (e->start > t->end)
		(void)!fallocate(t->fd,
		                 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		                 t->end, e->start - t->end);
	if (e->start + e->length > t->end)
		t->end = e->start + e->length;
	return 0;
}

int
extent_trim(const struct extent_place *p, struct db *db, int64_t *out)
{
	struct trim t = {.place = p, .db = db, .fd = -1};
	int rc = folder_each(p->fds[EXTENT_PROFILE], trim_profiles, &t)
	                 ?: orphans_sweep(db, p->fds[EXTENT_WINDOW], ".",
	                                 SQL_SEGMENT_USED, &t.n)
	                 ?: extent_each(db, trim_window, &t);

	rc = end_segment(&t) ?: rc;
	*out += t.n;
	return rc;
}
