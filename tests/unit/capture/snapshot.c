/*
 * Snapshots: how states of threads are worded, and a program whose threads wait
 * in every common way.
 */
#include "capture/snapshot.h"

#include "base/file.h"
#include "lib/corpus.h"
#include "lib/here.h"
#include "lib/test.h"

#include "capture/threads.h"
#include "capture/threads/snapshot_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* --- words ---------------------------------------------------------------- */

static struct thread_row
blocked(const char *stat, const char *call)
{
	struct thread_row row = {.how = THREAD_BLOCKED};

	snprintf(row.stat, sizeof(row.stat), "%s", stat);
	snprintf(row.call, sizeof(row.call), "%s", call);
	return row;
}

TEST(a_thread_may_call_itself_what_it_likes)
{
	static const struct {
		const char *stat, *name;
		char state;
	} rows[] = {
		{"7 (worker) S 1", "worker", 'S'},
		{"7 () R 1", "", 'R'},
		{"7 () R 1) S 1", ") R 1", 'S'},
		{"7 ((x)) D 1", "(x)", 'D'},
		{"7 (cut", "", '?'},
		{"7 )(", "", '?'},
		{"7 (end)", "end", '?'},
		{"7 (end) ", "end", '?'},
		{"", "", '?'},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct thread_row row = blocked(rows[i].stat, "running");
		struct thread_seen t;

		thread_see(&row, NULL, &t);
		ck_assert_str_eq(t.name, rows[i].name);
		ck_assert_int_eq(t.state, rows[i].state);
	}
}
END

TEST(a_thread_that_woke_after_its_stack_was_copied_waits)
{
	struct thread_row row =
		blocked("7 (a) R 1", "35 1 2 3 4 5 6 0xa0 0xb0");
	struct thread_seen t;

	thread_see(&row, NULL, &t);
	ck_assert_str_eq(thread_state(&t), "waiting");
	row = blocked("7 (a) R 1", "running");
	thread_see(&row, NULL, &t);
	ck_assert_str_eq(thread_state(&t), "running");
}
END

TEST(the_line_of_a_system_call_is_read_whole_or_not_at_all)
{
	static const struct {
		const char *call;
		long number;
		uint64_t sp, pc;
	} rows[] = {
		{"3 0x4 0x5 0x6 0x7 0x8 0x9 0xa0 0xb0", 3, 0xa0, 0xb0},
		{"-1 0xa0 0xb0", THREAD_NO_CALL, 0xa0, 0xb0},
		{"running", THREAD_NO_CALL, 0, 0},
		{"3 0x4 0x5 0x6 0xa0 0xb0", THREAD_NO_CALL, 0, 0},
		{"3 0x4 0x5 0x6 0x7 0x8 0x9 0xa0", THREAD_NO_CALL, 0, 0},
		{"", THREAD_NO_CALL, 0, 0},
		{"x y z", THREAD_NO_CALL, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct thread_row row = blocked("7 (a) S 1", rows[i].call);
		struct thread_seen t;

		thread_see(&row, NULL, &t);
		ck_assert_int_eq(t.number, rows[i].number);
		ck_assert_uint_eq(t.sp, rows[i].sp);
		ck_assert_uint_eq(t.pc, rows[i].pc);
	}
}
END

/* These numbers are the same on all machines, and missing in older headers. */
#define FUTEX_WAITV 449
#define FUTEX_WAIT  455

TEST(calls_that_wait_are_told_from_others)
{
	static const struct {
		int number;
		char state;
		const char *says;
	} rows[] = {
		{SYS_futex, 'S', "waiting"},  {SYS_read, 'S', "waiting"},
		{SYS_fsync, 'D', "syscall"},  {SYS_futex, 'R', "waiting"},
		{SYS_fsync, 'T', "syscall"},  {FUTEX_WAITV, 'S', "waiting"},
		{FUTEX_WAIT, 'S', "waiting"},
#ifdef SYS_vfork
		{SYS_vfork, 'D', "waiting"},
#endif
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char stat[32], call[64];
		struct thread_row row;
		struct thread_seen t;

		snprintf(stat, sizeof(stat), "7 (a) %c 1", rows[i].state);
		snprintf(call, sizeof(call), "%d 0 0 0 0 0 0 0x10 0x20",
		         rows[i].number);
		row = blocked(stat, call);
		thread_see(&row, NULL, &t);
		ck_assert_str_eq(thread_state(&t), rows[i].says);
	}
}
END

TEST(the_first_of_several_words_is_read_within_the_stack)
{
	static const struct {
		uint64_t at, address;
	} rows[] = {{0, 20}, {8, 30}, {16, 40}, {24, 0}, {(uint64_t)-8, 0}};
	const uint64_t stack[] = {10, 20, 30, 40};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char call[96];
		struct thread_row row;
		struct thread_seen t;

		snprintf(call, sizeof(call), "%d 0x%lx 2 0 0 0 0 0x1000 0x20",
		         FUTEX_WAITV, (unsigned long)(0x1000 + rows[i].at));
		row = blocked("7 (a) S 1", call);
		row.stack_bytes = sizeof(stack);
		thread_see(&row, stack, &t);
		ck_assert_uint_eq(t.futex, rows[i].address);
		ck_assert_int_eq(t.target, TARGET_FUTEX);
	}
}
END

