/*
 * Snapshots that go wrong half-way, and stacks that must be read twice. This
 * program replaces two system calls of the opener. They work as the kernel's,
 * until a test makes them hang in the process that stops threads.
 */
#include "base/file.h"
#include "capture/snapshot.h"
#include "lib/corpus.h"
#include "lib/here.h"
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static pid_t opener;     /* its child stops threads */
static int hangs = -1;   /* written to when a copy hangs */
static bool never_stops; /* waitpid() never reports a stop */

static bool
in_stopper(void)
{
	return opener && getpid() != opener;
}

ssize_t
process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto,
                 const struct iovec *from, unsigned long nfrom,
                 unsigned long flags)
{
	if (hangs >= 0 && in_stopper() && write(hangs, "!", 1) == 1)
		for (;;)
			pause();
	return syscall(SYS_process_vm_readv, pid, to, nto, from, nfrom, flags);
}

pid_t
waitpid(pid_t pid, int *status, int options)
{
	if (never_stops && in_stopper())
		return 0;
	return (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}

/* --- a target ------------------------------------------------------------- */

struct target {
	pid_t pid;
	FILE *in, *out;
};

/* Returns the state as ps(1) shows it, 't' if a tracer stopped the thread; '\0'
 * if t has no such thread. */
static char
state_of(const struct target *t, pid_t tid)
{
	CLEANUP_BUF struct buf stat = BUF_INIT(BUF_MAX_SMALL);
	char path[64];
	const char *close;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", t->pid, tid);
	if (file_read(AT_FDCWD, path, &stat))
		return '\0';
	close = strrchr(buf_str(&stat), ')');
	ck_assert_ptr_nonnull(close);
	return close[2];
}

/* Returns the state of the second thread that was started. */
static char
state_of_spin(const struct target *t)
{
	char state = '\0';

	for (pid_t tid = t->pid + 1; !state; tid++) {
		state = state_of(t, tid);
		ck_assert_int_lt(tid, t->pid + 10000);
	}
	return state;
}

/* Starts tests/targets/threads with only its main thread and "spin". */
static struct target
start_spinning(void)
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
		execl(path, path, "0", NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	t.in = fdopen(to[1], "w");
	t.out = fdopen(from[0], "r");
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), t.out));
	ck_assert_str_eq(line, "ready\n");
	while (state_of(&t, t.pid) != 'S') /* until it waits for a line */
		sched_yield();
	return t;
}

static void
end(struct target *t)
{
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	fclose(t->in);
	fclose(t->out);
}

/* Only a running main thread answers. */
static void
is_alive(struct target *t)
{
	char line[32];

	fputs("?\n", t->in);
	fflush(t->in);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), t->out));
}

static void
wait_until_it_runs(const struct target *t)
{
	while (state_of_spin(t) == 't')
		sched_yield();
}

/* --- snapshots ------------------------------------------------------------ */

TEST(an_opener_that_is_killed_lets_go_of_the_thread_it_holds)
{
	struct target t = start_spinning();
	int said[2];
	pid_t child;
	char c;

	ck_assert_int_eq(pipe(said), 0);
	child = fork();
	if (!child) {
		CLEANUP_PROFILE struct profile *p = NULL;
		struct quality q;

		opener = getpid();
		hangs = said[1];
		_exit(here_snapshot(t.pid, &p, &q) != 0);
	}
	ck_assert_int_eq(read(said[0], &c, 1), 1);
	ck_assert_int_eq(state_of_spin(&t), 't');
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	wait_until_it_runs(&t);
	is_alive(&t);
	end(&t);
}
END

TEST(a_thread_that_does_not_stop_in_time_is_told_without_a_stack)
{
	struct target t = start_spinning();
	CLEANUP_PROFILE struct profile *p = NULL;
	struct quality q;

	opener = getpid();
	never_stops = true;
	ck_assert_int_eq(here_snapshot(t.pid, &p, &q), 0);
	never_stops = false;
	ck_assert_int_eq(q.threads, 2);
	ck_assert_int_eq(q.stopped, 0);
	ck_assert_int_eq(q.unread, 1);
	wait_until_it_runs(&t);
	is_alive(&t);
	end(&t);
}
END

/* --- deep stacks ---------------------------------------------------------- */

#define FRAME 1024

/* Adds its room to the result, so that compilers make no tail call of it and
 * fold nothing. */
__attribute__((noinline, noclone)) static int
snapshot_down(int left, int said)
{
	volatile char room[FRAME] = {(char)left};

	if (left)
		return snapshot_down(left - 1, said) + room[left % FRAME];
	if (write(said, "!", 1) == 1)
		for (;;)
			pause();
	return room[0];
}

static pid_t
start_deep(int frames)
{
	int said[2];
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(said), 0);
	pid = fork();
	if (!pid)
		_exit(snapshot_down(frames, said[1]));
	ck_assert_int_eq(read(said[0], &c, 1), 1);
	close(said[0]);
	close(said[1]);
	return pid;
}

static int64_t
frames_of(const struct profile *p, const char *function)
{
	const struct sample *s = &p->samples[0];
	int64_t n = 0;

	for (uint32_t i = 0; i < s->nstack; i++) {
		const struct location *at =
			&p->locations[p->stack[s->stack0 + i]];
		uint32_t f = at->nlines ? p->lines[at->line0].function : 0;

		n += at->nlines &&
		     !strcmp(profile_text(p, p->functions[f].name), function);
	}
	return n;
}

/* Depths around the copies of stacks: 16 KiB at first, 256 KiB at most. */
static const struct {
	int frames;
	bool whole;
} depths[] = {
	{4, true},   {12, true},  {17, true},
	{120, true}, {220, true}, {300, false},
};

TEST(stacks_deeper_than_a_first_look_are_read_again)
{
	if (SANITIZED)
		SKIP("a sanitizer makes frames larger");
	for (size_t i = 0; i < ARRAY_LEN(depths); i++) {
		pid_t pid = start_deep(depths[i].frames);
		CLEANUP_PROFILE struct profile *p = NULL;
		struct quality q;
		int64_t n;

		ck_assert_int_eq(here_snapshot(pid, &p, &q), 0);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		ck_assert_int_eq(q.threads, 1);
		ck_assert_int_eq(q.reached_root, depths[i].whole);
		ck_assert_int_eq(q.truncated, !depths[i].whole);
		n = frames_of(p, "snapshot_down");
		if (depths[i].whole)
			ck_assert_int_eq(n, depths[i].frames + 1);
		else
			ck_assert_int_gt(n, 200);
	}
}
END

SUITE("snapshot_stop");
