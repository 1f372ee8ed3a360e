#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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
	fd = -1; /* owned by the stream now */
	*out = d;
	return 0;
}

void
folder_close(DIR **d)
{
	if (*d)
		closedir(*d);
}

int
folder_open_tasks(int proc_fd, int32_t pid, DIR **out)
{
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "%s%d/task",
	         proc_fd == AT_FDCWD ? "/proc/" : "", pid);
	rc = pid > 0 ? folder_open(proc_fd, path, out) : -EINVAL;
	return rc == -ENOENT ? -ESRCH : rc;
}

int32_t
folder_next_number(DIR *d)
{
	const struct dirent *e;

	while ((e = readdir(d))) {
		char *end;
		long n = strtol(e->d_name, &end, 10);

		if (!*end && n > 0 && n <= INT32_MAX)
			return (int32_t)n;
	}
	return 0;
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
