#include "held.h"

#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void
held_done(struct held *h)
{
	if (h->pid && h->fd >= 0 && !h->runs) {
		kill(h->pid, SIGKILL);
		held_ended(h);
	}
	close_ptr(&h->fd);
}

/* The child: becomes the program.
 * Source: ptrace(2), PTRACE_TRACEME: execve() stops it */
static void
become_program(const char *const argv[], int pid_file)
{
	if (pid_file < 0 || dprintf(pid_file, "%d\n", getpid()) > 0)
		if (!prctl(PR_SET_PDEATHSIG, SIGCONT) &&
		    !ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			execvp(argv[0], (char *const *)argv);
	fprintf(stderr, "stoker: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int
held_start(const char *const *words, size_t n, int pid_file, struct held *out)
{
	CLEANUP_HELD_PROGRAM struct held h = HELD_INIT;
	const char *argv[OPERANDS_MAX + 1] = {0};
	int status;
	pid_t pid;

	memcpy(argv, words, n * sizeof(*argv));
	pid = fork();
	if (pid < 0)
		return failed("fork: %s", strerror(errno));
	if (!pid)
		become_program(argv, pid_file);
	if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status))
		return LEAVE_FAILED; /* the child has printed why */
	h.pid = pid;
	h.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (h.fd < 0 || ptrace(PTRACE_DETACH, pid, NULL, (void *)SIGSTOP))
		return failed("%s: %s", argv[0], strerror(errno));
	*out = h;
	h = (struct held)HELD_INIT;
	return LEAVE_OK;
}

void
held_let_go(struct held *h)
{
	if (!h->runs)
		kill(h->pid, SIGCONT);
	h->runs = true;
}

void
held_ended(struct held *h)
{
	while (waitpid(h->pid, &h->left, 0) < 0 && errno == EINTR)
		;
	close_ptr(&h->fd);
}

static volatile pid_t passed_to;

static void
pass_on(int sig)
{
	kill(passed_to, sig);
}

void
held_wait(struct held *h)
{
	struct sigaction sa = {.sa_handler = pass_on};

	passed_to = h->pid;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGINT, &sa, NULL);
	held_ended(h);
	sa.sa_handler = SIG_DFL;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
}

int
held_status(const struct held *h)
{
	return WIFEXITED(h->left) ? WEXITSTATUS(h->left)
	                          : 128 + WTERMSIG(h->left);
}
