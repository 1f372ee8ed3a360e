#include "opener.h"

#include "base/clock.h"
#include "base/contained.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/notify.h"
#include "opener_walk.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

static void
default_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* --- children ------------------------------------------------------------- */

/* Runs the scheduler; a child never returns from here. */
static void
be_scheduler(const struct opener *o, int ask, int events)
{
	struct worker_sockets sockets = {ask, events};
	int keep[] = {ask, events, o->children->keep_fd};
	int rc;

	rc = privilege_close_but(keep, ARRAY_LEN(keep));
	default_signals();
	rc = rc ?: privilege_drop(&o->who, o->self)
	             ?: memory_bound(MEMORY_SCHEDULER)
	             ?: sandbox_enter_scheduler();
	if (rc)
		log_err("cannot drop privileges: %s", strerror(-rc));
	else
		rc = o->children->scheduler(o->children->arg, o->conf,
		                            &sockets);
	_exit(rc ? 1 : 0);
}

static void
be_analyser(const struct opener *o, int ask, int socket, int blame)
{
	int keep[] = {ask, socket, blame};
	int rc;

	rc = privilege_close_but(keep, ARRAY_LEN(keep))
	             ?: privilege_drop(&o->who, o->self);
	if (!rc)
		rc = o->children->analyser(o->conf, ask, socket, blame);
	if (rc && rc != -EPIPE)
		log_err("analyser: %s", strerror(-rc));
	_exit(rc && rc != -EPIPE ? 1 : 0);
}

static int
start_scheduler(struct opener *o)
{
	int ask[2], events[2];
	int rc = msg_pair(ask);

	if (!rc)
		rc = msg_pair(events);
	if (!rc)
		rc = opener_add_client(o, ask[0]);
	if (rc)
		return rc;
	o->ask = ask[0];
	o->events = events[0];
	o->scheduler = fork();
	if (o->scheduler < 0)
		return -errno;
	if (o->scheduler == 0)
		be_scheduler(o, ask[1], events[1]);
	close(ask[1]);
	close(events[1]);
	return 0;
}

static int
open_blame(int *out)
{
	CLEANUP_FD int fd = memfd_create("stoker-blame", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, sizeof(struct blame)))
		return -errno;
	*out = TAKE_FD(fd);
	return 0;
}

/* Announces the new analyser to the scheduler. */
static int
announce(const struct opener *o, int socket, int blame)
{
	struct msg_analyser m = {.type = MSG_ANALYSER,
	                         .pid = o->analyser,
	                         .generation = o->generation};
	int fds[] = {socket, blame};

	return msg_send(o->events, &m, sizeof(m), fds, ARRAY_LEN(fds));
}

static int
start_analyser(struct opener *o)
{
	int ask[2] = {-1, -1}, socket[2] = {-1, -1};
	CLEANUP_FD int blame = -1;
	int rc = open_blame(&blame);

	if (!rc)
		rc = msg_pair(ask);
	if (!rc)
		rc = msg_pair(socket);
	if (!rc)
		rc = opener_add_client(o, ask[0]);
	if (rc)
		return rc;
	o->generation++;
	o->ask_analyser = ask[0];
	o->watchdog.analyser = (struct watched){0};
	o->analyser = fork();
	if (o->analyser < 0)
		return -errno;
	if (o->analyser == 0)
		be_analyser(o, ask[1], socket[1], blame);
	close(ask[1]);
	close(socket[1]);
	rc = announce(o, socket[0], blame);
	close(socket[0]);
	return rc;
}

/* True unless analysers die so often that it is better to have none. */
static bool
may_restart(struct opener *o)
{
	int64_t now = clock_mono_ns();

	if (now - o->window_ns > 60 * NS_PER_S) {
		o->window_ns = now;
		o->restarts = 0;
	}
	return ++o->restarts <= OPENER_MAX_RESTARTS;
}

static void
start_another(struct opener *o)
{
	int rc = may_restart(o) ? start_analyser(o) : -ECHILD;

	if (rc) {
		log_err("no analyser: %s", strerror(-rc));
		o->done = true;
		o->status = 1;
	}
}

