#include "lib/faults.h"

#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static fault_hook *watching;
static void *watching_arg;
static bool inside;

void
fault_watch(fault_hook *hook, void *arg)
{
	watching_arg = arg;
	watching = hook;
}

void
fault_rest(void)
{
	watching = NULL;
}

/* True if the call is to fail; sets errno. */
static bool
refused(const char *call, const char *path)
{
	int err;

	if (!watching || inside)
		return false;
	inside = true;
	err = watching(watching_arg, call, path);
	inside = false;
	if (err)
		errno = err;
	return err != 0;
}

/* Makes the call, unless a test refuses it. */
#define CALL(path, number, ...) \
	(refused(__func__, path) ? -1 : syscall(number, __VA_ARGS__))

int
openat(int dir_fd, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	return (int)CALL(path, SYS_openat, dir_fd, path, flags, mode);
}

int
open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	return (int)CALL(path, SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t
pread(int fd, void *p, size_t n, off_t at)
{
	return CALL("", SYS_pread64, fd, p, n, at);
}

ssize_t
pwrite(int fd, const void *p, size_t n, off_t at)
{
	return CALL("", SYS_pwrite64, fd, p, n, at);
}

ssize_t
write(int fd, const void *p, size_t n)
{
	return CALL("", SYS_write, fd, p, n);
}

ssize_t
sendfile(int to, int from, off_t *at, size_t n)
{
	return CALL("", SYS_sendfile, to, from, at, n);
}

int
fsync(int fd)
{
	return (int)CALL("", SYS_fsync, fd);
}

int
syncfs(int fd)
{
	return (int)CALL("", SYS_syncfs, fd);
}

int
ftruncate(int fd, off_t n)
{
	return (int)CALL("", SYS_ftruncate, fd, n);
}

int
fchmod(int fd, mode_t mode)
{
	return (int)CALL("", SYS_fchmod, fd, mode);
}

int
mkdirat(int dir_fd, const char *path, mode_t mode)
{
	return (int)CALL(path, SYS_mkdirat, dir_fd, path, mode);
}

int
mkdir(const char *path, mode_t mode)
{
	return (int)CALL(path, SYS_mkdirat, AT_FDCWD, path, mode);
}

int
unlinkat(int dir_fd, const char *path, int flags)
{
	return (int)CALL(path, SYS_unlinkat, dir_fd, path, flags);
}

int
renameat2(int from_fd, const char *from, int to_fd, const char *to,
          unsigned flags)
{
	return (int)CALL(to, SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int
renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return (int)CALL(to, SYS_renameat2, from_fd, from, to_fd, to, 0);
}

int
rename(const char *from, const char *to)
{
	return (int)CALL(to, SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

#if !SANITIZED
void *__libc_malloc(size_t n);

void *
malloc(size_t n)
{
	return refused("malloc", "") ? NULL : __libc_malloc(n);
}
#endif
