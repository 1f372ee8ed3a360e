#include "program.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#define PID_MAX_LIMIT (1u << 22) /* include/linux/threads.h */
/* Inode of the first pid namespace: PROC_PID_INIT_INO, linux/proc_ns.h. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

uint32_t
program_pids(void)
{
	CLEANUP_BUF struct buf text = BUF_INIT(32);
	unsigned long n = 0;

	if (!file_read(AT_FDCWD, "/proc/sys/kernel/pid_max", &text))
		n = strtoul(buf_str(&text), NULL, 10);
	if (!n || n > PID_MAX_LIMIT)
		n = PID_MAX_LIMIT;
	return ((uint32_t)n + 63) & ~63u;
}

int
program_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st))
		return -errno;
	return st.st_ino == FIRST_PID_NAMESPACE ? 0 : -EXDEV;
}

int
program_keep(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? -errno : copy;
}