/* The array may claim any address and any length. */
TEST(polled_descriptors_are_read_within_the_stack)
{
	struct pollfd stack[THREAD_MAX_FDS + 2];
	static const struct {
		uint64_t at, count;
		size_t got;
	} rows[] = {
		{0, 2, 2},
		{8, 1, 1},
		{0, THREAD_MAX_FDS, THREAD_MAX_FDS},
		{0, THREAD_MAX_FDS + 1, THREAD_MAX_FDS},
		{0, UINT64_MAX, THREAD_MAX_FDS},
		{sizeof(stack) - 8, 1, 1},
		{sizeof(stack) - 8, 2, 1},
		{sizeof(stack) - 7, 1, 0},
		{sizeof(stack), 1, 0},
		{(uint64_t)-8, 2, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(stack); i++)
		stack[i] = (struct pollfd){.fd = (int)i + 3};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct thread_row row;
		struct thread_seen t;
		char call[128];

		snprintf(call, sizeof(call), "%d 0x%lx 0x%lx 0 0 0 0 0x%lx 0x2",
		         SYS_poll, 0x7000 + (unsigned long)rows[i].at,
		         (unsigned long)rows[i].count, 0x7000ul);
		row = blocked("7 (a) S 1", call);
		row.stack_bytes = sizeof(stack);
		thread_see(&row, stack, &t);
		ck_assert_msg(t.nfds == rows[i].got, "row %zu: %zu", i, t.nfds);
	}
}
END

/* --- a program ------------------------------------------------------------ */

struct target {
	pid_t pid;
	FILE *in, *out;
};

/* Waits until the main thread waits for a line, too. */
static void
wait_until_it_reads(pid_t pid)
{
	struct thread_seen t = {.state = 0};

	while (t.state != 'S') {
		CLEANUP_BUF struct buf stat = BUF_INIT(BUF_MAX_SMALL);
		struct thread_row row;
		char path[64];

		sched_yield();
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
		ck_assert_int_eq(file_read(AT_FDCWD, path, &stat), 0);
		row = blocked(buf_str(&stat), "");
		thread_see(&row, NULL, &t);
	}
}

static struct target
start(const char *count, const char *still)
{
	char path[PATH_MAX], line[32] = "";
	struct target t;
	int to[2], from[2];

	corpus_target("threads", path, sizeof(path));
	ck_assert_int_eq(pipe(to) | pipe(from), 0);
	t.pid = fork();
	if (!t.pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[1]);
		close(from[0]);
		execl(path, path, count, still, NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	t.in = fdopen(to[1], "w");
	t.out = fdopen(from[0], "r");
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), t.out));
	ck_assert_str_eq(line, "ready\n");
	wait_until_it_reads(t.pid);
	return t;
}

static void
stop(struct target *t)
{
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	fclose(t->in);
	fclose(t->out);
}

static const char *
label(const struct profile *p, const struct sample *s, const char *key)
{
	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &p->labels[s->label0 + i];

		if (!strcmp(profile_text(p, l->key), key))
			return profile_text(p, l->str);
	}
	return "";
}

static bool
calls(const struct profile *p, const struct sample *s, const char *function)
{
	for (uint32_t i = 0; i < s->nstack; i++) {
		const struct location *at =
			&p->locations[p->stack[s->stack0 + i]];

		for (uint32_t k = 0; k < at->nlines; k++) {
			uint32_t f = p->lines[at->line0 + k].function;

			if (!strcmp(profile_text(p, p->functions[f].name),
			            function))
				return true;
		}
	}
	return false;
}

