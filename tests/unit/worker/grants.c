/* Grants of processes whose pids were given to others. */
#include "base/hash.h"
#include "lib/test.h"
#include "worker/opener/opener_grants.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static struct grants g;

static pid_t
start(void)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	while (!pid)
		pause();
	return pid;
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void
grant_of(pid_t pid, uint64_t start_time)
{
	const struct msg_may m = {.type = MSG_MAY,
	                          .npids = 1,
	                          .what = WORKER_MAY_LOOK,
	                          .processes = {{start_time, pid, 0}}};

	g.n = 0;
	grants_add(&g, &m);
}

static void
grant(pid_t pid)
{
	grant_of(pid, 0);
}

TEST(a_process_that_is_gone_gets_no_grant)
{
	pid_t pid = start();

	end(pid);
	grant(pid);
	ck_assert_uint_eq(g.n, 0);
	ck_assert(!grants_has(&g, WORKER_MAY_LOOK, pid, 0));
}
END

TEST(who_was_seen_to_descend_is_known_by_its_start_and_its_elders)
{
	pid_t elder = start(), heir = start();
	struct grant_heir *row =
		&g.heirs[hash_u64((uint64_t)heir) % GRANTS_HEIR];
	const struct grant_heir seen = {.start_time = proc_start_time(heir),
	                                .of_start_time = proc_start_time(elder),
	                                .pid = heir,
	                                .of = elder};

	grant(elder);
	ck_assert_int_eq(grants_look(&g, elder), 0);
	ck_assert_int_eq(grants_look(&g, heir), -EPERM);
	*row = seen; /* seen while its parents lived */
	ck_assert_int_eq(grants_look(&g, heir), 0);
	row->start_time--; /* its pid was reused */
	ck_assert_int_eq(grants_look(&g, heir), -EPERM);
	*row = seen;
	row->of_start_time--; /* the elder's pid was reused */
	ck_assert_int_eq(grants_look(&g, heir), -EPERM);
	end(elder);
	end(heir);
}
END

TEST(a_grant_is_not_of_the_next_process_with_that_number)
{
	pid_t pid = start();
	uint64_t began = proc_start_time(pid);

	grant_of(pid, began);
	ck_assert_int_eq(grants_look(&g, pid), 0);
	grant_of(pid, began - 1); /* given to an earlier process */
	ck_assert_int_eq(grants_look(&g, pid), -ESRCH);
	ck_assert(!grants_has(&g, WORKER_MAY_LOOK, pid, began));
	end(pid);
}
END

SUITE("grants");
