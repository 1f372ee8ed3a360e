#include "opener_prober.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/msg.h"
#include "capture/allocs.h"
#include "capture/inuse.h"
#include "sandbox/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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
	int of_allocs[] = {a->slots_fd, a->outputs_fd,   a->calls_fd,
	                   a->prog_fd,  a->arguments_fd, a->sampled_fd,
	                   a->locks_fd, socket,          hold};
	int of_inuse[] = {u->slots_fd,     u->sets_fd,    u->outputs_fd,
	                  u->calls_fd,     u->hold_fd,    u->free_fd,
	                  u->arguments_fd, u->sampled_fd, u->released_fd,
	                  u->locks_fd,     socket,        hold};

	if (p->of == PROBER_INUSE) {
		if (!privilege_close_but(of_inuse, ARRAY_LEN(of_inuse)))
			inuse_run(u, socket, hold, budget);
	} else if (!privilege_close_but(of_allocs, ARRAY_LEN(of_allocs))) {
		allocs_run(a, socket, hold, budget);
	}
}

/* The opener's end of the socket closes when the opener ends, however it ends.
 */
static void
be_prober(const struct programs *p, int socket, int hold)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	work(p, socket, hold, p->budget);
	_exit(0);
}

static size_t
unused_row(const struct probers *ps)
{
	size_t i = 0;

	while (i < PROBERS_ENDING && ps->ending[i])
		i++;
	return i;
}

static size_t
count_unused(const struct probers *ps)
{
	size_t n = 0;

	for (size_t i = 0; i < PROBERS_ENDING; i++)
		n += !ps->ending[i];
	return n;
}

static void
end(struct probers *ps, struct prober *p)
{
	size_t row = unused_row(ps);

	if (!p->pid)
		return;
	if (row < PROBERS_ENDING)
		ps->ending[row] = p->pid;
	close_ptr(&p->socket);
	*p = (struct prober){.socket = -1};
}

