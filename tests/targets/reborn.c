/*
 * Runs one of two programs, always with the same pid, as if the kernel had
 * reused it. For each line "MS" of standard input, after that many
 * milliseconds, it kills the running program and starts the other one. Prints
 * the pid at first and after each change; ends with its input.
 *
 * 	reborn FIRST SECOND
 *
 * Exits with 2 if it may not choose a pid, or if another process got it.
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Source: clone3 in clone(2), CLONE_ARGS_SIZE_VER1 and set_tid */
static pid_t
start(char *program, pid_t wanted)
{
	char seconds[] = "600", threads[] = "1", percent[] = "20";
	char *words[] = {program, seconds, threads, percent, NULL};
	struct clone_args how = {.exit_signal = SIGCHLD,
	                         .set_tid = wanted ? (uintptr_t)&wanted : 0,
	                         .set_tid_size = wanted != 0};
	pid_t pid = (pid_t)syscall(SYS_clone3, &how, sizeof(how));

	if (pid < 0) {
		fprintf(stderr, "cannot start process %d: %s\n", (int)wanted,
		        strerror(errno));
		exit(2);
	}
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (freopen("/dev/null", "r", stdin) &&
	    freopen("/dev/null", "w", stdout))
		execv(program, words);
	_exit(1);
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int
main(int argc, char **argv)
{
	char line[32];
	pid_t pid;

	if (argc != 3)
		return 1;
	pid = start(argv[1], 0);
	printf("%d\n", (int)pid);
	fflush(stdout);
	for (int runs = 0; fgets(line, sizeof(line), stdin); runs = !runs) {
		long ms = strtol(line, NULL, 10);
		struct timespec wait = {ms / 1000, ms % 1000 * 1000000};

		nanosleep(&wait, NULL);
		end(pid);
		pid = start(argv[runs ? 1 : 2], pid);
		printf("%d\n", (int)pid);
		fflush(stdout);
	}
	end(pid);
	return 0;
}
