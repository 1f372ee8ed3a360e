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

#define TRIES  500
#define STARTS 10 /* of a program, until one locks its memory */
#define LOOKS  50

static char dir[] = "/var/tmp/stoker-locks-XXXXXX";

/* Starts a program that locks its memory for a minute. Returns false if this
 * machine refuses that, after printing why. */
static bool
start_locker(const char *how, pid_t *pid)
{
	char program[512], said[256] = "";
	const char *b = getenv("B");
	int out[2];

	strcpy(dir, "/var/tmp/stoker-locks-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(pipe(out), 0);
	snprintf(program, sizeof(program), "%s/targets/slowfs",
	         b ? b : "build");
	*pid = fork();
	if (!*pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], STDOUT_FILENO);
		execl(program, program, how, dir, "60", NULL);
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

static const char *const ways[] = {
	"lock", "share", /* its lock has another last owner each time */
};

TEST(a_process_that_keeps_its_memory_locked_is_found_until_it_ends)
{
	int fd = -1;

	if (geteuid())
		SKIP("this user may not load BPF programs");
	ck_assert_int_eq(locks_open(&fd), 0);
	for (size_t k = 0; k < ARRAY_LEN(ways); k++) {
		int32_t found = 0;
		pid_t pid = 0;
		int i = 0;

		for (int n = 0; n < STARTS && (!pid || found != pid); n++) {
			if (pid)
				end_locker(pid);
			if (!start_locker(ways[k], &pid)) {
				end_locker(pid);
				close(fd);
				return;
			}
			for (i = 0; i < LOOKS && found != pid; i++)
				(void)!locks_look(fd, &found);
		}
		ck_assert_int_eq(found, pid);
		for (i = 0; i < 10; i++)
			ck_assert_int_eq(locks_look(fd, &found), -EBUSY);
		end_locker(pid);
		/* others lock theirs for a moment */
		for (i = 0; i < TRIES && locks_look(fd, &found); i++)
			;
		ck_assert_int_lt(i, TRIES);
		locks_wait(fd);
	}
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
