#include "java_socket.h"

#include "base/clock.h"
#include "java_text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The request in protocol 1: version, command, three arguments. */
static const char question[] = "1\0jcmd\0Compiler.perfmap\0\0";

int
java_wait(int fd, short events, int64_t until_ns)
{
	struct pollfd p = {fd, events, 0};
	int64_t left = until_ns - clock_mono_ns();
	int n = left > 0 ? poll(&p, 1, (int)(left / NS_PER_MS) + 1) : 0;

	return n < 0 ? -errno : n ? 0 : -ETIMEDOUT;
}

/* Finds the socket's file, which must belong to the JVM: anyone may create a
 * file of that name. */
static int
open_socket_file(const struct java_jvm *j, int *out)
{
	char name[32];
	CLEANUP_FD int fd = -1;
	struct stat st;

	snprintf(name, sizeof(name), ".java_pid%d", j->inner);
	fd = openat(j->tmp, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != j->uid)
		return -EACCES;
	*out = TAKE_FD(fd);
	return 0;
}

/* Checks which process listens, as reported by the kernel. */
static int
check_peer(int fd, const struct java_jvm *j)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n))
		return -errno;
	return peer.pid == j->pid && peer.uid == j->uid ? 0 : -EACCES;
}

int
java_connect(const struct java_jvm *j, int *out)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	CLEANUP_FD int place = -1;
	CLEANUP_FD int fd = -1;
	int rc = open_socket_file(j, &place);

	if (rc)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	snprintf(to.sun_path, sizeof(to.sun_path), "/proc/self/fd/%d", place);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return errno == EAGAIN ? -EBUSY : -errno;
	rc = check_peer(fd, j);
	if (!rc)
		*out = TAKE_FD(fd);
	return rc;
}

/* Reads the whole answer, which ends once the map is written. */
static int
read_answer(int fd, int64_t until_ns)
{
	char text[JAVA_MAX_ANSWER];

	for (size_t have = 0; have < sizeof(text);) {
		int rc = java_wait(fd, POLLIN, until_ns);
		ssize_t n = rc ? 0 : read(fd, text + have, sizeof(text) - have);

		if (rc || n < 0)
			return rc ? rc : -errno;
		if (n == 0)
			return java_parse_answer(text, have);
		have += (size_t)n;
	}
	return -EMSGSIZE;
}

int
java_talk(int fd, int64_t until_ns)
{
	ssize_t n = send(fd, question, sizeof(question), MSG_NOSIGNAL);

	if (n != sizeof(question))
		return n < 0 ? -errno : -EIO;
	return read_answer(fd, until_ns);
}
