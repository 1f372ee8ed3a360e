/*
 * Takes over a running part of the worker: stops it, takes its sockets, and
 * asks the opener, in the part's place, every question about a process.
 *
 * 	takeover PART-PID PID
 *
 * Prints a line "QUESTION ERROR" for each row of host.def that is about
 * processes, the error by its name. The part continues afterwards. Exit
 * status: 0 if it asked, 1 if no socket of the part leads to the opener.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "capture/ranges.h"
#include "worker/ipc/messages.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE_S 8 /* longer than the opener's wait for a target */
#define QUIET_MS   1000

static const struct {
	enum host_op op;
	const char *name;
	enum host_whose whose;
} rows[] = {
#define HOST_OP(op, handler, whose, by, doc) {HOST_##op, #op, HOST_OF_##whose},
#include "capture/host.def"
#undef HOST_OP
};

static int
ask_about(int fd, enum host_op op, int32_t pid, struct host_reply *reply)
{
	struct host_ask ask = {.op = op,
	                       .pid = pid,
	                       .size = 64,
	                       .count = op == HOST_SHARED ? 2 : 1,
	                       .list = {pid, pid}};
	struct memory_range r = {.addr = 4096, .len = 8};
	int fds[HOST_MAX_FDS] = {-1};
	size_t nfds = 0;
	int rc;

	if (op == HOST_RANGES) {
		fds[0] = memfd_create("ranges", MFD_CLOEXEC);
		nfds = write(fds[0], &r, sizeof(r)) == sizeof(r);
	}
	rc = worker_ask(fd, &ask, reply, fds, &nfds);
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	return rc;
}

/* Waits until the part has stopped, and discards the opener's remaining
 * answers. */
static void
let_it_stop(pid_t part, int fd)
{
	struct pollfd event = {.fd = fd, .events = POLLIN};
	char path[64], state = 0, sink[sizeof(struct host_reply)];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)part);
	while (state != 'T' && !kill(part, 0)) {
		FILE *f = fopen(path, "re");

		if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (f)
			fclose(f);
		poll(NULL, 0, 10);
	}
	while (poll(&event, 1, QUIET_MS) > 0 &&
	       recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
		;
}

/* True if the opener answers on this socket. */
static bool
is_answered(pid_t part, int fd)
{
	const struct timeval patience = {PATIENCE_S, 0};
	struct host_reply reply;
	int type;
	socklen_t n = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) ||
	    type != SOCK_SEQPACKET ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
	               sizeof(patience)))
		return false;
	let_it_stop(part, fd);
	return !ask_about(fd, HOST_ALIVE, 0, &reply);
}

/* Returns a copy of the part's socket to the opener, or -1. */
static int
take_socket(pid_t part, int pidfd)
{
	char folder[64];
	const struct dirent *e;
	DIR *d;
	int fd = -1;

	snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)part);
	d = opendir(folder);
	while (d && fd < 0 && (e = readdir(d))) {
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(e->d_name), 0);
		if (fd >= 0 && (*e->d_name == '.' || !is_answered(part, fd)))
			close_ptr(&fd);
	}
	if (d)
		closedir(d);
	return fd;
}

static int
ask_everything(int fd, int32_t pid)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct host_reply reply;
		const char *said;

		if (rows[i].whose == HOST_OF_NOBODY)
			continue;
		if (ask_about(fd, rows[i].op, pid, &reply))
			return 1;
		said = reply.error ? strerrorname_np(-reply.error) : "answered";
		/* of a list, other names are omitted */
		if ((rows[i].op == HOST_USAGE && !reply.value) ||
		    (rows[i].op == HOST_SHARED && reply.error == -ESRCH))
			said = "nothing";
		printf("%s %s\n", rows[i].name, said ? said : "?");
	}
	return 0;
}

int
main(int argc, char **argv)
{
	pid_t part = argc == 3 ? atoi(argv[1]) : 0;
	int pidfd = part > 0 ? (int)syscall(SYS_pidfd_open, part, 0) : -1;
	int fd, status;

	if (pidfd < 0) {
		fputs("usage: takeover PART-PID PID\n", stderr);
		return 1;
	}
	kill(part, SIGSTOP);
	fd = take_socket(part, pidfd);
	status = fd < 0 ? 1 : ask_everything(fd, atoi(argv[2]));
	kill(part, SIGCONT);
	return status;
}
