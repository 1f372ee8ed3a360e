#include "folder.h"

#include "base/clock.h"
#include "base/id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define GROUP_MODE 0770

static int
open_to_group(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if ((st.st_mode & GROUP_MODE) != GROUP_MODE &&
	    fchmod(fd, (st.st_mode & 07777) | GROUP_MODE))
		return -errno;
	return 0;
}

int
folder_make(int dir_fd, const char *name, int *out)
{
	bool made = !mkdirat(dir_fd, name, GROUP_MODE);
	CLEANUP_FD int fd = -1;
	int rc;

	if (!made && errno != EEXIST)
		return -errno;
	fd = openat(dir_fd, name,
	            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = fd < 0 ? -errno : 0;
	if (!rc && made)
		rc = open_to_group(fd);
	if (!rc && made && fsync(dir_fd))
		rc = -errno;
	if (rc && made)
		unlinkat(dir_fd, name, AT_REMOVEDIR);
	if (!rc)
		*out = TAKE_FD(fd);
	return rc;
}

int
folder_open(int dir_fd, const char *name, DIR **out)
{
	CLEANUP_FD int fd = openat(
		dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d)
		return -errno;
	fd = -1; /* the stream's now */
	*out = d;
	return 0;
}

void
folder_close(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* A regular file that nobody has written to for so long. */
static bool
is_old(int dir_fd, const char *name, int64_t age_ms)
{
	struct stat st;

	return !fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st.st_mode) &&
	       st.st_mtim.tv_sec * MS_PER_S + st.st_mtim.tv_nsec / NS_PER_MS +
	                       age_ms <=
	               clock_wall_ms();
}

/* 1, 0 or -errno. */
static int
is_known(struct db *db, enum sql known, const char *file)
{
	CLEANUP_ROWS struct db_rows rows = {0};
	char id[ID_MAX];
	int rc;

	snprintf(id, sizeof(id), "%.*s", (int)strcspn(file, "."), file);
	rc = db_query(db, known, ARGS(V(id)), &rows);
	return rc ? rc : db_next(&rows);
}

int
folder_each(int dir_fd, folder_entry *fn, void *arg)
{
	CLEANUP_FOLDER DIR *d = NULL;
	const struct dirent *e;
	int rc = folder_open(dir_fd, ".", &d);

	while (!rc && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = fn(arg, e->d_name);
	return rc;
}

static bool
is_hidden(const char *name)
{
	return name[0] == '.' && name[1];
}

int
folder_orphans(struct db *db, int dir_fd, const char *name, enum sql known,
               int64_t orphan_ms, folder_found *found, void *arg)
{
	CLEANUP_FOLDER DIR *d = NULL;
	const struct dirent *e;
	int rc = is_hidden(name) ? 0 : folder_open(dir_fd, name, &d);

	while (!rc && d && (e = readdir(d))) {
		if (e->d_name[0] == '.' ||
		    !is_old(dirfd(d), e->d_name, orphan_ms))
			continue;
		rc = is_known(db, known, e->d_name);
		rc = rc < 0 ? rc : rc ? 0 : found(arg, dirfd(d), e->d_name);
	}
	return rc == -ENOTDIR ? 0 : rc;
}

static int
sweep_one(void *arg, int dir_fd, const char *file)
{
	int *n = arg;

	*n += !unlinkat(dir_fd, file, 0);
	return 0;
}

int
folder_sweep(struct db *db, int dir_fd, const char *name, enum sql known,
             int64_t orphan_ms, int *n)
{
	return folder_orphans(db, dir_fd, name, known, orphan_ms, sweep_one, n);
}
