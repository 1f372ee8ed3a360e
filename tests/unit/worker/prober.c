/*
 * Breakpoints in a target when processes of the worker are killed while they
 * insert or remove them. The target is a child of this program.
 *
 * To insert or remove a probe, the kernel waits for calls of fork(2). Here one
 * takes as long as the test wants: the kernel reports it to a userfaultfd, and
 * waits until the report is read.
 *   Source   Linux 6.1, kernel/fork.c, dup_mmap(); kernel/events/uprobes.c,
 *            register_for_each_vma(), dup_mmap_sem
 */
#include "base/file.h"
#include "base/msg.h"
#include "lib/test.h"
#include "worker/opener/opener_prober.h"

#include "capture/allocs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENT 7 /* a descriptor, which names the client */

__asm__(".text\n"
        ".balign 64\n"
        ".globl test_takes\ntest_takes:\n"
        "nop\nnop\nret\n"
        ".balign 64\n"
        ".globl test_gives\ntest_gives:\n"
        "nop\nnop\nret\n");
extern const uint8_t test_takes[], test_gives[];

/* --- a slow fork ---------------------------------------------------------- */

struct slow {
	pid_t pid; /* the process that forks */
	int go;    /* closing it lets the fork go on */
};

struct reader {
	int go, uffd;
};

static void *
read_report(void *arg)
{
	const struct reader *r = arg;
	struct uffd_msg m;
	char c;

	(void)!read(r->go, &c, 1);
	(void)!read(r->uffd, &m, sizeof(m));
	return NULL;
}

static _Noreturn void
fork_slowly(int go, int ready)
{
	struct uffdio_api api = {.api = UFFD_API,
	                         .features = UFFD_FEATURE_EVENT_FORK};
	struct uffdio_register at = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	struct reader r = {go, (int)syscall(SYS_userfaultfd, O_CLOEXEC)};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	at.range = (struct uffdio_range){(uintptr_t)page, 4096};
	if (ioctl(r.uffd, UFFDIO_API, &api) ||
	    ioctl(r.uffd, UFFDIO_REGISTER, &at) ||
	    pthread_create(&thread, NULL, read_report, &r))
		_exit(1);
	(void)!write(ready, "", 1);
	close(ready);
	(void)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	_exit(0);
}

/* True if a process waits in this system call, with this first argument. */
static bool
waits_in(pid_t pid, long call, const char *argument)
{
	CLEANUP_BUF struct buf text = BUF_INIT(256);
	char path[64], want[64];

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	snprintf(want, sizeof(want), "%ld %s", call, argument);
	return !file_read(AT_FDCWD, path, &text) &&
	       !strncmp(buf_str(&text), want, strlen(want));
}

static void
begin_fork(struct slow *s)
{
	int go[2], ready[2];
	char c;

	ck_assert_int_eq(pipe(go) | pipe(ready), 0);
	s->pid = fork();
	if (!s->pid) {
		close(go[1]);
		close(ready[0]);
		fork_slowly(go[0], ready[1]);
	}
	close(go[0]);
	close(ready[1]);
	s->go = go[1];
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	close(ready[0]);
	while (!waits_in(s->pid, SYS_clone, ""))
		sched_yield();
}

static void
end_fork(struct slow *s)
{
	close_ptr(&s->go);
	ck_assert_int_eq(waitpid(s->pid, NULL, 0), s->pid);
}

/* --- an opener, its prober and its target --------------------------------- */

struct rig {
	enum prober_of of;
	pid_t opener, target, prober;
	int to; /* orders to the opener */
	char dir[64];
	int exited;
};

static uint64_t
offset_of(const uint8_t *code)
{
	CLEANUP_BUF struct buf text = BUF_INIT(1 << 20);
	uint64_t start, end, offset;
	char *line, *rest;

	ck_assert_int_eq(file_read(AT_FDCWD, "/proc/self/maps", &text), 0);
	rest = text.p;
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start,
		           &end, &offset) == 3 &&
		    (uintptr_t)code >= start && (uintptr_t)code < end)
			return (uintptr_t)code - start + offset;
	ck_abort_msg("no code");
}

