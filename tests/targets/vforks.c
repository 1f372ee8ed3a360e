/*
 * A parent that waits in vfork(2) until its child executes a program, which
 * never happens.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int
share_until_exec(void)
{
	int status;
	pid_t child = vfork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		puts("ready");
		fflush(stdout);
		pause(); /* in place of execve(2) of a slow file */
		_exit(0);
	}
	return child < 0 || waitpid(child, &status, 0) != child;
}

int
main(void)
{
	return share_until_exec();
}
