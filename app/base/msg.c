#include "base/msg.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union control {
	char room[CMSG_SPACE(sizeof(int) * MSG_FDS_MAX)];
	struct cmsghdr align;
};

int
msg_pair(int out[static 2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, out))
		return -errno;
	return 0;
}

static int
send_with(int sock, const void *p, size_t len, const int *fds, size_t nfds,
          int flags)
{
	union control control;
	struct iovec iov = {(void *)p, len};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;
	ssize_t n;

	if (nfds > MSG_FDS_MAX)
		return -EINVAL;
	if (nfds) {
		memset(&control, 0, sizeof(control));
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
	}
	do
		n = sendmsg(sock, &m, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int
msg_send(int sock, const void *p, size_t len, const int *fds, size_t nfds)
{
	return send_with(sock, p, len, fds, nfds, 0);
}

int
msg_try_send(int sock, const void *p, size_t len, const int *fds, size_t nfds)
{
	return send_with(sock, p, len, fds, nfds, MSG_DONTWAIT);
}

/* Moves up to room descriptors of m to fds, and closes the rest. Returns the
 * number moved. */
static size_t
take_fds(struct msghdr *m, int *fds, size_t room)
{
	size_t came = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++, came++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (came < room)
				fds[came] = fd;
			else
				close(fd);
		}
	}
	return came;
}

ssize_t
msg_recv(int sock, void *p, size_t max, int *fds, size_t *nfds)
{
	union control control;
	struct iovec iov = {p, max};
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	size_t came, room = nfds ? *nfds : 0;
	ssize_t n;

	do
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	came = take_fds(&m, fds, room);
	if (came > room || (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		for (size_t i = 0; i < came && i < room; i++)
			close(fds[i]);
		return -EMSGSIZE;
	}
	if (nfds)
		*nfds = came;
	return n;
}