static void
analyser_died(struct opener *o, int status)
{
	/* The analyser exits when the scheduler is gone; then the worker ends
	 * too. */
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (WIFSIGNALED(status))
		log_err("analyser died: %s", strsignal(WTERMSIG(status)));
	start_another(o);
}

static void
reap(struct opener *o)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		ended_child_gone(&o->ended, pid);
		if (pid == o->scheduler) {
			o->done = true;
			o->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		} else if (pid == o->analyser && !o->done) {
			analyser_died(o, status);
		} else if (pid == o->fetcher.pid) {
			fetcher_child_died(&o->fetcher, status);
		} else if (pid == o->courier.pid) {
			fetcher_child_died(&o->courier, status);
		} else {
			java_child_ended(&o->java, pid);
			readers_child_ended(&o->readers, pid);
			prober_child_ended(&o->probers, pid, status);
		}
	}
}

/* --- serving -------------------------------------------------------------- */

static void
take_signal(struct opener *o)
{
	struct signalfd_siginfo si;

	if (read(o->signals, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGCHLD)
		reap(o);
	else
		kill(o->scheduler, SIGTERM);
}

/* Takes one message of the scheduler. When the scheduler ends, so does the
 * worker. */
static void
take_wish(struct opener *o)
{
	union {
		uint32_t type;
		struct msg_fetcher fetcher;
		struct msg_may may;
	} m;
	ssize_t n = msg_recv(o->events, &m, sizeof(m), NULL, NULL);

	if (n <= 0 && n != -EMSGSIZE)
		close(TAKE_FD(o->events));
	else if (n == sizeof(m.fetcher) && m.type == MSG_WANT_FETCHER)
		fetcher_child_start(&o->fetcher,
		                    (struct fetcher_program){
					    .fetcher = o->children->fetcher},
		                    o->conf, &o->who, &o->ended, o->events);
	else if (n == sizeof(m.fetcher) && m.type == MSG_WANT_COURIER &&
	         o->children->courier)
		fetcher_child_start(&o->courier,
		                    (struct fetcher_program){
					    .courier = o->children->courier},
		                    o->conf, &o->who, &o->ended, o->events);
	else if (m.type == MSG_MAY && n >= (ssize_t)MSG_MAY_BYTES(0) &&
	         m.may.npids <= WORKER_MAX_PIDS &&
	         n == (ssize_t)MSG_MAY_BYTES(m.may.npids))
		grants_add(&o->grants, &m.may);
}

/* Takes all pending messages of the scheduler, since a client's next question
 * may depend on a grant among them. */
static void
take_wishes(struct opener *o)
{
	struct pollfd p = {o->events, POLLIN, 0};

	while (poll(&p, 1, 0) > 0) {
		take_wish(o);
		p.fd = o->events;
	}
}

static void
answer(struct opener *o, int client, const struct host_ask *ask, int in)
{
	struct answer out;

	if (!opener_answer(o, ask, client, in, readers_ask, &out))
		return;
	if (msg_send(client, &out.reply, sizeof(out.reply), out.fds, out.nfds))
		log_debug("a client is gone before its answer");
	for (size_t i = 0; i < out.nfds; i++)
		close(out.fds[i]);
}

/* Serves a client; false when it is gone. */
static bool
serve(struct opener *o, int client)
{
	struct host_ask ask;
	CLEANUP_FD int in = -1;
	size_t nfds = 1;
	ssize_t n = msg_recv(client, &ask, sizeof(ask), &in, &nfds);

	if (n < 0) /* the descriptors are closed already */
		in = -1;
	if (n == sizeof(ask)) {
		watchdog_heard(o, client);
		take_wishes(o); /* they were sent before the question */
		answer(o, client, &ask, in);
	}
	return n == sizeof(ask);
}

static void
leave(struct opener *o, size_t i)
{
	int client = o->clients[i];

	rates_leave(&o->rates, &o->grants, client);
	readers_leave(&o->readers, client);
	prober_leave(&o->probers, client);
	close(client);
	o->clients[i] = o->clients[--o->nclients];
}

static void
serve_clients(struct opener *o, const struct pollfd *fds, size_t n)
{
	for (size_t i = n; i--;) /* backwards, since the last fills a gap */
		if (fds[i].revents && !serve(o, o->clients[i]))
			leave(o, i);
}

/* Gives up parts that were killed but do not end: the analyser is replaced;
 * without a scheduler, the worker ends. */
static void
leave_stuck(struct opener *o)
{
	if (ended_is_stuck(&o->ended, o->scheduler)) {
		log_err("the scheduler hangs in the kernel, and SIGKILL does "
		        "not end it");
		o->done = true;
	}
	if (o->done || !ended_is_stuck(&o->ended, o->analyser))
		return;
	log_err("the analyser, process %d, hangs in the kernel, and SIGKILL "
	        "does not end it: another takes its place",
	        (int)o->analyser);
	for (size_t i = o->nclients; i--;)
		if (o->clients[i] == o->ask_analyser)
			leave(o, i);
	start_another(o);
}

/* Returns the earlier of two timeouts; -1 is never. */
static int
sooner(int a, int b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* Lists the clients to wait for. One whose question a reader works on is left
 * out, and does not count as silent. */
static size_t
poll_clients(struct opener *o, struct pollfd *out)
{
	for (size_t i = 0; i < o->nclients; i++) {
		bool waits = readers_busy(&o->readers, o->clients[i]);

		if (waits)
			watchdog_heard(o, o->clients[i]);
		out[i] = (struct pollfd){waits ? -1 : o->clients[i], POLLIN, 0};
	}
	return o->nclients;
}

static int
turn(struct opener *o)
{
	struct pollfd fds[2 + 2 * OPENER_MAX_CLIENTS] = {
		{o->signals, POLLIN, 0}, {o->events, POLLIN, 0}};
	struct pollfd *readers = fds + 2, *clients;
	int wait = sooner(
		watchdog_look(o),
		sooner(rates_wait(&o->rates, &o->grants), readers_expire(o)));
	size_t nreaders = readers_poll(&o->readers, readers), n;

	clients = readers + nreaders;
	n = poll_clients(o, clients);
	wait = sooner(wait, ended_wait(&o->ended));
	if (poll(fds, 2 + nreaders + n, wait) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[0].revents)
		take_signal(o);
	if (fds[1].revents)
		take_wishes(o);
	for (size_t i = 0; i < nreaders; i++)
		if (readers[i].revents)
			readers_answer(o, readers[i].fd);
	serve_clients(o, clients, n);
	leave_stuck(o);
	return 0;
}

static int
open_signals(struct opener *o)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_SETMASK, &set, NULL))
		return -errno;
	o->signals = signalfd(-1, &set, SFD_CLOEXEC);
	return o->signals < 0 ? -errno : 0;
}

