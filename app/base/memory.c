#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

double
memory_most_api(const struct conf *c)
{
	/* While an importer reads a large file, its API process has the file
	 * and decodes what comes back: each within a request's memory. */
	double import = 2 * (double)c->api_request_memory;
	double process = (double)(MEMORY_API_PROCESS + MEMORY_IMPORTER);

	return (double)c->api_heavy * import +
	       (double)(c->api_pool + c->api_heavy) * process +
	       (double)c->api_kept_bytes;
}

double
memory_most_keeper(const struct conf *c)
{
	(void)c;
	return (double)(MEMORY_KEEPER + MEMORY_SUMS);
}

/* One child of the analyser at a time may use as much memory as the
 * analyser. */
double
memory_most_worker(const struct conf *c)
{
	return 2 * (double)c->worker_memory +
	       (double)(memory_children(c) * MEMORY_CHILD + MEMORY_OPENER +
	                MEMORY_SCHEDULER + 2 * MEMORY_FETCHER + MEMORY_BODIES +
	                MEMORY_DELIVERIES + MEMORY_PUSHED + MEMORY_READINGS +
	                MEMORY_COPIES);
}

static int
bound(rlim_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit))
		return -errno;
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	return setrlimit(RLIMIT_DATA, &limit) ? -errno : 0;
}

int
memory_bound_by(int statm_fd, int64_t bytes)
{
	unsigned long pages;
	char text[256];
	ssize_t n = pread(statm_fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	if (sscanf(text, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		return -EIO;
	return bound(pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)bytes);
}

int
memory_bound(int64_t bytes)
{
	CLEANUP_FD int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : memory_bound_by(fd, bytes);
}

int
memory_unbound(void)
{
	return bound(RLIM_INFINITY);
}
