/* Grants of processes whose pids were given to others. */
#include "base/clock.h"
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

/* --- the rows ------------------------------------------------------------- */

#define BEGAN 77 /* start of every process: the kernel is not asked */

static void
add(enum worker_may what, uint64_t duration_ms, int32_t pid)
{
	const struct msg_may m = {.type = MSG_MAY,
	                          .npids = 1,
	                          .duration_ms = duration_ms,
	                          .what = what,
	                          .processes = {{BEGAN, pid, 0}}};

	grants_add(&g, &m);
}

TEST(a_right_is_of_one_process_whatever_came_first)
{
	static const int32_t pids[] = {30, 10, 20, 40, 20};

	g.n = 0;
	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		add(WORKER_MAY_SET, 1000, pids[i]);
	ck_assert_uint_eq(g.n, 4);
	for (int32_t pid = 9; pid <= 41; pid++)
		ck_assert_int_eq(grants_has(&g, WORKER_MAY_SET, pid, BEGAN),
		                 pid % 10 == 0);
	ck_assert(!grants_has(&g, WORKER_MAY_ASK, 20, BEGAN));
	ck_assert(!grants_has(&g, WORKER_MAY_SET, 20, BEGAN + 1));
	ck_assert(!grants_has(&g, WORKER_MAY_SET, 20, 0));
}
END

TEST(a_right_ends_in_time)
{
	g.n = 0;
	add(WORKER_MAY_SET, 1000, 7);
	ck_assert(grants_has(&g, WORKER_MAY_SET, 7, BEGAN));
	g.rows[0].until_ns = clock_mono_ns();
	ck_assert(!grants_has(&g, WORKER_MAY_SET, 7, BEGAN));
}
END

/* Captures overlap; what is kept on is said again while it is wanted. */
TEST(a_right_lasts_as_long_as_the_longest_capture_but_one_that_is_kept_as_said)
{
	static const struct {
		enum worker_may what;
		bool shortened;
	} rows[] = {{WORKER_MAY_SET, false},
	            {WORKER_MAY_KEEP_BLOCK, true},
	            {WORKER_MAY_KEEP_MUTEX, true}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int64_t until_ns;

		g.n = 0;
		add(rows[i].what, 600000, 7);
		until_ns = g.rows[0].until_ns;
		add(rows[i].what, 300000, 7);
		ck_assert_uint_eq(g.n, 1);
		ck_assert_msg((g.rows[0].until_ns < until_ns) ==
		                      rows[i].shortened,
		              "row %zu", i);
		add(rows[i].what, 900000, 7);
		ck_assert_msg(g.rows[0].until_ns > until_ns, "row %zu", i);
	}
}
END

/* Fills n rows with rights to look, which have no end. */
static void
fill(size_t n)
{
	for (g.n = 0; g.n < n; g.n++)
		g.rows[g.n] = (struct grant){.start_time = BEGAN,
		                             .of = 1,
		                             .until_ns = INT64_MAX,
		                             .pid = (int32_t)g.n + 1,
		                             .what = WORKER_MAY_LOOK};
}

TEST(the_right_that_ends_first_makes_room)
{
	int64_t now_ns = clock_mono_ns();

	fill(GRANTS_MAX - 1);
	g.rows[5].until_ns = now_ns + 200 * NS_PER_S;
	g.rows[9].until_ns = now_ns + 100 * NS_PER_S;
	add(WORKER_MAY_LOOK, 0, GRANTS_MAX); /* there is room */
	ck_assert_uint_eq(g.n, GRANTS_MAX);
	ck_assert(grants_has(&g, WORKER_MAY_LOOK, 10, BEGAN));
	add(WORKER_MAY_ASK, 0, GRANTS_MAX);
	ck_assert_uint_eq(g.n, GRANTS_MAX);
	ck_assert(grants_has(&g, WORKER_MAY_ASK, GRANTS_MAX, BEGAN));
	ck_assert(!grants_has(&g, WORKER_MAY_LOOK, 10, BEGAN));
	ck_assert(grants_has(&g, WORKER_MAY_LOOK, 6, BEGAN));
}
END

TEST(a_right_without_room_is_dropped_when_no_other_has_an_end)
{
	fill(GRANTS_MAX);
	add(WORKER_MAY_LOOK, 0, GRANTS_MAX + 1);
	ck_assert_uint_eq(g.n, GRANTS_MAX);
	ck_assert(!grants_has(&g, WORKER_MAY_LOOK, GRANTS_MAX + 1, BEGAN));
	ck_assert(grants_has(&g, WORKER_MAY_LOOK, 1, BEGAN));
	ck_assert(grants_has(&g, WORKER_MAY_LOOK, GRANTS_MAX, BEGAN));
}
END

/* Messages are from the scheduler, which reads what users wrote. */
TEST(a_message_past_the_limits_grants_nothing)
{
	const uint64_t longest = (uint64_t)INT64_MAX / 4 / (uint64_t)NS_PER_MS;
	static const struct {
		uint32_t more; /* processes than there may be */
		uint64_t longer_ms;
		size_t granted;
	} rows[] = {
		{0, 0, WORKER_MAX_PIDS},
		{1, 0, 0},
		{0, 1, 0},
	};
	static struct msg_may m = {.type = MSG_MAY, .what = WORKER_MAY_ASK};

	for (uint32_t i = 0; i < WORKER_MAX_PIDS; i++)
		m.processes[i] = (struct msg_process){BEGAN, (int32_t)i + 1, 0};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		g.n = 0;
		m.npids = WORKER_MAX_PIDS + rows[i].more;
		m.duration_ms = longest + rows[i].longer_ms;
		grants_add(&g, &m);
		ck_assert_msg(g.n == rows[i].granted, "row %zu: %zu", i, g.n);
	}
}
END

SUITE("grants");