struct truth {
	const char *thread, *function, *state, *reason, *call, *target;
};
static const struct truth truths[] = {
	{"cond", "wait_cond", "waiting", "condition variable", "futex", "0x"},
	{"mutex", "wait_mutex", "waiting", "mutex", "futex", "0x"},
	{"sem", "wait_sem", "waiting", "semaphore", "futex", "0x"},
	{"epoll", "wait_epoll", "waiting", "epoll", "epoll_wait", ""},
	{"poll", "wait_poll", "waiting", "poll", "poll", " pipe:["},
	{"read", "wait_read", "waiting", "read pipe", "read", " pipe:["},
	{"event", "wait_event", "waiting", "read eventfd", "read",
         " anon_inode:[eventfd]"},
	{"accept", "wait_accept", "waiting", "accept socket", "accept",
         " socket:["},
	{"sleep", "wait_sleep", "waiting", "sleep", "clock_nanosleep", ""},
};

/* A libc without its debug file doesn't name what sem_wait jumps to. */
static bool
same_reason(const char *got, const char *want)
{
	return !strcmp(got, want) ||
	       (!strcmp(want, "semaphore") && !strcmp(got, "futex"));
}

static int64_t
count(const struct profile *p, const struct truth *t)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		if (!strcmp(label(p, s, "thread"), t->thread) &&
		    calls(p, s, t->function) &&
		    !strcmp(label(p, s, "createdBy"), "begin") &&
		    !strcmp(label(p, s, "state"), t->state) &&
		    same_reason(label(p, s, "waitReason"), t->reason) &&
		    !strncmp(label(p, s, "waitReasonRaw"), t->call,
		             strlen(t->call)) &&
		    strstr(label(p, s, "waitTarget"), t->target))
			n += p->values[i];
	}
	return n;
}

#define EACH 20 /* threads of each kind */

TEST(every_waiting_thread_is_told_and_none_is_stopped)
{
	struct target t = start("180", "still");
	CLEANUP_PROFILE struct profile *p = NULL;
	struct quality q;

	ck_assert_int_eq(here_snapshot(t.pid, &p, &q), 0);
	stop(&t);
	for (size_t i = 0; i < ARRAY_LEN(truths); i++)
		ck_assert_msg(count(p, &truths[i]) == EACH, "%s: %ld",
		              truths[i].thread, (long)count(p, &truths[i]));
	ck_assert_int_eq(q.threads, EACH * (int64_t)ARRAY_LEN(truths) + 1);
	ck_assert_int_eq(q.kept, q.threads);
	ck_assert_int_eq(q.reached_root, q.threads);
	ck_assert_int_eq(q.stopped, 0);
	ck_assert_int_eq(q.stopped_ns, 0);
}
END

static int64_t
not_runnable_ns(struct target *t)
{
	char line[32];

	fputs("?\n", t->in);
	fflush(t->in);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), t->out));
	return strtoll(line, NULL, 10);
}

static const struct sample *
sample_of(const struct profile *p, const char *thread)
{
	for (uint32_t i = 0; i < p->nsamples; i++)
		if (!strcmp(label(p, &p->samples[i], "thread"), thread))
			return &p->samples[i];
	return NULL;
}

TEST(a_running_thread_is_stopped_and_goes_on)
{
	struct target t = start("9", NULL);
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct sample *s;
	struct quality q;

	ck_assert_int_eq(here_snapshot(t.pid, &p, &q), 0);
	stop(&t);
	s = sample_of(p, "spin");
	ck_assert_ptr_nonnull(s);
	ck_assert(calls(p, s, "spin_on"));
	ck_assert_str_eq(label(p, s, "state"), "running");
	ck_assert_str_eq(label(p, s, "createdBy"), "begin_spin");
	ck_assert_int_eq(q.stopped, 1);
}
END

static pid_t
tid_of_spin(const struct target *t)
{
	pid_t tid = t->pid;
	char path[64];

	for (unsigned i = 0; i < 1000; i++, tid++) {
		CLEANUP_BUF struct buf name = BUF_INIT(BUF_MAX_SMALL);

		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", t->pid,
		         tid);
		if (!file_read(AT_FDCWD, path, &name) &&
		    !strcmp(buf_str(&name), "spin\n"))
			return tid;
	}
	return 0;
}

TEST(a_running_thread_that_another_program_traces_is_said_to_be_traced)
{
	struct target t = start("9", NULL);
	CLEANUP_PROFILE struct profile *p = NULL;
	pid_t tid = tid_of_spin(&t);
	struct quality q;

	ck_assert_int_eq(ptrace(PTRACE_SEIZE, tid, 0, 0), 0);
	ck_assert_int_eq(here_snapshot(t.pid, &p, &q), 0);
	ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, tid, 0, 0), 0);
	ck_assert_int_eq(waitpid(tid, NULL, __WALL), tid);
	ck_assert_int_eq(ptrace(PTRACE_DETACH, tid, 0, 0), 0);
	stop(&t);
	ck_assert_int_eq(q.traced, 1);
	ck_assert_int_eq(q.unread, 1);
	ck_assert(q.notes == QUALITY_NOTE_OF(TRACED));
	ck_assert_uint_eq(sample_of(p, "spin")->nstack, 0);
}
END

