#include "capture/threads.h"

#include "base/file.h"
#include "capture/host.h"

#include <errno.h>
#include <unistd.h>

int
threads_list(const struct host *host, int32_t pid, struct buf *out)
{
	struct host_ask ask = {.op = HOST_TASKS, .pid = pid};
	CLEANUP_FD int fd = -1;
	int rc = host_fd(host, &ask, &fd);

	if (!rc && lseek(fd, 0, SEEK_SET))
		rc = -errno;
	return rc ? rc : fd_read_all(fd, out);
}
