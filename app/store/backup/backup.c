/*
 * Makes backups. A backup never refers to bytes that it lacks, for three
 * reasons:
 *
 * 1. Bytes are on disk before the row that names them is committed (blob.h,
 *    window.h), so at the moment that a copy of the database shows, the bytes
 *    of all its rows were there.
 * 2. A row is deleted, or marked as deleted, and this is committed, before its
 *    bytes are dropped (blob_reap(), window_reap()), and no row comes back. If
 *    bytes are missing, either their row was deleted as well, so that later
 *    copies of the database lack it, or the row is live, and the store is
 *    damaged.
 * 3. Bytes that a row names never change, and file names are never reused.
 *    Bytes copied for one copy of the database are therefore right for any
 *    other.
 *
 * So each round copies the database, then all bytes that the copy names and the
 * directory lacks. If rows were deleted meanwhile, another round copies the
 * bytes added since; few rows live that briefly. At the end the bytes of every
 * row in the last copy are read back and compared with their checksums, and
 * only then does the manifest name this copy. If one of the reasons above did
 * not hold, the backup would fail rather than be wrong.
 *
 * A process that is killed has changed no byte that the previous manifest
 * names: profiles are separate files, bytes of rows keep their place in
 * segments, and files are removed after the manifest has been replaced.
 */
#include "backup_dir.h"

#include "base/clock.h"
#include "store/db/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The backup gives up after this many rounds in which rows were deleted. */
#define ROUNDS_MAX 20

struct making {
	struct db *live;
	struct extent_place from, to;
	struct backup_dir dir;
	struct db *copy;
	struct manifest next; /* its database exists once it has a name */
	struct backup_report report;
	struct buf *why;
	int64_t gone; /* extents deleted during this round */
};

static void
drop_copy(struct making *m)
{
	db_close(m->copy);
	m->copy = NULL;
	if (*m->next.database)
		unlinkat(m->dir.fd, m->next.database, 0);
	m->next = (struct manifest){0};
}

static void
making_done(struct making *m)
{
	drop_copy(m);
	db_close(m->live);
	extent_place_close(&m->from);
	extent_place_close(&m->to);
	backup_dir_close(&m->dir);
}

static int
fail(const struct making *m, const char *path, const char *name, int rc)
{
	if (!m->why->len)
		buf_addf(m->why, "%s/%s: %s", path, name, strerror(-rc));
	return rc;
}

/* --- a round -------------------------------------------------------------- */

