#include "pid_file.h"

#include "cli.h"
#include "files.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBER_MOST 16 /* bytes of a pid, with white space */

int
pid_file_path(const char *service, struct buf *out)
{
	int rc;

	token_home(out);
	if (!out->len)
		return failed("HOME is not set: nowhere to keep a pid file");
	rc = buf_err(out) ? buf_err(out) : folders_make(out->p);
	if (rc)
		return failed("%s: %s", buf_str(out), strerror(-rc));
	buf_addf(out, "/%s.pid", service);
	return LEAVE_OK;
}

static bool
ends_as_pid_file(const char *path)
{
	size_t n = strlen(path);

	return *path == '/' && n > 4 && !strcmp(path + n - 4, ".pid");
}

/* True if the file is this user's and contains nothing worth keeping. */
static bool
is_pid_file(int fd)
{
	char text[NUMBER_MOST + 1] = "";
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_size > NUMBER_MOST)
		return false;
	n = pread(fd, text, NUMBER_MOST, 0);
	return n >= 0 && strspn(text, "0123456789 \n") == (size_t)n;
}

/* Prints why the file is not used. The server may have chosen its path. */
static int
refuse(const char *path, const char *why)
{
	CLEANUP_BUF struct buf out = BUF_INIT(BUF_MAX_SMALL);

	safe_puts(&out, path);
	return failed("the pid file %s: %s", buf_str(&out), why);
}

int
pid_file_open(const char *path, int *out)
{
	CLEANUP_FD int fd = -1;

	if (!ends_as_pid_file(path))
		return refuse(path, "its name does not end in .pid, so it is "
		                    "not written");
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
	          0644);
	if (fd < 0)
		return refuse(path, strerror(errno));
	if (!is_pid_file(fd))
		return refuse(path, "it is not a pid file of this user, so it "
		                    "is not written");
	if (flock(fd, LOCK_EX | LOCK_NB))
		return refuse(path, "it is in use: another command is being "
		                    "profiled for the same service");
	if (ftruncate(fd, 0))
		return refuse(path, strerror(errno));
	*out = TAKE_FD(fd);
	return LEAVE_OK;
}

void
pid_file_close(int *fd)
{
	if (*fd >= 0 && ftruncate(*fd, 0))
		fprintf(stderr, "stoker: warning: the pid file: %s\n",
		        strerror(errno));
	close_ptr(fd);
}
