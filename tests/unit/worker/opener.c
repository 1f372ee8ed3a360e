/*
 * The opener with an analyser that was taken over, which asks everything about
 * every process. The opener and the processes are real. Before the tests, a
 * worker runs once for each kind of socket on which an analyser can ask; each
 * test then checks what the analyser learnt.
 */
#include "worker/opener/opener.h"
#include "capture/ranges.h"
#include "lib/test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* A leak check would attach to the process, which these processes do not
 * allow. */
int __lsan_is_turned_off(void);
int
__lsan_is_turned_off(void)
{
	return 1;
}

/* The process that the analyser asks about. */
enum whom {
	NAMED,    /* a capture follows it */
	CHILD,    /* of NAMED */
	ORPHAN,   /* child of an ended child of NAMED */
	STRANGER, /* not captured */
	PARENT,   /* of NAMED */
	WHOM
};

enum when { BEFORE, DURING, AFTER, WHEN };

static const enum host_op all[] = {
#define HOST_OP(op, handler, whose, by, doc) HOST_##op,
#include "capture/host.def"
#undef HOST_OP
};
static const struct {
	const char *name;
	enum host_whose whose;
} rows[HOST_OPS] = {
#define HOST_OP(op, handler, whose, by, doc) \
	[HOST_##op] = {#op, HOST_OF_##whose},
#include "capture/host.def"
#undef HOST_OP
};

/* The socket on which the analyser asks. */
enum by { BY_ITS_SOCKET, BY_CHANNEL, BY };

#define WORKERS (BY + 1) /* one more is killed */

/* Memory shared by the tests and the processes of all workers. */
struct seen {
	int32_t pids[WHOM];
	int32_t error[WHEN][WHOM][HOST_OPS];
	uint32_t used[WHEN][WHOM]; /* processes in the reply to USAGE */
	int status;                /* of the worker */
	enum by by;
};
static struct seen *all_seen; /* WORKERS of them */
static struct seen *seen;     /* of the worker that is running */

static bool
names_processes(enum host_op op)
{
	return rows[op].whose == HOST_OF_PROCESS ||
	       rows[op].whose == HOST_OF_THREAD;
}

/* Questions that concern no process are asked once. */
static bool
is_asked(enum host_op op, enum whom whom)
{
	return op != HOST_CHANNEL &&
	       (rows[op].whose != HOST_OF_NOBODY || whom == NAMED);
}

/* --- the processes -------------------------------------------------------- */

/* Nobody writes to this pipe. Only the process that starts the others keeps
 * its other end, so they end when it does, even if it is killed. */
static int alive[2];

static _Noreturn void
rest(void)
{
	char c;

	close(alive[1]);
	while (read(alive[0], &c, 1) < 0)
		;
	_exit(0);
}

/* Its parent ends at once: only the session shows whose child it was. */
static void
leave_an_orphan(int ready)
{
	if (!fork()) {
		pid_t orphan = fork();

		if (!orphan)
			rest();
		seen->pids[ORPHAN] = orphan;
		_exit(write(ready, "", 1) != 1);
	}
	wait(NULL);
}

static _Noreturn void
be_named(int ready)
{
	pid_t child;

	setsid();
	leave_an_orphan(ready);
	child = fork();
	if (!child)
		rest();
	seen->pids[CHILD] = child;
	if (write(ready, "", 1) != 1)
		_exit(1);
	rest();
}

static int
start_processes(void)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(alive) || pipe(ready))
		return -errno;
	seen->pids[PARENT] = getpid();
	pid = fork();
	if (!pid)
		rest();
	seen->pids[STRANGER] = pid;
	pid = fork();
	if (!pid)
		be_named(ready[1]);
	seen->pids[NAMED] = pid;
	for (int i = 0; i < 2; i++)
		if (read(ready[0], &c, 1) != 1)
			return -EPIPE;
	close(ready[0]);
	close(ready[1]);
	return 0;
}

/* --- the analyser --------------------------------------------------------- */

static int
file_of_a_range(void)
{
	struct memory_range r = {.addr = (uintptr_t)&seen, .len = 8};
	int fd = memfd_create("ranges", MFD_CLOEXEC);

	return write(fd, &r, sizeof(r)) == sizeof(r) ? fd : -1;
}

