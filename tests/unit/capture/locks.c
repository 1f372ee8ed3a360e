/* Which process of the host keeps its memory locked. */
#include "capture/host/locks.h"

#include "lib/test.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES 500

static char dir[] = "/var/tmp/stoker-locks-XXXXXX";

/* Starts a program that locks its memory for a minute. Returns false if this
 * machine refuses that, after printing why. */
static bool
start_locker(pid_t *pid)
{
	char program[512], said[256] = "";
	const char *b = getenv("B");
	int out[2];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(pipe(out), 0);
	snprintf(program, sizeof(program), "%s/targets/slowfs",
	         b ? b : "build");
	*pid = fork();
	if (!*pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], STDOUT_FILENO);
		execl(program, program, "lock", dir, "60", NULL);
		_exit(127);
	}
	close(out[1]);
	ck_assert_int_gt(read(out[0], said, sizeof(said) - 1), 0);
	close(out[0]);
	if (!strncmp(said, "ready", 5))
		return true;
	printf("# skip: %s", said);
	return false;
}

static void
end_locker(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	rmdir(dir);
}

TEST(a_process_that_keeps_its_memory_locked_is_found_until_it_ends)
{
	int32_t found = 0;
	int fd = -1, i = 0;
	pid_t pid;

	if (locks_open(&fd))
		SKIP("this user may not load BPF programs");
	if (!start_locker(&pid)) {
		end_locker(pid);
		close(fd);
		return;
	}
	while (i++ < TRIES &&
	       (locks_look(fd, &found) != -EBUSY || found != pid))
		found = 0;
	ck_assert_int_eq(found, pid);
	end_locker(pid);
	/* others lock theirs for a moment */
	for (i = 0; i < TRIES && locks_look(fd, &found); i++)
		;
	ck_assert_int_lt(i, TRIES);
	locks_wait(fd);
	close(fd);
}
END

TEST(what_cannot_be_looked_at_is_not_waited_for)
{
	int32_t pid;

	ck_assert_int_eq(locks_look(-1, &pid), 0);
	locks_wait(-1);
}
END

SUITE("locks");
