#include "bytes_file.h"

#include "base/file.h"
#include "base/folder.h"
#include "orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define FILE_MODE  0640
#define FOLDER_LEN 2 /* length of "ab" in "ab/blob-ab…" */

int
bytes_file_create(int dir_fd, const char *name, int *out_fd)
{
	const char folder[FOLDER_LEN + 1] = {name[0], name[1], '\0'};
	CLEANUP_FD int parent = -1, fd = -1;
	int rc = folder_make(dir_fd, folder, &parent);

	if (rc)
		return rc;
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
	            FILE_MODE);
	if (fd < 0)
		return -errno;
	rc = orphans_lock(fd) ?: fsync(parent) ? -errno : 0;
	if (rc)
		unlinkat(dir_fd, name, 0);
	else
		*out_fd = TAKE_FD(fd);
	return rc;
}

static int
put(struct store *s, const char *name, const void *p, size_t n, int *out_hold)
{
	CLEANUP_FD int fd = -1;
	int rc = bytes_file_create(s->profiles_fd, name, &fd);

	if (rc)
		return rc;
	rc = fd_write_all(fd, p, n);
	if (!rc && fsync(fd))
		rc = -errno;
	if (rc)
		unlinkat(s->profiles_fd, name, 0);
	else
		*out_hold = TAKE_FD(fd);
	return rc;
}

/* The API's user or the worker's may have written row and file, so only a
 * regular file in the folder is opened. */
int
bytes_file_open(int dir_fd, const char *name, int64_t length, int *out_fd)
{
	CLEANUP_FD int fd = openat(
		dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size != length)
		return -EBADMSG;
	*out_fd = TAKE_FD(fd);
	return 0;
}

static int
get(const struct store *s, const char *name, const struct piece *piece,
    struct buf *out)
{
	CLEANUP_FD int fd = -1;
	int rc = bytes_file_open(s->profiles_fd, name, piece->whole, &fd);

	return rc ? rc : fd_read_at(fd, piece->start, piece->n, out);
}

static int
drop(struct store *s, const char *name)
{
	return unlinkat(s->profiles_fd, name, 0) && errno != ENOENT ? -errno
	                                                            : 0;
}

struct listing {
	struct store *s;
	bytes_listed *fn;
	void *arg;
	const char *folder;
};

static int
list_file(void *arg, int dir_fd, const char *file)
{
	const struct listing *l = arg;
	char name[PATH_MAX];
	int rc;

	snprintf(name, sizeof(name), "%s/%s", l->folder, file);
	rc = l->fn(l->arg, name);
	if (rc > 0)
		rc = unlinkat(dir_fd, file, 0) && errno != ENOENT ? -errno : 0;
	return rc;
}

static int
list_folder(void *arg, const char *folder)
{
	struct listing *l = arg;

	l->folder = folder;
	return orphans_idle(l->s->profiles_fd, folder, list_file, l);
}

static int
list(struct store *s, struct bytes_at *at, bytes_listed *fn, void *arg)
{
	struct listing l = {s, fn, arg, NULL};

	(void)at;
	return folder_each(s->profiles_fd, list_folder, &l);
}

const struct bytes_driver bytes_file = {BYTES_FILE, put, get, drop, list};
