#include "capture/host.h"

#include <errno.h>

int
host_fd(const struct host *h, const struct host_ask *ask, int *fd)
{
	struct host_reply reply;
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;
	int rc = h->ask(h->arg, ask, &reply, fds, &nfds);

	if (!rc)
		rc = reply.error;
	if (!rc && nfds != 1)
		rc = -EBADMSG;
	for (size_t i = 0; rc && i < nfds; i++)
		close(fds[i]);
	if (!rc)
		*fd = fds[0];
	return rc;
}
