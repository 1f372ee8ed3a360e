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
	if (h->pid && !h->runs) {
		kill(h->pid, SIGKILL);
		held_ended(h);
	}
	close_ptr(&h->fd);
}

/* Runs in the child: becomes the program.
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
held_start(const char *const argv[], int pid_file, struct held *out)
{
	CLEANUP_HELD_PROGRAM struct held h = HELD_INIT;
	pid_t pid = fork();

	if (pid < 0)
		return failed("fork: %s", strerror(errno));
	if (!pid)
		become_program(argv, pid_file);
	h.pid = pid;
	while (waitpid(pid, &h.left, 0) < 0 && errno == EINTR)
		;
	if (!WIFSTOPPED(h.left)) {
		h.pid = 0;
		return LEAVE_FAILED; /* the child has printed why */
	}
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
	if (h->pid && !h->runs)
		kill(h->pid, SIGCONT);
	h->runs = true;
}

void
held_ended(struct held *h)
{
	while (waitpid(h->pid, &h->left, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
	close_ptr(&h->fd);
}

static volatile pid_t passed_to;

/* Signals from a terminal are not passed on: it sends them to both
 * programs. */
static void
pass_on(int sig, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code != SI_KERNEL)
		kill(passed_to, sig);
}

void
held_wait(struct held *h)
{
	static const int signals[] = {SIGTERM, SIGHUP, SIGINT};
	struct sigaction sa = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO};
	struct sigaction before[ARRAY_LEN(signals)];
	siginfo_t info;

	passed_to = h->pid;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		sigaction(signals[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN) /* as after nohup */
			sigaction(signals[i], &sa, NULL);
	}
	/* The pid is not reused while signals are passed on. */
	while (waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOWAIT) < 0 &&
	       errno == EINTR)
		;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &before[i], NULL);
	held_ended(h);
}

int
held_status(const struct held *h)
{
	return WIFEXITED(h->left) ? WEXITSTATUS(h->left)
	                          : 128 + WTERMSIG(h->left);
}
