/*
 * Restores backups.
 *
 * The bytes are copied first, then the database under a temporary name; at the
 * end the database gets its real name; until then there is no store. A store
 * that has data is not touched until then: the new one is built beside it,
 * then the two change places. A restore that is killed leaves the store
 * unchanged, and files that the next restore uses.
 */
#include "backup_dir.h"

#include "base/clock.h"
#include "base/folder.h"
#include "store/db/sqlite.h"
#include "store/verify.h"
#include "unused.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define DIR_FLAGS   (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define FOLDER_MODE 02770 /* as in systemd/stoker.tmpfiles.conf */
#define FILE_MODE   0640
#define DB_MODE     0660
#define DB_UNNAMED  STORE_DB ".restoring"

struct restoring {
	const struct restore_ask *ask;
	struct backup_dir dir;
	struct db *db;
	struct extent_place from, to;
	char store[PATH_MAX];  /* with links resolved */
	char target[PATH_MAX]; /* directory in which the new store is built */
	int store_fd;          /* -1: the store does not exist */
	int target_fd, setup_fd;
	struct buf *why;
	struct buf flaw; /* the backup's first flaw, or empty */
};

static void
restoring_done(struct restoring *r)
{
	db_close(r->db);
	extent_place_close(&r->from);
	extent_place_close(&r->to);
	backup_dir_close(&r->dir);
	close_ptr(&r->store_fd);
	close_ptr(&r->target_fd);
	close_ptr(&r->setup_fd);
	buf_done(&r->flaw);
}

static int
fail(const struct restoring *r, const char *path, int rc)
{
	if (rc && !r->why->len)
		buf_addf(r->why, "%s: %s", path, strerror(-rc));
	return rc;
}

/* --- the backup ----------------------------------------------------------- */

static void
first_flaw(void *arg, const struct flaw *f)
{
	struct restoring *r = arg;

	if (!r->flaw.len)
		buf_addf(&r->flaw, "%s: %s", f->where, f->what);
}

static int
open_backup(struct restoring *r)
{
	const char *dir = r->ask->dir;
	struct backup seen;
	int rc = backup_dir_open(dir, &r->dir, r->why)
	                 ?: backup_verify(dir, first_flaw, r, &seen, r->why);

	if (!rc && r->flaw.len) {
		buf_addf(r->why,
		         "%s is damaged: %s; stoker verify %s lists all "
		         "damage, and how to repair it",
		         dir, buf_str(&r->flaw), dir);
		rc = -EUCLEAN;
	}
	return rc ?: backup_dir_db(&r->dir, &r->dir.manifest, &r->db, r->why)
	                ?: extent_place_open(&r->from, r->dir.fd, r->why);
}

/* --- the store ------------------------------------------------------------ */

/* True for files of the store's data. A leftover WAL would be applied to a new
 * database beside it. */
static bool
has_data(int dir_fd)
{
	return !faccessat(dir_fd, STORE_DB, F_OK, AT_SYMLINK_NOFOLLOW) ||
	       !faccessat(dir_fd, STORE_DB "-wal", F_OK, AT_SYMLINK_NOFOLLOW);
}

