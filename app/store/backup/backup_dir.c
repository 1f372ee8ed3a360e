#include "backup_dir.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define MANIFEST   "manifest.json"
#define LOCK       "backup.lock"
#define TEMP       ".tmp-" /* prefix of file_replace() */
#define FORMAT     1       /* format of a directory; a later one is refused */
#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* --- the manifest --------------------------------------------------------- */

static bool
is_database(const char *name)
{
	size_t n = strlen(name), tail = strlen(BACKUP_DB_SUFFIX);

	return n < BACKUP_DB_NAME_MAX && id_valid(BACKUP_DB_PREFIX, name) &&
	       !strcmp(name + n - tail, BACKUP_DB_SUFFIX);
}

/* Copies a text if it fits, else "". */
static void
take_text(const json_t *j, const char *key, char *out, size_t size)
{
	const char *s = json_string_value(json_object_get(j, key));

	snprintf(out, size, "%s", s && strlen(s) < size ? s : "");
}

static int64_t
number(const json_t *j, const char *key)
{
	return json_integer_value(json_object_get(j, key));
}

static int
manifest_parse(const char *text, size_t n, struct manifest *out)
{
	CLEANUP_JSON json_t *j =
		json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
	struct manifest m = {
		.backup = {.schema = number(j, "schema"),
	                   .files = number(j, "files"),
	                   .windows = number(j, "windows"),
	                   .bytes = number(j, "bytes")},
	};
	char taken[RFC3339_LEN];

	if (number(j, "format") > FORMAT)
		return -EPROTONOSUPPORT;
	take_text(j, "database", m.database, sizeof(m.database));
	take_text(j, "databaseChecksum", m.checksum, sizeof(m.checksum));
	take_text(j, "takenAt", taken, sizeof(taken));
	if (!is_database(m.database) || clock_parse(taken, &m.backup.taken_ms))
		return -EBADMSG;
	*out = m;
	return 0;
}

int
backup_dir_file(const struct backup_dir *d, const char *name, int *out)
{
	CLEANUP_FD int fd = openat(
		d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return errno == ELOOP ? -EBADMSG : -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	*out = TAKE_FD(fd);
	return 0;
}

static int
manifest_read(const struct backup_dir *d, struct manifest *out)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_FD int fd = -1;
	int rc = backup_dir_file(d, MANIFEST, &fd) ?: fd_read_all(fd, &text);

	return rc ? rc : manifest_parse(buf_str(&text), text.len, out);
}

int
backup_dir_commit(struct backup_dir *d, const struct manifest *m)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	CLEANUP_JSON json_t *j = NULL;
	char taken[RFC3339_LEN];
	int rc;

	clock_format(m->backup.taken_ms, taken);
	j = json_pack("{si ss ss ss ss sI sI sI sI}", "format", FORMAT,
	              "program", stoker_version, "takenAt", taken, "database",
	              m->database, "databaseChecksum", m->checksum, "schema",
	              (json_int_t)m->backup.schema, "files",
	              (json_int_t)m->backup.files, "windows",
	              (json_int_t)m->backup.windows, "bytes",
	              (json_int_t)m->backup.bytes);
	rc = j ? json_write(j, &text) : -ENOMEM;
	buf_putc(&text, '\n');
	rc = rc ?: buf_err(&text)
	                ?: file_replace(d->fd, MANIFEST, 0600, text.p, text.len);
	if (rc)
		return rc;
	d->manifest = *m;
	d->has_manifest = true;
	return 0;
}

/* --- the directory -------------------------------------------------------- */

void
backup_dir_close(struct backup_dir *d)
{
	close_ptr(&d->lock_fd);
	close_ptr(&d->fd);
	*d = (struct backup_dir)BACKUP_DIR_INIT;
}

/* Requires a private directory, since a backup holds all tenants' profiles. */
static int
check_private(const struct backup_dir *d, struct buf *why)
{
	struct stat st;

	if (fstat(d->fd, &st))
		return -errno;
	if (st.st_uid != geteuid())
		buf_addf(why,
		         "%s belongs to another user (%u): make the backup as "
		         "that user, or name another directory",
		         d->path, (unsigned)st.st_uid);
	else if (st.st_mode & 077)
		buf_addf(why,
		         "%s is open to other users (mode %04o), and a backup "
		         "has everybody's profiles: name a directory that is "
		         "absent, or chmod 0700 %s",
		         d->path, st.st_mode & 07777, d->path);
	return why->len ? -EPERM : 0;
}

/* Refuses a directory that is store_dir or below it, by any name. */
static int
check_outside(const struct backup_dir *d, const char *store_dir,
              struct buf *why)
{
	CLEANUP_FD int fd = openat(d->fd, ".", O_PATH | O_CLOEXEC);
	struct stat store, here, above;