/* Asks to watch the target, or to stop. */
static void
ask(const struct rig *r, struct probers *ps, bool watch)
{
	CLEANUP_FD int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct allocs_place places[] = {
		{.offset = offset_of(test_takes)},
		{.offset = offset_of(test_gives), .releases = 1}};
	struct host_ask m = {.op = HOST_PROBE,
	                     .pid = r->target,
	                     .size = r->of == PROBER_INUSE ? 2 : 0,
	                     .count = watch ? ARRAY_LEN(places) : 0};

	memcpy(m.list, places, sizeof(places));
	if (prober_watch(ps, &m, watch ? file : -1))
		_exit(1);
}

static void
reap(struct probers *ps)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, 0)) > 0)
		prober_child_ended(ps, pid, status);
}

/* Follows orders: to watch, to stop watching, to wait for children, to end. */
static _Noreturn void
be_opener(const struct rig *r, int from, int say)
{
	static struct probers ps;
	int fds[PROBER_FDS];
	size_t nfds;
	pid_t pid = 0;
	char c;

	if (probers_open(&ps, r->dir))
		_exit(1);
	probers_repair(&ps);
	if (!prober_load(r->of, fds, &nfds) &&
	    !prober_start(&ps, r->of, CLIENT, 10, fds, &nfds))
		pid = ps.all[r->of].pid;
	(void)!write(say, &pid, sizeof(pid));
	while (pid && read(from, &c, 1) == 1 && c != 'e')
		if (c == 'r')
			reap(&ps);
		else
			ask(r, &ps, c == 'w');
	prober_done(&ps);
	_exit(0);
}

static bool
start_opener(struct rig *r)
{
	int to[2], said[2];

	ck_assert_int_eq(pipe(to) | pipe(said), 0);
	r->opener = fork();
	if (!r->opener) {
		close(to[1]);
		be_opener(r, to[0], said[1]);
	}
	close(to[0]);
	close(said[1]);
	r->to = to[1];
	if (read(said[0], &r->prober, sizeof(r->prober)) != sizeof(r->prober))
		r->prober = 0;
	close(said[0]);
	r->exited = r->prober ? (int)syscall(SYS_pidfd_open, r->prober, 0) : -1;
	return r->prober;
}

static bool
rig_init(struct rig *r, enum prober_of of)
{
	*r = (struct rig){.of = of, .dir = "/tmp/stoker-test.XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(r->dir));
	r->target = fork();
	while (!r->target)
		pause();
	return start_opener(r);
}

static void
rig_done(struct rig *r)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" MARKS_JOURNAL, r->dir);
	unlink(path);
	rmdir(r->dir);
	close_ptr(&r->to);
	close_ptr(&r->exited);
	kill(r->opener, SIGKILL);
	kill(r->target, SIGKILL);
	waitpid(r->opener, NULL, 0);
	waitpid(r->target, NULL, 0);
}
#define CLEANUP_RIG CLEANUP(rig_done)

static void
tell(const struct rig *r, char what)
{
	ck_assert_int_eq(write(r->to, &what, 1), 1);
}

static unsigned
breakpoints(const struct rig *r)
{
	const uint8_t *all[] = {test_takes, test_gives};
	CLEANUP_FD int fd = -1;
	char path[64];
	unsigned n = 0;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)r->target);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		uint8_t now;

		ck_assert_int_eq(pread(fd, &now, 1, (off_t)(uintptr_t)all[i]),
		                 1);
		n += now != *all[i];
	}
	return n;
}

static void
await_breakpoints(const struct rig *r)
{
	while (breakpoints(r) < 2)
		sched_yield();
}

static void
await_prober(const struct rig *r)
{
	struct pollfd p = {r->exited, POLLIN, 0};

	ck_assert_int_eq(poll(&p, 1, -1), 1);
}

/* Returns when the prober is about to insert or remove probes. */
static void
begin(struct rig *r, struct slow *s, bool removes)
{
	if (removes) {
		tell(r, 'w');
		await_breakpoints(r);
	}
	begin_fork(s);
	tell(r, removes ? 's' : 'w');
	while (!waits_in(r->prober, removes ? SYS_close : SYS_bpf,
	                 removes ? "" : "0x1c")) /* BPF_LINK_CREATE */
		sched_yield();
}

static const struct {
	enum prober_of of;
	bool removes;
} cases[] = {
	{PROBER_ALLOCS, false},
	{PROBER_ALLOCS, true},
	{PROBER_INUSE, false},
	{PROBER_INUSE, true},
};

static void
kill_opener(struct rig *r)
{
	kill(r->opener, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)r->opener, &(siginfo_t){0},
	                        WEXITED | WNOWAIT),
	                 0);
}