static int
db_path(const struct restoring *r, char out[static PATH_MAX])
{
	int n = snprintf(out, PATH_MAX, "%s/" STORE_DB, r->store);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/*
 * Makes programs that are about to open the store wait until the lock is
 * closed. Root gives the lock file to the owner of the store, who takes the
 * next lock.
 */
static int
hold_store(struct restoring *r, int dir_fd)
{
	char path[PATH_MAX];
	struct stat st;
	int rc = db_path(r, path) ?: sqlite_lock_setup(path, &r->setup_fd);

	if (rc || geteuid())
		return rc;
	return fstat(dir_fd, &st) || fchown(r->setup_fd, st.st_uid, st.st_gid)
	               ? -errno
	               : 0;
}

static int
check_unused(const struct restoring *r)
{
	char path[PATH_MAX];
	int rc = db_path(r, path);

	if (rc)
		return fail(r, path, rc);
	return access(path, F_OK) ? 0
	                          : store_check_unused(r->store, path, r->why);
}

/* Refuses a store that is a mount point, which can't be moved aside. */
static int
check_movable(const struct restoring *r)
{
	CLEANUP_FD int up = openat(r->store_fd, "..", O_PATH | O_CLOEXEC);
	struct stat here, above;

	if (up < 0 || fstat(r->store_fd, &here) || fstat(up, &above))
		return fail(r, r->store, -errno);
	if (here.st_dev == above.st_dev)
		return 0;
	buf_addf(
		r->why,
		"%s has data and is a mount point, which can't be moved aside: "
		"move what it holds elsewhere, then restore",
		r->store);
	return -EBUSY;
}

static int
judge_data(struct restoring *r)
{
	int rc = check_unused(r);

	if (rc)
		return rc;
	if (r->ask->replace)
		return check_movable(r);
	buf_addf(r->why,
	         "%s has data already; with --replace it is moved to "
	         "%s.before-restore-TIME",
	         r->store, r->store);
	return -EEXIST;
}

/* Copies the ACL: it admits nginx, which is neither owner nor group. */
static int
copy_acl(int from, int to)
{
	static const char *const names[] = {"system.posix_acl_access",
	                                    "system.posix_acl_default"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char acl[4096];
		ssize_t n = fgetxattr(from, names[i], acl, sizeof(acl));

		if (n < 0 && errno != ENODATA && errno != EOPNOTSUPP)
			return -errno;
		if (n > 0 && fsetxattr(to, names[i], acl, (size_t)n, 0))
			return -errno;
	}
	return 0;
}

/* Makes a directory, or reuses one of an interrupted restore, with the owner,
 * mode and ACL of `like` if that is a directory. */
static int
make_dir(const struct restoring *r, int dir_fd, const char *name, int like,
         int *out)
{
	struct stat st = {.st_uid = r->ask->uid,
	                  .st_gid = r->ask->gid,
	                  .st_mode = FOLDER_MODE};
	CLEANUP_FD int fd = -1;

	if (like >= 0 && fstat(like, &st))
		return -errno;
	if (mkdirat(dir_fd, name, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(dir_fd, name, DIR_FLAGS | O_NOFOLLOW);
	if (fd < 0 || (!geteuid() && fchown(fd, st.st_uid, st.st_gid)))
		return -errno;
	if (fchmod(fd, st.st_mode & 07777))
		return -errno;
	*out = fd;
	fd = -1;
	return like < 0 ? 0 : copy_acl(like, *out);
}

static int
make_folder_like(struct restoring *r, const char *name)
{
	CLEANUP_FD int like = openat(r->store_fd, name, DIR_FLAGS | O_NOFOLLOW);
	CLEANUP_FD int fd = -1;

	return like < 0 ? 0 : make_dir(r, r->target_fd, name, like, &fd);
}

/* Chooses the target: the store itself if it has no data, or else a directory
 * beside it. */
static int
make_target(struct restoring *r, bool beside)
{
	const char *suffix = beside ? ".restoring" : "";
	int n = snprintf(r->target, sizeof(r->target), "%s%s", r->store,
	                 suffix);
	int rc;

	if (n >= (int)sizeof(r->target))
		return -ENAMETOOLONG;
	if (!beside && r->store_fd >= 0) {
		r->target_fd = openat(r->store_fd, ".", DIR_FLAGS);
		return r->target_fd < 0 ? -errno : 0;
	}
	rc = make_dir(r, AT_FDCWD, r->target, r->store_fd, &r->target_fd);
	if (!rc && beside)
		rc = make_folder_like(r, "profiles")
		             ?: make_folder_like(r, "segments");
	if (!rc && has_data(r->target_fd)) {
		buf_addf(r->why, "%s has data: move it away", r->target);
		rc = -EEXIST;
	}
	return rc;
}

static int
open_store(struct restoring *r)
{
	bool data;
	int rc;

	if (!realpath(r->ask->store_dir, r->store)) {
		if (errno != ENOENT)
			return fail(r, r->ask->store_dir, -errno);
		snprintf(r->store, sizeof(r->store), "%s", r->ask->store_dir);
		rc = make_target(r, false) ?: hold_store(r, r->target_fd);
		return fail(r, r->store, rc);
	}
	r->store_fd = open(r->store, DIR_FLAGS);
	rc = r->store_fd < 0 ? -errno : hold_store(r, r->store_fd);
	if (rc)
		return fail(r, r->store, rc);
	data = has_data(r->store_fd);
	return fail(r, r->store,
	            (data ? judge_data(r) : 0) ?: make_target(r, data));
}

/* --- copying -------------------------------------------------------------- */

static int
restore_extent(void *arg, const struct extent *e)
{
	struct restoring *r = arg;
	int rc = extent_check(&r->to, e);

	if (rc)
		rc = extent_copy(&r->from, &r->to, e, r->why);
	return rc > 0 ? extent_explain(&r->from, e, -EBADMSG, r->why) : rc;
}

static int
restore_bytes(struct restoring *r)
{
	struct stat st;

	if (fstat(r->target_fd, &st))
		return fail(r, r->target, -errno);
	r->to.path = r->target;
	r->to.folder_mode = FOLDER_MODE;
	r->to.file_mode = FILE_MODE;
	r->to.uid = st.st_uid;
	r->to.gid = st.st_gid;
	return extent_place_open(&r->to, r->target_fd, r->why)
	               ?: extent_each(r->db, restore_extent, r);
}

static int
copy_all(int from, int to, int64_t *out)
{
	ssize_t n;

	*out = 0;
	while ((n = sendfile(to, from, NULL, INT_MAX)) > 0)
		*out += n;
	return n < 0 ? -errno : 0;
}

/* Copies the database under its temporary name, verified and durable. */
static int
restore_database(struct restoring *r)
{
	const struct manifest *m = &r->dir.manifest;
	CLEANUP_FD int from = -1;
	CLEANUP_FD int to = -1;
	char checksum[DIGEST_CHARS];
	int64_t n;
	int rc = backup_dir_file(&r->dir, m->database, &from);

	if (rc)
		return rc;

	(void)unlinkat(r->target_fd, DB_UNNAMED, 0);
	to = openat(r->target_fd, DB_UNNAMED,
	            O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, DB_MODE);
	if (to < 0 || (!geteuid() && fchown(to, r->to.uid, r->to.gid)) ||
	    fchmod(to, DB_MODE))
		return -errno;
	rc = copy_all(from, to, &n) ?: digest_file(to, n, checksum);
	if (!rc && strcmp(checksum, m->checksum) != 0)
		rc = -EBADMSG;
	return rc ?: syncfs(r->target_fd) ? -errno : 0;
}

/* Gives the database its name; fails, and does not overwrite, if another
 * database has appeared meanwhile. */
static int
name_database(struct restoring *r)
{
	if (renameat2(r->target_fd, DB_UNNAMED, r->target_fd, STORE_DB,
	              RENAME_NOREPLACE) ||
	    fsync(r->target_fd))
		return -errno;
	return 0;
}

/* --- swapping ------------------------------------------------------------- */

/* Writes a time as "20261122T135447.123Z". */
static void
stamp(char out[static RFC3339_LEN])
{
	char now[RFC3339_LEN], *to = out;

	clock_format(clock_wall_ms(), now);
	for (const char *p = now; *p; p++)
		if (*p != '-' && *p != ':')
			*to++ = *p;
	*to = '\0';
}

/*
 * Moves files that are not part of the store's data to the new one, since they
 * belong to the host: the worker's journal of Go programs, and its cache of
 * debug files.
 */
static int
keep_entry(void *arg, const char *name)
{
	const struct restoring *r = arg;

	if (strncmp(name, STORE_DB, strlen(STORE_DB)) != 0)
		(void)!renameat2(r->store_fd, name, r->target_fd, name,
		                 RENAME_NOREPLACE);
	return 0;
}

/* Takes the database's name away again, so that the next restore reuses the
 * files. */
static int
not_moved(struct restoring *r, const char *to, int rc)
{
	buf_addf(r->why, "%s can't be moved to %s: %s", r->store, to,
	         strerror(-rc));
	(void)!renameat(r->target_fd, STORE_DB, r->target_fd, DB_UNNAMED);
	return rc;
}

static int
change_places(struct restoring *r, struct buf *aside)
{
	char path[PATH_MAX], now[RFC3339_LEN];
	int rc;

	stamp(now);
	if (snprintf(path, sizeof(path), "%s.before-restore-%s", r->store,
	             now) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (renameat2(AT_FDCWD, r->store, AT_FDCWD, path, RENAME_NOREPLACE))
		return not_moved(r, path, -errno);
	if (rename(r->target, r->store)) {
		rc = -errno;
		(void)!rename(path, r->store);
		return not_moved(r, path, rc);
	}
	buf_puts(aside, path);
	rc = folder_each(r->store_fd, keep_entry, r);
	return rc ?: syncfs(r->target_fd) ? -errno : 0;
}

int
backup_restore(const struct restore_ask *ask, struct backup *out,
               struct buf *aside, struct buf *why)
{
	CLEANUP(restoring_done)
	struct restoring r = {
		.ask = ask,
		.dir = BACKUP_DIR_INIT,
		.from = EXTENT_PLACE_INIT,
		.to = EXTENT_PLACE_INIT,
		.store_fd = -1,
		.target_fd = -1,
		.setup_fd = -1,
		.why = why,
		.flaw = BUF_INIT(BUF_MAX_SMALL),
	};
	int rc;

	r.from.path = ask->dir;
	rc = open_backup(&r) ?: open_store(&r) ?: restore_bytes(&r);
	if (rc)
		return rc;
	rc = restore_database(&r) ?: name_database(&r);
	if (!rc && strcmp(r.store, r.target) != 0)
		rc = change_places(&r, aside);
	if (!rc)
		*out = r.dir.manifest.backup;
	return fail(&r, r.target, rc);
}