	if (stat(store_dir, &store))
		return 0; /* opening the store reports the error */
	if (fd < 0 || fstat(fd, &here))
		return -errno;
	for (;;) {
		int up;

		if (here.st_ino == store.st_ino &&
		    here.st_dev == store.st_dev) {
			buf_addf(why, "%s is inside the store, %s", d->path,
			         store_dir);
			return -EXDEV;
		}
		up = openat(fd, "..", O_PATH | O_CLOEXEC);
		if (up < 0 || fstat(up, &above))
			return -errno;
		close(fd);
		fd = up;
		if (above.st_ino == here.st_ino && above.st_dev == here.st_dev)
			return 0;
		here = above;
	}
}

static int
count_entry(void *arg, const char *name)
{
	(void)arg, (void)name;
	return 1;
}

/* Creates the lock file, the first file of every backup directory. */
static int
open_lock(struct backup_dir *d, struct buf *why)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
	int rc;

	d->lock_fd = openat(d->fd, LOCK, flags);
	if (d->lock_fd >= 0 || errno != ENOENT)
		return d->lock_fd < 0 ? -errno : 0;
	rc = folder_each(d->fd, count_entry, NULL);
	if (rc > 0) {
		buf_addf(why,
		         "%s has files that are not of a backup: name a "
		         "directory that is empty or absent",
		         d->path);
		return -ENOTEMPTY;
	}
	if (!rc)
		d->lock_fd = openat(d->fd, LOCK, flags | O_CREAT, 0600);
	return rc ? rc : d->lock_fd < 0 ? -errno : 0;
}

static int
lock(struct backup_dir *d, int how, struct buf *why)
{
	if (!flock(d->lock_fd, how | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return -errno;
	buf_addf(why,
	         "%s is in use by another stoker backup, restore or verify",
	         d->path);
	return -EBUSY;
}

/* Refuses to replace a manifest of a later format; a damaged one may be
 * replaced. */
static int
look_at_manifest(struct backup_dir *d, struct buf *why)
{
	int rc = manifest_read(d, &d->manifest);

	d->has_manifest = !rc;
	if (rc == -EPROTONOSUPPORT)
		buf_addf(why,
		         "%s holds a backup of a newer release of Stoker: "
		         "install that release",
		         d->path);
	return rc == -ENOENT || rc == -EBADMSG ? 0 : rc;
}

static int
explain(const char *path, int rc, struct buf *why)
{
	if (rc && !why->len)
		buf_addf(why, "%s: %s", path, strerror(-rc));
	return rc;
}

int
backup_dir_make(const char *path, const char *store_dir, struct backup_dir *out,
                struct buf *why)
{
	CLEANUP_BACKUP_DIR struct backup_dir d = BACKUP_DIR_INIT;
	bool made = !mkdir(path, 0700);
	int rc;

	d.path = path;
	d.fd = open(path, OPEN_FLAGS);
	rc = d.fd < 0 ? -errno
	              : check_private(&d, why)
	                        ?: check_outside(&d, store_dir, why)
	                        ?: open_lock(&d, why) ?: lock(&d, LOCK_EX, why)
	                        ?: look_at_manifest(&d, why);
	if (rc) {
		if (made)
			(void)rmdir(path);
		return explain(path, rc, why);
	}
	*out = d;
	d = (struct backup_dir)BACKUP_DIR_INIT;
	return 0;
}

int
backup_dir_open(const char *path, struct backup_dir *out, struct buf *why)
{
	CLEANUP_BACKUP_DIR struct backup_dir d = BACKUP_DIR_INIT;
	int rc = 0;

	d.path = path;
	d.fd = open(path, OPEN_FLAGS);
	if (d.fd < 0)
		return explain(path, -errno, why);
	/* A backup copied from elsewhere may lack the file. */
	if (!backup_dir_file(&d, LOCK, &d.lock_fd))
		rc = lock(&d, LOCK_SH, why);
	rc = rc ?: look_at_manifest(&d, why);
	if (!rc && !d.has_manifest) {
		buf_addf(why, "%s holds no complete backup", path);
		rc = -ENOMEDIUM;
	}
	if (rc)
		return explain(path, rc, why);
	*out = d;
	d = (struct backup_dir)BACKUP_DIR_INIT;
	return 0;
}

int
backup_dir_db(const struct backup_dir *d, const struct manifest *m,
              struct db **out, struct buf *why)
{
	struct db_options o = {.look = true};
	CLEANUP_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s", d->path, m->database) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	o.url = path;
	return db_open(&o, out, why);
}

struct leftovers {
	const struct backup_dir *dir;
	int64_t n;
};

static bool
begins(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static int
trim_entry(void *arg, const char *name)
{
	struct leftovers *l = arg;
	const struct backup_dir *d = l->dir;

	if (!begins(name, TEMP) && !begins(name, BACKUP_DB_PREFIX))
		return 0;
	if (d->has_manifest && !strcmp(name, d->manifest.database))
		return 0;
	l->n += !unlinkat(d->fd, name, 0);
	return 0;
}

int
backup_dir_trim(const struct backup_dir *d, int64_t *out)
{
	struct leftovers l = {.dir = d};
	int rc = folder_each(d->fd, trim_entry, &l);

	*out += l.n;
	return rc;
}
