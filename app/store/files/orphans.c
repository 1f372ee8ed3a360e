#include "orphans.h"

#include "base/folder.h"
#include "base/id.h"
#include "store/db/row.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static int
lock(int fd)
{
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

int
orphans_lock(int fd)
{
	struct stat st;
	int rc = lock(fd);

	if (rc)
		return rc;
	if (fstat(fd, &st))
		return -errno;
	return st.st_nlink ? 0 : -EAGAIN;
}

int
orphans_open(int dir_fd, const char *file, int *out_fd)
{
	CLEANUP_FD int fd = openat(
		dir_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int rc;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	rc = lock(fd);
	if (rc)
		return rc;
	*out_fd = TAKE_FD(fd);
	return 0;
}

int
orphans_known(struct db *db, enum sql known, const char *file)
{
	char id[ID_MAX];

	snprintf(id, sizeof(id), "%.*s", (int)strcspn(file, "."), file);
	return row_any(db, known, ARGS(V(id)));
}

static bool
is_hidden(const char *name)
{
	return name[0] == '.' && name[1];
}

int
orphans_idle(int dir_fd, const char *name, orphans_found *found, void *arg)
{
	CLEANUP_FOLDER DIR *d = NULL;
	const struct dirent *e;
	int rc = is_hidden(name) ? 0 : folder_open(dir_fd, name, &d);

	while (!rc && d && (e = readdir(d))) {
		CLEANUP_FD int fd = -1;

		if (e->d_name[0] != '.' &&
		    !orphans_open(dirfd(d), e->d_name, &fd))
			rc = found(arg, dirfd(d), e->d_name);
	}
	return rc == -ENOTDIR ? 0 : rc;
}

struct unknown {
	struct db *db;
	enum sql known;
	orphans_found *found;
	void *arg;
};

/* The file is locked here, so a row that its writer committed is visible. */
static int
look_at(void *arg, int dir_fd, const char *file)
{
	const struct unknown *u = arg;
	int rc = orphans_known(u->db, u->known, file);

	return rc < 0 ? rc : rc ? 0 : u->found(u->arg, dir_fd, file);
}

int
orphans_each(struct db *db, int dir_fd, const char *name, enum sql known,
             orphans_found *found, void *arg)
{
	struct unknown u = {db, known, found, arg};

	return orphans_idle(dir_fd, name, look_at, &u);
}

static int
sweep_one(void *arg, int dir_fd, const char *file)
{
	int *n = arg;

	*n += !unlinkat(dir_fd, file, 0);
	return 0;
}

int
orphans_sweep(struct db *db, int dir_fd, const char *name, enum sql known,
              int *n)
{
	return orphans_each(db, dir_fd, name, known, sweep_one, n);
}