TEST(a_snapshot_without_most_of_its_stacks_says_so)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	struct quality q;
	pid_t child = fork();
	int rc;

	if (!child)
		for (;;)
			;
	ck_assert_int_eq(ptrace(PTRACE_SEIZE, child, 0, 0), 0);
	rc = here_snapshot(child, &p, &q);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(q.unread, 1);
	ck_assert(q.notes ==
	          (QUALITY_NOTE_OF(NO_STACKS) | QUALITY_NOTE_OF(TRACED)));
}
END

/* Makes a ring whose kernel thread polls for 10 s before it sleeps. */
static void
poll_submissions(int told)
{
	struct io_uring_params how = {.flags = IORING_SETUP_SQPOLL,
	                              .sq_thread_idle = 10000};
	long fd = syscall(SYS_io_uring_setup, 4, &how);

	if (write(told, fd < 0 ? "!" : ".", 1) == 1)
		for (;;)
			pause();
	_exit(1);
}

/* Returns whether the process sleeps and its kernel thread has this name. */
static bool
has_settled(pid_t pid, const char *name)
{
	CLEANUP_BUF struct buf text = BUF_INIT(BUF_MAX_SMALL);
	char path[64];
	glob_t found;
	bool asleep, named = false;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	asleep = !file_read(AT_FDCWD, path, &text) &&
	         strstr(buf_str(&text), ") S ");
	snprintf(path, sizeof(path), "/proc/%d/task/*/comm", pid);
	if (glob(path, 0, NULL, &found))
		return false;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		buf_clear(&text);
		named |= !file_read(AT_FDCWD, found.gl_pathv[i], &text) &&
		         !strncmp(buf_str(&text), name, strlen(name));
	}
	globfree(&found);
	return asleep && named;
}

TEST(a_kernel_thread_of_a_process_is_said_to_be_one)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	const struct sample *s;
	char said = '!', name[32];
	struct quality q;
	int told[2];
	pid_t child;
	int rc;

	ck_assert_int_eq(pipe(told), 0);
	child = fork();
	if (!child)
		poll_submissions(told[1]);
	ck_assert_int_eq(read(told[0], &said, 1), 1);
	snprintf(name, sizeof(name), "iou-sqp-%d", child);
	while (said == '.' && !has_settled(child, name))
		poll(NULL, 0, 1);
	rc = said == '.' ? here_snapshot(child, &p, &q) : 0;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (said != '.')
		SKIP("this kernel gives no io_uring that polls");
	ck_assert_int_eq(rc, 0);
	s = sample_of(p, name);
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->nstack, 1);
	ck_assert(calls(p, s, "[kernel thread]"));
	ck_assert_int_eq(q.stopped, 0);
	ck_assert_int_eq(q.reached_root, q.threads);
}
END

/* One of several snapshots must show it: when a hypervisor takes the CPU, the
 * target looks stopped for longer. */
#define MEASUREMENTS 10

TEST(the_time_told_covers_the_time_that_the_thread_stood_still)
{
	struct target t = start("9", NULL);
	int covered = 0;

	for (int i = 0; i < MEASUREMENTS; i++) {
		CLEANUP_PROFILE struct profile *p = NULL;
		int64_t before = not_runnable_ns(&t), stood;
		struct quality q;

		ck_assert_int_eq(here_snapshot(t.pid, &p, &q), 0);
		stood = not_runnable_ns(&t) - before;
		covered += stood > 0 && stood <= q.stopped_ns;
	}
	stop(&t);
	ck_assert_int_gt(covered, 0);
}
END

/* A thread that is read while it runs has a stack that does not lead to its
 * start. */
TEST(threads_that_wake_all_the_time_are_read_whole)
{
	struct target t = start("0", "restless");

	for (int i = 0; i < 20; i++) {
		CLEANUP_PROFILE struct profile *p = NULL;
		struct quality q;

		ck_assert_int_eq(here_snapshot(t.pid, &p, &q), 0);
		ck_assert_int_eq(q.threads, 3);
		ck_assert_int_eq(q.reached_root, 3);
		ck_assert_str_eq(label(p, sample_of(p, "ping"), "createdBy"),
		                 "begin_ping");
		ck_assert_str_eq(label(p, sample_of(p, "pong"), "createdBy"),
		                 "begin_pong");
	}
	stop(&t);
}
END