/* --- claims --------------------------------------------------------------- */

TEST_EACH(no_breakpoint_is_left_when_the_opener_is_killed, cases)
{
	CLEANUP_RIG struct rig r;
	struct slow s;

	if (!rig_init(&r, cases[_i].of))
		SKIP("this kernel or user has no such probes");
	begin(&r, &s, cases[_i].removes);
	kill_opener(&r);
	end_fork(&s);
	await_prober(&r);
	ck_assert_uint_eq(breakpoints(&r), 0);
}
END

static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGABRT, SIGQUIT};

TEST_EACH(no_breakpoint_is_left_by_a_signal_to_all, signals)
{
	CLEANUP_RIG struct rig r;
	struct slow s;

	if (!rig_init(&r, PROBER_INUSE))
		SKIP("this kernel or user has no such probes");
	begin(&r, &s, true);
	kill(r.prober, signals[_i]);
	kill_opener(&r);
	end_fork(&s);
	await_prober(&r);
	ck_assert_uint_eq(breakpoints(&r), 0);
}
END

/* rig_done() waits for the opener. */
static void
end_opener(const struct rig *r)
{
	tell(r, 'e');
	ck_assert_int_eq(waitid(P_PID, (id_t)r->opener, &(siginfo_t){0},
	                        WEXITED | WNOWAIT),
	                 0);
}

/* systemd kills what is left of the worker once the opener has ended. */
TEST_EACH(an_opener_ends_after_its_probes, cases)
{
	CLEANUP_RIG struct rig r;

	if (!rig_init(&r, cases[_i].of))
		SKIP("this kernel or user has no such probes");
	tell(&r, 'w');
	await_breakpoints(&r);
	end_opener(&r);
	kill(r.prober, SIGKILL);
	ck_assert_uint_eq(breakpoints(&r), 0);
	await_prober(&r);
}
END

/* Kills the prober while it removes probes, which leaves a breakpoint. */
static void
leave_breakpoint(struct rig *r, bool with_opener)
{
	struct slow s;

	begin(r, &s, true);
	if (with_opener)
		kill_opener(r);
	kill(r->prober, SIGKILL);
	end_fork(&s);
	await_prober(r);
}

static const enum prober_of kinds[] = {PROBER_ALLOCS, PROBER_INUSE};

TEST_EACH(what_a_killed_prober_leaves_is_removed, kinds)
{
	CLEANUP_RIG struct rig r;

	if (!rig_init(&r, kinds[_i]))
		SKIP("this kernel or user has no such probes");
	leave_breakpoint(&r, false);
	ck_assert_uint_eq(breakpoints(&r), 1);
	tell(&r, 'r');
	end_opener(&r);
	ck_assert_uint_eq(breakpoints(&r), 0);
}
END

TEST_EACH(what_a_killed_worker_leaves_is_removed_by_the_next, kinds)
{
	CLEANUP_RIG struct rig r;

	if (!rig_init(&r, kinds[_i]))
		SKIP("this kernel or user has no such probes");
	leave_breakpoint(&r, true);
	ck_assert_uint_eq(breakpoints(&r), 1);
	close_ptr(&r.to);
	close_ptr(&r.exited);
	ck_assert_int_eq(waitpid(r.opener, NULL, 0), r.opener);
	ck_assert(start_opener(&r));
	end_opener(&r);
	ck_assert_uint_eq(breakpoints(&r), 0);
}
END

/* --- claims about the opener's side alone --------------------------------- */

/* Children of the opener; there are no such processes. */
#define ONE      101
#define OTHER    102
#define REPAIRER 103

#define ORDINARY 0 /* as waitpid(2) has them */
#define FAILED   (1 << 8)
#define KILLED   SIGKILL

TEST(a_client_that_leaves_ends_its_children_and_no_others)
{
	static struct probers ps;
	int one[2], other[2];
	char c;

	ck_assert_int_eq(msg_pair(one) | msg_pair(other), 0);
	ps.all[PROBER_ALLOCS] = (struct prober){ONE, one[0], CLIENT};
	ps.all[PROBER_INUSE] = (struct prober){OTHER, other[0], CLIENT + 1};
	prober_leave(&ps, CLIENT);
	ck_assert_int_eq(ps.all[PROBER_ALLOCS].pid, 0);
	ck_assert_int_eq(ps.ending[0], ONE);
	ck_assert_int_eq(read(one[1], &c, 1), 0); /* what ends it */
	ck_assert_int_eq(ps.all[PROBER_INUSE].pid, OTHER);
	ck_assert_int_eq(ps.ending[1], 0);
}
END