static int
prepare(struct opener *o)
{
	int rc = privilege_identity(o->conf->worker_user, &o->who);

	if (rc < 0)
		return rc;
	if (rc)
		log_warn("no user %s: using nobody", o->conf->worker_user);
	privilege_raise_limits();
	/* While their folder is still writable. */
	rates_open(&o->rates, o->conf);
	rc = probers_open(&o->probers, o->conf->worker_state_dir);
	if (rc)
		return rc;
	rc = is_contained() ? opener_find_host(o) : 0;
	if (rc)
		log_warn("no process outside the container can be read, so "
		         "that pid files and names of containers are not "
		         "found: %s; stoker doctor names what is missing",
		         strerror(-rc));
	rc = privilege_keep();
	if (!rc)
		rc = open_signals(o);
	if (!rc)
		rc = start_scheduler(o);
	if (!rc) /* children inherit the filter */
		rc = sandbox_enter_opener();
	if (!rc)
		probers_repair(&o->probers);
	return rc ? rc : start_analyser(o);
}

int
opener_run(const struct conf *conf, const struct opener_children *children)
{
	struct opener o = {.conf = conf,
	                   .children = children,
	                   .self = getpid(),
	                   .status = 1};
	int rc = prepare(&o);

	if (!rc)
		notify_manager("READY=1");
	while (!rc && !o.done)
		rc = turn(&o);
	prober_done(&o.probers);
	rates_done(&o.rates);
	if (rc)
		log_err("%s", strerror(-rc));
	return rc ? 1 : o.status;
}