/* --- what is refused, what is gone ---------------------------------------- */

TEST(a_process_that_is_gone_is_no_snapshot)
{
	CLEANUP_PROFILE struct profile *p = NULL;
	struct quality q;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(here_snapshot(pid, &p, &q), -ESRCH);
	ck_assert_ptr_null(p);
}
END

static int
ask_stacks(pid_t pid, uint32_t count, uint32_t size, struct thread_row *row)
{
	struct host_ask ask = {
		.op = HOST_STACKS,
		.pid = pid,
		.count = count,
		.size = size,
		.list = {pid},
	};
	CLEANUP_FD int fd = -1;
	int rc = host_fd(&here, &ask, &fd);

	if (!rc)
		ck_assert_int_eq(pread(fd, row, sizeof(*row), 0), sizeof(*row));
	return rc;
}

TEST(the_opener_reads_no_more_than_its_bounds)
{
	static const struct {
		uint32_t count, size;
		int rc;
	} rows[] = {
		{0, 4096, -EINVAL},
		{1, 0, -EINVAL},
		{1, 1, 0},
		{1, THREADS_MAX_STACK, 0},
		{1, THREADS_MAX_STACK + 1, -EINVAL},
		{HOST_MAX_LIST, 16384, 0},
		{HOST_MAX_LIST + 1, 16384, -EINVAL},
		{HOST_MAX_LIST, 65536, -EINVAL},
		{UINT32_MAX, UINT32_MAX, -EINVAL},
	};
	struct target t = start("0", "still");
	struct thread_row row;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int rc = ask_stacks(t.pid, rows[i].count, rows[i].size, &row);

		ck_assert_msg(rc == rows[i].rc, "row %zu: %d", i, rc);
		if (!rc)
			ck_assert_uint_eq(row.how, THREAD_BLOCKED);
	}
	stop(&t);
}
END

TEST(a_thread_of_another_process_is_none_of_this_one)
{
	struct target t = start("0", "still");
	struct host_ask ask = {.op = HOST_STACKS,
	                       .pid = t.pid,
	                       .count = 1,
	                       .size = 4096,
	                       .list = {getpid()}};
	struct thread_row row;
	CLEANUP_FD int fd = -1;

	ck_assert_int_eq(host_fd(&here, &ask, &fd), 0);
	ck_assert_int_eq(pread(fd, &row, sizeof(row), 0), sizeof(row));
	ck_assert_uint_eq(row.how, THREAD_GONE);
	ck_assert_uint_eq(row.stack_bytes, 0);
	stop(&t);
}
END

TEST(a_thread_that_has_ended_has_no_stack_to_miss)
{
	struct thread_row row;
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(ask_stacks(pid, 1, 4096, &row), 0);
	ck_assert_uint_eq(row.how, THREAD_GONE);
	waitpid(pid, NULL, 0);
}
END

/* Returns the other one of two threads. */
static int32_t
second_thread(pid_t pid)
{
	struct host_ask ask = {.op = HOST_TASKS, .pid = pid};
	int32_t tids[2] = {0, 0};
	CLEANUP_FD int fd = -1;

	ck_assert_int_eq(host_fd(&here, &ask, &fd), 0);
	ck_assert_int_eq(pread(fd, tids, sizeof(tids), 0), sizeof(tids));
	return tids[0] == pid ? tids[1] : tids[0];
}

/* A debugger has seized it and lets it run, so we can't stop it. */
TEST(a_traced_thread_that_runs_is_told_without_a_stack)
{
	struct target t = start("0", NULL);
	CLEANUP_PROFILE struct profile *p = NULL;
	struct quality q;
	const struct sample *s;
	pid_t spin = second_thread(t.pid);

	ck_assert_int_eq(ptrace(PTRACE_SEIZE, spin, 0, 0), 0);
	ck_assert_int_eq(here_snapshot(t.pid, &p, &q), 0);
	kill(t.pid, SIGKILL);
	ck_assert_int_eq(waitpid(spin, NULL, __WALL), spin);
	stop(&t);
	s = sample_of(p, "spin");
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->nstack, 0);
	ck_assert_str_eq(label(p, s, "state"), "running");
	ck_assert_int_eq(q.unread, 1);
	ck_assert_int_eq(q.stopped, 0);
}
END

SUITE("snapshot");