static int
create_database(struct making *m)
{
	CLEANUP_FD int fd = -1;
	char id[ID_MAX];

	id_new(BACKUP_DB_PREFIX, id);
	snprintf(m->next.database, sizeof(m->next.database),
	         "%s" BACKUP_DB_SUFFIX, id);
	fd = openat(m->dir.fd, m->next.database,
	            O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? fail(m, m->dir.path, m->next.database, -errno) : 0;
}

static int
copy_database(struct making *m)
{
	CLEANUP_FREE char *path = NULL;
	struct db_schema schema = {0};
	int rc;

	drop_copy(m);
	rc = create_database(m);
	if (rc)
		return rc;
	if (asprintf(&path, "%s/%s", m->dir.path, m->next.database) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	m->next.backup.taken_ms = clock_wall_ms();
	rc = sqlite_copy(m->live, path);
	if (rc) {
		buf_addf(m->why, "%s: %s", path, db_why(m->live));
		return rc;
	}
	rc = backup_dir_db(&m->dir, &m->next, &m->copy, m->why)
	             ?: db_schema(m->copy, &schema);
	m->next.backup.schema = schema.version;
	return rc;
}

/* Handles bytes that the store lacks: either their row was deleted too, or the
 * store is damaged. */
static int
judge_missing(struct making *m, const struct extent *e)
{
	int rc = extent_live(m->live, e);

	if (rc <= 0) {
		m->gone += !rc;
		return rc ? fail(m, m->from.path, STORE_DB, rc) : 0;
	}
	rc = extent_check(&m->from, e);
	extent_explain(&m->from, e, rc ? rc : -EIO, m->why);
	buf_addf(m->why,
	         ", of %s; stoker verify lists all damage, and how to repair "
	         "it",
	         e->owner);
	return -EUCLEAN;
}

static int
copy_extent(struct making *m, const struct extent *e)
{
	int rc = extent_copy(&m->from, &m->to, e, m->why);

	if (rc)
		return rc < 0 ? rc : judge_missing(m, e);
	m->report.copied++;
	m->report.copied_bytes += e->length;
	return 0;
}

static int
copy_missing(void *arg, const struct extent *e)
{
	struct making *m = arg;

	return extent_seems_there(&m->to, e) ? 0 : copy_extent(m, e);
}

static int
sync_all(const struct making *m)
{
	return syncfs(m->dir.fd) ? fail(m, m->dir.path, ".", -errno) : 0;
}

/* --- verification --------------------------------------------------------- */

/*
 * Copies bytes again that are wrong in the backup, after an interruption or a
 * disk error. If only a read failed, the previous backup may need them:
 * therefore only bytes with the right checksum, which are the same, may
 * overwrite them.
 */
static int
mend_extent(struct making *m, const struct extent *e)
{
	int64_t gone = m->gone;
	int rc = extent_check(&m->from, e) ? judge_missing(m, e)
	                                   : copy_extent(m, e);

	return rc || m->gone > gone ? rc : extent_check(&m->to, e);
}

static int
prove_extent(void *arg, const struct extent *e)
{
	struct making *m = arg;
	int rc = extent_check(&m->to, e);

	if (rc)
		rc = mend_extent(m, e);
	if (rc)
		return extent_explain(&m->to, e, rc, m->why);
	m->next.backup.files += e->kind == EXTENT_PROFILE;
	m->next.backup.windows += e->kind == EXTENT_WINDOW;
	m->next.backup.bytes += e->length;
	return 0;
}

static void
first_damage(void *arg, enum db_damage kind, const char *line)
{
	struct making *m = arg;

	(void)kind;
	if (!m->why->len)
		buf_addf(m->why,
		         "%s/" STORE_DB " is damaged: %s; stoker verify lists "
		         "all damage, and how to repair it",
		         m->from.path, line);
}

static int
prove_database(struct making *m)
{
	int rc = sqlite_examine(m->copy, first_damage, m);

	if (rc)
		return fail(m, m->dir.path, m->next.database, rc);
	return m->why->len ? -EUCLEAN : 0;
}

static int
prove(struct making *m)
{
	m->next.backup.files = m->next.backup.windows = 0;
	m->next.backup.bytes = 0;
	return sync_all(m) ?: prove_database(m)
	               ?: extent_each(m->copy, prove_extent, m);
}

/* Repeats rounds until no row was deleted during one. */
static int
copy_and_prove(struct making *m)
{
	int rc = 0;

	for (int i = 0; i < ROUNDS_MAX; i++) {
		m->gone = 0;
		rc = copy_database(m) ?: extent_each(m->copy, copy_missing, m);
		if (!rc && !m->gone)
			rc = prove(m);
		if (rc || !m->gone)
			return rc;
	}
	buf_addf(m->why,
	         "%s: profiles are deleted faster than they can be copied",
	         m->from.path);
	return -EAGAIN;
}

/* --- the whole backup ----------------------------------------------------- */

static int
commit(struct making *m)
{
	struct stat st = {0};
	CLEANUP_FD int fd = openat(m->dir.fd, m->next.database,
	                           O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 || fstat(fd, &st) ? -errno : sync_all(m);

	if (!rc) {
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		rc = digest_file(fd, st.st_size, m->next.checksum);
	}
	if (rc)
		return fail(m, m->dir.path, m->next.database, rc);
	m->next.backup.bytes += st.st_size;
	rc = backup_dir_commit(&m->dir, &m->next);
	if (rc)
		return fail(m, m->dir.path, "manifest.json", rc);
	m->report.now = m->next.backup;
	*m->next.database = '\0'; /* so that drop_copy() keeps it */
	return 0;
}

static int
trim(struct making *m)
{
	int rc = extent_trim(&m->to, m->copy, &m->report.removed)
	                 ?: backup_dir_trim(&m->dir, &m->report.removed);

	if (rc)
		buf_addf(m->why,
		         "the backup is complete, but %s has files of the one "
		         "before it: %s",
		         m->dir.path, strerror(-rc));
	return rc;
}

static int
open_all(struct making *m, const char *store_dir)
{
	CLEANUP_FD int fd = open(store_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? -errno : 0;

	if (rc) {
		buf_addf(m->why, "%s: %s", store_dir, strerror(-rc));
		return rc;
	}
	return store_look_in(store_dir, &m->live, m->why)
	               ?: extent_place_open(&m->from, fd, m->why)
	               ?: extent_place_open(&m->to, m->dir.fd, m->why);
}

int
backup_make(const char *store_dir, const char *dir, struct backup_report *out,
            struct buf *why)
{
	CLEANUP(making_done)
	struct making m = {
		.from = EXTENT_PLACE_INIT,
		.to = EXTENT_PLACE_INIT,
		.dir = BACKUP_DIR_INIT,
		.why = why,
	};
	int rc;

	m.from.path = store_dir;
	m.to.path = dir;
	m.to.folder_mode = 0700;
	m.to.file_mode = 0600;
	m.to.uid = geteuid();
	m.to.gid = getegid();
	m.to.uncached = true;
	rc = backup_dir_make(dir, store_dir, &m.dir, why);
	if (!rc)
		rc = open_all(&m, store_dir);
	if (!rc)
		rc = copy_and_prove(&m);
	if (!rc)
		rc = commit(&m);
	if (rc)
		return rc;
	rc = trim(&m);
	if (!rc)
		*out = m.report;
	return rc;
}
