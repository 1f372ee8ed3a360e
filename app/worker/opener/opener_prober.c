#include "opener_prober.h"

#include "base/log.h"
#include "base/msg.h"
#include "capture/allocs.h"
#include "capture/inuse.h"
#include "sandbox/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The programs of a child, of its kind. */
struct programs {
	enum prober_of of;
	unsigned budget; /* per process, in thousandths of a CPU */
	union {
		struct allocs allocs;
		struct inuse inuse;
		int fds[PROBER_FDS]; /* what either has */
	};
};

#define FDS(of)                                           \
	(((of) == PROBER_INUSE ? sizeof(struct inuse)     \
	                       : sizeof(struct allocs)) / \
	 sizeof(int))
_Static_assert(sizeof(struct inuse) == PROBER_FDS * sizeof(int) &&
                       sizeof(struct allocs) <= sizeof(struct inuse),
               "both have only descriptors");

static void
programs_close(struct programs *p)
{
	if (p->of == PROBER_INUSE)
		inuse_close(&p->inuse);
	else
		allocs_close(&p->allocs);
}

/* Closes all descriptors that the child does not need, and watches. */
static void
work(const struct programs *p, int socket, int hold, unsigned budget)
{
	const struct allocs *a = &p->allocs;
	const struct inuse *u = &p->inuse;
	int of_allocs[] = {
		a->slots_fd,     a->outputs_fd, a->calls_fd, a->prog_fd,
		a->arguments_fd, a->sampled_fd, socket,      hold};
	int of_inuse[] = {u->slots_fd,     u->sets_fd,    u->outputs_fd,
	                  u->calls_fd,     u->hold_fd,    u->free_fd,
	                  u->arguments_fd, u->sampled_fd, u->released_fd,
	                  socket,          hold};

	if (p->of == PROBER_INUSE) {
		if (!privilege_close_but(of_inuse, ARRAY_LEN(of_inuse)))
			inuse_run(u, socket, hold, budget);
	} else if (!privilege_close_but(of_allocs, ARRAY_LEN(of_allocs))) {
		allocs_run(a, socket, hold, budget);
	}
}

static void
be_prober(const struct programs *p, int socket, int hold, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() == parent)
		work(p, socket, hold, p->budget);
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
start(struct prober *p, const struct programs *with, int *hold)
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
		be_prober(with, pair[1], pipe_fds[0], self);
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

/* Moves the maps that the client may keep into fds[]; returns their number. */
static size_t
hand_out(struct programs *p, int *fds)
{
	size_t n = 0;

	if (p->of == PROBER_ALLOCS) {
		fds[n++] = TAKE_FD(p->allocs.outputs_fd);
		fds[n++] = TAKE_FD(p->allocs.interps_fd);
		fds[n++] = TAKE_FD(p->allocs.slots_fd);
		return n;
	}
	fds[n++] = TAKE_FD(p->inuse.outputs_fd);
	fds[n++] = TAKE_FD(p->inuse.interps_fd);
	fds[n++] = TAKE_FD(p->inuse.slots_fd);
	fds[n++] = TAKE_FD(p->inuse.sets_fd);
	return n;
}

int
prober_load(enum prober_of of, int fds[static PROBER_FDS], size_t *nfds)
{
	struct programs with;
	int rc = of == PROBER_INUSE ? inuse_open(&with.inuse)
	                            : allocs_open(&with.allocs);

	if (rc)
		return rc;
	*nfds = FDS(of);
	memcpy(fds, with.fds, *nfds * sizeof(*fds));
	return 0;
}

int
prober_start(struct prober all[static PROBERS], enum prober_of of, int client,
             int64_t percent, int fds[static PROBER_FDS], size_t *nfds)
{
	struct programs with = {.of = of, .budget = (unsigned)percent * 10};
	struct prober *p = &all[of];
	int rc;

	end(p);
	memcpy(with.fds, fds, FDS(of) * sizeof(*fds));
	*nfds = 0;
	rc = start(p, &with, &fds[0]);
	p->client = client;
	if (!rc)
		*nfds = 1 + hand_out(&with, &fds[1]);
	programs_close(&with);
	return rc;
}

int
prober_watch(const struct prober all[static PROBERS],
             const struct host_ask *ask, int file)
{
	const struct prober *p =
		&all[ask->size & 2 ? PROBER_INUSE : PROBER_ALLOCS];
	struct allocs_of m = {.pid = ask->pid,
	                      .n = ask->count,
	                      .late = ask->size & 1,
	                      .group = (ask->size >> 2) % ALLOCS_GROUPS};

	if (!p->pid)
		return -ECHILD;
	if (m.n > ALLOCS_MAX_PLACES || (m.n && file < 0))
		return -EINVAL;
	memcpy(m.places, ask->list, m.n * sizeof(*m.places));
	return msg_try_send(p->socket, &m, allocs_of_bytes(m.n), &file,
	                    m.n > 0);
}

void
prober_leave(struct prober all[static PROBERS], int client)
{
	for (int i = 0; i < PROBERS; i++)
		if (all[i].pid && all[i].client == client)
			end(&all[i]);
}

void
prober_child_ended(struct prober all[static PROBERS], pid_t pid)
{
	for (int i = 0; i < PROBERS; i++) {
		if (all[i].pid != pid)
			continue;
		log_debug("allocations are not watched any more");
		close_ptr(&all[i].socket);
		all[i] = (struct prober){.socket = -1};
	}
}
