#include "capture/host.h"

#include <errno.h>
#include <string.h>

int
host_fd(const struct host *h, const struct host_ask *ask, int *fd)
{
	uint32_t value;

	return host_fd_value(h, ask, fd, &value);
}

int
host_fd_value(const struct host *h, const struct host_ask *ask, int *fd,
              uint32_t *value)
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
	if (!rc) {
		*fd = fds[0];
		*value = reply.value;
	}
	return rc;
}

int
host_value(const struct host *h, const struct host_ask *ask, uint32_t *value)
{
	struct host_reply reply;
	int rc = host_answer(h, ask, &reply);

	if (!rc)
		*value = reply.value;
	return rc;
}

int
host_answer(const struct host *h, const struct host_ask *ask,
            struct host_reply *out)
{
	int fds[HOST_MAX_FDS];
	size_t nfds = 0;
	int rc = h->ask(h->arg, ask, out, fds, &nfds);

	for (size_t i = 0; !rc && i < nfds; i++)
		close(fds[i]);
	return rc ? rc : out->error;
}

void
host_debug_note(const struct host *h, const uint8_t *build_id, uint32_t size,
                enum host_debug_state state)
{
	struct host_debugs *d = h->debugs;
	struct host_debug *row;

	if (!d || !size || size > HOST_BUILD_ID)
		return;
	for (uint32_t i = 0; i < d->n; i++)
		if (d->rows[i].size == size &&
		    !memcmp(d->rows[i].build_id, build_id, size))
			return;
	if (d->n == HOST_MAX_DEBUG)
		return;
	row = &d->rows[d->n++];
	*row = (struct host_debug){.state = state, .size = (uint8_t)size};
	memcpy(row->build_id, build_id, size);
}