static void
ask_one(int ask_socket, enum when when, enum whom whom, enum host_op op)
{
	struct host_ask ask = {.op = op,
	                       .pid = seen->pids[whom],
	                       .size = 64,
	                       .count = 1,
	                       .period_ns = 1000};
	int fds[HOST_MAX_FDS] = {-1};
	struct host_reply reply;
	size_t nfds = 0;

	if (op == HOST_STACKS || op == HOST_USAGE)
		ask.list[0] = ask.pid;
	if (op == HOST_RANGES) {
		fds[0] = file_of_a_range();
		nfds = 1;
	}
	if (worker_ask(ask_socket, &ask, &reply, fds, &nfds))
		_exit(1);
	for (size_t i = 0; i < nfds; i++)
		close(fds[i]);
	seen->error[when][whom][op] = reply.error;
	if (op == HOST_USAGE)
		seen->used[when][whom] = reply.value;
}

static int
channel(int ask_socket)
{
	struct host_ask ask = {.op = HOST_CHANNEL};
	int fds[HOST_MAX_FDS];
	struct host_reply reply;
	size_t nfds = 0;

	if (worker_ask(ask_socket, &ask, &reply, fds, &nfds) || nfds != 1)
		_exit(1);
	return fds[0];
}

static int
be_analyser(const struct conf *conf, int ask, int socket, int blame_fd)
{
	int by = seen->by == BY_CHANNEL ? channel(ask) : ask;
	uint32_t when;

	(void)conf;
	(void)blame_fd;
	while (msg_recv(socket, &when, sizeof(when), NULL, NULL) > 0) {
		for (int whom = 0; whom < WHOM; whom++)
			for (size_t i = 0; i < ARRAY_LEN(all); i++)
				if (is_asked(all[i], whom))
					ask_one(by, when, whom, all[i]);
		if (msg_send(socket, &when, sizeof(when), NULL, 0))
			break;
	}
	return 0;
}

/* --- the scheduler -------------------------------------------------------- */

static int
have_it_ask(int analyser, uint32_t when)
{
	int rc = msg_send(analyser, &when, sizeof(when), NULL, 0);

	return rc ? rc
	       : msg_recv(analyser, &when, sizeof(when), NULL, NULL) > 0
	               ? 0
	               : -EPIPE;
}

static int
be_scheduler(void *arg, const struct conf *conf,
             const struct worker_sockets *sockets)
{
	struct msg_analyser m;
	int fds[2];
	size_t nfds = 2;
	int rc;

	const int *working = arg;

	(void)conf;
	if (msg_recv(sockets->events, &m, sizeof(m), fds, &nfds) != sizeof(m))
		return 1;
	rc = have_it_ask(fds[0], BEFORE);
	if (!rc)
		rc = worker_may_look(sockets->events, "sess-a",
		                     &seen->pids[NAMED], NULL, 1);
	/* the end of another capture revokes no grant of this one */
	if (!rc)
		rc = worker_may_look(sockets->events, "sess-b", NULL, NULL, 0);
	if (!rc)
		rc = have_it_ask(fds[0], DURING);
	while (!rc && working) /* until the opener is killed */
		rc = write(*working, "", 1) == 1 ? poll(NULL, 0, -1) : -errno;
	if (!rc)
		rc = worker_may_look(sockets->events, "sess-a", NULL, NULL, 0);
	return rc ? rc : have_it_ask(fds[0], AFTER);
}

static int
no_fetcher(const struct conf *conf, const char *own, int socket, int signs,
           const struct fetch_secrets *secrets)
{
	(void)secrets;
	(void)conf;
	(void)own;
	(void)socket;
	(void)signs;
	return 0;
}

/* Runs the worker to its end or, if working is not NULL, kills it once all its
 * parts work, which it reports through this pipe. */
