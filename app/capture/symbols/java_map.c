#include "java_map.h"

#include "base/file.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define MAX_MAPS ((size_t)16 << 20)
#define WAIT_MS  10000 /* the helper that asks is killed sooner */

bool
java_map_is_jvm(const struct host *host, int32_t pid)
{
	CLEANUP_BUF struct buf maps = BUF_INIT(MAX_MAPS);
	struct host_ask ask = {.op = HOST_MAPS, .pid = pid};
	CLEANUP_FD int fd = -1;

	return !host_fd(host, &ask, &fd) && !fd_read_all(fd, &maps) &&
	       strstr(buf_str(&maps), "/libjvm.so");
}

static int
read_end(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	int32_t rc;

	if (poll(&p, 1, WAIT_MS) != 1 ||
	    read(fd, &rc, sizeof(rc)) != sizeof(rc))
		return -ETIMEDOUT;
	return rc > 0 ? -EPROTO : rc;
}

int
java_map_ask(const struct host *host, int32_t pid, uint64_t age_ns)
{
	struct host_ask ask = {
		.op = HOST_JAVA, .pid = pid, .period_ns = age_ns};
	CLEANUP_FD int fd = -1;
	int rc = host_fd(host, &ask, &fd);

	return rc ? rc : read_end(fd);
}
