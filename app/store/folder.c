#include "folder.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

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

bool
folder_is_old(int dir_fd, const char *name, int64_t age_ms)
{
	struct stat st;

	return !fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st.st_mode) &&
	       st.st_mtim.tv_sec * MS_PER_S + st.st_mtim.tv_nsec / NS_PER_MS +
	                       age_ms <=
	               clock_wall_ms();
}