static int
start(struct prober *p, const struct programs *with, int *hold)
{
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
		be_prober(with, pair[1], pipe_fds[0]);
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
prober_start(struct probers *ps, enum prober_of of, int client, int64_t percent,
             int fds[static PROBER_FDS], size_t *nfds)
{
	struct programs with = {.of = of, .budget = (unsigned)percent * 10};
	struct prober *p = &ps->all[of];
	int rc;

	end(ps, p);
	memcpy(with.fds, fds, FDS(of) * sizeof(*fds));
	*nfds = 0;
	/* one for each prober that may end, and one for a repair */
	rc = count_unused(ps) > PROBERS ? start(p, &with, &fds[0]) : -EAGAIN;
	p->client = client;
	if (!rc)
		*nfds = 1 + hand_out(&with, &fds[1]);
	programs_close(&with);
	return rc;
}

int
prober_watch(struct probers *ps, const struct host_ask *ask, int file)
{
	const struct prober *p =
		&ps->all[ask->size & 2 ? PROBER_INUSE : PROBER_ALLOCS];
	struct allocs_of m = {.pid = ask->pid,
	                      .n = ask->count,
	                      .late = ask->size & 1,
	                      .group = (ask->size >> 2) % ALLOCS_GROUPS};
	int rc = 0;

	if (!p->pid)
		return -ECHILD;
	if (m.n > ALLOCS_MAX_PLACES || (m.n && file < 0))
		return -EINVAL;
	memcpy(m.places, ask->list, m.n * sizeof(*m.places));
	if (m.n)
		rc = marks_add(ps->marks, file, m.n, m.places);
	return rc
	               ?: msg_try_send(p->socket, &m, allocs_of_bytes(m.n),
	                               &file, m.n > 0);
}

void
prober_leave(struct probers *ps, int client)
{
	for (int i = 0; i < PROBERS; i++)
		if (ps->all[i].pid && ps->all[i].client == client)
			end(ps, &ps->all[i]);
}

/* --- repairs -------------------------------------------------------------- */

/* A file or the memory of a process may never answer. */
#define REPAIR_S 60

static void
be_repairer(const struct marks *m)
{
	struct programs with = {.of = PROBER_ALLOCS};
	sigset_t all;
	size_t n;
	int rc;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	rc = privilege_close_but(NULL, 0)
	             ?: privilege_end_within(REPAIR_S)
	             ?: prober_load(PROBER_ALLOCS, with.fds, &n)
	             ?: marks_repair(m, &with.allocs);
	if (rc)
		log_warn("breakpoints may be left in programs whose "
		         "allocations were watched: %s; they slow calls down "
		         "until the programs restart",
		         strerror(-rc));
	_exit(rc ? 1 : 0);
}

void
probers_repair(struct probers *ps)
{
	size_t row = unused_row(ps);
	struct marks *copy;
	pid_t pid;

	if (!ps->killed || ps->repairer || row == PROBERS_ENDING)
		return;
	copy = marks_copy(ps->marks);
	pid = copy ? fork() : -1;
	if (pid == 0)
		be_repairer(copy);
	free(copy);
	if (pid < 0)
		return;
	log_info("removing breakpoints that a killed process may have left");
	ps->repairs = ps->killed;
	ps->repairer = ps->ending[row] = pid;
}

int
probers_open(struct probers *ps, const char *state_dir)
{
	int rc;

	*ps = (struct probers){0};
	ps->marks = marks_open(state_dir, &rc);
	if (!ps->marks)
		return -ENOMEM;
	/* rates_open() logs what is wrong with the directory */
	if (rc == -ENOSPC || rc == -EDQUOT || rc == -EIO)
		log_warn("%s/" MARKS_JOURNAL ": %s: if all of this worker is "
		         "killed, the next one does not know where breakpoints "
		         "may be left",
		         state_dir, strerror(-rc));
	ps->killed = marks_any(ps->marks);
	return 0;
}

static bool
has_any(const struct probers *ps)
{
	for (int i = 0; i < PROBERS; i++)
		if (ps->all[i].pid)
			return true;
	for (int i = 0; i < PROBERS_ENDING; i++)
		if (ps->ending[i])
			return true;
	return false;
}

/* Forgets a child. Returns false if pid is not a prober or a repairer. */
static bool
forget(struct probers *ps, pid_t pid)
{
	bool found = false;

	for (int i = 0; i < PROBERS; i++) {
		if (ps->all[i].pid != pid)
			continue;
		log_debug("allocations are no longer watched");
		close_ptr(&ps->all[i].socket);
		ps->all[i] = (struct prober){.socket = -1};
		found = true;
	}
	for (int i = 0; i < PROBERS_ENDING; i++) {
		if (ps->ending[i] != pid)
			continue;
		ps->ending[i] = 0;
		found = true;
	}
	return found;
}

/* A repair that fails is tried again when a child is killed, and by the next
 * worker. */
void
prober_child_ended(struct probers *ps, pid_t pid, int status)
{
	bool ordinary = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	if (!forget(ps, pid))
		return;
	if (pid == ps->repairer) {
		ps->repairer = 0;
		ps->killed -= ordinary ? ps->repairs : 0;
		if (ordinary)
			probers_repair(ps);
	} else if (!ordinary) {
		ps->killed++;
		probers_repair(ps);
	}
	if (!ps->killed && !has_any(ps))
		marks_clear(ps->marks);
}

/* Reaps ending children. Returns how many are left. */
static size_t
reap(struct probers *ps)
{
	size_t n = 0;

	for (int i = 0; i < PROBERS_ENDING; i++) {
		pid_t pid = ps->ending[i];
		int status = 0;

		if (pid && waitpid(pid, &status, WNOHANG))
			prober_child_ended(ps, pid, status);
		n += ps->ending[i] != 0;
	}
	return n;
}

void
prober_done(struct probers *ps)
{
	const struct timespec second = {.tv_sec = 1};
	int64_t until_ns = clock_mono_ns() + PROBER_END_S * NS_PER_S;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < PROBERS; i++)
		end(ps, &ps->all[i]);
	while (reap(ps) && clock_mono_ns() < until_ns)
		(void)sigtimedwait(&set, NULL, &second);
}
