/* When a part that is silent is ended. The parts are children of this program;
 * time passes as the test says. */
#include "worker/opener/opener.h"

#include "capture/host.h"
#include "lib/test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCHEDULER 1000 /* descriptors, which name the parts */
#define ANALYSER  1001

static const struct conf conf = {.worker_watchdog = 60};

struct rig {
	struct opener *o;
	pid_t scheduler, analyser;
};
#define CLEANUP_RIG CLEANUP(rig_done)

static pid_t
start_part(void)
{
	pid_t pid = fork();

	if (!pid)
		pause();
	return pid;
}

static void
rig_init(struct rig *r)
{
	*r = (struct rig){calloc(1, sizeof(*r->o)), start_part(), start_part()};
	ck_assert_ptr_nonnull(r->o);
	r->o->conf = &conf;
	r->o->ask = SCHEDULER;
	r->o->ask_analyser = ANALYSER;
	r->o->scheduler = r->scheduler;
	r->o->analyser = r->analyser;
}

static void
rig_done(struct rig *r)
{
	kill(r->scheduler, SIGKILL);
	kill(r->analyser, SIGKILL);
	while (wait(NULL) > 0)
		;
	free(r->o);
}

static bool
lives(pid_t pid)
{
	siginfo_t info = {0};

	/* one that was killed ends in a moment */
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) ==
	               0 &&
	       !info.si_pid;
}

static void
await_end(pid_t pid)
{
	ck_assert_int_eq(
		waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT),
		0);
}

static bool
was_killed(const struct rig *r, pid_t pid)
{
	for (size_t i = 0; i < ENDED_MAX; i++)
		if (r->o->ended.rows[i].pid == pid)
			return true;
	return false;
}

/* Looks as often as if so much time had passed. */
static void
look(struct rig *r, int times)
{
	while (times--) {
		struct watchdog *w = &r->o->watchdog;

		w->next_ns = w->scheduler.next_ns = w->analyser.next_ns = 0;
		ck_assert_int_gt(watchdog_look(r->o), 0);
	}
}

TEST(a_part_is_ended_when_it_was_silent_at_as_many_looks_as_there_are)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	watchdog_alive(r.o, ANALYSER);
	look(&r, WATCHDOG_LOOKS); /* at the first one it had been heard */
	ck_assert(!was_killed(&r, r.analyser) && lives(r.analyser));
	watchdog_heard(r.o, ANALYSER + 1); /* a client that is no part */
	look(&r, 1);
	ck_assert(was_killed(&r, r.analyser));
	await_end(r.analyser);
	ck_assert(!was_killed(&r, r.scheduler) && lives(r.scheduler));
	/* another one is not watched before it has been heard */
	r.o->analyser = r.scheduler;
	look(&r, 2 * WATCHDOG_LOOKS);
	ck_assert(!was_killed(&r, r.scheduler) && lives(r.scheduler));
}
END

TEST(a_part_that_asks_or_waits_for_an_answer_is_not_silent)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	watchdog_alive(r.o, SCHEDULER);
	for (int i = 0; i < 2; i++) {
		look(&r, WATCHDOG_LOOKS);
		watchdog_heard(r.o, SCHEDULER);
	}
	look(&r, WATCHDOG_LOOKS);
	ck_assert(!was_killed(&r, r.scheduler) && lives(r.scheduler));
	look(&r, 1);
	ck_assert(was_killed(&r, r.scheduler));
	await_end(r.scheduler);
}
END

TEST(a_part_that_never_gave_a_sign_of_life_is_not_watched)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	watchdog_heard(r.o, ANALYSER);
	look(&r, 2 * WATCHDOG_LOOKS);
	ck_assert(lives(r.analyser) && lives(r.scheduler));
	ck_assert(!was_killed(&r, r.analyser));
}
END

/* The worker is broken before the analyser is ended. */
TEST(an_analyser_that_is_silent_for_half_the_time_is_told)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	watchdog_alive(r.o, ANALYSER);
	look(&r, WATCHDOG_LOOKS / 2);
	ck_assert_uint_eq(watchdog_hanging(r.o), 0);
	look(&r, 1);
	ck_assert_uint_eq(watchdog_hanging(r.o), HOST_NO_ANALYSER);
	watchdog_heard(r.o, ANALYSER);
	look(&r, 1);
	ck_assert_uint_eq(watchdog_hanging(r.o), 0);
}
END

TEST(nothing_is_looked_at_before_it_is_time)
{
	CLEANUP_RIG struct rig r;

	rig_init(&r);
	watchdog_alive(r.o, ANALYSER);
	look(&r, 1);
	for (int i = 0; i < 2 * WATCHDOG_LOOKS; i++)
		ck_assert_int_gt(watchdog_look(r.o), 1000);
	ck_assert_uint_eq(r.o->watchdog.analyser.silent, 0);
	ck_assert(lives(r.analyser));
}
END

SUITE("watchdog");