static const struct {
	uint32_t inuse, places;
	bool file;
	int rc;
} questions[] = {
	{0, 0, false, 0},
	{0, 1, true, 0},
	{0, 1, false, -EINVAL},
	{0, ALLOCS_MAX_PLACES, true, 0},
	{0, ALLOCS_MAX_PLACES + 1, true, -EINVAL},
	{2, 0, false, -ECHILD}, /* no such child runs */
};

TEST(a_child_is_asked_for_as_many_places_as_it_takes)
{
	static struct probers ps;
	static struct marks marks;
	int pair[2], exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(msg_pair(pair), 0);
	ps.marks = &marks;
	ps.all[PROBER_ALLOCS] = (struct prober){ONE, pair[0], CLIENT};
	for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
		const struct host_ask ask = {.op = HOST_PROBE,
		                             .pid = 7,
		                             .size = questions[i].inuse,
		                             .count = questions[i].places};
		struct allocs_of m;
		int file = -1;
		size_t nfds = 1;
		int rc = prober_watch(&ps, &ask, questions[i].file ? exe : -1);

		ck_assert_msg(rc == questions[i].rc, "row %zu: %d", i, rc);
		if (rc)
			continue;
		ck_assert_int_eq(msg_recv(pair[1], &m, sizeof(m), &file, &nfds),
		                 (ssize_t)allocs_of_bytes(ask.count));
		ck_assert_int_eq(m.pid, 7);
		ck_assert_uint_eq(m.n, ask.count);
		ck_assert_uint_eq(nfds, questions[i].file);
		close_ptr(&file);
	}
	close(exe);
}
END

/* Gives probers a mark, a child that runs and one that ends. */
static void
probers_of(struct probers *ps, struct marks *m)
{
	*ps = (struct probers){.marks = m, .ending = {OTHER}};
	m->all[0] = (struct mark){.inode = 1};
	ps->all[PROBER_ALLOCS] = (struct prober){ONE, -1, CLIENT};
}

TEST(marks_stay_until_the_last_child_has_ended)
{
	static struct probers ps;
	static struct marks m;

	probers_of(&ps, &m);
	prober_child_ended(&ps, ONE, ORDINARY);
	ck_assert(marks_any(&m));
	prober_child_ended(&ps, REPAIRER, KILLED); /* nobody knows it */
	ck_assert_uint_eq(ps.killed, 0);
	prober_child_ended(&ps, OTHER, ORDINARY);
	ck_assert(!marks_any(&m));
}
END

TEST(marks_stay_while_a_killed_child_may_have_left_breakpoints)
{
	static struct probers ps;
	static struct marks m;

	probers_of(&ps, &m);
	ps.repairer = ps.ending[1] = REPAIRER;
	ps.killed = ps.repairs = 1;
	prober_child_ended(&ps, ONE, KILLED); /* the repair began before */
	ck_assert_uint_eq(ps.killed, 2);
	ck_assert_int_eq(ps.repairer, REPAIRER);
	prober_child_ended(&ps, REPAIRER, FAILED);
	ck_assert_uint_eq(ps.killed, 2);
	ck_assert_int_eq(ps.repairer, 0); /* it is not tried at once */
	prober_child_ended(&ps, OTHER, ORDINARY);
	ck_assert(marks_any(&m));
}
END

TEST(who_was_killed_during_a_repair_is_repaired_by_the_next)
{
	static struct probers ps;
	static struct marks m;

	probers_of(&ps, &m);
	ps.repairer = ps.ending[1] = REPAIRER;
	ps.killed = ps.repairs = 1;
	prober_child_ended(&ps, ONE, KILLED);
	prober_child_ended(&ps, REPAIRER, ORDINARY);
	ck_assert_uint_eq(ps.killed, 1);
	ck_assert_int_gt(ps.repairer, 0);
	ck_assert_int_ne(ps.repairer, REPAIRER);
	ck_assert_int_eq(waitpid(ps.repairer, NULL, 0), ps.repairer);
	prober_child_ended(&ps, OTHER, ORDINARY);
	ck_assert(marks_any(&m));
	prober_child_ended(&ps, ps.repairer, ORDINARY);
	ck_assert(!marks_any(&m));
}
END

SUITE("prober");
