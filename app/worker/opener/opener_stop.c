#include "base/clock.h"
#include "opener_threads.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#if defined(__x86_64__)
#define STACK_POINTER(regs) ((regs)->rsp)
#elif defined(__aarch64__)
#define STACK_POINTER(regs) ((regs)->sp)
#endif

/*
 * Waits until the thread has stopped, or ended. Asks again and again at
 * first: it's there within microseconds, and if we slept then, it would have
 * to stay until we get a CPU again.
 *   Errors   -ETIMEDOUT, -ECHILD
 */
static int
wait_stop(int32_t tid, int *status)
{
	struct timespec left = {0, STOP_WAIT_MS * NS_PER_MS};
	int64_t until = clock_mono_ns() + STOP_SPIN_NS;
	sigset_t child;
	pid_t got;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while ((got = waitpid(tid, status, __WALL | WNOHANG)) == 0)
		if (clock_mono_ns() >= until &&
		    sigtimedwait(&child, NULL, &left) < 0 && errno == EAGAIN)
			return -ETIMEDOUT;
	return got == tid ? 0 : -ECHILD;
}

/* A signal that was on its way to the thread goes on to it. */
static long
pending_signal(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
}

static void
copy_stopped(const struct thread_batch *b, struct thread_row *row)
{
	struct iovec io = {&row->regs, sizeof(row->regs)};

	if (ptrace(PTRACE_GETREGSET, row->tid, NT_PRSTATUS, &io))
		return;
	thread_copy_stack(b, row, STACK_POINTER(&row->regs));
	row->how = THREAD_STOPPED;
}

/*
 * Stops, copies, lets go.
 *   Errors   -ETIMEDOUT: it may stop any time yet, and then stays so until
 *            we end
 */
static int
stop_one(const struct thread_batch *b, struct thread_row *row)
{
	int64_t start;
	int status, rc;

	if (ptrace(PTRACE_SEIZE, row->tid, 0, 0))
		return 0; /* gone, or somebody else's */
	start = clock_mono_ns();
	if (ptrace(PTRACE_INTERRUPT, row->tid, 0, 0))
		return 0;
	rc = wait_stop(row->tid, &status);
	if (rc || !WIFSTOPPED(status))
		return rc == -ETIMEDOUT ? rc : 0;
	copy_stopped(b, row);
	ptrace(PTRACE_DETACH, row->tid, 0, pending_signal(status));
	row->stop_ns = (uint64_t)(clock_mono_ns() - start);
	return 0;
}

static void
stop_all(const struct thread_batch *b, pid_t parent)
{
	sigset_t child;
	int rc = 0;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(STOP_MAX_S);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		return;
	for (uint32_t i = 0; i < b->count && !rc; i++)
		if (b->rows[i].how == THREAD_UNREAD)
			rc = stop_one(b, &b->rows[i]);
}

static bool
any_unread(const struct thread_batch *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->rows[i].how == THREAD_UNREAD)
			return true;
	return false;
}

void
threads_stop(const struct thread_batch *b)
{
	pid_t self = getpid(), child;

	if (!any_unread(b))
		return;
	child = fork();
	if (child == 0) {
		stop_all(b, self);
		_exit(0);
	}
	/* Not for long: its alarm is set. */
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}
