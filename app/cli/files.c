#include "files.h"

#include "base/file.h"
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
folders_make(char *path)
{
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, 0700) && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

int
read_named(const char *file, struct buf *out)
{
	int rc = strcmp(file, "-") ? file_read(AT_FDCWD, file, out)
	                           : fd_read_all(STDIN_FILENO, out);

	return rc ? failed("%s: %s", file, strerror(-rc)) : LEAVE_OK;
}

int
write_named(const char *path, const struct buf *body)
{
	CLEANUP_FREE char *copy = strdup(path);
	CLEANUP_FD int dir = -1;
	char *slash = copy ? strrchr(copy, '/') : NULL;
	int rc;

	if (!strcmp(path, "-"))
		return print(body);
	if (!copy)
		return failed("out of memory");
	if (slash)
		*slash = '\0';
	dir = open(!slash  ? "."
	           : *copy ? copy
	                   : "/",
	           O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return failed("%s: %s", path, strerror(errno));
	rc = file_replace(dir, slash ? slash + 1 : path, 0644, buf_str(body),
	                  body->len);
	return rc ? failed("%s: %s", path, strerror(-rc)) : LEAVE_OK;
}
