#include "opener_journal.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * True if only this user, usually root, can have written to fd. The mode's bits
 * for the group also bound the entries of an access control list. A file with
 * two names may have been linked here by another user, and is refused.
 */
static bool
is_ours_alone(int fd, mode_t type)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == type &&
	       st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       (type == S_IFDIR || st.st_nlink == 1);
}

int
journal_open(const char *state_dir, const char *name, int *out)
{
	CLEANUP_FD int dir = open(state_dir, O_RDONLY | O_DIRECTORY |
	                                             O_NOFOLLOW | O_CLOEXEC);
	CLEANUP_FD int fd = -1;

	if (dir < 0)
		return -errno;
	if (!is_ours_alone(dir, S_IFDIR))
		return -EACCES;
	fd = openat(dir, name,
	            O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	            0600);
	if (fd < 0)
		return -errno;
	if (!is_ours_alone(fd, S_IFREG))
		return -EACCES;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return -errno;
	*out = TAKE_FD(fd);
	return 0;
}

int
journal_boot_id(char out[static BOOT_ID])
{
	CLEANUP_BUF struct buf boot = BUF_INIT(128);
	int rc = file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &boot);

	if (!rc)
		snprintf(out, BOOT_ID, "%.36s", buf_str(&boot));
	return rc;
}
