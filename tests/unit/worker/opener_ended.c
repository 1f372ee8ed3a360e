/* Killed processes that do not end. A child that the test has not waited for
 * stands for one that hangs: neither has been seen to end. */
#include "worker/opener/opener.h"

#include "base/clock.h"
#include "lib/test.h"

#include <sys/wait.h>

static pid_t
start_child(void)
{
	pid_t pid = fork();

	if (!pid)
		pause();
	return pid;
}

/* Pretends that all were killed ns earlier. */
static void
pass(struct ended *e, int64_t ns)
{
	for (size_t i = 0; i < ENDED_MAX; i++)
		e->rows[i].killed_ns -= ns;
}

TEST(a_killed_process_is_stuck_when_two_seconds_do_not_end_it)
{
	struct ended e = {0};
	pid_t pid = start_child();
	int status;

	ck_assert_int_eq(ended_wait(&e), -1);
	ended_kill(&e, pid);
	ck_assert(!ended_is_stuck(&e, pid));
	ck_assert_int_gt(ended_wait(&e), 0);
	pass(&e, ENDED_WAIT_NS);
	ck_assert(ended_is_stuck(&e, pid));
	ck_assert(!ended_is_stuck(&e, pid + 1));
	ck_assert_uint_eq(ended_stuck(&e), 1);
	ck_assert_int_eq(ended_wait(&e), -1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status));
	ended_child_gone(&e, pid);
	ck_assert_uint_eq(ended_stuck(&e), 0);
}
END

TEST(more_are_killed_than_are_counted)
{
	struct ended e = {0};

	for (int i = 0; i < ENDED_MAX + 1; i++) {
		pid_t pid = start_child();
		int status;

		ended_kill(&e, pid);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
	}
	pass(&e, ENDED_WAIT_NS);
	ck_assert_uint_eq(ended_stuck(&e), ENDED_MAX);
}
END

SUITE("opener_ended");