static int
run_worker(int *working)
{
	const struct opener_children children = {
		be_scheduler, working,    working ? *working : -1,
		be_analyser,  no_fetcher, NULL};
	struct conf conf = {.worker_watchdog = 60,
	                    .worker_user = (char *)"nobody",
	                    .worker_state_dir = (char *)"/nonexistent",
	                    .worker_debug_dir = (char *)"",
	                    .store_dir = (char *)"/nonexistent",
	                    .symbols_debuginfod = (char *)"",
	                    .symbols_cache_dir = (char *)""};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return start_processes() ? 1 : opener_run(&conf, &children);
}

static void
run_workers(void)
{
	all_seen = mmap(NULL, WORKERS * sizeof(*all_seen),
	                PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	                0);
	ck_assert_ptr_ne(all_seen, MAP_FAILED);
	for (int by = 0; by < BY; by++) {
		seen = &all_seen[by];
		seen->by = by;
		if (!fork())
			_exit(run_worker(NULL));
		wait(&seen->status);
	}
}

static const struct seen *
seen_by(enum by by)
{
	ck_assert_int_eq(all_seen[by].status, 0);
	return &all_seen[by];
}

/* --- claims --------------------------------------------------------------- */

static const struct {
	enum when when;
	enum whom whom;
} refused[] = {
	{BEFORE, NAMED},    {BEFORE, CHILD},  {BEFORE, STRANGER},
	{DURING, STRANGER}, {DURING, PARENT}, {AFTER, NAMED},
	{AFTER, CHILD},     {AFTER, ORPHAN},  {AFTER, STRANGER},
};

static void
check_refusals(const struct seen *s)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		enum when when = refused[i].when;
		enum whom whom = refused[i].whom;

		for (size_t k = 0; k < ARRAY_LEN(all); k++)
			if (names_processes(all[k]))
				ck_assert_msg(
					s->error[when][whom][all[k]] == -EPERM,
					"%s, row %zu: %d", rows[all[k]].name, i,
					s->error[when][whom][all[k]]);
		ck_assert_uint_eq(s->used[when][whom], 0);
	}
}

TEST(an_analyser_learns_nothing_of_a_process_that_no_capture_is_of)
{
	check_refusals(seen_by(BY_ITS_SOCKET));
}
END

TEST(another_socket_asks_for_no_more)
{
	check_refusals(seen_by(BY_CHANNEL));
}
END

TEST(what_is_the_schedulers_is_refused_to_an_analyser)
{
	const struct seen *s = seen_by(BY_ITS_SOCKET);

	for (int when = 0; when < WHEN; when++)
		ck_assert_int_eq(s->error[when][NAMED][HOST_PID_FILE], -EPERM);
}
END

TEST(a_process_that_a_capture_names_may_be_asked_about_with_its_children)
{
	static const enum whom granted[] = {NAMED, CHILD, ORPHAN};
	static const enum host_op ops[] = {
		HOST_MAPS,      HOST_TASKS,  HOST_NAMES,
		HOST_EXE_LINK,  HOST_RANGES, HOST_LINKS,
		HOST_PID_SPACE, HOST_TITLE,  HOST_SETTINGS};
	const struct seen *s = seen_by(BY_ITS_SOCKET);

	for (size_t i = 0; i < ARRAY_LEN(granted); i++) {
		for (size_t k = 0; k < ARRAY_LEN(ops); k++)
			ck_assert_msg(!s->error[DURING][granted[i]][ops[k]],
			              "%s, row %zu: %d", rows[ops[k]].name, i,
			              s->error[DURING][granted[i]][ops[k]]);
		ck_assert_uint_eq(s->used[DURING][granted[i]], 1);
	}
}
END

/* As a subreaper, this process becomes the parent of processes that the worker
 * leaves behind. */
TEST(a_worker_that_is_killed_leaves_no_process)
{
	int working[2];
	pid_t worker;
	char c;

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe(working), 0);
	seen = &all_seen[BY];
	worker = fork();
	if (!worker)
		_exit(run_worker(&working[1]));
	close(working[1]);
	ck_assert_int_eq(read(working[0], &c, 1), 1);
	kill(worker, SIGKILL);
	while (wait(NULL) > 0)
		;
	ck_assert_int_eq(errno, ECHILD);
}
END

SUITE("opener", .before = run_workers);
