#include "opener_prober.h"

#include "base/log.h"
#include "base/msg.h"
#include "capture/allocs.h"
#include "worker/ipc/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* For each process, in thousandths of a CPU. */
#define BUDGET 30

static void
be_prober(const struct allocs *a, int socket, int hold, pid_t parent)
{
	int keep[] = {a->slots_fd, a->outputs_fd, a->calls_fd,
	              a->prog_fd,  socket,        hold};
	sigset_t none;

	privilege_close_but(keep, ARRAY_LEN(keep));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() == parent)
		allocs_run(a, socket, hold, BUDGET);
	_exit(0);
}

static void
end(struct prober *p)
{
	if (!p->pid)
		return;
	kill(p->pid, SIGKILL);
	close_ptr(&p->socket);
	*p = (struct prober){.socket = -1};
}

static int
start(struct prober *p, const struct allocs *a, int *hold)
{
	pid_t self = getpid();
	int pair[2], pipe_fds[2];
	int rc = msg_pair(pair);

	if (rc)
		return rc;
	if (pipe2(pipe_fds, O_CLOEXEC)) {
		rc = -errno;
		close(pair[0]);
		close(pair[1]);
		return rc;
	}
	p->pid = fork();
	if (p->pid == 0) {
		close(pipe_fds[1]);
		be_prober(a, pair[1], pipe_fds[0], self);
	}
	rc = p->pid < 0 ? -errno : 0;
	close(pair[1]);
	close(pipe_fds[0]);
	if (rc) {
		p->pid = 0;
		close(pair[0]);
		close(pipe_fds[1]);
		return rc;
	}
	p->socket = pair[0];
	*hold = pipe_fds[1];
	return 0;
}

int
prober_start(struct prober *p, int client, int fds[static PROBER_FDS])
{
	struct allocs a;
	int rc;

	end(p);
	rc = allocs_open(&a);
	if (rc)
		return rc;
	rc = start(p, &a, &fds[2]);
	p->client = client;
	if (!rc) {
		fds[0] = TAKE_FD(a.outputs_fd);
		fds[1] = TAKE_FD(a.pythons_fd);
	}
	allocs_close(&a);
	return rc;
}

int
prober_watch(const struct prober *p, const struct host_ask *ask, int file)
{
	struct allocs_of m = {
		.pid = ask->pid, .n = ask->count, .late = ask->size == 1};

	if (!p->pid)
		return -ECHILD;
	if (m.n > ALLOCS_MAX_PLACES || (m.n && file < 0))
		return -EINVAL;
	for (uint32_t i = 0; i < m.n; i++) {
		const int32_t *row = &ask->list[3 * i];
		uint32_t regs = (uint32_t)row[2];

		m.places[i] = (struct allocs_place){
			.offset = (uint32_t)row[0] | (uint64_t)(uint32_t)row[1]
		                                             << 32,
			.size = regs & 15,
			.count = regs >> 4 & 15,
			.has_count = regs >> 8 & 1,
			.unless = regs >> 9 & 15,
			.has_unless = regs >> 13 & 1,
		};
	}
	return msg_send(p->socket, &m, sizeof(m), &file, m.n > 0);
}

void
prober_leave(struct prober *p, int client)
{
	if (p->pid && p->client == client)
		end(p);
}

void
prober_child_ended(struct prober *p, pid_t pid)
{
	if (p->pid != pid)
		return;
	log_debug("allocations are not watched any more");
	close_ptr(&p->socket);
	*p = (struct prober){.socket = -1};
}
