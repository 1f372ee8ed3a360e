#include "base/file.h"

#include "base/id.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define READ_STEP ((size_t)64 << 10)

int
fd_read_all(int fd, struct buf *out)
{
	for (;;) {
		size_t room = out->max - out->len;
		size_t want = room < READ_STEP ? room + 1 : READ_STEP;
		char past, *to;
		ssize_t n;

		if (!room) { /* full: no error if the file ends here */
			n = read(fd, &past, 1);
			return n < 0 ? -errno : n ? -E2BIG : 0;
		}
		if (want > room)
			want = room;
		to = buf_reserve(out, want);
		if (!to)
			return buf_err(out);
		n = read(fd, to, want);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			to[0] = '\0';
			return n < 0 ? -errno : 0;
		}
		out->len += (size_t)n;
	}
}

int
fd_read_at(int fd, int64_t start, int64_t n, struct buf *out)
{
	char *p = buf_reserve(out, (size_t)n);
	ssize_t got;

	if (!p)
		return buf_err(out);
	for (int64_t done = 0; done < n; done += got) {
		got = pread(fd, p + done, (size_t)(n - done), start + done);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got <= 0)
			return got ? -errno : -EBADMSG;
	}
	out->len += (size_t)n;
	return 0;
}

int
file_read(int dir_fd, const char *path, struct buf *out)
{
	CLEANUP_FD int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd_read_all(fd, out);
}

char *
file_absolute(const char *path)
{
	CLEANUP_FREE char *dir = *path == '/' ? NULL : getcwd(NULL, 0);
	char *all = NULL;

	if (*path == '/')
		return strdup(path);
	if (!dir || asprintf(&all, "%s/%s", dir, path) < 0)
		return NULL;
	return all;
}

int
fd_write_all(int fd, const void *p, size_t n)
{
	const char *from = p;

	while (n) {
		ssize_t put = write(fd, from, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		from += put;
		n -= (size_t)put;
	}
	return 0;
}

bool
fd_hung_up(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 1;
}

void
fd_start_writing(int fd)
{
	/* On a file system without this call, the sync writes everything. */
	(void)!sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

static int
write_synced(int dir_fd, const char *name, mode_t mode, const void *p, size_t n)
{
	int rc;
	CLEANUP_FD int fd = openat(
		dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	if (fd < 0)
		return -errno;
	rc = fd_write_all(fd, p, n);
	if (!rc && fsync(fd))
		rc = -errno;
	return rc;
}

int
file_replace(int dir_fd, const char *name, mode_t mode, const void *p, size_t n)
{
	char temp[ID_MAX];
	int rc;

	id_new(".tmp-", temp);
	rc = write_synced(dir_fd, temp, mode, p, n);
	if (!rc && renameat(dir_fd, temp, dir_fd, name))
		rc = -errno;
	if (!rc && fsync(dir_fd))
		rc = -errno;
	if (rc)
		unlinkat(dir_fd, temp, 0);
	return rc;
}
