/* The opener beside an analyser that was taken over: one that asks for
 * everything of every process. The opener and the processes are real. */
#include "worker/opener/opener.h"
#include "capture/ranges.h"
#include "lib/test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* A search for leaks stops the process by a tracer, which none of these allows.
 */
int __lsan_is_turned_off(void);
int
__lsan_is_turned_off(void)
{
	return 1;
}

/* Whom it asks about. */
enum whom {
	NAMED,    /* a capture is of it */
	CHILD,    /* of that */
	ORPHAN,   /* its parent was a child of that */
	STRANGER, /* no capture is of it */
	PARENT,   /* of the one that is named */
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

/* Memory that the processes of the test share. */
struct seen {
	int32_t pids[WHOM];
	int32_t error[WHEN][WHOM][HOST_OPS];
	uint32_t used[WHEN][WHOM]; /* how many USAGE told of */
	bool by_channel;
};
static struct seen *seen;

static bool
names_processes(enum host_op op)
{
	return rows[op].whose == HOST_OF_PROCESS ||
	       rows[op].whose == HOST_OF_THREAD;
}

/* --- the processes ---------------------------------------------------------
 */

static void
rest(void)
{
	for (;;)
		pause();
}

/* A child of a child that ends: only the session tells whose it was. */
static void
leave_an_orphan(int tell)
{
	if (!fork()) {
		pid_t orphan = fork();

		if (!orphan)
			rest();
		seen->pids[ORPHAN] = orphan;
		_exit(write(tell, "", 1) != 1);
	}
	wait(NULL);
}

static void
be_named(int tell)
{
	pid_t child;

	setsid();
	leave_an_orphan(tell);
	child = fork();
	if (!child)
		rest();
	seen->pids[CHILD] = child;
	if (write(tell, "", 1) != 1)
		_exit(1);
	rest();
}

static void
start_processes(void)
{
	int pipe_fd[2];
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(pipe_fd), 0);
	seen->pids[PARENT] = getpid();
	pid = fork();
	if (!pid)
		rest();
	seen->pids[STRANGER] = pid;
	pid = fork();
	if (!pid)
		be_named(pipe_fd[1]);
	seen->pids[NAMED] = pid;
	ck_assert_int_eq(read(pipe_fd[0], &c, 1), 1);
	ck_assert_int_eq(read(pipe_fd[0], &c, 1), 1);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

static void
end_processes(void)
{
	for (int i = 0; i < WHOM; i++)
		if (i != PARENT)
			kill(seen->pids[i], SIGKILL);
	munmap(seen, sizeof(*seen));
}

/* --- the analyser ----------------------------------------------------------
 */

static int
file_of_a_range(void)
{
	struct range r = {.addr = (uintptr_t)&seen, .len = 8};
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
	int by = seen->by_channel ? channel(ask) : ask;
	uint32_t when;

	(void)conf;
	(void)blame_fd;
	while (msg_recv(socket, &when, sizeof(when), NULL, NULL) > 0) {
		for (int whom = 0; whom < WHOM; whom++)
			for (size_t i = 0; i < ARRAY_LEN(all); i++)
				if (all[i] != HOST_CHANNEL)
					ask_one(by, when, whom, all[i]);
		if (msg_send(socket, &when, sizeof(when), NULL, 0))
			break;
	}
	return 0;
}

/* --- the scheduler ---------------------------------------------------------
 */

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

	(void)arg;
	(void)conf;
	if (msg_recv(sockets->events, &m, sizeof(m), fds, &nfds) != sizeof(m))
		return 1;
	rc = have_it_ask(fds[0], BEFORE);
	if (!rc)
		rc = worker_may_look(sockets->events, "sess-a",
		                     &seen->pids[NAMED], NULL, 1);
	/* another capture's end is not this one's */
	if (!rc)
		rc = worker_may_look(sockets->events, "sess-b", NULL, NULL, 0);
	if (!rc)
		rc = have_it_ask(fds[0], DURING);
	if (!rc)
		rc = worker_may_look(sockets->events, "sess-a", NULL, NULL, 0);
	return rc ? rc : have_it_ask(fds[0], AFTER);
}

static int
no_fetcher(const struct conf *conf, const char *own, int socket)
{
	(void)conf;
	(void)own;
	(void)socket;
	return 0;
}

static void
run_worker(bool by_channel)
{
	const struct opener_children children = {
		be_scheduler, NULL, -1, be_analyser, no_fetcher, NULL};
	struct conf conf = {.worker_watchdog = 60,
	                    .worker_user = (char *)"nobody",
	                    .worker_state_dir = (char *)"/nonexistent",
	                    .worker_debug_dir = (char *)"",
	                    .store_dir = (char *)"/nonexistent",
	                    .symbols_debuginfod = (char *)"",
	                    .symbols_cache_dir = (char *)""};

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
	            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(seen, MAP_FAILED);
	seen->by_channel = by_channel;
	start_processes();
	ck_assert_int_eq(opener_run(&conf, &children), 0);
}

/* --- claims ----------------------------------------------------------------
 */

static const struct {
	enum when when;
	enum whom whom;
} refused[] = {
	{BEFORE, NAMED},    {BEFORE, CHILD},  {BEFORE, STRANGER},
	{DURING, STRANGER}, {DURING, PARENT}, {AFTER, NAMED},
	{AFTER, CHILD},     {AFTER, ORPHAN},  {AFTER, STRANGER},
};

static void
check_refusals(void)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		enum when when = refused[i].when;
		enum whom whom = refused[i].whom;

		for (size_t k = 0; k < ARRAY_LEN(all); k++)
			if (names_processes(all[k]))
				ck_assert_msg(seen->error[when][whom][all[k]] ==
				                      -EPERM,
				              "%s, row %zu: %d",
				              rows[all[k]].name, i,
				              seen->error[when][whom][all[k]]);
		ck_assert_uint_eq(seen->used[when][whom], 0);
	}
}

TEST(an_analyser_learns_nothing_of_a_process_that_no_capture_is_of)
{
	run_worker(false);
	check_refusals();
	end_processes();
}
END

TEST(another_socket_asks_for_no_more)
{
	run_worker(true);
	check_refusals();
	end_processes();
}
END

TEST(what_is_the_schedulers_is_refused_to_an_analyser)
{
	run_worker(false);
	for (int when = 0; when < WHEN; when++)
		ck_assert_int_eq(seen->error[when][NAMED][HOST_PID_FILE],
		                 -EPERM);
	end_processes();
}
END

TEST(a_process_that_a_capture_names_may_be_asked_about_with_its_children)
{
	static const enum whom granted[] = {NAMED, CHILD, ORPHAN};
	static const enum host_op ops[] = {HOST_MAPS,   HOST_TASKS,
	                                   HOST_NAMES,  HOST_EXE_LINK,
	                                   HOST_RANGES, HOST_LINKS};

	run_worker(false);
	for (size_t i = 0; i < ARRAY_LEN(granted); i++) {
		for (size_t k = 0; k < ARRAY_LEN(ops); k++)
			ck_assert_msg(!seen->error[DURING][granted[i]][ops[k]],
			              "%s, row %zu: %d", rows[ops[k]].name, i,
			              seen->error[DURING][granted[i]][ops[k]]);
		ck_assert_uint_eq(seen->used[DURING][granted[i]], 1);
	}
	end_processes();
}
END

SUITE("opener", an_analyser_learns_nothing_of_a_process_that_no_capture_is_of,
      another_socket_asks_for_no_more,
      what_is_the_schedulers_is_refused_to_an_analyser,
      a_process_that_a_capture_names_may_be_asked_about_with_its_children)
