#include "base/memory.h"

#include "base/buf.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int
memory_bound(int64_t bytes)
{
	CLEANUP_BUF struct buf text = BUF_INIT(256);
	unsigned long pages;
	struct rlimit limit;
	int rc = file_read(AT_FDCWD, "/proc/self/statm", &text);

	if (rc)
		return rc;
	if (sscanf(buf_str(&text), "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		return -EIO;
	if (getrlimit(RLIMIT_DATA, &limit))
		return -errno;
	limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)bytes;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_DATA, &limit) ? -errno : 0;
}
